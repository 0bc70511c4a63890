// A workload: one operator at one shape, with its memory and its reference traffic. The call, its tensors
// and the fewest bytes that it can move are a case of the operator's room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "team.h"
#include "verify/case.h"

namespace openaclnn_bench {

// Memory of aclrtMalloc. All of it is written once before any measurement.
class Memory {
 public:
  explicit Memory(int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Memory& operator=(Memory&&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_;
};

using openaclnn_verify::Case;
using openaclnn_verify::TensorCase;

// A contiguous tensor with memory of its own.
class Tensor {
 public:
  explicit Tensor(const TensorCase& spec);
  ~Tensor();
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&&) = delete;

  const std::string& name() const { return name_; }
  aclTensor* handle() const { return handle_; }
  std::byte* data() const { return memory_.data(); }
  int64_t bytes() const { return memory_.bytes(); }
  int64_t numel() const { return numel_; }
  aclDataType dtype() const { return dtype_; }

  // Whole numbers instead of those of the case; only INT32 and INT64.
  void fill_integers(std::span<const int64_t> values);

 private:
  void fill(double low, double high);  // numbers in [low, high), the same in every process

  std::string name_;
  aclDataType dtype_;
  int64_t numel_;
  Memory memory_;
  aclTensor* handle_;
};

// The description of the workload, for people and for filters. Opening it makes exactly the tensors of the
// call.
struct WorkloadDescription {
  std::string op, dtype, size, variant;
  std::vector<std::pair<std::string, int64_t>> shape;
  Case call;
  std::string reference;  // its traffic, in words; empty: there is none
};
std::string to_json(const WorkloadDescription& description);

class Workload {
 public:
  explicit Workload(const WorkloadDescription& description);
  virtual ~Workload() = default;
  // One complete call: both phases and the wait.
  virtual void call();
  // Runs the reference's loads and stores `calls` times on the team; returns the seconds. Negative: there
  // is no reference.
  virtual double run_reference(Team&, int) { return -1; }
  // The same with the arithmetic that no kernel can leave out (arithmetic.h).
  virtual double run_arithmetic(Team&, int) { return -1; }
  double run(int calls);  // `calls` times call(); seconds

  std::vector<Tensor>& tensors() { return tensors_; }

 protected:
  Tensor& tensor(size_t index) { return tensors_[index]; }
  const Tensor& tensor(size_t index) const { return tensors_[index]; }
  const Case& description() const { return case_; }
  int phase1(uint64_t* workspace_bytes, aclOpExecutor** executor) const;

 private:
  const Case case_;
  std::vector<Tensor> tensors_;
  std::vector<aclTensor*> handles_;
  std::unique_ptr<Memory> workspace_;
};

struct Entry {
  WorkloadDescription description;
  std::function<std::unique_ptr<Workload>(const WorkloadDescription&)> open;
};

// An entry whose workload is a `Kind`.
template <class Kind>
Entry entry(WorkloadDescription description) {
  return {std::move(description),
          [](const WorkloadDescription& self) { return std::make_unique<Kind>(self); }};
}

// The storage types of floating-point workloads.
struct FloatType {
  const char* name;
  aclDataType dtype;
  int64_t bytes;
  int64_t wide() const { return 4 / bytes; }  // elements in the size of a float
};
inline constexpr FloatType kFloatTypes[] = {
    {"f32", ACL_FLOAT, 4}, {"f16", ACL_FLOAT16, 2}, {"bf16", ACL_BF16, 2}};

// Ends the program with the library's error message if `code` is not 0.
void require(int code);

// The part of `bytes` that a thread of the team owns, in whole lines.
struct Part {
  int64_t begin, bytes;
};
Part part_of(int64_t bytes, int thread, int threads);

// One function of each file in workloads/, which CMake lists.
#define OPENACLNN_WORKLOADS(name) std::vector<Entry> name##_workloads();
#include "workload_list.def"
#undef OPENACLNN_WORKLOADS

}  // namespace openaclnn_bench
