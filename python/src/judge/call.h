// Calls whose tensors are arrays of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "judge/call.h"

namespace openaclnn::python {

namespace nb = nanobind;

// An array of Python on the host: its bytes in row-major order, NumPy's text of the dtype, and the shape.
class HostArray {
 public:
  // `name` is the argument's. Throws TypeError for a dtype that no operator has, and ValueError if the bytes are not those of the
  // shape.
  HostArray(const std::string& name, const std::string& dtype, std::vector<int64_t> shape, nb::object bytes);

  // The array borrows the memory of `owner`.
  const openaclnn_verify::Array& array() const { return array_; }
  const nb::object& owner() const { return owner_; }

 private:
  openaclnn_verify::Array array_;
  nb::object owner_;
};

// A call, and the owners of its memory.
class Call {
 public:
  // Throws std::invalid_argument if there is no function of this name, such as "aclnnEmbedding".
  explicit Call(const std::string& function);

  const openaclnn_judge::Call& call() const { return call_; }
  const openaclnn_verify::Description& description() const { return *call_.description; }
  std::string in_python(std::string_view text) const;  // with Python's names of the arguments

  // Parameters have their C names.
  void add_input(const std::string& parameter, const HostArray& array);
  void add_result(const std::string& parameter, const HostArray& array);
  void add_third(const std::string& parameter, const HostArray& array);
  void set_integers(const std::string& parameter, std::vector<int64_t> values);
  void set_real(const std::string& parameter, double value);
  void set_text(const std::string& parameter, std::string value);
  void set_label(std::string label) { call_.label = std::move(label); }

 private:
  // Throws ValueError for a dtype that this result cannot have.
  void add(openaclnn_judge::Tensors& tensors, const std::string& parameter, const HostArray& array);

  openaclnn_judge::Call call_;
  std::vector<nb::object> kept_;
};

void add_calls(nb::module_& module);
void add_goldens(nb::module_& module);
void add_reports(nb::module_& module);

}  // namespace openaclnn::python
