// The judge of results: compares every element of an output with the guaranteed error bound, or with its
// prescribed bits. Records how much of the bound was used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl_base.h"

namespace openaclnn_verify {

// The reference of one element. An element that no bound covers has neither of the two.
struct Reference {
  bool is_bounded = false;
  long double exact = 0, c = 0, magnitude = 0;
  std::vector<std::byte> prescribed = {};
};

// One output of one dtype. Each element is passed once, in row-major order; messages use the number of the
// call as position.
class OutputRecord {
 public:
  OutputRecord(std::string name, aclDataType dtype) : name_(std::move(name)), dtype_(dtype) {}

  // The guarantee: |result - exact| <= ulp(result) / 2 + c * 2^-24 * sum_of_magnitudes. It covers only exact
  // values in the finite range of the dtype; others are skipped.
  void compare(double result, long double exact, long double c, long double sum_of_magnitudes);
  // Records an element that the guarantee does not cover.
  void skip();
  // Records an element whose bits are prescribed.
  void expect_bits(uint64_t got, uint64_t wanted);
  void expect_bytes(const std::byte* got, const std::byte* wanted, int64_t bytes);

  const std::string& name() const { return name_; }
  aclDataType dtype() const { return dtype_; }
  int64_t elements() const { return elements_; }  // including skipped ones
  int64_t skipped() const { return skipped_; }
  int64_t failures() const { return failures_; }
  double worst() const { return worst_; }            // the largest error, as a fraction of the bound
  double worst_ulps() const { return worst_ulps_; }  // the largest error, in ulps of the result
  const std::string& worst_place() const { return worst_place_; }  // the element of worst(), and its case
  const std::string& messages() const { return messages_; }

  // Keeps the references of all elements from now on.
  void keep_references() { keeps_references_ = true; }
  const std::vector<Reference>& references() const { return references_; }

  void start_case(const std::string& name) {
    position_ = 0;
    case_ = name;
  }
  void merge(const OutputRecord& other);
  std::string row() const;
  static std::string heading();

 private:
  void fail(const std::string& message);

  std::string name_;
  aclDataType dtype_;
  int64_t position_ = 0;
  int64_t elements_ = 0, skipped_ = 0, failures_ = 0;
  std::array<int64_t, 10> tenths_ = {};  // errors by their share of the bound
  double worst_ = 0;
  // Largest (error - ulp / 2) / (c * 2^-24 * S): the error without the last rounding.
  double worst_beyond_ = 0;
  std::string worst_text_;
  double worst_ulps_ = 0;
  std::string case_, worst_place_;
  std::string messages_;
  bool keeps_references_ = false;
  std::vector<Reference> references_;
};

class Judge {
 public:
  // `name`: "<operator> <output>", and any other condition that changes the bound. The reference stays valid.
  OutputRecord& output(const std::string& name, aclDataType dtype);

  bool ok() const;
  // Returns the first wrong elements of each output.
  std::string messages() const;
  // Returns the outputs by name and dtype, with their histograms and worst elements.
  std::string table() const;

  // Keeps the references of all outputs that are made from now on.
  void keep_references() { keeps_references_ = true; }
  // Restarts positions at 0.
  void start_case(const std::string& name);
  void merge(const Judge& other);
  // Calls visit(record), by name and dtype.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [key, record] : outputs_) visit(record);
  }

 private:
  std::map<std::pair<std::string, aclDataType>, OutputRecord> outputs_;
  std::string case_;
  bool keeps_references_ = false;
};

}  // namespace openaclnn_verify
