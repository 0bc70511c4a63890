// NumPy's dtype names, and its header: a Python dictionary padded to a multiple of 64 bytes.
#include "base/npy_header.h"

namespace openaclnn {

const char* npy_type(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return "<f4";
    case ACL_FLOAT16: return "<f2";
    case ACL_BF16: return "<V2";
    case ACL_DOUBLE: return "<f8";
    case ACL_INT8: return "|i1";
    case ACL_UINT8: return "|u1";
    case ACL_INT16: return "<i2";
    case ACL_UINT16: return "<u2";
    case ACL_INT32: return "<i4";
    case ACL_UINT32: return "<u4";
    case ACL_INT64: return "<i8";
    case ACL_UINT64: return "<u8";
    case ACL_BOOL: return "|b1";
    case ACL_COMPLEX64: return "<c8";
    case ACL_COMPLEX128: return "<c16";
    default: return nullptr;
  }
}

std::string npy_header(aclDataType dtype, std::span<const int64_t> dims) {
  const char* const type = npy_type(dtype);
  if (type == nullptr) return {};
  std::string shape;
  for (const int64_t dim : dims) shape += std::to_string(dim) + ", ";
  if (dims.size() > 1) shape.resize(shape.size() - 2);  // (3, 4), but (3, )
  std::string header =
      "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t kBefore = 10;  // magic, version and length
  const size_t total = (kBefore + header.size() + 1 + 63) / 64 * 64;
  header.append(total - kBefore - header.size() - 1, ' ');
  header += '\n';
  const char lengths[2] = {static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(lengths, 2) + header;
}

}  // namespace openaclnn
