// Writes conformance vectors: small calls of every operator, with their results, goldens and error bounds. README.md describes the files.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

#include "verify/draw.h"
#include "verify/golden.h"
#include "verify/number.h"
#include "verify/random.h"
#include "verify/room_cases.h"

namespace {

using openaclnn_verify::Array;
using openaclnn_verify::Case;
using openaclnn_verify::GoldenCall;
using openaclnn_verify::GoldenOutput;
using openaclnn_verify::HostTensor;
using openaclnn_verify::Role;
using openaclnn_verify::Shape;

constexpr int64_t kLargestCase = 160 << 10;  // bytes of the tensors of a case
constexpr int kRandomCases = 120;           // for each operator
constexpr int64_t kRandomElements = 100;

// CRC-32 as zip files and zlib have it, in hexadecimal digits.
std::string checksum(const void* bytes, size_t count) {
  uint32_t crc = ~uint32_t{0};
  for (size_t i = 0; i < count; ++i) {
    crc ^= static_cast<const unsigned char*>(bytes)[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (~(crc & 1) + 1));
  }
  char text[9];
  std::snprintf(text, sizeof text, "%08" PRIx32, ~crc);
  return text;
}

// The two files: text that names everything, and the bytes of all tensors.
class Writer {
 public:
  explicit Writer(const std::string& folder)
      : index_file_(folder + "/index.txt", std::ios::binary), data_(folder + "/data.bin", std::ios::binary) {
    index_ << "openaclnn-vectors 1\n";
  }

  void begin_case(const std::string& operator_name, const std::string& name) {
    index_ << "case " << operator_name << "\nname " << name << "\n";
    ++cases_;
  }

  void attributes(const openaclnn_verify::RecordedCall& call) {
    for (const auto& [name, value] : call.integers) index_ << "integer " << name << " " << value << "\n";
    for (const auto& [name, value] : call.reals) {
      char text[64];
      std::snprintf(text, sizeof text, "%a", value);
      index_ << "real " << name << " " << text << "\n";
    }
    for (const auto& [name, values] : call.arrays) {
      index_ << "array " << name << " " << values.size();
      for (const int64_t value : values) index_ << " " << value;
      index_ << "\n";
    }
  }

  void tensor(const char* kind, const std::string& name, const char* dtype, const Shape& dims,
              const void* bytes, size_t count) {
    index_ << kind << " " << name << " " << dtype << " " << offset_ << " " << count << " "
           << checksum(bytes, count) << " " << dims.size();
    for (const int64_t dim : dims) index_ << " " << dim;
    index_ << "\n";
    data_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    offset_ += count;
  }
  void tensor(const char* kind, const std::string& name, const HostTensor& values) {
    const std::vector<std::byte> bytes = values.all_bytes();
    tensor(kind, name, openaclnn_verify::dtype_name(values.dtype()), values.dims(), bytes.data(),
           bytes.size());
  }
  void doubles(const char* kind, const std::string& name, const Shape& dims,
               std::span<const double> values) {
    tensor(kind, name, "DOUBLE", dims, values.data(), values.size() * sizeof(double));
  }

  void finish() {
    const std::string index = index_.str();
    index_file_ << index << "end " << cases_ << " " << offset_ << " " << checksum(index.data(), index.size())
                << "\n";
    if (!index_file_.flush() || !data_.flush()) throw std::runtime_error("the files cannot be written");
    std::cout << cases_ << " cases, " << offset_ << " bytes of tensors\n";
  }

 private:
  std::ofstream index_file_, data_;
  std::ostringstream index_;
  size_t cases_ = 0, offset_ = 0;
};

using GoldenOf = openaclnn_verify::Golden (*)(const GoldenCall&);

GoldenCall golden_call(const Case& c, const std::vector<HostTensor>& before) {
  GoldenCall call = {c.recorded(), {}, 1};
  for (size_t k = 0; k < before.size(); ++k) {
    const HostTensor& tensor = before[k];
    call.tensors.push_back(
        c.tensors[k].role == Role::output
            ? Array{tensor.dtype(), tensor.dims(), nullptr}
            : openaclnn_verify::owned_array(tensor.dtype(), tensor.dims(), tensor.all_bytes()));
  }
  return call;
}

// Runs a case, requires that its results are right, and writes it.
void write_case(Writer& writer, const std::string& operator_name, const Case& c, GoldenOf golden_of) {
  const std::vector<HostTensor> tensors = make_tensors(c);
  const std::vector<HostTensor> before = before_call(c, tensors);
  const openaclnn_verify::Outcome outcome = run_case(c, tensors);
  if (!outcome.ok()) throw std::runtime_error(c.name + ": " + outcome.text());
  openaclnn_verify::Judge judge;
  judge_case(c, before, tensors, judge);
  if (!judge.ok()) throw std::runtime_error(judge.messages());

  writer.begin_case(operator_name, c.name);
  writer.attributes(c.attributes);
  for (size_t k = 0; k < tensors.size(); ++k) {
    const openaclnn_verify::TensorCase& spec = c.tensors[k];
    if (spec.role != Role::output) writer.tensor("input", spec.name, before[k]);
  }
  for (size_t k = 0; k < tensors.size(); ++k) {
    const openaclnn_verify::TensorCase& spec = c.tensors[k];
    if (spec.role != Role::input) writer.tensor("result", spec.name, tensors[k]);
  }
  const openaclnn_verify::Golden golden = golden_of(golden_call(c, before));
  for (const GoldenOutput& output : golden.outputs) {
    if (output.exact.empty()) continue;
    const bool is_list = c.recorded().list_length > 0;
    const std::string name =
        output.parameter + (is_list ? "[" + std::to_string(output.list_index) + "]" : std::string());
    writer.doubles("exact", name, output.dims, output.exact);
    writer.doubles("bound", name, output.dims, output.bound);
  }
}

int64_t bytes_of(const Case& c) {
  int64_t bytes = 0;
  for (const openaclnn_verify::TensorCase& tensor : c.tensors)
    bytes += Array{tensor.dtype, tensor.dims, nullptr}.bytes();
  return bytes;
}

void write_operator(Writer& writer, const std::string& name, const std::vector<Case>& named,
                    Case (*random_case)(openaclnn_verify::Draw&, int64_t), GoldenOf golden_of) {
  for (const Case& c : named) {
    if (bytes_of(c) <= kLargestCase) write_case(writer, name, c, golden_of);
  }
  openaclnn_verify::Random random(openaclnn_verify::hash_text(name));
  openaclnn_verify::RandomDraw draw(random);
  for (int n = 0; n < kRandomCases; ++n) {
    Case c = random_case(draw, kRandomElements);
    c.name += ", number " + std::to_string(n);  // the data depends on the name
    if (bytes_of(c) <= kLargestCase) write_case(writer, name, c, golden_of);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: make_vectors FOLDER\n", 2;
  try {
    openaclnn_verify::use_device();
    Writer writer(argv[1]);
#define OPENACLNN_OPERATOR(folder, name)                               \
  write_operator(writer, #name, openaclnn_verify::cases_of_##folder(), \
                 openaclnn_verify::random_case_of_##folder, openaclnn_verify::golden_of_##folder);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
    writer.finish();
  } catch (const std::exception& error) {
    return std::cerr << "make_vectors: " << error.what() << "\n", 1;
  }
}
