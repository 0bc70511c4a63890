// One entry of dump.json: the arguments and results of a call, and the files of its tensors.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "runtime/dump_folder.h"

namespace openaclnn {

// An argument or a result.
struct DumpItem {
  struct Tensor {
    bool is_given = false;  // if not, it is null
    TensorView view;
  };

  std::string name;  // of a keyword argument
  std::string json;  // of a value without tensors; empty: tensors
  bool is_list = false;
  std::vector<Tensor> tensors;  // one, or those of a list
};

enum class DumpPart { input_args, input_kwargs, output };

// Used by one thread at a time. The destructor of an unfinished entry removes its files, but not in a forked
// child: there they are the parent's, which may still finish the entry.
class DumpEntry {
 public:
  // `op_name`: an additional member of the entry, unless it is empty.
  DumpEntry(std::shared_ptr<DumpFolder> folder, DumpPlace place, std::string op_name);
  ~DumpEntry();
  DumpEntry(const DumpEntry&) = delete;
  DumpEntry& operator=(const DumpEntry&) = delete;

  // Adds the next part and writes its tensors. Parts follow in the order of their numbers. Does nothing after a
  // failure.
  void add(DumpPart part, const std::vector<DumpItem>& items);
  // Adds the entry to dump.json. A failure leaves none of the files.
  void finish();
  // Makes the entry fail for lack of memory.
  void give_up() noexcept;

  // The failure, if it has an error message.
  const Status& status() const { return status_; }
  bool lacks_memory() const { return lacks_memory_; }
  bool is_finished() const { return is_finished_; }
  DumpFolder& folder() const { return *folder_; }

 private:
  void add_item(const std::string& file, const DumpItem& item);
  void add_tensor(const std::string& file, const DumpItem::Tensor& tensor);
  void fail(Status failure);
  void remove_files() noexcept;
  bool has_failed() const { return lacks_memory_ || !status_.ok(); }

  const std::shared_ptr<DumpFolder> folder_;
  const DumpPlace place_;
  const std::string op_name_;
  const pid_t process_;
  Json json_;
  std::vector<std::string> files_;
  Status status_;
  bool lacks_memory_ = false;
  bool is_finished_ = false;
};

}  // namespace openaclnn
