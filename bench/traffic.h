// Reference kernels: only the loads and stores of an operator. Their speed is the machine's limit.
//
// Compiled once per instruction set, like the kernels they are compared with. Each works on whole 64-byte lines of a part of
// memory that one thread owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openaclnn_bench {

// Parameters of a sum: the rows gathers[starts[row]] to gathers[starts[row + 1]] (exclusive) of a table are
// added to one target row.
struct Gather {
  const std::byte* rows;     // source rows, row_bytes each
  const int64_t* positions;  // which source row each term is
  const int64_t* starts;     // of each target row; one more than there are target rows
  std::byte* target;         // target rows, target_row_bytes each
  int64_t row_bytes, target_row_bytes;
};

struct TrafficKernels {
  // Reads `bytes` bytes; returns a value that depends on all of them.
  uint64_t (*read)(const void* from, int64_t bytes);
  // Copies with streaming stores.
  void (*copy)(const void* from, void* to, int64_t bytes);
  // Reads an array and three or four states, and writes the states back in place, with the values they had.
  void (*update)(const void* grad, std::span<void* const> states, int64_t bytes);
  // For each target row: reads its source rows, then writes it with streaming stores (zeros if it has
  // none).
  void (*gather)(const Gather& gather, int64_t first_row, int64_t last_row);
};

// Returns the set that OPENACLNN_ISA names, else the machine's best one, as in the library.
const TrafficKernels& traffic_kernels();

}  // namespace openaclnn_bench
