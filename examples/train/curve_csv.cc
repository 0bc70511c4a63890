// The table of losses that a run leaves for other programs.
#include <fmt/core.h>

#include "curve.h"

namespace train {

std::string curve_csv(const Curve& curve) {
  std::string csv = "step,train_loss,held_out_loss,held_out_ema_loss\n";
  const auto field = [](const std::optional<double>& loss) {
    return loss ? fmt::format("{:.17g}", *loss) : std::string();
  };
  for (const CurvePoint& point : curve.points)
    csv += fmt::format("{},{:.17g},{},{}\n", point.step, point.train_loss, field(point.held_out_raw),
                       field(point.held_out_ema));
  return csv;
}

}  // namespace train
