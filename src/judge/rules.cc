// The table of all rules.
#include "judge/rules.h"

#include <array>

#include "judge/rule_list.h"

namespace openaclnn_judge {

namespace {

constexpr const char* kMsprobe = "msprobe acc_check (mindstudio-probe 26.2.0)";

constexpr std::array kRules = {
    Rule{"openaclnn", "|d - exact| <= ulp/2 + bound, for every element", "openaclnn", kBound,
         judge_openaclnn},
    Rule{"quick", "cosine, max abs error, and shares of small relative errors", kMsprobe, kNothing,
         judge_quick},
    Rule{"benchmark", "error statistics divided by those of a third device", kMsprobe, kThird | kLevel,
         judge_benchmark},
    Rule{"ulp", "share of elements above 1 ulp, or 32 for FLOAT", kMsprobe, kNothing, judge_ulp},
    Rule{"absolute", "relative errors, and absolute ones of small values", kMsprobe, kNothing,
         judge_absolute},
    Rule{"accumulative", "one bound for sums, and the balance of signs", kMsprobe, kNothing,
         judge_accumulative},
    Rule{"binary", "equal values", kMsprobe, kNothing, judge_binary},
    Rule{"thousandth", "share of relative errors below 0.001", kMsprobe, kNothing, judge_thousandth},
    Rule{"msprobe-26", "the rules that msprobe 26 applies", "mindstudio-probe 26.2.0", kLevel,
         judge_msprobe_26},
    Rule{"msprobe-8", "the rules that msprobe 8 applies", "mindstudio-probe 8.3.3", kNothing,
         judge_msprobe_8},
    Rule{"compare", "metrics and result of msprobe compare", "msprobe compare (mindstudio-probe 26.2.0)",
         kNothing, judge_compare},
    Rule{"msaccucmp", "metrics of msaccucmp, without a limit", "msaccucmp of CANN", kNothing,
         judge_msaccucmp},
    Rule{"mindspore", "cosine and max abs error", "msprobe acc_check for MindSpore", kNothing,
         judge_mindspore},
    Rule{"graph-compare", "cosine and max abs error of a graph's node", "graph comparison of MindSpore",
         kNothing, judge_graph_compare},
    Rule{"mere-mare", "mean and maximum of relative errors", "standard of the CANN operator repositories",
         kThreshold, judge_mere_mare},
    Rule{"acceptance", "MARE, MERE and RMSE divided by those of a third result", "tests of op-plugin",
         kThird | kLevel, judge_acceptance},
    Rule{"attention", "|d - g| <= max(|g|, 1) * c", "attention tests of op-plugin", kThreshold,
         judge_attention},
    Rule{"bitwise", "equal bits", "openaclnn", kNothing, judge_bitwise},
    Rule{"allclose", "|d - g| <= 1e-8 + 1e-5 * |g|", "torch.allclose", kTolerances, judge_allclose},
    Rule{"assert-close", "|d - g| <= atol + rtol * |g|, by dtype", "torch.testing.assert_close", kTolerances,
         judge_assert_close},
    Rule{"flaggems", "assert-close with atol 1e-4 per reduced element", "tests of FlagGems", kTolerances,
         judge_flaggems},
    Rule{"kernelbench", "allclose with 1e-4 for FLOAT and 1e-2 for 16 bits", "KernelBench", kTolerances,
         judge_kernelbench},
    Rule{"dynamo", "RMSE against that of the reference in the same dtype", "same() of TorchDynamo",
         kThird | kThreshold, judge_dynamo},
    Rule{"transformer-engine", "assert-close, or RMSE by the range of values", "tests of TransformerEngine",
         kThreshold | kTolerances, judge_transformer_engine},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  for (const Rule& rule : kRules)
    if (rule.name == name) return &rule;
  return nullptr;
}

}  // namespace openaclnn_judge
