// Indices of table rows as workloads of embeddings have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace openaclnn_bench {

// "zipf": a few rows very often; "all_equal"; anything else: each row is as likely.
std::vector<int64_t> make_indices(const std::string& variant, int64_t positions, int64_t table_rows);

}  // namespace openaclnn_bench
