// GroupedBiasAddGrad: phase 1 refusals specific to the two versions of this operator.
// support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include "ops/grouped_bias_add_grad/tests/schema.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace grouped_bias_add_grad_schema;

// Without rows, columns or groups an empty out may have any strides.
std::vector<Trial> empty_tensors(bool grouped) {
  struct Shapes {
    Shape grad_y, group_index, out;
  };
  const std::vector<Shapes> with_index = {{{0, 8}, {3}, {3, 8}},
                                          {{12, 0}, {3}, {3, 0}},
                                          {{12, 8}, {0}, {0, 8}},
                                          {{0, 0}, {0}, {0, 0}},
                                          {{0, 8}, {0}, {0, 8}}};
  const std::vector<Shapes> without = {
      {{3, 0, 8}, {}, {3, 8}}, {{3, 4, 0}, {}, {3, 0}}, {{0, 4, 8}, {}, {0, 8}}};
  std::vector<Trial> trials;
  for (const Shapes& shapes : grouped ? with_index : without) {
    trials.push_back(needs_nothing("gradY " + list_text(shapes.grad_y), [shapes](CallArguments& a) {
      a.tensors[kGradY].dims = shapes.grad_y;
      a.tensors[kGroupIdx].dims = shapes.group_index;
      a.tensors[kOut].dims = shapes.out;
      if (shapes.out[0] * shapes.out[1] == 0) a.tensors[kOut].strides = {0, 0};
    }));
  }
  return trials;
}

std::function<void(CallArguments&)> with_groups(const Version& version, int64_t groups) {
  return version.grouped ? with_dims({{kGroupIdx, {groups}}, {kOut, {groups, 8}}})
                         : with_dims({{kGradY, {groups, 4, 8}}, {kOut, {groups, 8}}});
}

std::vector<Trial> group_types(const Schema& schema) {
  std::vector<Trial> trials =
      wrong_numbers(schema, kGroupIdxType, {-1, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1});
  trials.push_back(accepts("sizes", [](CallArguments& a) { a.numbers = {1}; }));
  return trials;
}

// Stride 0 can describe any number of groups, but some have no workspace.
Trial endless_groups() {
  const int64_t groups = int64_t{1} << 60;
  return refuses(
      "endless groups",
      [](CallArguments& a) {
        a.tensors[kGradY].dtype = a.tensors[kOut].dtype = ACL_FLOAT16;
        a.tensors[kGradY].dims = {12, 1};
        a.tensors[kGroupIdx].dtype = ACL_INT32;
        a.tensors[kGroupIdx].dims = {groups};
        a.tensors[kGroupIdx].strides = {0};
        a.tensors[kOut].dims = {groups, 1};
      },
      {"Failed to allocate", std::to_string(groups) + " groups"}, 561101);
}

Refusals in_vendor_mode(const Version& version, Refusals form) {
  form.name += "Vendor";
  form.environment = kVendorLimits;
  form.trials = {accepts("2048 groups", with_groups(version, 2048))};
  if (version.grouped) {
    form.schema.mistakes.push_back(bad_call(
        kLimitRule, "G <= 2048 when groupIdx is given",
        {{Part::dims, kGroupIdx}, {Part::dims, kOut}, {Part::handle, kGroupIdx}}, with_groups(version, 2049),
        {"groupIdxOptional has 2049 groups; OPENACLNN_LIMITS=vendor accepts at most 2048"}));
  } else {
    form.trials.push_back(accepts("2049 groups", with_groups(version, 2049)));
  }
  return form;
}

std::vector<Refusals> refusals() {
  std::vector<Refusals> all;
  for (const Version& version : kVersions) {
    Refusals form = {.name = "V" + std::to_string(version.number) + (version.grouped ? "Grouped" : ""),
                     .schema = bias_test(version),
                     .least_pairs = 300,
                     .trials = empty_tensors(version.grouped)};
    if (!version.grouped) form.dtypes.pop_back();  // that of groupIdx
    if (version.number == 2) append(form.trials, group_types(form.schema));
    if (version.number == 2 && version.grouped) form.trials.push_back(endless_groups());
    for (const int64_t groups : {1, 2048, 2049, 1000000})
      form.trials.push_back(accepts(std::to_string(groups) + " groups", with_groups(version, groups)));
    all.push_back(form);
    all.push_back(in_vendor_mode(version, form));
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(GroupedBias, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

}  // namespace
}  // namespace openaclnn_test
