// Zeros into tensors of any strides: what an operator writes where its sums are empty.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/loops.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Every element that the nest visits becomes +0. Elements between them keep their values.
template <class T>
inline void write_zeros(const LoopNest<1>& nest, T* base) {
  int64_t elements = 1;
  for (int k = 0; k < nest.rank; ++k) elements *= nest.dims[static_cast<size_t>(k)];
  const int64_t chunks = cpu::chunks_for(elements * static_cast<int64_t>(sizeof(T)));
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(elements, chunks, chunk, 1024);
    if (range.begin >= range.end) return;
    RunCursor<1> cursor(nest, range.begin);
    for (int64_t left = range.end - range.begin; left > 0;) {
      const int64_t run = left < cursor.left_in_run() ? left : cursor.left_in_run();
      T* const to = base + cursor.offset(0);
      const int64_t stride = cursor.inner_stride(0);
      if (stride == 1) {
        std::memset(static_cast<void*>(to), 0, static_cast<size_t>(run) * sizeof(T));
      } else {
        for (int64_t i = 0; i < run; ++i) to[i * stride] = T();
      }
      cursor.advance(run);
      left -= run;
    }
  });
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
