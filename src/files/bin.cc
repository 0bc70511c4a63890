// Finds dtype and shape of raw files.
#include "files/bin.h"

#include <fmt/core.h>
#include <algorithm>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/json.h"

namespace openaclnn_files {

namespace {

using nlohmann::json;

constexpr uint64_t kMostShapeFile = uint64_t{1} << 16;

// The numbers of dtypes in ATB's headers are those of aclDataType.
aclDataType atb_dtype(int64_t number) {
  switch (number) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_INT8:
    case ACL_INT32:
    case ACL_UINT8:
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_UINT32:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_BOOL:
    case ACL_BF16: return static_cast<aclDataType>(number);
    default: throw BadInput(fmt::format("the header has dtype {}, which no operator accepts", number));
  }
}

std::vector<int64_t> numbers_of(std::string_view text, const std::string& what) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size())
      throw BadInput(
          fmt::format("{} of the header isn't a list of integers: '{}'", what, shown(std::string(word))));
    if (numbers.size() == kMostDims)
      throw BadInput(fmt::format("{} of the header has more than {} entries", what, kMostDims));
    numbers.push_back(number);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return numbers;
}

void require_all_bytes(StoredTensor& tensor, uint64_t file_bytes, const char* where) {
  tensor.bytes = checked_bytes("the tensor", tensor.dtype, tensor.dims);
  if (tensor.bytes != file_bytes - tensor.begin)
    throw BadInput(fmt::format("{} describes {} bytes of elements, but the file has {}", where, tensor.bytes,
                               file_bytes - tensor.begin));
}

}  // namespace

StoredTensor parse_atb(std::string_view head, uint64_t file_bytes) {
  StoredTensor tensor;
  std::optional<int64_t> dtype;
  std::optional<std::vector<int64_t>> dims;
  std::string external;
  bool has_end = false;
  std::string_view rest = head;
  while (!has_end) {
    const size_t length = rest.find('\n');
    if (length == std::string_view::npos)
      throw BadInput("the file has neither a shape file FILE.json nor a text header that ends with $End=1");
    std::string_view line = rest.substr(0, length);
    rest.remove_prefix(length + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      throw BadInput("the file has neither a shape file FILE.json nor a text header of lines name=value");
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "dtype") {
      const std::vector<int64_t> numbers = numbers_of(value, "dtype");
      if (numbers.size() != 1) throw BadInput("dtype of the header isn't one number");
      dtype = numbers[0];
    } else if (name == "dims") {
      dims = numbers_of(value, "dims");
    } else if (name == "data") {
      external = value;
    }
    has_end = name == "$End";
  }
  if (!dtype || !dims) throw BadInput("the header lacks dtype or dims");
  tensor.dtype = atb_dtype(*dtype);
  tensor.dims = *dims;
  tensor.begin = head.size() - rest.size();
  if (!external.empty() && tensor.begin == file_bytes &&
      checked_bytes("the tensor", tensor.dtype, tensor.dims) > 0)
    throw BadInput(fmt::format("the elements are in another file, '{}'; convert it with `msprobe parse`",
                               shown(external)));
  require_all_bytes(tensor, file_bytes, "the header");
  return tensor;
}

StoredTensor parse_shape_file(std::string_view text, uint64_t file_bytes) {
  JsonRules flat;
  flat.most_depth = 2;
  json object;
  try {
    object = parse_json(text, flat);
  } catch (const JsonError& error) {
    throw BadInput(error.kind == JsonError::depth ? "the shape file is nested too deeply"
                                                  : "the shape file isn't JSON");
  }
  constexpr const char* kExample = R"({"dtype": "float16", "shape": [2, 3]})";
  if (!object.is_object() || !object.contains("dtype") || !object["dtype"].is_string() ||
      !object.contains("shape") || !object["shape"].is_array())
    throw BadInput(fmt::format("the shape file isn't an object such as {}", kExample));
  StoredTensor tensor;
  const std::string name = object["dtype"];
  tensor.dtype = dtype_named(name);
  if (tensor.dtype == ACL_DT_UNDEFINED)
    throw BadInput(fmt::format("the shape file has the unrecognized dtype '{}'", shown(name)));
  for (const json& dim : object["shape"]) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      throw BadInput("the shape in the shape file has an entry that isn't an integer from 0 to 2^63 - 1");
    if (tensor.dims.size() == kMostDims)
      throw BadInput(fmt::format("the shape in the shape file has more than {} dims", kMostDims));
    tensor.dims.push_back(dim.get<int64_t>());
  }
  require_all_bytes(tensor, file_bytes, "the shape file");
  return tensor;
}

StoredTensor read_shape_file(const std::string& path, uint64_t file_bytes) {
  const OpenFile opened(path);
  if (opened.size() > kMostShapeFile)
    throw BadInput(
        fmt::format("its shape file has {} bytes; at most {} are accepted", opened.size(), kMostShapeFile));
  return parse_shape_file(opened.head(0, kMostShapeFile), file_bytes);
}

StoredTensor read_bin_header(const Source& file, const std::string& path) {
  const std::string shape_file = std::filesystem::path(path).replace_extension(".json").string();
  std::error_code ignored;
  if (!std::filesystem::exists(shape_file, ignored))
    return parse_atb(file.head(0, kMostBinHeader), file.size());
  return read_shape_file(shape_file, file.size());
}

}  // namespace openaclnn_files
