// Formats the tables and messages at the end of a run.
#include "report.h"

#include <fmt/core.h>

namespace train {
namespace {

std::string error_text(const Deviation& deviation) {
  if (deviation.elements == 0) return "-";
  if (deviation.bitwise == deviation.elements) return "same bits";
  return fmt::format("{:.0f} % ({:.2f} ulp)", 100 * deviation.of_promise, deviation.ulp);
}

}  // namespace

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string short_errors(const std::vector<OperatorRecord>& check) {
  std::string line;
  for (const OperatorRecord& record : check)
    for (const auto& [output, deviation] : record.worst) {
      if (deviation.bitwise == deviation.elements) continue;  // nothing compared, or a copy of bits
      line += fmt::format("{}{} {:.0f}", line.empty() ? "" : "  ", output, 100 * deviation.of_promise);
    }
  return line;
}

std::string operator_table(const std::vector<OperatorRecord>& records, double seconds) {
  std::string table = fmt::format("{:<28} {:>7}  {:>13}  {:>5}  {}\n", "operator", "calls", "share of time",
                                  "GB/s", "worst error, % of the promise (ulp of S)");
  double operator_seconds = 0;
  for (const OperatorRecord& record : records) {
    operator_seconds += record.seconds;
    std::string errors;
    for (const auto& [output, deviation] : record.worst)
      errors += fmt::format("{}{}{}", errors.empty() ? "" : ", ", output.empty() ? "" : output + " ",
                            error_text(deviation));
    table += fmt::format("{:<28} {:>7}  {:>11.1f} %  {:>5.1f}  {}\n", record.name, with_commas(record.calls),
                         100 * record.seconds / seconds,
                         record.seconds > 0 ? record.bytes / record.seconds * 1e-9 : 0, errors);
  }
  table += fmt::format("{:<28} {:>7}  {:>11.1f} %  {:>5}  {}\n", "matrix products and the rest", "-",
                       100 * (1 - operator_seconds / seconds), "-", "-");
  return table;
}

std::string printable(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    // Length by the leading byte. Control characters (80-9F) may also follow C2, so the check below
    // accepts only A0 and above.
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    bool good = length > 0 && i + length <= bytes.size() &&
                (length > 1 || lead == '\n' || (lead >= 0x20 && lead != 0x7F));
    for (size_t k = 1; good && k < length; ++k)
      good = (static_cast<unsigned char>(bytes[i + k]) & 0xC0) == 0x80;
    if (good && lead == 0xC2) good = static_cast<unsigned char>(bytes[i + 1]) >= 0xA0;
    text += good ? bytes.substr(i, length) : "?";
    i += good ? length : 1;
  }
  return text;
}

}  // namespace train
