// Reads and writes the header of a .safetensors file: eight bytes of length, then a JSON object.
#include "files/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/errors.h"
#include "files/json.h"

namespace openaclnn_files {

namespace {

using nlohmann::json;

struct NamedDtype {
  const char* name;
  aclDataType dtype;
};
constexpr NamedDtype kDtypes[] = {
    {"F64", ACL_DOUBLE}, {"F32", ACL_FLOAT}, {"F16", ACL_FLOAT16}, {"BF16", ACL_BF16},    {"I64", ACL_INT64},
    {"I32", ACL_INT32},  {"I16", ACL_INT16}, {"I8", ACL_INT8},     {"U64", ACL_UINT64},   {"U32", ACL_UINT32},
    {"U16", ACL_UINT16}, {"U8", ACL_UINT8},  {"BOOL", ACL_BOOL},   {"C64", ACL_COMPLEX64}};

const char* name_of(aclDataType dtype) {
  for (const NamedDtype& known : kDtypes) {
    if (known.dtype == dtype) return known.name;
  }
  return nullptr;
}

std::string accepted_dtypes() {
  std::string names;
  for (const NamedDtype& known : kDtypes) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

json parse_object(std::string_view text) {
  JsonRules rules;
  rules.most_depth = 3;
  rules.unique_names = true;
  try {
    json parsed = parse_json(text, rules);
    if (!parsed.is_object()) throw BadInput("the header isn't a JSON object");
    return parsed;
  } catch (const JsonError& error) {
    if (error.kind == JsonError::depth) throw BadInput("the header is nested too deeply");
    if (error.kind == JsonError::repeated_name)
      throw BadInput(fmt::format("the header has the name '{}' twice", shown(error.what())));
    throw BadInput("the header isn't JSON");
  }
}

int64_t natural(const json& value, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
    throw BadInput(fmt::format("{} has a value that isn't an integer from 0 to 2^63 - 1", what));
  return value.get<int64_t>();
}

StoredTensor read_tensor(const std::string& name, const json& entry, uint64_t data_begin,
                         uint64_t data_bytes) {
  const std::string what = fmt::format("tensor '{}'", shown(name));
  const auto member = [&](const char* key) -> const json& {
    if (!entry.is_object() || !entry.contains(key)) throw BadInput(fmt::format("{} lacks '{}'", what, key));
    return entry[key];
  };
  StoredTensor tensor;
  tensor.name = name;
  const json &dtype = member("dtype"), &shape = member("shape"), &offsets = member("data_offsets");
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    throw BadInput(fmt::format(
        "{} has a dtype that isn't a string, a shape that isn't an array, or data_offsets that aren't a pair",
        what));
  for (const NamedDtype& known : kDtypes) {
    if (dtype.get<std::string>() == known.name) tensor.dtype = known.dtype;
  }
  if (shape.size() > kMostDims) throw BadInput(fmt::format("{} has more than {} dims", what, kMostDims));
  for (const json& dim : shape) tensor.dims.push_back(natural(dim, "the shape of " + what));
  const auto begin = static_cast<uint64_t>(natural(offsets[0], "data_offsets of " + what));
  const auto end = static_cast<uint64_t>(natural(offsets[1], "data_offsets of " + what));
  if (begin > end || end > data_bytes)
    throw BadInput(fmt::format("{} has data_offsets [{}, {}], but the file has {} bytes of data", what, begin,
                               end, data_bytes));
  tensor.bytes = end - begin;
  tensor.begin = data_begin + begin;
  if (tensor.dtype == ACL_DT_UNDEFINED) return tensor;
  if (const uint64_t bytes = checked_bytes(what, tensor.dtype, tensor.dims); bytes != tensor.bytes) {
    throw BadInput(fmt::format("{} has {} bytes according to its shape, but {} according to its data_offsets",
                               what, bytes, tensor.bytes));
  }
  return tensor;
}

// The format allows neither gaps nor overlaps: a file that has them was damaged, or hides data.
void require_contiguous(std::vector<StoredTensor> tensors, uint64_t data_begin, uint64_t data_bytes) {
  std::ranges::sort(tensors, {}, [](const StoredTensor& t) { return std::pair(t.begin, t.bytes); });
  uint64_t end = data_begin;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin != end)
      throw BadInput(
          fmt::format("tensor '{}' begins at byte {} of the data; the tensors before it end at byte {}",
                      shown(tensor.name), tensor.begin - data_begin, end - data_begin));
    end += tensor.bytes;
  }
  if (end != data_begin + data_bytes)
    throw BadInput(fmt::format("the tensors have {} bytes, but the file has {} bytes of data",
                               end - data_begin, data_bytes));
}

void require_texts(const json& metadata) {
  const auto is_text = [](const json& value) { return value.is_string(); };
  if (!metadata.is_object() || !std::ranges::all_of(metadata, is_text))
    throw BadInput("__metadata__ isn't an object of strings");
}

}  // namespace

bool has_safetensors_name(aclDataType dtype) { return name_of(dtype) != nullptr; }

std::vector<StoredTensor> parse_safetensors(std::string_view head, uint64_t file_bytes) {
  if (head.size() < 8)
    throw BadInput(fmt::format("the file has {} bytes; a .safetensors file has at least 8", head.size()));
  uint64_t length = 0;
  for (size_t k = 0; k < 8; ++k) length |= uint64_t{static_cast<unsigned char>(head[k])} << (8 * k);
  if (length > kMostSafetensorsHeader)
    throw BadInput(
        fmt::format("the header has {} bytes; at most {} are accepted", length, kMostSafetensorsHeader));
  if (head.size() < 8 + length) throw BadInput("the file ends within the header");
  const json object = parse_object(head.substr(8, length));
  std::vector<StoredTensor> tensors;
  const uint64_t data_begin = 8 + length, data_bytes = file_bytes - data_begin;
  for (const auto& [name, entry] : object.items()) {
    if (name == "__metadata__") {
      require_texts(entry);
    } else {
      tensors.push_back(read_tensor(name, entry, data_begin, data_bytes));
    }
  }
  require_contiguous(tensors, data_begin, data_bytes);
  return tensors;
}

StoredTensor read_safetensors_header(const Source& file, const std::string& name) {
  StoredTensor chosen = choose_tensor(parse_safetensors(file.head(0, kSafetensorsHead), file.size()), name);
  if (chosen.dtype == ACL_DT_UNDEFINED)
    throw BadInput(fmt::format("tensor '{}' has a dtype that no operator accepts; accepted are {}",
                               shown(chosen.name), accepted_dtypes()));
  return chosen;
}

std::string safetensors_header(std::span<StoredTensor> tensors) {
  json object = json::object();
  uint64_t at = 0;
  for (StoredTensor& tensor : tensors) {
    tensor.begin = at;
    at += tensor.bytes;
    object[tensor.name] = {
        {"dtype", name_of(tensor.dtype)}, {"shape", tensor.dims}, {"data_offsets", {tensor.begin, at}}};
  }
  std::string text = object.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the elements
  for (StoredTensor& tensor : tensors) tensor.begin += 8 + text.size();
  std::string length;
  for (size_t k = 0; k < 8; ++k) length += static_cast<char>(text.size() >> (8 * k));
  return length + text;
}

}  // namespace openaclnn_files
