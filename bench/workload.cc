// Memory, tensors and calls of the benchmark.
#include "workload.h"

#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "base/float16.h"
#include "verify/number.h"

namespace openaclnn_bench {

using openaclnn_verify::Values;

void require(int code) {
  if (code == 0) return;
  const char* const sentence = aclGetRecentErrMsg();
  std::fprintf(stderr, "openaclnn-bench: code %d: %s\n", code,
               sentence != nullptr ? sentence : "no sentence");
  std::exit(1);
}

Memory::Memory(int64_t bytes) : bytes_(bytes) {
  require(aclrtMalloc(&data_, static_cast<size_t>(bytes), ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(data_, 0, static_cast<size_t>(bytes));
}

Memory::~Memory() {
  if (data_ != nullptr) aclrtFree(data_);
}

namespace {

// As the driver writes them.
const char* short_name(aclDataType dtype) {
  return dtype == ACL_INT64     ? "i64"
         : dtype == ACL_INT32   ? "i32"
         : dtype == ACL_FLOAT   ? "f32"
         : dtype == ACL_FLOAT16 ? "f16"
                                : "bf16";
}

// xorshift64*: fast, and random enough for branches and caches.
struct Random {
  uint64_t state = 0x9E3779B97F4A7C15u;
  double operator()() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<double>((state * 0x2545F4914F6CDD1Du) >> 11) * 0x1p-53;
  }
};

}  // namespace

Tensor::Tensor(const TensorCase& spec)
    : name_(spec.name),
      dtype_(spec.dtype),
      numel_(openaclnn_verify::count_elements(spec.dims)),
      memory_(numel_ * openaclnn_verify::element_bytes(dtype_)),
      handle_(aclCreateTensor(spec.dims.data(), spec.dims.size(), dtype_, nullptr, 0, ACL_FORMAT_ND,
                              spec.dims.data(), spec.dims.size(), memory_.data())) {
  switch (spec.values) {
    case Values::symmetric:
    case Values::raw_bits: fill(-1, 1); break;  // NaN breaks comparisons, subnormal numbers the time
    case Values::positive: fill(0, 1); break;
    case Values::listed: fill_integers(spec.listed); break;
    // If the ends of the range differ, the workload's own range applies.
    case Values::whole: fill_integers(std::vector(static_cast<size_t>(numel_), spec.low)); break;
    case Values::none: break;
  }
}

Tensor::Tensor(Tensor&& other) noexcept
    : name_(std::move(other.name_)),
      dtype_(std::move(other.dtype_)),
      numel_(other.numel_),
      memory_(std::move(other.memory_)),
      handle_(std::exchange(other.handle_, nullptr)) {}

Tensor::~Tensor() {
  if (handle_ != nullptr) aclDestroyTensor(handle_);
}

void Tensor::fill(double low, double high) {
  Random random;
  random.state += static_cast<uint64_t>(name_[0]) << 32;
  for (int64_t i = 0; i < numel_; ++i) {
    const float value = static_cast<float>(low + (high - low) * random());
    std::byte* const to = data() + i * openaclnn_verify::element_bytes(dtype_);
    if (dtype_ == ACL_FLOAT) {
      std::memcpy(to, &value, sizeof value);
    } else {
      const uint16_t bits =
          dtype_ == ACL_BF16 ? openaclnn::narrow_bf16(value).bits : openaclnn::narrow_f16(value).bits;
      std::memcpy(to, &bits, sizeof bits);
    }
  }
}

void Tensor::fill_integers(std::span<const int64_t> values) {
  if (dtype_ == ACL_INT64) {
    std::memcpy(data(), values.data(), values.size_bytes());
    return;
  }
  auto* to = reinterpret_cast<int32_t*>(data());
  for (const int64_t value : values) *to++ = static_cast<int32_t>(value);
}

Workload::Workload(const WorkloadDescription& description) : case_(description.call) {
  for (const TensorCase& spec : case_.tensors) tensors_.emplace_back(spec);
  for (const Tensor& tensor : tensors_) handles_.push_back(tensor.handle());
}

int Workload::phase1(uint64_t* workspace_bytes, aclOpExecutor** executor) const {
  return case_.phase1(handles_, workspace_bytes, executor);
}

void Workload::call() {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  require(phase1(&bytes, &executor));
  if (bytes > 0 && (workspace_ == nullptr || workspace_->bytes() < static_cast<int64_t>(bytes)))
    workspace_ = std::make_unique<Memory>(static_cast<int64_t>(bytes));
  require(case_.phase2(workspace_ != nullptr ? workspace_->data() : nullptr, bytes, executor, nullptr));
  require(aclrtSynchronizeStream(nullptr));
}

double Workload::run(int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < calls; ++k) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Part part_of(int64_t bytes, int thread, int threads) {
  constexpr int64_t kLine = 64;
  const int64_t lines = bytes / kLine;
  const int64_t begin = lines * thread / threads * kLine;
  const int64_t end = thread + 1 == threads ? lines * kLine : lines * (thread + 1) / threads * kLine;
  return {begin, end - begin};
}

std::string to_json(const WorkloadDescription& d) {
  std::string shape, tensors;
  for (const auto& [key, value] : d.shape)
    shape += fmt::format("{}\"{}\": {}", shape.empty() ? "" : ", ", key, value);
  for (const TensorCase& tensor : d.call.tensors) {
    tensors += fmt::format("{}\"{}\": [[{}], \"{}\"]", tensors.empty() ? "" : ", ", tensor.name,
                           fmt::join(tensor.dims, ", "), short_name(tensor.dtype));
  }
  std::string name = d.op;
  for (const std::string& part : {d.dtype, d.size, d.variant}) name += part.empty() ? "" : "/" + part;
  return fmt::format(
      R"({{"name": "{}", "operator": "{}", "dtype": "{}", "size": "{}", "variant": "{}", "reference": "{}", )"
      R"("bytes": {}, "shape": {{{}}}, "tensors": {{{}}}}})",
      name, d.op, d.dtype, d.size, d.variant, d.reference, d.call.minimal_bytes, shape, tensors);
}

}  // namespace openaclnn_bench
