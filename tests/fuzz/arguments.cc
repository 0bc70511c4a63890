// Fuzz target: phase 1 of every operator with any number of invalid arguments, against the model of the
// schemas.
#include <algorithm>
#include <cstdlib>

#include "fuzz/found.h"
#include "fuzz/input.h"
#include "ops/room_schemas.h"
#include "support/schema_model.h"

using namespace openaclnn_test;

namespace {

int64_t number(Input& in) {
  const uint8_t choice = in.byte();
  if (choice < 128) return choice % 10;
  if (choice < 240) return kBorders[choice % std::size(kBorders)];
  return static_cast<int64_t>(in.bits());
}

int64_t near(Input& in, int64_t value) {
  const uint8_t choice = in.byte();
  return choice < 200 ? static_cast<int64_t>(static_cast<uint64_t>(value) + choice % 5 - 2) : number(in);
}

void spoil_tensor(Input& in, std::vector<TensorArgument>& tensors) {
  TensorArgument& t = tensors[in.byte() % tensors.size()];
  const bool is_list_element = t.name.find('[') != std::string::npos;
  switch (in.below(9)) {
    case 0:
      if (!t.dims.empty()) t.dims[in.byte() % t.dims.size()] = number(in);
      return;
    case 1:
      if (!t.dims.empty()) {
        int64_t& dim = t.dims[in.byte() % t.dims.size()];
        dim = near(in, dim);
      }
      return;
    case 2: t.dims.resize(static_cast<size_t>(in.below(11)), number(in)); break;
    case 3:
      t.strides.resize(t.dims.size());
      for (int64_t& stride : t.strides) stride = number(in);
      return;
    case 4: t.offset = number(in); return;
    case 5: t.dtype = static_cast<aclDataType>(in.below(48) - 2); return;
    case 6: t.format = static_cast<aclFormat>(in.below(64) - 2); return;
    case 7:
      t.handle =
          in.pick({Handle::live, Handle::stale, Handle::foreign_bits, Handle::other_kind, Handle::null});
      if (t.handle == Handle::null && is_list_element) t.handle = Handle::stale;
      return;
    default: t.dims = tensors[in.byte() % tensors.size()].dims; break;
  }
  t.strides.clear();
}

void spoil_array(Input& in, IntArrayArgument& array) {
  switch (in.below(4)) {
    case 0: array.values.resize(static_cast<size_t>(in.below(6)), number(in)); return;
    case 1:
      if (!array.values.empty()) {
        int64_t& value = array.values[in.byte() % array.values.size()];
        value = near(in, value);
      }
      return;
    case 2:
      array.handle = in.pick({Handle::null, Handle::stale, Handle::foreign_bits, Handle::other_kind});
      return;
    default: std::ranges::sort(array.values); return;
  }
}

// Returns false outside the model: faults of a list as a whole.
bool spoil(Input& in, const Schema& schema, CallArguments& call) {
  switch (in.below(8)) {
    case 0:
    case 1:
    case 2: spoil_tensor(in, call.tensors); return true;
    case 3:
      if (!schema.attributes.empty()) {
        int64_t& value = call.numbers[in.pick(schema.attributes)];
        value = near(in, value);
      }
      return true;
    case 4:
      if (!call.reals.empty()) call.reals[in.byte() % call.reals.size()] = in.pick(kRealBorders);
      if (!call.flags.empty()) call.flags[0] = in.chance();
      return true;
    case 5:
      if (call.array) spoil_array(in, *call.array);
      return true;
    case 6:
      if (call.layout)
        call.layout = in.pick({"TND", "TN", "", "BSND", "tnd", "a very long layout that is cut"});
      if (in.below(8) == 0) call.has_workspace_pointer = false;
      if (in.below(8) == 0) call.has_executor_pointer = false;
      return true;
    default:
      if (!schema.mistakes.empty()) {
        const std::vector<int64_t> numbers = call.numbers;
        in.pick(schema.mistakes).apply(call);
        for (size_t k = 0; k < numbers.size(); ++k) {
          if (numbers[k] != call.numbers[k] && std::ranges::count(schema.attributes, k) == 0) return false;
        }
      }
      return true;
  }
}

void require_line(const std::string& text, const Schema& schema, int code) {
  const bool has_form = text.starts_with(schema.function + ": ") && text.ends_with("]") &&
                        text.find(" [" + std::to_string(code) + " ") != std::string::npos &&
                        text.find('\n') == std::string::npos && text.size() < 1024;
  if (!has_form) found("an error line of another form: " + text);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("OPENACLNN_NUM_THREADS", "1", 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Schema>& schemas = *new std::vector<Schema>(all_schemas());
  Input in(data, size);
  const Schema& schema = in.pick(schemas);
  CallArguments call = schema.valid;
  bool has_model = true;
  for (int64_t spoilt = 1 + in.below(4); spoilt > 0; --spoilt)
    has_model = spoil(in, schema, call) && has_model;
  // The contents of arguments that the valid call omits do not matter, but strides must fit the dims in any
  // case.
  for (TensorArgument& t : call.tensors) {
    if (t.strides.size() != t.dims.size()) t.strides.clear();
  }

  const Outcome outcome = schema.run(call);
  if (outcome.phase1 != 0) {
    require(outcome.out_values_untouched, "a phase 1 that failed changed its out values");
    require_line(outcome.error, schema, outcome.phase1);
  } else {
    require(outcome.error.empty(), "a success left error text");
  }
  if (!has_model) return 0;
  const Verdict verdict = verdict_of(schema, call);
  if (outcome.phase1 == verdict.code) return 0;
  // Cases outside the model: sizes beyond any memory, and limits that the environment sets.
  const auto says = [&](const char* part) { return outcome.error.find(part) != std::string::npos; };
  const bool is_open =
      (outcome.phase1 == 561101 && says("Failed to allocate")) ||
      (outcome.phase1 == kInvalid &&
       (says("too many elements") || says("OPENACLNN_LIMITS=vendor") || says("OPENACLNN_CHECK=strict")));
  if (verdict.code == 0 && is_open) return 0;
  found("phase 1 returned " + std::to_string(outcome.phase1) + ", the model says " +
        std::to_string(verdict.code) + " (" + verdict.part + "): " + outcome.error);
}
