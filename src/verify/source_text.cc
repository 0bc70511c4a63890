// Formats the inputs of results, and adds their terms.
#include "verify/source_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "verify/number.h"
#include "verify/sum_order.h"

namespace openaclnn_verify {

namespace {

std::string short_number(double value) { return openaclnn::number_text(value, 9); }

}  // namespace

std::string source_line(const std::string& place, int64_t count,
                        const std::function<double(int64_t)>& value) {
  constexpr int64_t kShown = 4;
  std::string line = place + " = ";
  if (count == 0) return line + "(no values)";
  for (int64_t k = 0; k < std::min(count, kShown); ++k) line += (k > 0 ? ", " : "") + short_number(value(k));
  if (count > kShown) line += ", ... (" + std::to_string(count) + " values)";
  return line;
}

std::string run_text(int64_t begin, int64_t end) {
  return end == begin + 1 ? std::to_string(begin) : openaclnn::text(begin, ":", end);
}

std::string index_text(int64_t element, const Shape& dims) {
  Shape index(dims.size());
  for (size_t k = dims.size(); k-- > 0; element /= dims[k]) index[k] = element % dims[k];
  return openaclnn::shape_text(index);
}

int64_t whole_number_at(const Array& array, int64_t element) {
  const int64_t bytes = element_bytes(array.dtype);
  const std::byte* const from = array.data.get() + element * bytes;
  if (array.dtype == ACL_INT64) {
    int64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  const double value = std::trunc(array.get(element));
  if (!(value > -0x1p63 && value < 0x1p63)) return INT64_MIN;  // no row
  return static_cast<int64_t>(value);
}

FaultyValue faulty_sum(const ElementSources& sources) {
  long double sum = 0, magnitude = 0;
  for (const Term& term : sources.terms) {
    const long double product = static_cast<long double>(term.one) * term.other;
    sum += product;
    magnitude += std::fabs(product);
  }
  const auto terms = static_cast<int64_t>(sources.terms.size());
  const double c = terms == 0 ? 0 : static_cast<double>(additions_on_path(terms) + 5);
  return {static_cast<double>(sum / sources.divisor),
          c * 0x1p-24 * static_cast<double>(magnitude / sources.divisor)};
}

Fault fault_of_terms(std::string name, std::string text, FindSources find) {
  return {std::move(name), std::move(text), [find](const Place& place) -> std::optional<FaultyValue> {
            const ElementSources sources = find(place);
            if (!sources.is_sum) return std::nullopt;
            return faulty_sum(sources);
          }};
}

}  // namespace openaclnn_verify
