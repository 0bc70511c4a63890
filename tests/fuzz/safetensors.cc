// Fuzz target: the reader of .safetensors files, on any bytes and on headers around any text.
#include "files/safetensors.h"

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
  if (has_frame) {  // the JSON alone
    std::string length;
    for (size_t k = 0; k < 8; ++k) length += static_cast<char>(head.size() >> (8 * k));
    head = length + head;
  }
  const uint64_t file_bytes = head.size() + rest_bytes;
  try {
    std::vector<openaclnn_files::StoredTensor> tensors = openaclnn_files::parse_safetensors(head, file_bytes);
    uint64_t all_bytes = 0;
    for (const openaclnn_files::StoredTensor& tensor : tensors) {
      require_inside(tensor, file_bytes);
      all_bytes += tensor.bytes;
      if (tensor.dtype == ACL_DT_UNDEFINED) return 0;  // it can be skipped, but not written
    }
    const std::string again = openaclnn_files::safetensors_header(tensors);
    const auto second = openaclnn_files::parse_safetensors(again, again.size() + all_bytes);
    require(second.size() == tensors.size(), "what is written is not what was read");
    for (size_t k = 0; k < second.size(); ++k)
      require(second[k].name == tensors[k].name && second[k].dims == tensors[k].dims &&
                  second[k].begin == tensors[k].begin,
              "what is written is not what was read");
  } catch (const openaclnn_files::BadInput& error) {
    require_sentence(error.what());
  }
  return 0;
}
