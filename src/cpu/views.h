// Contiguous parts of rows for kernels: in place if the view is contiguous, otherwise through a small buffer.
#pragma once

#include <cstdint>

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Returns `count` elements at distance `stride` as contiguous ones. `buffer` holds them if they are not.
template <class T>
inline const T* gathered(const T* from, int64_t stride, int64_t count, T* buffer) {
  if (stride == 1) return from;
  for (int64_t i = 0; i < count; ++i) buffer[i] = from[i * stride];
  return buffer;
}

// Returns where to write `count` contiguous elements. scatter() then copies them if necessary.
template <class T>
inline T* scatter_target(T* to, int64_t stride, T* buffer) {
  return stride == 1 ? to : buffer;
}
template <class T>
inline void scatter(const T* buffer, T* to, int64_t stride, int64_t count) {
  if (stride == 1) return;
  for (int64_t i = 0; i < count; ++i) to[i * stride] = buffer[i];
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
