// Compares, counts, and prints the table of results.
#include "verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "verify/number.h"

namespace openaclnn_verify {

namespace {

constexpr int64_t kMessagesPerOutput = 3;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

}  // namespace

void OutputRecord::fail(const std::string& message) {
  if (failures_++ < kMessagesPerOutput) {
    messages_ +=
        name_ + "[" + std::to_string(position_ - 1) + "], " + dtype_name(dtype_) + ": " + message + "\n";
  }
}

void OutputRecord::skip() {
  ++position_;
  ++elements_;
  ++skipped_;
  if (keeps_references_) references_.emplace_back();
}

void OutputRecord::compare(double result, long double exact, long double c, long double sum_of_magnitudes) {
  if (!(std::fabs(exact) <= largest_finite(dtype_))) return skip();
  ++position_;
  ++elements_;
  if (keeps_references_) references_.push_back({true, exact, c, sum_of_magnitudes});
  if (!std::isfinite(result)) {
    return fail(format("result %g, the exact value is %.9Lg", result, exact));
  }
  const double whole_ulp = ulp(dtype_, result);
  const double half_ulp = whole_ulp / 2;
  const long double rest = c * 0x1p-24L * sum_of_magnitudes;
  const long double error = std::fabs(result - exact);
  const long double share = error / (half_ulp + rest);
  if (!(error <= half_ulp + rest)) {
    fail(format("result %.9g, exact %.12Lg, error %.3Lg is %.4Lg of the promise (c %.3Lg, S %.6Lg)", result,
                exact, error, share, c, sum_of_magnitudes));
  }
  // Divides only what is worse than before: tests spend much time here.
  if (error > worst_ulps_ * whole_ulp) worst_ulps_ = static_cast<double>(error / whole_ulp);
  ++tenths_[static_cast<size_t>(std::clamp(share * 10, 0.0L, 9.0L))];
  if (rest > 0 && error - half_ulp > worst_beyond_ * rest) {
    worst_beyond_ = static_cast<double>((error - half_ulp) / rest);
  }
  if (share > worst_) {
    worst_ = static_cast<double>(share);
    worst_place_ = "element " + std::to_string(position_ - 1) + " of " + case_;
    worst_text_ = format("result %.9g, exact %.12Lg, c %.3Lg, S %.6Lg", result, exact, c, sum_of_magnitudes);
  }
}

void OutputRecord::expect_bits(uint64_t got, uint64_t wanted) {
  ++position_;
  ++elements_;
  if (keeps_references_) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&wanted);
    references_.push_back({.prescribed = {bytes, bytes + element_bytes(dtype_)}});
  }
  if (got == wanted) {
    ++tenths_[0];
  } else {
    fail(format("bits %llx, must be %llx", static_cast<unsigned long long>(got),
                static_cast<unsigned long long>(wanted)));
  }
}

void OutputRecord::expect_bytes(const std::byte* got, const std::byte* wanted, int64_t bytes) {
  ++position_;
  ++elements_;
  if (keeps_references_) references_.push_back({.prescribed = {wanted, wanted + bytes}});
  if (std::memcmp(got, wanted, static_cast<size_t>(bytes)) == 0) {
    ++tenths_[0];
    return;
  }
  std::string text = "bytes";
  for (int64_t i = 0; i < bytes; ++i) text += format(" %02x", static_cast<unsigned>(got[i]));
  text += ", must be";
  for (int64_t i = 0; i < bytes; ++i) text += format(" %02x", static_cast<unsigned>(wanted[i]));
  fail(text);
}

void OutputRecord::merge(const OutputRecord& other) {
  elements_ += other.elements_;
  skipped_ += other.skipped_;
  if (failures_ < kMessagesPerOutput) messages_ += other.messages_;
  failures_ += other.failures_;
  for (size_t k = 0; k < tenths_.size(); ++k) tenths_[k] += other.tenths_[k];
  worst_beyond_ = std::max(worst_beyond_, other.worst_beyond_);
  worst_ulps_ = std::max(worst_ulps_, other.worst_ulps_);
  if (other.worst_ > worst_) {
    worst_ = other.worst_;
    worst_place_ = other.worst_place_;
    worst_text_ = other.worst_text_;
  }
}

std::string OutputRecord::heading() {
  return "percent of the elements by error / promise, in tenths; worst: the largest share; beyond: the "
         "largest\n"
         "(error - ulp/2) / (c u S), which leaves out the last rounding\n" +
         format("%-48s %-10s %9s %7s ", "output", "dtype", "elements", "skipped") +
         "   .0   .1   .2   .3   .4   .5   .6   .7   .8   .9  worst beyond  worst element\n";
}

std::string OutputRecord::row() const {
  std::string text = format("%-48s %-10s %9lld %7lld ", name_.c_str(), dtype_name(dtype_),
                            static_cast<long long>(elements_), static_cast<long long>(skipped_));
  const double judged = static_cast<double>(std::max<int64_t>(elements_ - skipped_, 1));
  for (const int64_t count : tenths_) text += format(" %4.1f", 100 * static_cast<double>(count) / judged);
  text += format("  %.3f  %.3f", worst_, worst_beyond_);
  if (!worst_text_.empty()) text += "  " + worst_text_;
  return text + "\n";
}

OutputRecord& Judge::output(const std::string& name, aclDataType dtype) {
  const auto [entry, is_new] = outputs_.try_emplace({name, dtype}, name, dtype);
  if (is_new) entry->second.start_case(case_);
  if (is_new && keeps_references_) entry->second.keep_references();
  return entry->second;
}

bool Judge::ok() const {
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const auto& entry) { return entry.second.failures() == 0; });
}

std::string Judge::messages() const {
  std::string text;
  for (const auto& [key, record] : outputs_) {
    if (record.failures() == 0) continue;
    text += record.messages() + "(" + std::to_string(record.failures()) + " of " +
            std::to_string(record.elements()) + " elements are wrong)\n";
  }
  return text;
}

std::string Judge::table() const {
  std::string text = OutputRecord::heading();
  for (const auto& [key, record] : outputs_) text += record.row();
  return text;
}

void Judge::start_case(const std::string& name) {
  case_ = name;
  for (auto& [key, record] : outputs_) record.start_case(name);
}

void Judge::merge(const Judge& other) {
  for (const auto& [key, record] : other.outputs_) output(key.first, key.second).merge(record);
}

}  // namespace openaclnn_verify
