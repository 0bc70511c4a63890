// Fuzz target: the reader of .npy files, on any bytes and on headers around any text.
#include "files/npy.h"

#include "base/npy_header.h"
#include "files/errors.h"
#include "fuzz/found.h"
#include "fuzz/input.h"
#include "fuzz/stored.h"

using namespace openaclnn_test;

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const bool has_frame = in.chance();
  const uint64_t rest_bytes = in.byte();
  std::string head(reinterpret_cast<const char*>(data) + std::min<size_t>(size, 2),
                   size - std::min<size_t>(size, 2));
  if (has_frame) {  // a dictionary alone: most bytes would otherwise go into the frame
    const char length[2] = {static_cast<char>(head.size() & 0xFF), static_cast<char>(head.size() >> 8)};
    head = std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + head;
  }
  const uint64_t file_bytes = head.size() + rest_bytes;
  try {
    const openaclnn_files::StoredTensor tensor = openaclnn_files::parse_npy(head, file_bytes);
    require_inside(tensor, file_bytes);
    const std::string again = openaclnn::npy_header(tensor.dtype, tensor.dims);
    const openaclnn_files::StoredTensor second =
        openaclnn_files::parse_npy(again, again.size() + tensor.bytes);
    require(second.dtype == tensor.dtype && second.dims == tensor.dims,
            "what is written is not what was read");
  } catch (const openaclnn_files::BadInput& error) {
    require_sentence(error.what());
  }
  return 0;
}
