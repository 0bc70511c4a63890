// All rules. Each is documented where it is defined.
#pragma once

#include "judge/rules.h"

namespace openaclnn_judge {

Verdict judge_quick(const Pair& pair, const Settings& settings);
Verdict judge_benchmark(const Pair& pair, const Settings& settings);
Verdict judge_ulp(const Pair& pair, const Settings& settings);
Verdict judge_absolute(const Pair& pair, const Settings& settings);
Verdict judge_accumulative(const Pair& pair, const Settings& settings);
Verdict judge_binary(const Pair& pair, const Settings& settings);
Verdict judge_thousandth(const Pair& pair, const Settings& settings);
Verdict judge_msprobe_26(const Pair& pair, const Settings& settings);
Verdict judge_msprobe_8(const Pair& pair, const Settings& settings);
Verdict judge_compare(const Pair& pair, const Settings& settings);
Verdict judge_msaccucmp(const Pair& pair, const Settings& settings);
Verdict judge_mindspore(const Pair& pair, const Settings& settings);
Verdict judge_graph_compare(const Pair& pair, const Settings& settings);
Verdict judge_mere_mare(const Pair& pair, const Settings& settings);
Verdict judge_acceptance(const Pair& pair, const Settings& settings);
Verdict judge_attention(const Pair& pair, const Settings& settings);
Verdict judge_bitwise(const Pair& pair, const Settings& settings);
Verdict judge_allclose(const Pair& pair, const Settings& settings);
Verdict judge_assert_close(const Pair& pair, const Settings& settings);
Verdict judge_flaggems(const Pair& pair, const Settings& settings);
Verdict judge_kernelbench(const Pair& pair, const Settings& settings);
Verdict judge_dynamo(const Pair& pair, const Settings& settings);
Verdict judge_transformer_engine(const Pair& pair, const Settings& settings);
Verdict judge_openaclnn(const Pair& pair, const Settings& settings);

}  // namespace openaclnn_judge
