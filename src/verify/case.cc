// Creates data for cases and runs them.
#include "verify/case.h"

#include <algorithm>
#include <cmath>

#include "verify/number.h"
#include "verify/random.h"

namespace openaclnn_verify {

namespace {

void fill(HostTensor& tensor, const TensorCase& spec, uint64_t seed) {
  Random random(seed);
  const int low = static_cast<int>(spec.low);
  const int high = static_cast<int>(spec.high);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    switch (spec.values) {
      case Values::symmetric: tensor.set(i, random.signed_magnitude(low, high)); break;
      case Values::positive: tensor.set(i, random.magnitude(low, high)); break;
      case Values::whole: tensor.set(i, static_cast<double>(random.between(spec.low, spec.high))); break;
      case Values::listed:
        tensor.set(i, std::ldexp(static_cast<double>(spec.listed.at(static_cast<size_t>(i))), low));
        break;
      case Values::raw_bits:
        for (int64_t byte = 0; byte < element_bytes(spec.dtype); ++byte) {
          tensor.element(i)[byte] = static_cast<std::byte>(random.bits() >> 40);
        }
        break;
      case Values::none: return;
    }
  }
}

HostTensor contiguous(const TensorCase& spec, const HostTensor& tensor) {
  return spec.layout == Layout::contiguous ? tensor.alias() : tensor.copy(Layout::contiguous);
}

}  // namespace

RecordedCall Case::recorded() const {
  RecordedCall call = attributes;
  for (const TensorCase& tensor : tensors) {
    // Entries of a list are "grads[0]", "grads[1]" and so on.
    const size_t bracket = tensor.name.find('[');
    call.tensors.insert(tensor.name.substr(0, bracket));
    if (bracket != std::string::npos)
      call.list_length = static_cast<size_t>(std::stoll(tensor.name.substr(bracket + 1))) + 1;
  }
  return call;
}

std::vector<HostTensor> make_tensors(const Case& c, Placement placement) {
  std::vector<HostTensor> tensors;
  for (const TensorCase& spec : c.tensors) {
    tensors.emplace_back(spec.dtype, spec.dims, spec.layout, placement);
    fill(tensors.back(), spec, hash_text(c.name) ^ hash_text(spec.name));
  }
  return tensors;
}

std::vector<HostTensor> before_call(const Case& c, const std::vector<HostTensor>& tensors) {
  std::vector<HostTensor> before;
  for (size_t k = 0; k < tensors.size(); ++k) {
    const bool changes = c.tensors[k].role == Role::reference;
    before.push_back(changes ? tensors[k].copy(Layout::contiguous) : contiguous(c.tensors[k], tensors[k]));
  }
  return before;
}

void judge_case(const Case& c, const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                Judge& judge) {
  std::vector<HostTensor> results;
  for (size_t k = 0; k < after.size(); ++k) {
    const bool is_input = c.tensors[k].role == Role::input;
    results.push_back(is_input ? before[k].alias() : contiguous(c.tensors[k], after[k]));
  }
  judge.start_case(c.name);
  c.judge(before, results, judge);
}

Outcome run_case(const Case& c, const std::vector<HostTensor>& tensors, const RunOptions& options) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
  return run_operator(pointers, c.phase1, c.phase2, options);
}

uint64_t hash_of_results(const Case& c, const std::vector<HostTensor>& tensors) {
  uint64_t hash = hash_text(c.name);
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role == Role::input) continue;
    const std::vector<std::byte> bytes = tensors[k].all_bytes();
    hash = hash_bytes(bytes.data(), bytes.size(), hash);
  }
  return hash;
}

int64_t count_telling(const HostTensor& tensor) {
  const bool is_real = float_format(tensor.dtype()) != nullptr;
  const HostTensor plain = tensor.copy(Layout::contiguous);
  int64_t telling = 0;
  for (int64_t i = 0; i < plain.numel(); ++i) {
    const std::byte* const element = plain.element(i);
    telling += is_real ? std::isfinite(plain.get(i)) && plain.get(i) != 0
                       : std::any_of(element, element + element_bytes(plain.dtype()),
                                     [](std::byte b) { return b != std::byte{0}; });
  }
  return telling;
}

}  // namespace openaclnn_verify
