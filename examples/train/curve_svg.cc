// loss.svg, written by hand: a picture of five lines needs no plotting library.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "curve.h"
#include "report.h"

namespace train {
namespace {

constexpr double kWidth = 900, kHeight = 520;
constexpr double kLeft = 72, kRight = 40, kTop = 64, kBottom = 60;

// Colours that stay apart for colour-blind eyes and in grey print (Okabe and Ito).
constexpr const char* kTrainColour = "#9db4c8";
constexpr const char* kRawColour = "#d55e00";
constexpr const char* kEmaColour = "#0072b2";
constexpr const char* kEntropyColour = "#777777";

struct Point {
  double step, loss;
};

// 1, 2 or 5 times a power of ten: about `count` ticks on a range of this length.
double tick_distance(double range, int count) {
  const double rough = range / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

// At most some 160 points, each the mean of a stretch of steps: the batches' own noise would hide
// the course.
std::vector<Point> smoothed(const std::vector<CurvePoint>& points) {
  const size_t stretch = std::max<size_t>(points.size() / 160, 1);
  std::vector<Point> means{{static_cast<double>(points[0].step), points[0].train_loss}};
  for (size_t first = 0; first < points.size(); first += stretch) {
    const size_t last = std::min(first + stretch, points.size());
    Point mean{0, 0};
    for (size_t i = first; i < last; ++i) {
      mean.step += static_cast<double>(points[i].step);
      mean.loss += points[i].train_loss;
    }
    means.push_back(
        {mean.step / static_cast<double>(last - first), mean.loss / static_cast<double>(last - first)});
  }
  return means;
}

class Plot {
 public:
  Plot(double last_step, double low, double high) : last_step_(last_step), low_(low), high_(high) {}

  double x(double step) const { return kLeft + (kWidth - kLeft - kRight) * step / last_step_; }
  double y(double loss) const { return kTop + (kHeight - kTop - kBottom) * (high_ - loss) / (high_ - low_); }

  std::string axes() const {
    std::string svg;
    const double loss_distance = tick_distance(high_ - low_, 7),
                 step_distance = std::max(tick_distance(last_step_, 8), 1.0);
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(loss_distance) - 1e-9)));
    for (double k = std::ceil(low_ / loss_distance - 1e-9); k * loss_distance <= high_ + 1e-9; ++k) {
      const double at = y(k * loss_distance);
      svg += fmt::format("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#e8e8e8'/>\n", kLeft, at,
                         kWidth - kRight, at);
      svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.{}f}</text>\n", kLeft - 10, at + 4.5,
                         k * loss_distance, decimals);
    }
    const double floor = kHeight - kBottom;
    for (double k = 0; k * step_distance <= last_step_ + 1e-9; ++k) {
      const double at = x(k * step_distance);
      svg += fmt::format("<line x1='{:.1f}' y1='{}' x2='{:.1f}' y2='{}' stroke='#444'/>\n", at, floor, at,
                         floor + 5);
      svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n", at, floor + 21,
                         with_commas(std::llround(k * step_distance)));
    }
    svg += fmt::format("<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='#444'/>\n", kLeft, floor,
                       kWidth - kRight, floor);
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>optimizer step</text>\n",
                       (kLeft + kWidth - kRight) / 2, kHeight - 14);
    svg += fmt::format(
        "<text transform='translate(22 {:.1f}) rotate(-90)' text-anchor='middle'>nats per byte</text>\n",
        (kTop + floor) / 2);
    return svg;
  }

  std::string curve(const std::vector<Point>& points, const char* colour, double width) const {
    if (points.empty()) return "";
    if (points.size() == 1)
      return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}'/>\n", x(points[0].step),
                         y(points[0].loss), width + 1, colour);
    std::string svg = "<polyline clip-path='url(#plot)' points='";
    for (const Point& point : points) svg += fmt::format("{:.1f},{:.1f} ", x(point.step), y(point.loss));
    return svg + fmt::format("' fill='none' stroke='{}' stroke-width='{}' stroke-linejoin='round'/>\n",
                             colour, width);
  }

  // A value to beat, named on the line itself at the right end.
  std::string level(double loss, const std::string& name) const {
    return fmt::format("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='{}' stroke-dasharray='7 5'/>\n",
                       kLeft, y(loss), kWidth - kRight, y(loss), kEntropyColour) +
           fmt::format(
               "<text x='{}' y='{:.1f}' text-anchor='end' fill='#555' stroke='white' stroke-width='4' "
               "paint-order='stroke'>{} {:.3f}</text>\n",
               kWidth - kRight - 4, y(loss) - 7, name, loss);
  }

 private:
  double last_step_, low_, high_;
};

std::string legend(const std::vector<std::pair<std::string, const char*>>& entries) {
  std::string svg;
  double at = kLeft;
  for (const auto& [name, colour] : entries) {
    svg += fmt::format(
        "<line x1='{}' y1='46' x2='{}' y2='46' stroke='{}' stroke-width='3' stroke-linecap='round'/>\n", at,
        at + 22, colour);
    svg += fmt::format("<text x='{}' y='50.5'>{}</text>\n", at + 30, name);
    at += 62 + 6.9 * static_cast<double>(name.size());
  }
  return svg;
}

std::string escaped(const std::string& text) {
  std::string xml;
  for (const char c : text) xml += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return xml;
}

}  // namespace

std::string curve_svg(const Curve& curve, const std::string& title) {
  std::vector<Point> train = smoothed(curve.points), raw, ema;
  for (const CurvePoint& point : curve.points) {
    if (point.held_out_raw) raw.push_back({static_cast<double>(point.step), *point.held_out_raw});
    if (point.held_out_ema) ema.push_back({static_cast<double>(point.step), *point.held_out_ema});
  }
  // The first steps fall from log 256 within a blink; cutting them off leaves the picture to the
  // part that is learnt.
  double low = curve.bigram_entropy;
  for (const std::vector<Point>* line : {&train, &raw, &ema})
    for (const Point& point : *line) low = std::min(low, point.loss);
  const double high = curve.unigram_entropy + 0.35;
  low = std::min(std::floor((low - 0.05) * 10) / 10, high - 0.1);

  const Plot plot(static_cast<double>(curve.points.back().step), low, high);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='Helvetica, Arial, sans-serif' "
      "font-size='13' fill='#333'>\n<rect width='{0}' height='{1}' fill='white'/>\n",
      kWidth, kHeight);
  svg += fmt::format("<clipPath id='plot'><rect x='{}' y='{}' width='{}' height='{}'/></clipPath>\n", kLeft,
                     kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
  svg += fmt::format("<text x='{}' y='28' font-size='17' font-weight='bold' fill='#222'>{}</text>\n", kLeft,
                     escaped(title));
  svg += legend({{"training, smoothed", kTrainColour},
                 {"held-out, trained weights", kRawColour},
                 {"held-out, averaged weights (EMA)", kEmaColour}});
  svg += plot.axes();
  svg += plot.level(curve.unigram_entropy, "entropy of single bytes");
  svg += plot.level(curve.bigram_entropy, "entropy given the byte before");
  svg +=
      plot.curve(train, kTrainColour, 2) + plot.curve(raw, kRawColour, 2) + plot.curve(ema, kEmaColour, 2.4);
  return svg + "</svg>\n";
}

}  // namespace train
