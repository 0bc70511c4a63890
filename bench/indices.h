// Indices of table rows for the workloads of embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace openaclnn_bench {

// "zipf": a few rows very often; "all_equal"; any other text: all rows are equally likely.
std::vector<int64_t> make_indices(const std::string& variant, int64_t positions, int64_t table_rows);

}  // namespace openaclnn_bench
