// Reads the header of a .npy file: a Python dictionary with the three keys descr, fortran_order and shape.
#include "files/npy.h"

#include <fmt/core.h>

#include <cctype>

#include "base/dtype.h"
#include "base/npy_header.h"
#include "files/errors.h"

namespace openaclnn_files {

namespace {

// The text of the dictionary, read sequentially.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_blanks();
    if (text_.empty() || text_[0] != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) throw BadInput(fmt::format("the header lacks an expected '{}'", wanted));
  }
  // Returns whether the dtype is a list of fields or has dims of its own.
  bool is_structure() {
    skip_blanks();
    return text_.starts_with('[') || text_.starts_with('(');
  }
  std::string string() {
    skip_blanks();
    const char quote = !text_.empty() && text_[0] == '"' ? '"' : '\'';
    expect(quote);
    const size_t end = text_.find(quote);
    if (end == std::string_view::npos) throw BadInput("the header has an unterminated string");
    const std::string found(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    if (found.find('\\') != std::string::npos)
      throw BadInput("the header has a string with an escape sequence, which isn't accepted");
    return found;
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    throw BadInput("fortran_order in the header is neither True nor False");
  }
  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < text_.size() && std::isdigit(static_cast<unsigned char>(text_[digits])) != 0; ++digits) {
      const int digit = text_[digits] - '0';
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
        throw BadInput("the shape in the header has a dim above 2^63 - 1");
    }
    if (digits == 0) throw BadInput("the shape in the header has an entry that isn't a number");
    text_.remove_prefix(digits);
    return value;
  }
  void expect_end() {
    skip_blanks();
    if (!text_.empty()) throw BadInput("the header has text after the dictionary");
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_[0])) != 0) text_.remove_prefix(1);
  }

  std::string_view text_;
};

aclDataType dtype_of(const std::string& name) {
  // Other writers use '=' or '|' if the byte order is the machine's or has no meaning.
  const std::string plain = name.empty() ? "" : name.substr(1);
  for (int value = 0; value < 64; ++value) {
    const auto dtype = static_cast<aclDataType>(value);
    const char* const type = openaclnn::npy_type(dtype);
    if (type == nullptr || plain != type + 1) continue;
    const bool is_big_endian = name[0] == '>' && openaclnn::dtype_size(dtype) > 1;
    if (is_big_endian)
      throw BadInput(
          fmt::format("dtype {} is big-endian; save the array in little-endian order", shown(name)));
    if (name[0] == '<' || name[0] == '|' || name[0] == '=' || name[0] == '>') return dtype;
  }
  throw BadInput(fmt::format("no operator accepts dtype '{}'", shown(name)));
}

std::vector<int64_t> read_shape(Literal& literal) {
  std::vector<int64_t> dims;
  literal.expect('(');
  while (!literal.take(')')) {
    if (dims.size() == kMostDims)
      throw BadInput(fmt::format("the shape in the header has more than {} dims", kMostDims));
    dims.push_back(literal.number());
    if (literal.take(',')) continue;
    if (dims.size() == 1)
      throw BadInput(fmt::format("the shape in the header is ({}), which isn't a tuple; it must be ({},)",
                                 dims[0], dims[0]));
    literal.expect(')');
    break;
  }
  return dims;
}

StoredTensor read_dictionary(std::string_view text) {
  Literal literal(text);
  StoredTensor tensor;
  bool has_descr = false, has_order = false, has_shape = false;
  const auto once = [](bool& seen, const std::string& key) {
    if (seen) throw BadInput(fmt::format("the header has the key '{}' twice", key));
    seen = true;
  };
  literal.expect('{');
  while (!literal.take('}')) {
    const std::string key = literal.string();
    literal.expect(':');
    if (key == "descr") {
      once(has_descr, key);
      if (literal.is_structure())
        throw BadInput("the dtype is a structure; save each field as its own array, such as array['name']");
      tensor.dtype = dtype_of(literal.string());
    } else if (key == "fortran_order") {
      once(has_order, key);
      tensor.is_column_major = literal.boolean();
    } else if (key == "shape") {
      once(has_shape, key);
      tensor.dims = read_shape(literal);
    } else {
      throw BadInput(fmt::format(
          "the header has the unrecognized key '{}'; expected descr, fortran_order and shape", shown(key)));
    }
    if (literal.take(',')) continue;
    literal.expect('}');
    break;
  }
  literal.expect_end();
  if (!has_descr || !has_order || !has_shape)
    throw BadInput("the header lacks one of the keys descr, fortran_order and shape");
  return tensor;
}

}  // namespace

StoredTensor parse_npy(std::string_view head, uint64_t file_bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!head.starts_with(kMagic)) throw BadInput("the file doesn't start with the signature of .npy files");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(head[at])); };
  if (head.size() < 10) throw BadInput("the file ends within the header");
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    throw BadInput(fmt::format("the .npy format version is {}; accepted are 1 to 3", version));
  const size_t before = version == 1 ? 10 : 12;
  if (head.size() < before) throw BadInput("the file ends within the header");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMostNpyHeader)
    throw BadInput(fmt::format("the header has {} bytes; at most {} are accepted", length, kMostNpyHeader));
  if (head.size() < before + length) throw BadInput("the file ends within the header");
  StoredTensor tensor = read_dictionary(head.substr(before, length));
  tensor.begin = before + length;
  tensor.bytes = checked_bytes("the tensor", tensor.dtype, tensor.dims);
  if (tensor.bytes > file_bytes - tensor.begin) {
    throw BadInput(fmt::format("the header describes {} bytes of elements, but the file has {}", tensor.bytes,
                               file_bytes - tensor.begin));
  }
  return tensor;
}

StoredTensor read_npy_header(const Source& file) { return parse_npy(file.head(0, kNpyHead), file.size()); }

}  // namespace openaclnn_files
