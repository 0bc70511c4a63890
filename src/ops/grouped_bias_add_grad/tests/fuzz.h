// GroupedBiasAddGrad for fuzzers: any gradients, and groups that decrease, overlap, overflow or exceed the
// rows.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/grouped_bias_add_grad/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

// The end of the last group, or the first faulty entry.
struct FuzzedGroups {
  int64_t end = 0;
  int64_t first_wrong = -1;
};
inline FuzzedGroups check_groups(const BiasAttributes& attributes, const std::vector<int64_t>& entries,
                                 int64_t rows) {
  FuzzedGroups groups;
  for (size_t j = 0; j < entries.size(); ++j) {
    const int64_t entry = entries[j];
    const bool fits = attributes.index_type == 0 ? entry >= groups.end && entry <= rows
                                                 : entry >= 0 && entry <= rows - groups.end;
    if (!fits) return {groups.end, static_cast<int64_t>(j)};
    groups.end = attributes.index_type == 0 ? entry : groups.end + entry;
  }
  return groups;
}

inline OperatorCall grouped_bias_add_grad_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const BiasAttributes attributes = {.grouped = in.below(4) != 0, .index_type = in.below(2)};
  const aclDataType dtype = fuzz.float_dtype(), index_dtype = in.pick({ACL_INT64, ACL_INT32});
  const int64_t groups = in.below(5), columns = in.pick({1, 0, 2, 3, 5, 8, 17}), rows = in.below(14);
  OperatorCall call;
  call.tensors.push_back(
      fuzz.input(dtype, attributes.grouped ? Shape{rows, columns} : Shape{groups, rows, columns}));
  if (attributes.grouped) call.tensors.push_back(fuzz.input(index_dtype, {groups}));
  call.tensors.push_back(fuzz.output(dtype, {groups, columns}));
  const HostTensor& grad = call.tensors[kBiasGradY].host;
  const int64_t hostile = in.below(4);
  const FuzzData data = fuzz.data();
  Random random(in.bits());
  fill(grad, data, random);
  std::vector<int64_t> entries;
  if (attributes.grouped) {
    HostTensor& index = call.tensors[kBiasGroups].host;
    int64_t end = 0;
    for (int64_t j = 0; j < index.numel(); ++j) {
      const int64_t size = j + 1 == groups && random.chance(2) ? rows - end : random.below(rows - end + 1);
      end += size;
      const int64_t honest = attributes.index_type == 0 ? end : size;
      index.set_bits(
          j, static_cast<uint64_t>(hostile > 0 && random.chance(4) ? index_near(rows + 1, hostile, random)
                                                                   : honest));
    }
    // Views may repeat elements: their actual values count.
    for (int64_t j = 0; j < index.numel(); ++j) {
      const uint64_t bits = index.bits(j);
      entries.push_back(index_dtype == ACL_INT32 ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                                                 : static_cast<int64_t>(bits));
    }
  }
  call.phase1 = bias_phase1(attributes);
  call.phase2 = aclnnGroupedBiasAddGradV2;
  call.writes_despite_fault = false;
  call.wanted.resize(call.tensors.size());
  std::vector<std::byte>& wanted = call.wanted.back();
  if (grad.numel() == 0) {
    wanted.resize(static_cast<size_t>(groups * columns * element_bytes(dtype)));
    return call;
  }
  const FuzzedGroups checked = check_groups(attributes, entries, rows);
  if (checked.first_wrong >= 0) {
    call.fault = "groupIdxOptional[" + std::to_string(checked.first_wrong) +
                 "] = " + std::to_string(entries[static_cast<size_t>(checked.first_wrong)]);
    return call;
  }
  if (attributes.grouped && fuzz_mode() == FuzzMode::strict && checked.end < rows && groups > 0)
    call.fault = "ends at row " + std::to_string(checked.end);
  std::vector<float> terms;
  for (const BiasGroup& group : bias_groups(attributes, entries, groups, rows)) {
    for (int64_t column = 0; column < columns; ++column) {
      bias_terms(grad, group, column, columns, terms);
      add_bits(wanted, encode(dtype, static_cast<double>(prescribed_sum(terms))), element_bytes(dtype));
    }
  }
  return call;
}

}  // namespace openaclnn_test
