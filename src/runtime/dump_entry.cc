// Writes the entries of dump.json and the files of tensors, in msprobe's format.
#include "runtime/dump_entry.h"

#include <unistd.h>

#include <utility>

#include "acl/acl_base.h"
#include "base/statistics.h"
#include "base/text.h"
#include "runtime/file_writer.h"

namespace openaclnn {

namespace {

struct PartNames {
  const char* key;   // in dump.json
  const char* file;  // in names of files
};
PartNames names_of(DumpPart part) {
  switch (part) {
    case DumpPart::input_args: return {"input_args", "input"};
    case DumpPart::input_kwargs: return {"input_kwargs", "kwargs"};
    case DumpPart::output: return {"output", "output"};
  }
  return {};
}

// PyTorch's names of the dtypes that .npy files can hold.
const char* torch_dtype(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return "torch.float32";
    case ACL_FLOAT16: return "torch.float16";
    case ACL_BF16: return "torch.bfloat16";
    case ACL_DOUBLE: return "torch.float64";
    case ACL_INT8: return "torch.int8";
    case ACL_UINT8: return "torch.uint8";
    case ACL_INT16: return "torch.int16";
    case ACL_UINT16: return "torch.uint16";
    case ACL_INT32: return "torch.int32";
    case ACL_UINT32: return "torch.uint32";
    case ACL_INT64: return "torch.int64";
    case ACL_UINT64: return "torch.uint64";
    case ACL_BOOL: return "torch.bool";
    case ACL_COMPLEX64: return "torch.complex64";
    case ACL_COMPLEX128: return "torch.complex128";
    default: return "unknown";
  }
}

}  // namespace

DumpEntry::DumpEntry(std::shared_ptr<DumpFolder> folder, DumpPlace place, std::string op_name)
    : folder_(std::move(folder)), place_(std::move(place)), op_name_(std::move(op_name)) {
  json_.open('{');
}

DumpEntry::~DumpEntry() {
  if (!is_finished_) remove_files();
}

void DumpEntry::add(DumpPart part, const std::vector<DumpItem>& items) {
  if (has_failed()) return;
  const auto [key, file] = names_of(part);
  const bool is_named = part == DumpPart::input_kwargs;
  json_.key(key).open(is_named ? '{' : '[');
  for (size_t k = 0; k < items.size() && status_.ok(); ++k) {
    const std::string which = is_named ? items[k].name : std::to_string(k);
    if (is_named) json_.key(which);
    add_item(text(place_.key, ".", file, ".", which), items[k]);
  }
  json_.close(is_named ? '}' : ']');
}

void DumpEntry::add_item(const std::string& file, const DumpItem& item) {
  if (!item.json.empty()) {
    json_.raw(item.json);
  } else if (item.is_list) {
    json_.open('[');
    for (size_t k = 0; k < item.tensors.size() && status_.ok(); ++k)
      add_tensor(text(file, ".", k, ".npy"), item.tensors[k]);
    json_.close(']');
  } else {
    add_tensor(file + ".npy", item.tensors[0]);
  }
}

void DumpEntry::add_tensor(const std::string& file, const DumpItem::Tensor& tensor) {
  if (!tensor.is_given) {
    json_.null();
    return;
  }
  const std::string path = place_.tensor_path(file);
  files_.push_back(path);
  const std::string why =
      write_whole(path, [&](const std::string& temporary) { return write_npy(tensor.view, temporary); });
  if (!why.empty()) return fail({ACL_ERROR_WRITE_FILE, text("'", path, "' cannot be written: ", why)});
  json_.open('{').field("type", "torch.Tensor").field("dtype", torch_dtype(tensor.view.dtype));
  json_.field("shape", tensor.view.shape());
  // Memory that the file could be written from can be read.
  add_statistics(json_, tensor.view);
  json_.field("requires_grad", false).field("data_name", file).close('}');
}

void DumpEntry::finish() {
  if (has_failed()) return;
  if (!op_name_.empty()) json_.field("op_name", op_name_);
  json_.close('}');
  if (Status written = folder_->write_entry(place_, json_.text()); !written.ok())
    return fail(std::move(written));
  is_finished_ = true;
}

void DumpEntry::fail(Status failure) {
  remove_files();
  status_ = std::move(failure);
}

void DumpEntry::give_up() noexcept {
  remove_files();
  lacks_memory_ = true;
}

void DumpEntry::remove_files() noexcept {
  for (const std::string& file : files_) (void)unlink(file.c_str());
  files_.clear();
}

}  // namespace openaclnn
