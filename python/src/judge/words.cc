// Names of arguments and dtypes in Python, for the module openaclnn._judge.
#include "words.h"

#include <algorithm>
#include <cctype>

#include "../argument_names.h"
#include "base/npy_header.h"

namespace openaclnn::python {

using openaclnn_verify::Description;
using openaclnn_verify::Parameter;

namespace {

bool is_part_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string snake_case(const std::string& word) {
  std::string name;
  for (const char c : word) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace

std::string python_name(const Description& description, const Parameter& parameter) {
  const std::string function = description.function + "GetWorkspaceSize";
  for (const ArgumentName& entry : kArgumentNames) {
    // One of several results, such as "out[0]", has a name of its own here.
    const bool is_one_of_several = entry.python.ends_with(']');
    if (entry.c == parameter.name && !is_one_of_several && function.find(entry.function) != std::string::npos)
      return std::string(entry.python);
  }
  return snake_case(parameter.short_name());
}

std::string with_python_names(std::string_view text, const Description& description) {
  std::string translated;
  while (!text.empty()) {
    const auto length = static_cast<size_t>(std::ranges::find_if_not(text, is_part_of_a_word) - text.begin());
    const std::string word(text.substr(0, length));
    const Parameter* const parameter = description.find(word);
    translated += parameter == nullptr ? word : python_name(description, *parameter);
    if (length < text.size()) translated += text[length];
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return translated;
}

aclDataType dtype_of_numpy_text(const std::string& text) {
  for (int value = 0; value < 64; ++value) {
    const auto dtype = static_cast<aclDataType>(value);
    const char* const known = npy_type(dtype);
    if (known != nullptr && text == known) return dtype;
  }
  return ACL_DT_UNDEFINED;
}

}  // namespace openaclnn::python
