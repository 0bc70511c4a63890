// The table of (parameter x mistake): every parameter of a schema with every value that a caller might
// wrongly pass.
#include <algorithm>
#include <string>
#include <utility>

#include "support/schema_model.h"

namespace openaclnn_test {

namespace {

class Table {
 public:
  explicit Table(const Schema& schema) : schema_(schema) {}

  // apply(call) changes one parameter.
  template <class Apply>
  void add(std::string parameter, std::string mistake, const Apply& apply) {
    Cell cell{std::move(parameter), std::move(mistake), schema_.valid};
    apply(cell.call);
    cells_.push_back(std::move(cell));
  }

  void add_pointers() {
    add("workspaceSize", "NULL", [](CallArguments& a) { a.has_workspace_pointer = false; });
    add("executor", "NULL", [](CallArguments& a) { a.has_executor_pointer = false; });
  }

  void add_tensor(size_t k) {
    const TensorArgument& valid = schema_.valid.tensors[k];
    const auto with = [&](const std::string& mistake, const auto& apply) {
      add(valid.name, mistake, [&](CallArguments& a) { apply(a.tensors[k]); });
    };
    for (const auto& [state, mistake] : kHandles) {
      // A NULL list and the handle of a list are mistakes of the schema; NULL cannot be an element.
      if (state == Handle::null && is_list_element(valid)) continue;
      with(mistake, [state = state](TensorArgument& t) { t.handle = state; });
    }
    if (valid.handle == Handle::null) return;
    for (int dtype = -2; dtype <= 45; ++dtype)
      with("dtype " + std::to_string(dtype),
           [=](TensorArgument& t) { t.dtype = static_cast<aclDataType>(dtype); });
    for (int format = -2; format <= 60; ++format)
      with("format " + std::to_string(format),
           [=](TensorArgument& t) { t.format = static_cast<aclFormat>(format); });
    for (const int64_t offset : kBorders)
      with("offset " + std::to_string(offset), [=](TensorArgument& t) { t.offset = offset; });
    for (size_t rank = 0; rank <= 9; ++rank) {
      with("rank " + std::to_string(rank), [=](TensorArgument& t) {
        const size_t kept = std::min(rank, t.dims.size());
        Shape dims(rank - kept, 1);
        dims.insert(dims.end(), t.dims.end() - static_cast<std::ptrdiff_t>(kept), t.dims.end());
        t.dims = dims;
      });
    }
    for (size_t dim = 0; dim < valid.dims.size(); ++dim) add_dim(k, dim);
  }

  void add_dim(size_t k, size_t dim) {
    const TensorArgument& valid = schema_.valid.tensors[k];
    const std::string of = " of dim " + std::to_string(dim);
    const auto with = [&](const std::string& mistake, const auto& apply) {
      add(valid.name, mistake + of, [&](CallArguments& a) { apply(a.tensors[k]); });
    };
    std::vector<int64_t> extents(std::begin(kBorders), std::end(kBorders));
    extents.insert(extents.end(), {valid.dims[dim] - 1, valid.dims[dim] + 1, 2 * valid.dims[dim]});
    for (const int64_t extent : extents)
      with("extent " + std::to_string(extent), [=](TensorArgument& t) { t.dims[dim] = extent; });
    Shape strides(valid.dims.size(), 1);
    for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * valid.dims[d];
    for (const int64_t stride : kBorders) {
      with("stride " + std::to_string(stride), [=](TensorArgument& t) {
        t.strides = strides;
        t.strides[dim] = stride;
      });
    }
  }

  void add_array() {
    const IntArrayArgument& valid = *schema_.valid.array;
    for (const auto& [state, mistake] : kHandles)
      add(valid.name, mistake, [state = state](CallArguments& a) { a.array->handle = state; });
    add(valid.name, "empty", [](CallArguments& a) { a.array->values.clear(); });
    add(valid.name, "one entry more",
        [](CallArguments& a) { a.array->values.push_back(a.array->values.back()); });
    add(valid.name, "reversed", [](CallArguments& a) { std::ranges::reverse(a.array->values); });
    for (size_t at = 0; at < valid.values.size(); ++at) {
      for (const int64_t value : kBorders) {
        add(valid.name, "entry " + std::to_string(at) + " = " + std::to_string(value),
            [=](CallArguments& a) { a.array->values[at] = value; });
      }
      for (const int64_t change : {-1, 1}) {
        add(valid.name, "entry " + std::to_string(at) + " changed by " + std::to_string(change),
            [=](CallArguments& a) { a.array->values[at] += change; });
      }
    }
  }

  void add_layout() {
    add("layout", "NULL", [](CallArguments& a) { a.layout.reset(); });
    for (const std::string& text : {std::string(), std::string("TN"), std::string("tnd"), std::string("TND "),
                                    std::string("BSND"), std::string("\n\x80\xFF"), std::string(5000, 'T')}) {
      add("layout", "\"" + text.substr(0, 8) + "\"", [&](CallArguments& a) { a.layout = text; });
    }
  }

  void add_attributes() {
    for (const size_t number : schema_.attributes) {
      const int64_t valid = schema_.valid.numbers[number];
      std::vector<int64_t> values(std::begin(kBorders), std::end(kBorders));
      values.insert(values.end(), {valid - 1, valid + 1, valid + (int64_t{1} << 32)});
      for (const int64_t value : values) {
        add(schema_.number_names[number], std::to_string(value),
            [=](CallArguments& a) { a.numbers[number] = value; });
      }
    }
    for (size_t real = 0; real < schema_.valid.reals.size(); ++real) {
      for (const double value : kRealBorders)
        add("real " + std::to_string(real), std::to_string(value),
            [=](CallArguments& a) { a.reals[real] = value; });
    }
    for (size_t flag = 0; flag < schema_.valid.flags.size(); ++flag)
      add("flag " + std::to_string(flag), "inverted",
          [=](CallArguments& a) { a.flags[flag] = !a.flags[flag]; });
  }

  std::vector<Cell> take() { return std::move(cells_); }

 private:
  static constexpr std::pair<Handle, const char*> kHandles[] = {
      {Handle::null, "NULL"},
      {Handle::stale, "a destroyed handle"},
      {Handle::foreign_bits, "bits that are not a handle"},
      {Handle::other_kind, "a handle of another kind"}};

  static bool is_list_element(const TensorArgument& tensor) {
    return tensor.name.find('[') != std::string::npos;
  }

  const Schema& schema_;
  std::vector<Cell> cells_;
};

}  // namespace

std::vector<Cell> all_cells(const Schema& schema) {
  Table table(schema);
  table.add_pointers();
  for (size_t k = 0; k < schema.valid.tensors.size(); ++k) table.add_tensor(k);
  if (schema.valid.array) table.add_array();
  if (schema.valid.layout) table.add_layout();
  table.add_attributes();
  return table.take();
}

}  // namespace openaclnn_test
