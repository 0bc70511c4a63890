// Fuzz target: the reader of .pt files, on any bytes and on archives around any pickle.
#include "files/pt.h"

#include "base/dtype.h"
#include "files/errors.h"
#include "fuzz/found.h"
#include "fuzz/input.h"
#include "fuzz/stored.h"

using namespace openaclnn_test;

namespace {

constexpr uint64_t kMostRead = uint64_t{1} << 20;

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t k = 0; k < bytes; ++k) text += static_cast<char>(value >> (8 * k));
  return text;
}

// An archive of stored entries, without checksums.
class Archive {
 public:
  void add(const std::string& name, const std::string& bytes) {
    const std::string sizes = number(bytes.size(), 4) + number(bytes.size(), 4) + number(name.size(), 2);
    directory_ += "PK\x01\x02" + number(0, 16) + sizes + number(0, 12) + number(file_.size(), 4) + name;
    file_ += "PK\x03\x04" + number(0, 14) + sizes + number(0, 2) + name + bytes;
    ++entries_;
  }
  std::string finish() const {
    return file_ + directory_ + "PK\x05\x06" + number(0, 4) + number(entries_, 2) + number(entries_, 2) +
           number(directory_.size(), 4) + number(file_.size(), 4) + number(0, 2);
  }

 private:
  std::string file_, directory_;
  uint64_t entries_ = 0;
};

void check(const openaclnn_files::StoredView& view, const openaclnn_files::Source& file) {
  const uint64_t bytes = openaclnn_files::checked_bytes("a view", view.dtype, view.dims);
  require(view.dims.size() == view.strides.size(), "a view has another number of strides than dims");
  require(view.bytes == bytes, "the bytes are not those of the shape");
  require(view.begin <= file.size() && view.span_bytes <= file.size() - view.begin,
          "a tensor leaves its file");
  if (bytes > kMostRead) return;
  const openaclnn_files::FileTensor tensor = openaclnn_files::read_pt(file, view.name);
  require(tensor.bytes.size() == bytes && tensor.dims == view.dims, "what is read is not what was found");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const bool has_frame = in.chance();
  const uint64_t storage_bytes = in.byte();
  const size_t choices = std::min<size_t>(size, 2);
  std::string text(reinterpret_cast<const char*>(data) + choices, size - choices);
  if (has_frame) {  // a pickle alone
    Archive archive;
    archive.add("a/data.pkl", text);
    archive.add("a/data/0", std::string(storage_bytes, 'x'));
    text = archive.finish();
  }
  const openaclnn_files::Memory file(text);
  try {
    const std::vector<openaclnn_files::StoredView> views = openaclnn_files::parse_pt(file);
    if (views.size() == 1) check(views[0], file);
  } catch (const openaclnn_files::BadInput& error) {
    require_sentence(error.what());
  }
  return 0;
}
