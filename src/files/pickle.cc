// Runs the stack machine of pickles (https://docs.python.org/3/library/pickletools.html) on values that are only
// described. Calls of functions are not executed: the few known ones describe a tensor or an empty dictionary.
#include "files/pickle.h"

#include <fmt/core.h>

#include <map>

#include "files/errors.h"
#include "files/stored_tensor.h"

namespace openaclnn_files {

namespace {

constexpr size_t kMostValues = size_t{1} << 20;
constexpr const char* kRemedy = "save one tensor with torch.save(tensor.detach().cpu(), file)";

struct TorchName {
  std::string_view name;
  aclDataType dtype;
};
constexpr TorchName kStorages[] = {{"DoubleStorage", ACL_DOUBLE},
                                   {"FloatStorage", ACL_FLOAT},
                                   {"HalfStorage", ACL_FLOAT16},
                                   {"BFloat16Storage", ACL_BF16},
                                   {"LongStorage", ACL_INT64},
                                   {"IntStorage", ACL_INT32},
                                   {"ShortStorage", ACL_INT16},
                                   {"CharStorage", ACL_INT8},
                                   {"ByteStorage", ACL_UINT8},
                                   {"BoolStorage", ACL_BOOL},
                                   {"ComplexFloatStorage", ACL_COMPLEX64},
                                   {"ComplexDoubleStorage", ACL_COMPLEX128}};
// Dtypes without a class of storages.
constexpr TorchName kUnsignedDtypes[] = {
    {"uint16", ACL_UINT16}, {"uint32", ACL_UINT32}, {"uint64", ACL_UINT64}};

enum class Kind {
  none,
  boolean,
  integer,
  real,
  text,
  tuple,
  list,
  dict,
  storage_class,
  dtype,
  untyped_class,
  rebuild_tensor,
  rebuild_tensor_v3,
  rebuild_parameter,
  ordered_dict,
  storage,
  tensor,
};

// Values refer to others by their number, so that neither copies nor destructors are recursive.
using Id = uint32_t;
struct Value {
  Kind kind = Kind::none;
  int64_t number = 0;  // booleans, integers; elements of storages
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::string_view text;  // of texts, and keys of storages
  std::vector<Id> items;  // of a dict: key, value, key, value, …
  size_t tensor = 0;
};

class Machine {
 public:
  explicit Machine(std::string_view pickle) : rest_(pickle) {}

  NamedTensors run() {
    while (step(take_byte())) {
    }
    if (stack_.size() != 1) throw malformed();
    return result(values_[stack_[0]]);
  }

 private:
  static BadInput malformed() { return BadInput("data.pkl of the file is malformed"); }
  static BadInput unsupported(const std::string& what) {
    return BadInput(fmt::format("data.pkl of the file has {}, which isn't accepted; {}", what, kRemedy));
  }

  std::string_view take(size_t bytes) {
    if (bytes > rest_.size()) throw BadInput("data.pkl of the file is truncated");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  uint8_t take_byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t take_number(size_t bytes) {
    const std::string_view taken = take(bytes);
    uint64_t value = 0;
    for (size_t k = 0; k < bytes; ++k) value |= uint64_t{static_cast<unsigned char>(taken[k])} << (8 * k);
    return value;
  }
  std::string_view take_line() {
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) throw BadInput("data.pkl of the file is truncated");
    const std::string_view line = take(end);
    take(1);
    return line;
  }

  void push(Value value) {
    if (values_.size() >= kMostValues)
      throw BadInput(fmt::format("data.pkl of the file has more than {} values", kMostValues));
    values_.push_back(std::move(value));
    push_id(static_cast<Id>(values_.size() - 1));
  }
  void push_id(Id id) {
    if (stack_.size() >= kMostValues)
      throw BadInput(fmt::format("data.pkl of the file has more than {} values", kMostValues));
    stack_.push_back(id);
  }
  void push_kind(Kind kind) { push({kind, 0, ACL_DT_UNDEFINED, {}, {}, 0}); }
  void push_number(Kind kind, int64_t number) { push({kind, number, ACL_DT_UNDEFINED, {}, {}, 0}); }
  void push_text(std::string_view text) { push({Kind::text, 0, ACL_DT_UNDEFINED, text, {}, 0}); }

  // Values below the last mark are out of reach.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Id pop() {
    if (stack_.size() <= floor()) throw malformed();
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  Id top() const {
    if (stack_.size() <= floor()) throw malformed();
    return stack_.back();
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) throw malformed();
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(std::vector<Id> items) {
    push({Kind::tuple, 0, ACL_DT_UNDEFINED, {}, std::move(items), 0});
  }
  void pop_tuple(size_t count) {
    std::vector<Id> items(count);
    for (size_t k = count; k > 0; --k) items[k - 1] = pop();
    push_tuple(std::move(items));
  }
  void append(Kind kind, const std::vector<Id>& items) {
    Value& target = values_[top()];
    if (target.kind != kind || (kind == Kind::dict && items.size() % 2 != 0)) throw malformed();
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void put(uint64_t key) { memo_[key] = top(); }
  void get(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) throw malformed();
    push_id(found->second);
  }

  int64_t number_of(Id id) const {
    if (values_[id].kind != Kind::integer) throw malformed();
    return values_[id].number;
  }
  std::vector<int64_t> numbers_of(Id id) const {
    if (values_[id].kind != Kind::tuple) throw malformed();
    if (values_[id].items.size() > kMostDims)
      throw BadInput(fmt::format("the tensor has {} dims; at most {} are accepted", values_[id].items.size(),
                                 kMostDims));
    std::vector<int64_t> numbers;
    for (const Id item : values_[id].items) numbers.push_back(number_of(item));
    return numbers;
  }

  void push_global(std::string_view module, std::string_view name) {
    if (module == "torch._utils" && name == "_rebuild_tensor_v2") return push_kind(Kind::rebuild_tensor);
    if (module == "torch._utils" && name == "_rebuild_tensor_v3") return push_kind(Kind::rebuild_tensor_v3);
    if (module == "torch._utils" && name == "_rebuild_parameter") return push_kind(Kind::rebuild_parameter);
    if (module == "collections" && name == "OrderedDict") return push_kind(Kind::ordered_dict);
    if ((module == "torch.storage" || module == "torch") && name == "UntypedStorage")
      return push_kind(Kind::untyped_class);
    if (module == "torch") {
      for (const TorchName& known : kStorages) {
        if (known.name == name) return push({Kind::storage_class, 0, known.dtype, {}, {}, 0});
      }
      for (const TorchName& known : kUnsignedDtypes) {
        if (known.name == name) return push({Kind::dtype, 0, known.dtype, {}, {}, 0});
      }
    }
    throw unsupported(fmt::format("the name {}.{}", shown(std::string(module)), shown(std::string(name))));
  }

  // ('storage', class, key, location, elements)
  void push_storage(Id id) {
    const std::vector<Id>& items = values_[id].items;
    if (values_[id].kind != Kind::tuple || items.size() != 5 || values_[items[0]].text != "storage")
      throw malformed();
    const Value &type = values_[items[1]], &key = values_[items[2]];
    if ((type.kind != Kind::storage_class && type.kind != Kind::untyped_class) || key.kind != Kind::text)
      throw malformed();
    push({Kind::storage, number_of(items[4]), type.dtype, key.text, {}, 0});
  }

  void reduce(Id function, Id arguments) {
    // The known functions have fewer; copies of longer tuples would be quadratic.
    constexpr size_t kMostArguments = 8;
    if (values_[arguments].kind != Kind::tuple || values_[arguments].items.size() > kMostArguments)
      throw malformed();
    const std::vector<Id> given = values_[arguments].items;
    switch (values_[function].kind) {
      case Kind::ordered_dict:
        if (!given.empty()) throw unsupported("an OrderedDict made from arguments");
        return push_kind(Kind::dict);
      case Kind::rebuild_tensor: return push_tensor(given, false);
      case Kind::rebuild_tensor_v3: return push_tensor(given, true);
      case Kind::rebuild_parameter:
        if (given.empty() || values_[given[0]].kind != Kind::tensor) throw malformed();
        return push_id(given[0]);
      default: throw malformed();
    }
  }

  // (storage, offset, dims, strides, requires_grad, hooks[, dtype][, metadata])
  void push_tensor(const std::vector<Id>& given, bool has_dtype) {
    const size_t count = has_dtype ? 7 : 6;
    if (given.size() < count || given.size() > count + 1 || values_[given[0]].kind != Kind::storage)
      throw malformed();
    const bool has_metadata = given.size() > count && values_[given[count]].kind != Kind::none &&
                              !values_[given[count]].items.empty();
    if (has_metadata) throw unsupported("a tensor with a conjugate or negative bit");
    const Value& storage = values_[given[0]];
    PickledTensor tensor;
    tensor.storage = storage.text;
    tensor.dtype = has_dtype ? values_[given[6]].dtype : storage.dtype;
    tensor.offset = number_of(given[1]);
    tensor.dims = numbers_of(given[2]);
    tensor.strides = numbers_of(given[3]);
    if (tensor.dtype == ACL_DT_UNDEFINED || tensor.dims.size() != tensor.strides.size()) throw malformed();
    tensors_.push_back(std::move(tensor));
    push({Kind::tensor, 0, ACL_DT_UNDEFINED, {}, {}, tensors_.size() - 1});
  }

  void push_long(size_t bytes) {
    if (bytes > 8) throw unsupported("an integer of more than 64 bits");
    uint64_t value = take_number(bytes);
    const bool is_negative = bytes > 0 && bytes < 8 && ((value >> (8 * bytes - 1)) & 1) != 0;
    if (is_negative) value |= ~uint64_t{0} << (8 * bytes);
    push_number(Kind::integer, static_cast<int64_t>(value));
  }

  // Returns false at the end.
  bool step(uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const uint8_t version = take_byte(); version < 2 || version > 5)
          throw BadInput(fmt::format("data.pkl has pickle protocol {}; accepted are 2 to 5", version));
        return true;
      case 0x95: take(8); return true;  // FRAME
      case '.': return false;
      case '(': marks_.push_back(stack_.size()); return bounded_marks();
      case 'N': push_kind(Kind::none); return true;
      case 0x88: push_number(Kind::boolean, 1); return true;
      case 0x89: push_number(Kind::boolean, 0); return true;
      case 'J': push_number(Kind::integer, static_cast<int32_t>(take_number(4))); return true;
      case 'K': push_number(Kind::integer, static_cast<int64_t>(take_number(1))); return true;
      case 'M': push_number(Kind::integer, static_cast<int64_t>(take_number(2))); return true;
      case 0x8a: push_long(take_byte()); return true;
      case 'G': take(8), push_kind(Kind::real); return true;
      case 'X': push_text(take(take_number(4))); return true;
      case 0x8c: push_text(take(take_byte())); return true;
      case ')': push_tuple({}); return true;
      case 't': push_tuple(pop_to_mark()); return true;
      case 0x85: pop_tuple(1); return true;
      case 0x86: pop_tuple(2); return true;
      case 0x87: pop_tuple(3); return true;
      case ']': push_kind(Kind::list); return true;
      case '}': push_kind(Kind::dict); return true;
      case 'a': {
        const Id item = pop();
        append(Kind::list, {item});
        return true;
      }
      case 'e': append(Kind::list, pop_to_mark()); return true;
      case 's': {
        const Id item = pop(), key = pop();
        append(Kind::dict, {key, item});
        return true;
      }
      case 'u': append(Kind::dict, pop_to_mark()); return true;
      case 'q': put(take_byte()); return true;
      case 'r': put(take_number(4)); return true;
      case 0x94: put(memo_.size()); return true;  // MEMOIZE
      case 'h': get(take_byte()); return true;
      case 'j': get(take_number(4)); return true;
      case 'c': {
        const std::string_view module = take_line(), name = take_line();
        push_global(module, name);
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const Id name = pop(), module = pop();
        if (values_[name].kind != Kind::text || values_[module].kind != Kind::text) throw malformed();
        push_global(values_[module].text, values_[name].text);
        return true;
      }
      case 'Q': push_storage(pop()); return true;
      case 'R': {
        const Id arguments = pop(), function = pop();
        reduce(function, arguments);
        return true;
      }
      case 'b':  // BUILD: the attributes of a state_dict
        pop();
        if (values_[top()].kind != Kind::dict) throw malformed();
        return true;
      default: throw unsupported(fmt::format("the pickle opcode 0x{:02x}", opcode));
    }
  }

  bool bounded_marks() const {
    if (marks_.size() > kMostValues) throw malformed();
    return true;
  }

  NamedTensors result(const Value& object) const {
    if (object.kind == Kind::tensor) return {{"", tensors_[object.tensor]}};
    if (object.kind != Kind::dict) throw unsupported("an object that isn't a tensor");
    std::map<std::string_view, size_t> named;  // the last of equal keys, as Python does
    for (size_t k = 0; k < object.items.size(); k += 2) {
      const Value &key = values_[object.items[k]], &value = values_[object.items[k + 1]];
      if (key.kind == Kind::text && value.kind == Kind::tensor) named[key.text] = value.tensor;
    }
    if (named.empty()) throw unsupported("a dictionary without tensors");
    NamedTensors tensors;
    for (const auto& [name, number] : named) tensors.emplace_back(name, tensors_[number]);
    return tensors;
  }

  std::string_view rest_;
  std::vector<Value> values_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, Id> memo_;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

NamedTensors parse_pickle(std::string_view pickle) { return Machine(pickle).run(); }

}  // namespace openaclnn_files
