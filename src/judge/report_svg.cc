// A picture of one output: how many elements have which error, and the errors by magnitude.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"
#include "judge/report.h"
#include "judge/words.h"
#include "verify/number.h"

namespace openaclnn_judge {

namespace {

using openaclnn::text;

constexpr const char *kBlue = "#2f6f9f", *kGrey = "#b0b0b0", *kInk = "#222222", *kRed = "#b3362b",
                     *kFaint = "#e4e4e4";
constexpr double kTop = 88, kHeight = 230, kBottom = kTop + kHeight;

// Control characters and bytes that are not UTF-8 become spaces, because XML does not allow them.
std::string escaped(std::string_view words) {
  std::string out;
  while (!words.empty()) {
    const size_t bytes = openaclnn::utf8_bytes(words);
    const char c = words[0];
    if (bytes == 0 || static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += words.substr(0, bytes);
    }
    words.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

std::string at(double position) { return fixed_text(position, 1); }

// The parts of the picture.
class Svg {
 public:
  void words(double x, double y, const std::string& what, const char* anchor = "start",
             const char* more = "") {
    parts_ += text("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\" ", more, ">",
                   escaped(what), "</text>\n");
  }
  void line(double x1, double y1, double x2, double y2, const char* stroke) {
    parts_ += text("<line x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"", at(x2), "\" y2=\"", at(y2),
                   "\" stroke=\"", stroke, "\"/>\n");
  }
  void bar(double x, double y, double width, double height, const char* fill, const std::string& title) {
    parts_ += text("<rect x=\"", at(x), "\" y=\"", at(y), "\" width=\"", at(width), "\" height=\"",
                   at(height), "\" fill=\"", fill, "\"><title>", escaped(title), "</title></rect>\n");
  }
  void dot(double x, double y, const char* fill, const std::string& title) {
    parts_ += text("<circle cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"2.5\" fill=\"", fill, "\"><title>",
                   escaped(title), "</title></circle>\n");
  }
  const std::string& parts() const { return parts_; }

 private:
  std::string parts_;
};

// 2 with the exponent in superior digits.
std::string power_of_2(int exponent) {
  static constexpr const char* kDigits[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                            "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string out = exponent < 0 ? "2\u207b" : "2";
  for (const char digit : std::to_string(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

// "1/2", "8", or a power of 2.
std::string power_text(int exponent) {
  if (exponent >= 0 && exponent <= 10) return std::to_string(1 << exponent);
  if (exponent < 0 && exponent >= -6) return "1/" + std::to_string(1 << -exponent);
  return power_of_2(exponent);
}

// Labels may be long, and the picture is 940 units wide.
std::string shortened(const std::string& words) {
  constexpr size_t kMost = 110;
  if (words.size() <= kMost) return words;
  size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0) == 0x80)
    --end;  // not inside of a character
  return words.substr(0, end) + "...";
}

// Maps logarithms from `low` to `high` to heights in a panel.
struct LogAxis {
  double low, high;  // of log10 or log2 of the values

  double y(double logarithm) const {
    return kBottom - kHeight * (std::clamp(logarithm, low, high) - low) / std::max(high - low, 1e-9);
  }
};

constexpr size_t kNotFinite = UlpHistogram::kBins;  // the bar after the bins

void add_histogram(Svg& svg, const OutputReport& output, double left, double width) {
  std::vector<std::pair<size_t, int64_t>> bars;
  size_t last = 3;
  for (size_t bin = 0; bin < output.ulps.counts.size(); ++bin) {
    if (output.ulps.counts[bin] > 0) last = std::max(last, bin);
  }
  for (size_t bin = 0; bin <= last; ++bin) bars.emplace_back(bin, output.ulps.counts[bin]);
  if (output.ulps.not_finite > 0) bars.emplace_back(kNotFinite, output.ulps.not_finite);
  int64_t most = 1;
  for (const auto& [bin, count] : bars) most = std::max(most, count);
  const LogAxis axis = {-.3, std::max(1.0, std::ceil(std::log10(static_cast<double>(most))))};
  const double step = axis.high > 8 ? 2 : 1;
  for (double power = 0; power <= axis.high; power += step) {
    svg.line(left, axis.y(power), left + width, axis.y(power), kFaint);
    svg.words(left - 6, axis.y(power) + 4,
              count_text(static_cast<int64_t>(std::llround(std::pow(10, power)))), "end");
  }
  const double pitch = width / static_cast<double>(bars.size());
  const size_t labelled = bars.size() > 12 ? bars.size() / 7 : 1;
  for (size_t k = 0; k < bars.size(); ++k) {
    const auto& [bin, count] = bars[k];
    const std::string label = bin == 0                ? "0"
                              : bin == kNotFinite     ? "NaN, Inf"
                              : bin + 1 == kNotFinite ? "> " + power_of_2(30)
                                                      : power_text(static_cast<int>(bin) - 2);
    const double x = left + static_cast<double>(k) * pitch;
    if (count > 0) {
      const double y = axis.y(std::log10(static_cast<double>(count)));
      const char* const fill = bin == kNotFinite || bin > 3 ? kRed : kBlue;
      svg.bar(x + pitch * .1, y, pitch * .8, kBottom - y, fill,
              label + " ulps: " + counted(count, "element", "elements"));
    }
    const bool is_near_last = output.ulps.not_finite > 0 && k + labelled >= bars.size();
    if (bin == kNotFinite || (k % labelled == 0 && (labelled == 1 || !is_near_last)))
      svg.words(x + pitch / 2, kBottom + 17, label, "middle");
  }
  svg.line(left, kBottom, left + width, kBottom, kInk);
  svg.words(left, kTop - 14, "elements by error", "start", "font-weight=\"bold\"");
  svg.words(left + width, kTop - 14, "red: more than 2 ulps", "end");
  svg.words(left + width / 2, kBottom + 38, "error in ulps, at most", "middle");
}

void add_magnitudes(Svg& svg, const OutputReport& output, double left, double width) {
  svg.words(left, kTop - 14, "error by magnitude", "start", "font-weight=\"bold\"");
  svg.words(left + width / 2, kBottom + 38, "magnitude of the exact value", "middle");
  if (output.magnitudes.empty())
    return svg.words(left + width / 2, kTop + kHeight / 2, "no finite numbers other than 0", "middle");
  double high = 2;
  for (const MagnitudeBin& bin : output.magnitudes) {
    if (bin.largest_ulps > 0 && std::isfinite(bin.largest_ulps))
      high = std::max(high, std::ceil(std::log2(bin.largest_ulps)));
  }
  const LogAxis axis = {-6, high};
  const int step = static_cast<int>(std::max(1.0, std::ceil((axis.high - axis.low) / 8)));
  for (int power = step > 6 ? 0 : -6 / step * step; power <= static_cast<int>(axis.high); power += step) {
    svg.line(left, axis.y(power), left + width, axis.y(power), kFaint);
    svg.words(left - 6, axis.y(power) + 4, power_text(power), "end");
  }
  svg.line(left, kBottom, left + width, kBottom, kInk);
  const int first = output.magnitudes.front().exponent,
            last = std::max(output.magnitudes.back().exponent, first + 3);
  const auto x = [&](int exponent) {
    return left +
           width * (static_cast<double>(exponent - first) + .5) / static_cast<double>(last - first + 1);
  };
  const int labelled = std::max(1, (last - first + 1) / 6);
  for (int exponent = first; exponent <= last; exponent += labelled) {
    svg.words(x(exponent), kBottom + 17, power_text(exponent), "middle");
  }
  for (const MagnitudeBin& bin : output.magnitudes) {
    const auto log = [](double ulps) { return ulps > 0 ? std::log2(ulps) : -HUGE_VAL; };
    const std::string what =
        text("2^", bin.exponent, ": ", counted(bin.elements, "element", "elements"), ", largest ",
             number_text(bin.largest_ulps, 3), ", mean ", number_text(bin.mean_ulps, 3), " ulps");
    svg.line(x(bin.exponent), axis.y(log(bin.mean_ulps)), x(bin.exponent), axis.y(log(bin.largest_ulps)),
             kGrey);
    svg.dot(x(bin.exponent), axis.y(log(bin.mean_ulps)), kGrey, what);
    svg.dot(x(bin.exponent), axis.y(log(bin.largest_ulps)), bin.largest_ulps > 2 ? kRed : kBlue, what);
  }
  svg.dot(left + width - 150, kTop - 18, kBlue, "");
  svg.words(left + width - 142, kTop - 14, "largest");
  svg.dot(left + width - 76, kTop - 18, kGrey, "");
  svg.words(left + width - 68, kTop - 14, "mean, ulps");
}

}  // namespace

std::string report_svg(const OutputReport& output, const std::string& title) {
  Svg svg;
  const std::string heading = text(output.name, ", ", openaclnn_verify::dtype_name(output.dtype), " ",
                                   openaclnn::shape_text(output.dims), ", ", count_text(output.wrong), " of ",
                                   counted(output.elements, "element", "elements"), " wrong");
  svg.words(20, 24, shortened(title), "start", "font-size=\"14\"");
  svg.words(20, 46, heading);
  add_histogram(svg, output, 80, 380);
  add_magnitudes(svg, output, 540, 380);
  return text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 940 374\" font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"",
      kInk, "\">\n<title>", escaped(text(title, ": ", heading)),
      "</title>\n<rect width=\"940\" height=\"374\" fill=\"#ffffff\"/>\n", svg.parts(), "</svg>\n");
}

}  // namespace openaclnn_judge
