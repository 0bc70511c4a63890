// Draws indices, the same in every process.
#include "indices.h"

#include <algorithm>
#include <random>

namespace openaclnn_bench {

std::vector<int64_t> make_indices(const std::string& variant, int64_t positions, int64_t table_rows) {
  std::mt19937_64 random(12345);
  std::vector<int64_t> indices(static_cast<size_t>(positions));
  if (variant == "zipf") {  // exponent 1: row k is drawn with weight 1 / (k + 1), then rows are shuffled
    std::vector<double> cumulative(static_cast<size_t>(table_rows));
    double total = 0;
    for (int64_t k = 0; k < table_rows; ++k)
      cumulative[static_cast<size_t>(k)] = total += 1.0 / static_cast<double>(k + 1);
    std::vector<int64_t> shuffled(static_cast<size_t>(table_rows));
    for (int64_t k = 0; k < table_rows; ++k) shuffled[static_cast<size_t>(k)] = k;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    std::uniform_real_distribution<double> uniform(0, total);
    for (int64_t& index : indices) {
      const auto at =
          std::upper_bound(cumulative.begin(), cumulative.end(), uniform(random)) - cumulative.begin();
      index = shuffled[static_cast<size_t>(std::min<int64_t>(at, table_rows - 1))];
    }
    return indices;
  }
  std::uniform_int_distribution<int64_t> uniform(0, table_rows - 1);
  for (int64_t& index : indices) index = variant == "all_equal" ? table_rows / 2 : uniform(random);
  return indices;
}

}  // namespace openaclnn_bench
