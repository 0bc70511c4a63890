// Writes zeros into tensors of any strides, for operators whose sums are empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>

#include "cpu/caches.h"
#include "cpu/loops.h"
#include "cpu/simd.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Writes `bytes` zero bytes. `streams` selects non-temporal stores, which write whole lines of zeros twice as
// fast as data. The caller calls hwy::FlushStream() before others read them.
inline void write_zero_bytes(void* to, int64_t bytes, [[maybe_unused]] bool streams) {
  char* at = static_cast<char*>(to);
  char* const end = at + bytes;
#if HWY_TARGET != HWY_SCALAR
  constexpr uintptr_t kLine = 64;
  if (streams && bytes >= 2 * static_cast<int64_t>(kLine)) {
    const auto head = (kLine - reinterpret_cast<uintptr_t>(at) % kLine) % kLine;
    std::memset(at, 0, head);
    at += head;
    const F32::Tag tag;
    for (; end - at >= static_cast<int64_t>(kLine); at += kLine) {
      for (uintptr_t k = 0; k < kLine; k += static_cast<uintptr_t>(F32::kLanes) * sizeof(float))
        hn::Stream(hn::Zero(tag), tag, reinterpret_cast<float*>(at + k));
    }
  }
#endif
  std::memset(at, 0, static_cast<size_t>(end - at));
}

// Sets every element that the nest visits to +0. Elements between them keep their values.
template <class T>
inline void write_zeros(const LoopNest<1>& nest, T* base) {
  int64_t elements = 1;
  for (int k = 0; k < nest.rank; ++k) elements *= nest.dims[static_cast<size_t>(k)];
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
  const int64_t chunks = cpu::chunks_for(bytes);
  const bool streams = cpu::exceeds_caches(bytes);
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(elements, chunks, chunk, 1024);
    if (range.begin >= range.end) return;
    RunCursor<1> cursor(nest, range.begin);
    for (int64_t left = range.end - range.begin; left > 0;) {
      const int64_t run = std::min(left, cursor.left_in_run());
      T* const to = base + cursor.offset(0);
      const int64_t stride = cursor.inner_stride(0);
      if (stride == 1) {
        write_zero_bytes(to, run * static_cast<int64_t>(sizeof(T)), streams);
      } else {
        for (int64_t i = 0; i < run; ++i) to[i * stride] = T();
      }
      cursor.advance(run);
      left -= run;
    }
    hwy::FlushStream();
  });
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
