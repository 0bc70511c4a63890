// Looks names of dtypes up without regard to case and prefixes.
#include "files/dtype_names.h"

#include <cctype>

namespace openaclnn_files {

namespace {

struct Names {
  aclDataType dtype;
  const char* torch;   // PyTorch's and NumPy's name
  const char* others;  // further names, each between spaces
};
constexpr Names kNames[] = {
    {ACL_FLOAT, "float32", " float fp32 f32 single "},
    {ACL_FLOAT16, "float16", " half fp16 f16 "},
    {ACL_BF16, "bfloat16", " bf16 "},
    {ACL_DOUBLE, "float64", " double fp64 f64 "},
    {ACL_INT8, "int8", " i8 char "},
    {ACL_UINT8, "uint8", " u8 byte "},
    {ACL_INT16, "int16", " i16 short "},
    {ACL_UINT16, "uint16", " u16 "},
    {ACL_INT32, "int32", " i32 int "},
    {ACL_UINT32, "uint32", " u32 "},
    {ACL_INT64, "int64", " i64 long "},
    {ACL_UINT64, "uint64", " u64 "},
    {ACL_BOOL, "bool", " bool_ "},
    {ACL_COMPLEX64, "complex64", " c64 "},
    {ACL_COMPLEX128, "complex128", " c128 "},
};

}  // namespace

aclDataType dtype_named(std::string_view name) {
  std::string plain;
  for (const char c : name) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view prefix : {"torch.", "numpy.", "np.", "mindspore.", "acl_", "dt_"}) {
    if (!plain.starts_with(prefix)) continue;
    plain.erase(0, prefix.size());
    break;
  }
  if (plain.empty() || plain.find(' ') != std::string::npos) return ACL_DT_UNDEFINED;
  for (const Names& names : kNames) {
    if (plain == names.torch ||
        std::string_view(names.others).find(" " + plain + " ") != std::string_view::npos)
      return names.dtype;
  }
  return ACL_DT_UNDEFINED;
}

std::string torch_name(aclDataType dtype) {
  for (const Names& names : kNames) {
    if (names.dtype == dtype) return std::string("torch.") + names.torch;
  }
  return "";
}

}  // namespace openaclnn_files
