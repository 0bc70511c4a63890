// Writes the entries of dump.json and the files of tensors, in msprobe's format.
#include "runtime/dump_entry.h"

#include <unistd.h>

#include <utility>

#include "acl/acl_base.h"
#include "base/dtype.h"
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
std::string torch_dtype(aclDataType dtype) {
  const char* const name = array_dtype_name(dtype);
  return name != nullptr ? std::string("torch.") + name : "unknown";
}

}  // namespace

DumpEntry::DumpEntry(std::shared_ptr<DumpFolder> folder, DumpPlace place, std::string op_name)
    : folder_(std::move(folder)), place_(std::move(place)), op_name_(std::move(op_name)), process_(getpid()) {
  json_.open('{');
}

DumpEntry::~DumpEntry() {
  if (!is_finished_ && getpid() == process_) remove_files();
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
