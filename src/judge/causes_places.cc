// Causes that show in where numbers are: results at other places, and places without results.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "judge/causes_parts.h"
#include "judge/words.h"

namespace openaclnn_judge {

namespace {

using openaclnn::text;

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Returns the bound of an element, or 0 if it is unknown.
double bound_of(const Pair& pair, int64_t element) {
  const double bound = pair.bound.empty() ? 0 : pair.bound[static_cast<size_t>(element)];
  return std::isnan(bound) ? 0 : bound;
}

// Predicts the exact result of another element. `from` returns its number, or a negative one for none.
Fit fit_of_moved(const Samples& samples, const std::function<int64_t(int64_t)>& from) {
  const Pair& pair = *samples.pair;
  return fit_of(samples, [&](const Sample& s) -> std::optional<Prediction> {
    const int64_t other = from(s.element);
    if (other < 0 || other >= samples.elements) return std::nullopt;
    return Prediction{pair.golden.get(other), samples.spacing.ulp(s.device) / 2 + bound_of(pair, other)};
  });
}

// The dims in another order, as the device stored them.
void explain_transposed(const Samples& samples, Explanations& found) {
  const openaclnn_verify::Shape& dims = samples.pair->device.dims;
  constexpr size_t kMostDims = 4;
  if (dims.size() < 2 || dims.size() > kMostDims) return;
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  while (std::ranges::next_permutation(order).found) {
    const auto from = [&](int64_t element) {
      // The element's position in a tensor whose dims are in this order.
      std::vector<int64_t> index(dims.size());
      for (size_t k = dims.size(); k-- > 0; element /= dims[order[k]])
        index[order[k]] = element % dims[order[k]];
      int64_t at = 0;
      for (size_t k = 0; k < dims.size(); ++k) at = at * dims[k] + index[k];
      return at;
    };
    std::string axes;
    for (const size_t k : order) axes += (axes.empty() ? "" : ", ") + std::to_string(k);
    found.add("output-transposed", "The results are stored with the dims in the order " + axes + ".",
              fit_of_moved(samples, from));
  }
}

// Finds the rows of the golden that the device has at other places.
void explain_permuted_rows(const Samples& samples, Explanations& found) {
  const Pair& pair = *samples.pair;
  const int64_t columns = pair.device.dims.back(), rows = samples.elements / columns;
  constexpr int64_t kMostRows = 100000, kLeastColumns = 4, kCompared = 16;
  if (rows < 2 || rows > kMostRows || columns < kLeastColumns) return;
  const auto is_golden_of = [&](int64_t device_row, int64_t golden_row, int64_t column) {
    const int64_t other = golden_row * columns + column;
    const double device = pair.device.get(device_row * columns + column), golden = pair.golden.get(other);
    if (is_same(device, golden)) return true;
    return std::fabs(device - golden) <= samples.spacing.ulp(device) / 2 + bound_of(pair, other);
  };
  // Rows may be equal, so the wrong element itself must be that of the other row.
  const auto is_row = [&](const Sample& wrong, int64_t golden_row) {
    const int64_t row = wrong.element / columns;
    if (row == golden_row || !is_golden_of(row, golden_row, wrong.element % columns)) return false;
    for (int64_t k = 0; k < std::min(columns, kCompared); ++k) {
      if (!is_golden_of(row, golden_row, k)) return false;
    }
    return true;
  };
  constexpr size_t kMostTested = 12;
  const size_t step = (samples.wrong.size() + kMostTested - 1) / kMostTested;
  std::map<int64_t, int64_t> other_of;  // -1: none
  for (size_t k = 0; k < samples.wrong.size(); k += step) {
    const Sample& wrong = samples.wrong[k];
    int64_t row = 0;
    while (row < rows && !is_row(wrong, row)) ++row;
    other_of[wrong.element / columns] = row < rows ? row : -1;
  }
  const auto is_found = [](const auto& entry) { return entry.second >= 0; };
  const auto rows_found = static_cast<double>(std::ranges::count_if(other_of, is_found));
  const auto first = std::ranges::find_if(other_of, is_found);
  if (first == other_of.end()) return;
  constexpr double kBitsOfRow = 6;
  Fit fit;
  fit.explained = rows_found / static_cast<double>(other_of.size());
  fit.bits = kBitsOfRow * rows_found;
  found.add("rows-permuted",
            text("Rows are at other places: row ", first->first, " of the device has the results of row ",
                 first->second, "."),
            fit);
}

}  // namespace

void explain_places(const Samples& samples, Explanations& found) {
  const openaclnn_verify::Shape& dims = samples.pair->device.dims;
  if (dims.empty() || samples.elements < 2) return;
  explain_transposed(samples, found);
  const int64_t columns = dims.back();
  const auto shifted = [&](int64_t by) {
    return fit_of_moved(samples, [by](int64_t element) { return element + by; });
  };
  if (dims.size() > 1 && columns > 1) {
    found.add("rows-shifted-by-one", "Each row has the results of the next one.", shifted(columns));
    found.add("rows-shifted-by-one", "Each row has the results of the one before it.", shifted(-columns));
  }
  found.add("elements-shifted-by-one", "Each element has the result of the next one.", shifted(1));
  found.add("elements-shifted-by-one", "Each element has the result of the one before it.", shifted(-1));
  if (columns > 1) {
    found.add("columns-reversed", "The last dim is stored in reverse order.",
              fit_of_moved(samples, [columns](int64_t element) {
                return element - element % columns + columns - 1 - element % columns;
              }));
  }
  explain_permuted_rows(samples, found);
}

namespace {

// Says where the elements are that were not written, from the samples.
struct Where {
  bool is_tail = false;
  std::string text;
};
Where where_of(const Samples& samples, const std::function<bool(const Sample&)>& is_unwritten) {
  const openaclnn_verify::Shape& dims = samples.pair->device.dims;
  const auto name = [&](int64_t element) { return openaclnn::shape_text(index_of(element, dims)); };
  int64_t first = samples.elements, written = -1, column = dims.empty() ? 0 : dims.back();
  int64_t written_column = -1;
  for (const Sample& s : samples.wrong) {
    if (!is_unwritten(s)) continue;
    first = std::min(first, s.element);
    if (!dims.empty()) column = std::min(column, s.element % dims.back());
  }
  const auto look = [&](const Sample& s) {
    if (is_unwritten(s)) return;
    written = std::max(written, s.element);
    if (!dims.empty()) written_column = std::max(written_column, s.element % dims.back());
  };
  for (const Sample& s : samples.wrong) look(s);
  for (const Sample& s : samples.right) look(s);
  // Right elements that would also be right without the call tell nothing.
  if (written < 0 || samples.wrong_elements > samples.elements - samples.elements / 100)
    return {false, "No element is written"};
  if (first > written) return {true, "The elements from " + name(first) + " on are not written"};
  if (dims.size() > 1 && column > written_column)
    return {true, text("The columns from ", column, " on are not written")};
  return {false, counted(samples.wrong_elements, "element is", "elements are") +
                     " not written, the first is " + name(first)};
}

}  // namespace

void explain_unwritten(const Samples& samples, const Array* before, Explanations& found) {
  constexpr double kBitsOfValue = 6;  // one or two equal elements may be chance
  const auto add = [&](const std::function<bool(const Sample&)>& is_unwritten, const std::string& what) {
    const Fit fit = fit_of_property(samples, kBitsOfValue, is_unwritten);
    if (!fit.is_convincing()) return;
    const Where where = where_of(samples, is_unwritten);
    found.add(where.is_tail ? "tail-not-written" : "not-written",
              where.text + ": " + what + ". Check the bounds of the grid and the mask of the last block.",
              fit);
  };
  if (before != nullptr && before->has_data() && before->numel() == samples.elements) {
    add([&](const Sample& s) { return is_same(s.device, before->get(s.element)); },
        "they have their values from before the call");
  }
  // The most frequent value: zeros, or what the memory held.
  std::vector<double> values;
  for (const Sample& s : samples.wrong) values.push_back(std::isnan(s.device) ? HUGE_VAL : s.device);
  std::ranges::sort(values);
  size_t most = 0, run = 0;
  double value = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    run = k > 0 && values[k] == values[k - 1] ? run + 1 : 1;
    if (run > most) {
      most = run;
      value = values[k];
    }
  }
  if (std::isinf(value)) return;  // infinities and NaN have causes of their own
  add([value](const Sample& s) { return s.device == value; }, "they are " + number_text(value, 6));
}

}  // namespace openaclnn_judge
