// Translates error messages: their first words, then names of arguments and dtypes word by word.
#include "names.h"

#include <algorithm>
#include <cctype>

#include "argument_names.h"
#include "array_sources.h"

namespace openaclnn::python {

namespace {

// The dtypes that arrays have.
constexpr struct {
  aclDataType dtype;
  std::string_view name;
} kDtypes[] = {
    {ACL_FLOAT, "ACL_FLOAT"},   {ACL_FLOAT16, "ACL_FLOAT16"},     {ACL_BF16, "ACL_BF16"},
    {ACL_DOUBLE, "ACL_DOUBLE"}, {ACL_INT8, "ACL_INT8"},           {ACL_INT16, "ACL_INT16"},
    {ACL_INT32, "ACL_INT32"},   {ACL_INT64, "ACL_INT64"},         {ACL_UINT8, "ACL_UINT8"},
    {ACL_UINT16, "ACL_UINT16"}, {ACL_UINT32, "ACL_UINT32"},       {ACL_UINT64, "ACL_UINT64"},
    {ACL_BOOL, "ACL_BOOL"},     {ACL_COMPLEX64, "ACL_COMPLEX64"}, {ACL_COMPLEX128, "ACL_COMPLEX128"},
};

bool is_part_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view first_word(std::string_view text) {
  return text.substr(0, std::ranges::find_if_not(text, is_part_of_a_word) - text.begin());
}

// Removes `start` and an unsigned number from the front of the text. Returns whether they were there.
bool take_number(std::string_view& text, const std::string& start) {
  if (!text.starts_with(start)) return false;
  const size_t end = text.find_first_not_of("0123456789", start.size());
  if (end == start.size() || end == std::string_view::npos) return false;
  text.remove_prefix(end);
  return true;
}

// Removes "stream 2, task 15" from the front of the text, with `start` before and `end` after it.
void take_task(std::string_view& text, std::string_view start, std::string_view end) {
  std::string_view rest = text;
  if (!take_number(rest, std::string(start) + "stream ") || !take_number(rest, ", task ")) return;
  if (!rest.starts_with(end)) return;
  text = rest.substr(end.size());
}

// Removes C functions from the front of the text: "aclrtSynchronizeStream: aclnnEmbedding (stream 2, task 15): ".
// Returns the last one.
std::string_view take_functions(std::string_view& text) {
  std::string_view last;
  for (;;) {
    const std::string_view word = first_word(text);
    if (!word.starts_with("acl") && !word.starts_with("openaclnn")) return last;
    std::string_view rest = text.substr(word.size());
    take_task(rest, " (", ")");
    if (!rest.starts_with(": ")) return last;
    last = word;
    text = rest.substr(2);
    take_task(text, "", ": ");
  }
}

// "embedding_dense_backward" for "aclnnEmbeddingDenseBackward". Versions and lists have one name in Python.
std::string python_function(std::string_view c_function) {
  c_function.remove_prefix(std::min(c_function.find("nn") + 2, c_function.size()));
  for (const std::string_view suffix : {"V2", "List"}) {
    if (c_function.ends_with(suffix)) c_function.remove_suffix(suffix.size());
  }
  std::string name;
  for (const char c : c_function) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_upper && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// The name at the start of a message: the function that was called, or the operator that has made the fault
// which synchronize() reports.
std::string name_of(std::string_view c_function, const Caller& caller) {
  if (caller.function != nullptr) return caller.function;
  const bool is_operator = c_function.starts_with("aclnn") || c_function.starts_with("openaclnn");
  return is_operator ? python_function(c_function) : std::string(c_function);
}

}  // namespace

std::string dtype_text(aclDataType dtype, Library library) {
  const std::string word = array_dtype_name(dtype);
  if (library == Library::torch) return "torch." + word;
  if (library == Library::numpy && dtype == ACL_BF16) return "ml_dtypes." + word;
  if (library == Library::numpy && dtype == ACL_BOOL)
    return "numpy.bool_";  // numpy.bool is missing before 2.0
  if (library == Library::numpy) return "numpy." + word;
  return library == Library::cupy ? "cupy." + word : word;
}

std::string in_python(std::string_view sentence, const Caller& caller) {
  std::string_view rest = sentence;
  std::string text = name_of(take_functions(rest), caller);
  if (!text.empty()) text += ": ";
  while (!rest.empty()) {
    const std::string_view word = first_word(rest);
    const auto* const argument = std::ranges::find_if(kArgumentNames, [&](const ArgumentName& entry) {
      return entry.c == word && sentence.find(entry.function) != std::string_view::npos;
    });
    const auto* const dtype =
        std::ranges::find_if(kDtypes, [&](const auto& entry) { return entry.name == word; });
    if (argument != std::end(kArgumentNames)) {
      text += argument->python;
    } else if (dtype != std::end(kDtypes)) {
      text += dtype_text(dtype->dtype, caller.library);
    } else {
      text += word;
    }
    rest.remove_prefix(word.size());
    if (rest.empty()) break;
    text += rest[0];
    rest.remove_prefix(1);
  }
  return text;
}

}  // namespace openaclnn::python
