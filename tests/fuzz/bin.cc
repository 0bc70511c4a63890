// Fuzz target: the readers of raw .bin files, on ATB's text headers and on shape files.
#include "files/bin.h"

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
  const bool has_shape_file = in.chance();
  const uint64_t rest_bytes = in.byte();
  const size_t choices = std::min<size_t>(size, 2);
  const std::string_view text(reinterpret_cast<const char*>(data) + choices, size - choices);
  const uint64_t file_bytes = has_shape_file ? rest_bytes : text.size() + rest_bytes;
  try {
    const openaclnn_files::StoredTensor tensor = has_shape_file
                                                     ? openaclnn_files::parse_shape_file(text, file_bytes)
                                                     : openaclnn_files::parse_atb(text, file_bytes);
    require_inside(tensor, file_bytes);
    require(tensor.begin + tensor.bytes == file_bytes, "the elements are not all of the file");
  } catch (const openaclnn_files::BadInput& error) {
    require_sentence(error.what());
  }
  return 0;
}
