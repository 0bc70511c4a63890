// Looks names of dtypes up without regard to case and prefixes.
#include "files/dtype_names.h"

#include <cctype>

#include "base/dtype.h"

namespace openaclnn_files {

namespace {

struct Names {
  aclDataType dtype;
  const char* others;  // besides that of NumPy and PyTorch; each between spaces
};
constexpr Names kNames[] = {
    {ACL_FLOAT, " float fp32 f32 single "},
    {ACL_FLOAT16, " half fp16 f16 "},
    {ACL_BF16, " bf16 "},
    {ACL_DOUBLE, " double fp64 f64 "},
    {ACL_INT8, " i8 char "},
    {ACL_UINT8, " u8 byte "},
    {ACL_INT16, " i16 short "},
    {ACL_UINT16, " u16 "},
    {ACL_INT32, " i32 int "},
    {ACL_UINT32, " u32 "},
    {ACL_INT64, " i64 long "},
    {ACL_UINT64, " u64 "},
    {ACL_BOOL, " bool_ "},
    {ACL_COMPLEX64, " c64 "},
    {ACL_COMPLEX128, " c128 "},
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
    if (plain == openaclnn::array_dtype_name(names.dtype) ||
        std::string_view(names.others).find(" " + plain + " ") != std::string_view::npos)
      return names.dtype;
  }
  return ACL_DT_UNDEFINED;
}

std::string torch_name(aclDataType dtype) {
  const char* const name = openaclnn::array_dtype_name(dtype);
  return name != nullptr ? std::string("torch.") + name : "";
}

}  // namespace openaclnn_files
