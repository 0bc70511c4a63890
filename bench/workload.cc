// Memory, tensors and calls of the benchmark.
#include "workload.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "base/float16.h"

namespace openaclnn_bench {

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

int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (int64_t dim : dims) result *= dim;
  return result;
}

aclDataType acl_dtype(const std::string& dtype) {
  return dtype == "i64"   ? ACL_INT64
         : dtype == "i32" ? ACL_INT32
         : dtype == "f32" ? ACL_FLOAT
         : dtype == "f16" ? ACL_FLOAT16
                          : ACL_BF16;
}

// xorshift64*: fast, and good enough to keep branches and caches honest.
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

int64_t element_bytes(const std::string& dtype) {
  return dtype == "i64" ? 8 : dtype == "f32" || dtype == "i32" ? 4 : 2;
}

Tensor::Tensor(const TensorSpec& spec)
    : name_(spec.name),
      dtype_(spec.dtype),
      numel_(product(spec.dims)),
      memory_(numel_ * element_bytes(dtype_)),
      handle_(aclCreateTensor(spec.dims.data(), spec.dims.size(), acl_dtype(dtype_), nullptr, 0,
                              ACL_FORMAT_ND, spec.dims.data(), spec.dims.size(), memory_.data())) {}

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
    std::byte* const to = data() + i * element_bytes(dtype_);
    if (dtype_ == "f32") {
      std::memcpy(to, &value, sizeof value);
    } else {
      const uint16_t bits =
          dtype_ == "bf16" ? openaclnn::narrow_bf16(value).bits : openaclnn::narrow_f16(value).bits;
      std::memcpy(to, &bits, sizeof bits);
    }
  }
}

void Tensor::fill_integers(std::span<const int64_t> values) {
  if (dtype_ == "i64") {
    std::memcpy(data(), values.data(), values.size_bytes());
    return;
  }
  auto* to = reinterpret_cast<int32_t*>(data());
  for (const int64_t value : values) *to++ = static_cast<int32_t>(value);
}

Workload::Workload(const Description& description) {
  for (const TensorSpec& spec : description.tensors) tensors_.emplace_back(spec);
}

double Workload::run(int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < calls; ++k) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Caller::grow(uint64_t bytes) {
  if (bytes == 0 || (workspace_ != nullptr && workspace_->bytes() >= static_cast<int64_t>(bytes))) return;
  workspace_ = std::make_unique<Memory>(static_cast<int64_t>(bytes));
}

void Caller::synchronize() { require(aclrtSynchronizeStream(nullptr)); }

Part part_of(int64_t bytes, int thread, int threads) {
  constexpr int64_t kLine = 64;
  const int64_t lines = bytes / kLine;
  const int64_t begin = lines * thread / threads * kLine;
  const int64_t end = thread + 1 == threads ? lines * kLine : lines * (thread + 1) / threads * kLine;
  return {begin, end - begin};
}

std::string to_json(const Description& d) {
  std::string shape, tensors;
  for (const auto& [key, value] : d.shape)
    shape += fmt::format("{}\"{}\": {}", shape.empty() ? "" : ", ", key, value);
  for (const TensorSpec& tensor : d.tensors) {
    tensors += fmt::format("{}\"{}\": [[{}], \"{}\"]", tensors.empty() ? "" : ", ", tensor.name,
                           fmt::join(tensor.dims, ", "), tensor.dtype);
  }
  std::string name = d.op;
  for (const std::string& part : {d.dtype, d.size, d.variant}) name += part.empty() ? "" : "/" + part;
  return fmt::format(
      R"({{"name": "{}", "operator": "{}", "dtype": "{}", "size": "{}", "variant": "{}", "reference": "{}", )"
      R"("bytes": {}, "shape": {{{}}}, "tensors": {{{}}}}})",
      name, d.op, d.dtype, d.size, d.variant, d.reference, d.bytes, shape, tensors);
}

}  // namespace openaclnn_bench
