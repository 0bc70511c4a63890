// A workload: one operator at one shape, with the memory it works on and the reference traffic it is compared with.
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

namespace openaclnn_bench {

// Memory of aclrtMalloc. Everything is written once before anything is measured.
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

using Dims = std::vector<int64_t>;

struct TensorSpec {
  std::string name;
  Dims dims;
  std::string dtype;  // f32, f16, bf16, i32 or i64
};

// A contiguous tensor with memory of its own.
class Tensor {
 public:
  explicit Tensor(const TensorSpec& spec);
  ~Tensor();
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&&) = delete;

  const std::string& name() const { return name_; }
  aclTensor* handle() const { return handle_; }
  std::byte* data() const { return memory_.data(); }
  int64_t bytes() const { return memory_.bytes(); }
  int64_t numel() const { return numel_; }

  // Numbers in [low, high), the same in every process.
  void fill(double low, double high);
  void fill_integers(std::span<const int64_t> values);  // INT32 and INT64 only

 private:
  std::string name_;
  std::string dtype_;
  int64_t numel_;
  Memory memory_;
  aclTensor* handle_;
};

// What the workload is, for people and for filters; opening it makes exactly these tensors.
struct Description {
  std::string op, dtype, size, variant;
  std::vector<std::pair<std::string, int64_t>> shape;
  std::vector<TensorSpec> tensors;
  std::string reference;  // its traffic, in words; empty: there is none
  int64_t bytes = 0;      // the fewest that one call must move
};
std::string to_json(const Description& description);

class Workload {
 public:
  explicit Workload(const Description& description);
  virtual ~Workload() = default;
  // One complete call: both phases and the wait.
  virtual void call() = 0;
  // `calls` times the reference's loads and stores on the team; seconds. Negative: there is no reference.
  virtual double run_reference(Team&, int) { return -1; }
  double run(int calls);  // `calls` times call(); seconds

  std::vector<Tensor>& tensors() { return tensors_; }

 protected:
  Tensor& tensor(size_t index) { return tensors_[index]; }
  aclTensor* handle(size_t index) const { return tensors_[index].handle(); }

 private:
  std::vector<Tensor> tensors_;
};

struct Entry {
  Description description;
  std::function<std::unique_ptr<Workload>(const Description&)> open;
};

// The storage types that floating workloads come in.
inline constexpr const char* kFloatTypes[] = {"f32", "f16", "bf16"};
int64_t element_bytes(const std::string& dtype);

// Ends the program with the library's sentence when `code` is not 0.
void require(int code);

// Runs both phases of an operator on the default stream and waits. phase1(&workspace_bytes, &executor) -> code.
class Caller {
 public:
  template <class Phase1, class Phase2>
  void operator()(const Phase1& phase1, const Phase2& phase2) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    require(phase1(&bytes, &executor));
    grow(bytes);
    require(phase2(workspace(), bytes, executor, nullptr));
    synchronize();
  }

 private:
  void grow(uint64_t bytes);
  void* workspace() const { return workspace_ != nullptr ? workspace_->data() : nullptr; }
  static void synchronize();
  std::unique_ptr<Memory> workspace_;
};

// The part of `bytes` that a thread of the team owns, in whole lines.
struct Part {
  int64_t begin, bytes;
};
Part part_of(int64_t bytes, int thread, int threads);

// The workloads of each operator.
std::vector<Entry> adam_w_workloads();
std::vector<Entry> ema_adam_workloads();
std::vector<Entry> ema_adam_list_workloads();
std::vector<Entry> grouped_bias_workloads();
std::vector<Entry> embedding_workloads();
std::vector<Entry> nsa_compress_workloads();
std::vector<Entry> nsa_compress_with_cache_workloads();
std::vector<Entry> overhead_workloads();

}  // namespace openaclnn_bench
