// Random calls of realistic size, results with planted faults, and what the judge says about them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "judge/arrays.h"
#include "judge/report.h"
#include "verify/random.h"

namespace openaclnn_test {

using openaclnn_judge::Call;
using openaclnn_judge::Tensors;

// Every fault is planted with several dtypes, each with its own shapes and data.
struct Setting {
  aclDataType dtype;
  uint64_t seed;
};
inline constexpr Setting kSettings[] = {{ACL_FLOAT, 1}, {ACL_FLOAT16, 2}, {ACL_BF16, 3}};

// Random calls of one setting.
class Calls {
 public:
  explicit Calls(const Setting& setting)
      : dtype_(setting.dtype), random_(setting.seed * 1000 + openaclnn_verify::test_seed()) {}

  openaclnn_verify::Random& random() { return random_; }
  double normal(double deviation);
  Array normals(Shape dims, double deviation);
  Array rows(int64_t count, int64_t below, aclDataType dtype = ACL_INT64);  // random indices

  Call ema(int64_t mode);
  Call ema_list();
  Call adam_w();
  Call bias();
  Call embedding();
  Call backward();
  Call compress();
  Call compress_grad();
  Call cache(bool is_paged);

  aclDataType dtype() const { return dtype_; }

 private:
  aclDataType dtype_;
  openaclnn_verify::Random random_;
};

// Replaces the values of an input.
void change_input(Call& call, const std::string& parameter,
                  const std::function<double(int64_t element, const std::vector<double>& before)>& value);

// Returns the results of this library for other arguments. They are computed in FLOAT and rounded once, so that no
// rounding of changed inputs adds errors.
Tensors results_of(Call call);

// Returns the exact results of `call`, with the value of every element of one result replaced, rounded to their dtypes.
Tensors results_with(const Call& call, const std::string& parameter,
                     const std::function<double(int64_t element, double exact)>& value);

// Judges the results. Some result must be wrong, and the named cause must be that of every result with many wrong elements.
void expect_cause(Call call, const Tensors& results, const std::string& name);
void expect_no_cause(Call call, const Tensors& results);

}  // namespace openaclnn_test
