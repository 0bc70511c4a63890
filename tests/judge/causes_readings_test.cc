// Planted faults of groups, rows and windows: sums of the wrong terms, and the causes that the judge names.
#include <gtest/gtest.h>

#include <algorithm>

#include "judge/planted.h"

namespace openaclnn_test {
namespace {

class ReadingCauses : public testing::TestWithParam<Setting> {
 protected:
  Calls calls_ = Calls(GetParam());
};

TEST_P(ReadingCauses, Groups) {
  const Call call = calls_.bias();
  const std::vector<double> ends = values_of(call.inputs.at("groupIdxOptional")[0]);
  const auto with_ends = [&](const std::function<double(size_t)>& end) {
    Call faulty = call;
    std::vector<double> changed(ends.size());
    for (size_t j = 0; j < ends.size(); ++j) changed[j] = end(j);
    faulty.inputs["groupIdxOptional"][0] =
        array_of(ACL_INT64, {static_cast<int64_t>(changed.size())}, changed);
    return results_of(faulty);
  };
  // Group j of these results is group j + 1 of the call.
  Tensors results = with_ends([&](size_t j) { return ends[j]; });
  const Array out = results.at("out")[0];
  const int64_t columns = out.dims[1];
  const auto moved = [&](int64_t rows) {
    std::vector<double> values = values_of(out), after(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t from = static_cast<int64_t>(i) + rows * columns;
      if (0 <= from && from < out.numel()) after[i] = values[static_cast<size_t>(from)];
    }
    return Tensors{{"out", {array_of(out.dtype, out.dims, after)}}};
  };
  expect_cause(call, moved(1), "groups-shifted-by-one");
  expect_cause(call, moved(-1), "groups-shifted-by-one");

  const std::vector<double> grad = values_of(call.inputs.at("gradY")[0]);
  const auto summed = [&](const std::function<std::pair<double, double>(double, double)>& rows_of) {
    std::vector<double> values;
    const double rows = ends.back();
    for (size_t j = 0; j < ends.size(); ++j) {
      const auto [begin, end] = rows_of(j == 0 ? 0 : ends[j - 1], ends[j]);
      for (int64_t k = 0; k < columns; ++k) {
        double sum = 0;
        for (double row = std::max(begin, 0.0); row < std::min(end, rows); ++row)
          sum += grad[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(k)];
        values.push_back(sum);
      }
    }
    return Tensors{{"out", {array_of(out.dtype, out.dims, values)}}};
  };
  using Rows = std::pair<double, double>;
  expect_no_cause(call, summed([](double begin, double end) { return Rows(begin, end); }));
  // Ends are included: rows (previous end, end].
  expect_cause(call,
               summed([](double begin, double end) { return Rows(begin == 0 ? 0 : begin + 1, end + 1); }),
               "group-ends-included");
  expect_cause(call, summed([](double begin, double end) { return Rows(begin, end + 1); }), "row-too-many");
  expect_cause(call, summed([](double begin, double end) { return Rows(begin + 1, end); }),
               "first-row-missing");
  expect_cause(call, summed([](double begin, double end) { return Rows(begin, end - 1); }),
               "last-row-missing");
  expect_cause(call, summed([](double, double end) { return Rows(0, end); }), "groups-cumulative");
  // The entries are sizes, or the device takes them for sizes.
  Call sizes = call;
  sizes.values.integers["groupIdxType"] = {1};
  std::vector<double> of_groups(ends.size());
  for (size_t j = 0; j < ends.size(); ++j) of_groups[j] = ends[j] - (j == 0 ? 0 : ends[j - 1]);
  sizes.inputs["groupIdxOptional"][0] = array_of(ACL_INT64, {static_cast<int64_t>(ends.size())}, of_groups);
  double before = 0, previous = 0;
  const auto read_sizes_as_ends = [&](double begin, double end) {
    const double size = end - begin;
    const Rows rows(previous, std::max(previous, size));
    previous = size;
    return rows;
  };
  expect_cause(sizes, summed(read_sizes_as_ends), "group-index-type");
  const auto read_ends_as_sizes = [&](double, double end) {
    const Rows rows(before, before + end);
    before += end;
    return rows;
  };
  expect_cause(call, summed(read_ends_as_sizes), "group-index-type");
}

TEST_P(ReadingCauses, RowsOfTables) {
  const Call call = calls_.backward();
  const auto with = [&](const std::function<void(Call&)>& change) {
    Call faulty = call;
    change(faulty);
    return results_of(faulty);
  };
  const auto shift_rows = [](Call& faulty) {
    change_input(faulty, "indices", [](int64_t i, const std::vector<double>& before) {
      return before[static_cast<size_t>(i)] + 1;
    });
  };
  expect_cause(call, with(shift_rows), "rows-shifted-by-one");
  Call padded = call, scaled = call, row_0 = call;
  padded.values.integers["paddingIdx"] = {7};
  scaled.values.integers["scaleGradByFreq"] = {1};
  row_0.values.integers["paddingIdx"] = {0};
  expect_cause(padded, results_of(call), "padding-row-not-skipped");
  expect_cause(scaled, results_of(call), "frequency-scaling-missing");
  expect_cause(call, results_of(scaled), "frequency-scaling-applied");
  expect_cause(call, results_of(row_0), "row-0-skipped");
  const int64_t columns = call.inputs.at("grad")[0].dims.back(),
                positions = call.inputs.at("indices")[0].numel();
  for (const int64_t position : {int64_t{0}, positions - 1}) {
    Call faulty = call;
    change_input(faulty, "grad", [&](int64_t i, const std::vector<double>& before) {
      return i / columns == position ? 0 : before[static_cast<size_t>(i)];
    });
    expect_cause(call, results_of(faulty),
                 position == 0 ? "first-position-missing" : "last-position-missing");
  }
  // INT64 indices read as INT32: the upper halves are 0.
  Call narrow = call;
  change_input(narrow, "indices", [](int64_t i, const std::vector<double>& before) {
    return i % 2 == 0 ? before[static_cast<size_t>(i / 2)] : 0;
  });
  expect_cause(call, results_of(narrow), "index-width");
}

TEST_P(ReadingCauses, RowsOfEmbeddings) {
  const Call call = calls_.embedding();
  const auto with_indices = [&](const std::function<double(int64_t, const std::vector<double>&)>& index) {
    Call faulty = call;
    change_input(faulty, "indices", index);
    return results_of(faulty);
  };
  const auto at = [](const std::vector<double>& before, int64_t i) {
    return before[static_cast<size_t>(std::clamp<int64_t>(i, 0, static_cast<int64_t>(before.size()) - 1))];
  };
  expect_cause(call, with_indices([&](int64_t i, const auto& before) { return at(before, i) + 1; }),
               "rows-shifted-by-one");
  expect_cause(call, with_indices([&](int64_t i, const auto& before) { return at(before, i + 1); }),
               "indices-shifted-by-one");
  expect_cause(call, with_indices([&](int64_t i, const auto& before) { return at(before, i - 1); }),
               "indices-shifted-by-one");
  expect_cause(
      call, with_indices([&](int64_t i, const auto& before) { return i % 2 == 0 ? at(before, i / 2) : 0; }),
      "index-width");
  const int64_t rows = call.inputs.at("weight")[0].dims[0];
  expect_cause(call, with_indices([&](int64_t i, const auto&) { return static_cast<double>(i % rows); }),
               "indices-ignored");
}

// ---- Windows ----

// The rows of a tensor of tokens `by` tokens later.
double moved_token(const Array& tokens, int64_t by, int64_t element, const std::vector<double>& before) {
  const int64_t from = element + by * tokens.dims[1] * tokens.dims[2];
  return 0 <= from && from < tokens.numel() ? before[static_cast<size_t>(from)] : 0;
}

// Compressed tokens of windows with other starts, in double.
Tensors compressed(const Call& call, const std::function<int64_t(int64_t window, int64_t start)>& start_of) {
  const Array &input = call.inputs.at("input")[0], &weight = call.inputs.at("weight")[0];
  const std::vector<double> tokens = values_of(input), weights = values_of(weight);
  const int64_t heads = input.dims[1], columns = input.dims[2], block = weight.dims[0];
  std::vector<double> values;
  int64_t before = 0, window = 0;
  for (const int64_t end : call.values.integers.at("actSeqLenOptional")) {
    for (int64_t right = before; right + block <= end; right += 16) {
      const int64_t start = start_of(window++, right);
      for (int64_t k = 0; k < heads * columns; ++k) {
        double sum = 0;
        for (int64_t i = 0; i < block; ++i) {
          if (start + i < 0 || start + i >= input.dims[0]) continue;
          sum += weights[static_cast<size_t>(i * heads + k / columns)] *
                 tokens[static_cast<size_t>((start + i) * heads * columns + k)];
        }
        values.push_back(sum);
      }
    }
    before = end;
  }
  return {{"output", {array_of(input.dtype, {window, heads, columns}, values)}}};
}

TEST_P(ReadingCauses, WindowsOfTokens) {
  const Call call = calls_.compress();
  expect_no_cause(call, compressed(call, [](int64_t, int64_t start) { return start; }));
  for (const int64_t by : {-1, 1}) {
    expect_cause(call, compressed(call, [by](int64_t, int64_t start) { return start + by; }),
                 "windows-shifted-by-one");
  }
  int64_t last = -1000, made = 0;
  expect_cause(call,
               compressed(call,
                          [&](int64_t, int64_t start) {
                            made = start == last + 16 ? made + 32 : start;
                            last = start;
                            return made;
                          }),
               "stride-is-block-size");
  expect_cause(call, compressed(call, [](int64_t window, int64_t) { return 16 * window; }),
               "sequences-ignored");
}

TEST_P(ReadingCauses, WeightsOfTokens) {
  for (const Call& call : {calls_.compress(), calls_.compress_grad()}) {
    const Array weight = call.inputs.at("weight")[0];
    const int64_t block = weight.dims[0], heads = weight.dims[1];
    const auto with_weights = [&](const std::function<double(int64_t, const std::vector<double>&)>& value) {
      Call faulty = call;
      change_input(faulty, "weight", value);
      Tensors results = results_of(faulty);
      results.erase("weightGradOut");  // does not depend on the weights
      return results;
    };
    expect_cause(call, with_weights([&](int64_t i, const auto& before) {
                   return before[static_cast<size_t>((block - 1 - i / heads) * heads + i % heads)];
                 }),
                 "weights-reversed");
    expect_cause(call, with_weights([&](int64_t i, const auto& before) {
                   return before[static_cast<size_t>(i % heads * block + i / heads)];
                 }),
                 "weights-transposed");
    expect_cause(call, with_weights([](int64_t, const auto&) { return 1; }), "weights-ignored");
    const auto without_token = [&](int64_t token) {
      return [&, token](int64_t i, const std::vector<double>& before) {
        return i / heads == token ? 0 : before[static_cast<size_t>(i)];
      };
    };
    expect_cause(call, with_weights(without_token(0)), "first-token-missing");
    expect_cause(call, with_weights(without_token(block - 1)), "last-token-missing");
  }
}

TEST_P(ReadingCauses, HeadsOfTokens) {
  const Call call = calls_.compress();
  const Array input = call.inputs.at("input")[0];
  const int64_t tokens = input.dims[0], heads = input.dims[1], columns = input.dims[2];
  Call faulty = call;
  change_input(faulty, "input", [&](int64_t i, const std::vector<double>& before) {
    const int64_t token = i / columns / heads, head = i / columns % heads;
    return before[static_cast<size_t>((head * tokens + token) * columns + i % columns)];
  });
  expect_cause(call, results_of(faulty), "heads-transposed");
}

TEST_P(ReadingCauses, WindowsOfGradients) {
  const Call call = calls_.compress_grad();
  // The gradient of token t is stored at token t + 1, as if windows began one token later.
  for (const int64_t by : {-1, 1}) {
    Tensors results = results_of(call);
    const Array array = results.at("inputGradOut")[0];
    const std::vector<double> before = values_of(array);
    std::vector<double> after(before.size());
    for (int64_t i = 0; i < array.numel(); ++i)
      after[static_cast<size_t>(i)] = moved_token(array, by, i, before);
    results["inputGradOut"][0] = array_of(array.dtype, array.dims, after);
    expect_cause(call, results, "windows-shifted-by-one");
    Call faulty = call;
    change_input(faulty, "input", [&](int64_t i, const std::vector<double>& values) {
      return moved_token(call.inputs.at("input")[0], by, i, values);
    });
    expect_cause(call, results_of(faulty), "windows-shifted-by-one");
  }
  // The loop ends before the last window, of the call or of each sequence.
  const Array grad = call.inputs.at("outputGrad")[0];
  const int64_t row = grad.dims[1] * grad.dims[2];
  for (const bool is_each : {false, true}) {
    std::vector<bool> is_last(static_cast<size_t>(grad.dims[0]));
    int64_t window = 0, before = 0;
    for (const int64_t end : call.values.integers.at("actSeqLenOptionalOptional")) {
      window += (end - before - 32) / 16 + 1;
      before = end;
      is_last[static_cast<size_t>(window - 1)] = is_each || window == grad.dims[0];
    }
    Call faulty = call;
    change_input(faulty, "outputGrad", [&](int64_t i, const std::vector<double>& values) {
      return is_last[static_cast<size_t>(i / row)] ? 0 : values[static_cast<size_t>(i)];
    });
    expect_cause(call, results_of(faulty), "last-window-missing");
  }
}

TEST_P(ReadingCauses, CacheOfTokens) {
  for (const bool is_paged : {false, true}) {
    const Call call = calls_.cache(is_paged);
    const auto with = [&](const char* parameter,
                          const std::function<double(int64_t, const std::vector<double>&)>& value) {
      Call faulty = call;
      change_input(faulty, parameter, value);
      return results_of(faulty);
    };
    for (const int by : {-1, 1}) {
      expect_cause(call,
                   with("slotMapping",
                        [by](int64_t b, const auto& slots) { return slots[static_cast<size_t>(b)] + by; }),
                   "slots-shifted-by-one");
    }
    expect_cause(call, with("slotMapping", [](int64_t b, const auto&) { return static_cast<double>(b); }),
                 "slots-ignored");
    const int64_t block = call.inputs.at("weight")[0].dims[0];
    expect_cause(call,
                 with("weight",
                      [&](int64_t i, const auto& before) {
                        return before[static_cast<size_t>((block - 1 - i / 2) * 2 + i % 2)];
                      }),
                 "weights-reversed");
    Call faulty = call;
    faulty.values.integers["compressStride"] = {1};
    expect_cause(call, results_of(faulty), "incomplete-windows-written");
    const Array input = call.inputs.at("input")[0];
    const int64_t token = input.dims[input.dims.size() - 2] * input.dims.back();
    if (is_paged) {
      const int64_t pages = input.dims[0];
      expect_cause(call,
                   with("blockTableOptional",
                        [&](int64_t i, const auto& table) {
                          const int64_t page =
                              static_cast<int64_t>(table[static_cast<size_t>(i / 3 * 3)]) + i % 3;
                          return static_cast<double>(page < pages ? page : 0);
                        }),
                   "page-table-ignored");
      continue;
    }
    expect_cause(call,
                 with("input",
                      [&](int64_t i, const auto& before) {
                        return i < token ? 0 : before[static_cast<size_t>(i - token)];
                      }),
                 "windows-shifted-by-one");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReadingCauses, testing::ValuesIn(kSettings), [](const auto& entry) {
  return openaclnn_verify::dtype_name(entry.param.dtype) + std::to_string(entry.param.seed);
});

}  // namespace
}  // namespace openaclnn_test
