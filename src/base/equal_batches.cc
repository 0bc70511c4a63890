// Searches for batches of equal length.
#include "base/equal_batches.h"

#include <numeric>

namespace openaclnn {

namespace {

struct Search {
  int64_t tokens, windows;
  WindowShape shape;
  EqualBatches found = {};

  // Requires that `batches` divides tokens and windows.
  void consider(int64_t batches) {
    if ((batches > kMostEqualBatches && windows > 0) || batches == found.smallest) return;
    if (count_windows(tokens / batches, shape) != windows / batches) return;
    if (found.smallest == 0 || batches < found.smallest) {
      found.next = found.smallest;
      found.smallest = batches;
    } else if (found.next == 0 || batches < found.next) {
      found.next = batches;
    }
  }
};

}  // namespace

EqualBatches find_equal_batches(int64_t tokens, int64_t windows, const WindowShape& shape, SearchFor wanted) {
  // B divides both the tokens and the windows, so it divides their greatest common divisor.
  const int64_t common = std::gcd(tokens, windows);
  const bool is_one = count_windows(tokens, shape) == windows;
  if (common == 0 || (is_one && wanted == SearchFor::smallest)) return {.smallest = is_one ? 1 : 0};
  Search search = {tokens, windows, shape};
  for (int64_t divisor = 1; divisor <= kMostEqualBatches && divisor <= common / divisor; ++divisor) {
    if (common % divisor != 0) continue;
    search.consider(divisor);
    search.consider(common / divisor);
  }
  return search.found;
}

}  // namespace openaclnn
