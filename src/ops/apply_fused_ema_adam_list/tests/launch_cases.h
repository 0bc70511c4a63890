// A call of ApplyFusedEmaAdamList for tests of its phase 2.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "ops/apply_fused_ema_adam_list/tests/call_cases.h"
#include "ops/apply_fused_ema_adam_list/verify/description.h"
#include "support/phase1_mistakes.h"
#include "support/phase2_mistakes.h"

namespace openaclnn_test {

inline const EmaAttributes kAttributes = {.lr = .01, .ema_decay = .99, .weight_decay = .1};

// One or two indices of small tensors, with or without all optional arguments.
inline Launch list_launch(size_t length, bool has_everything, const EmaAttributes& attributes = kAttributes,
                          Placement placement = Placement::ends_at_guard, const Shape& dims = {8, 8}) {
  const ListForm form = {.attributes = attributes,
                         .has_copies = has_everything,
                         .has_scale = has_everything,
                         .has_found_inf = has_everything};
  return with_aliasing(
      make_launch(kListPhase2, ema_list_case(form, std::vector<IndexCase>(length, IndexCase{dims}), "launch"),
                  placement),
      apply_fused_ema_adam_list_descriptions()[0]);
}

}  // namespace openaclnn_test
