// What all goldens need of a call: its tensors by name, checks of the shapes that they index with, and outputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "verify/golden.h"

namespace openaclnn_verify {

// Throws std::invalid_argument with this error message.
[[noreturn]] void reject(const std::string& message);

// Returns "[3, 4]".
std::string dims_text(const Shape& dims);

// The tensors of a call by parameter name. Its functions throw std::invalid_argument if a tensor is missing,
// has impossible dims, or lacks data that is read.
class GivenTensors {
 public:
  // `order`: the tensors of the signature, `lists`: those of them that are lists.
  GivenTensors(const GoldenCall& call, std::span<const char* const> order,
               std::initializer_list<const char*> lists = {});

  bool has(const std::string& name) const { return tensors_.contains(name); }
  const Array& shape_of(const std::string& name, size_t list_index = 0) const;
  const Array& read(const std::string& name, size_t list_index = 0) const;
  // Requires one of these dtypes.
  const Array& read(const std::string& name, std::span<const aclDataType> dtypes,
                    size_t list_index = 0) const;

 private:
  std::map<std::string, std::vector<Array>> tensors_;
};

void require_rank(const std::string& name, const Array& tensor, size_t rank);
void require_dims(const std::string& name, const Array& tensor, const Shape& dims);

// Returns the number of a call's attribute, or the fallback if it has none.
int64_t integer_of(const RecordedCall& call, const std::string& name);
int64_t integer_of(const RecordedCall& call, const std::string& name, int64_t fallback);
double real_of(const RecordedCall& call, const std::string& name);

// Returns an element of a tensor of integers.
int64_t integer_at(const Array& tensor, int64_t position);

// Returns an output with elements of zeros.
GoldenOutput new_output(const std::string& parameter, const Array& like, size_t list_index = 0);
// Returns an output that equals the values before the call.
GoldenOutput unchanged_output(const std::string& parameter, const Array& before, size_t list_index = 0);

// Returns c * 2^-24 * S, or NaN if S is beyond the range of the arithmetic: then intermediate sums may overflow, and no bound applies. An
// exact value beyond the largest finite number keeps its bound, because the result is still prescribed: Inf or that number.
inline double error_bound(double c, double magnitude) {
  return magnitude <= 0x1p127 ? c * 0x1p-24 * magnitude : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace openaclnn_verify
