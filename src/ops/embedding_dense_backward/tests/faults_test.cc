// EmbeddingDenseBackward: out-of-range indices of every dtype, the padding row, the report, and the modes of
// the process that change the outcome.
#include <gtest/gtest.h>

#include <limits>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "support/phase2_mistakes.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr int64_t kNone = -1;  // not a row of the table

struct Element {
  uint64_t bits;
  int64_t row;        // of a table of 4 rows, or kNone
  const char* shown;  // the text in the error message, if there is no row
};

// Elements of each index dtype at the limits of accepted values.
std::vector<Element> elements(aclDataType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto integer = [](int64_t value, int64_t row, const char* shown = "") {
    return Element{static_cast<uint64_t>(value), row, shown};
  };
  const auto real = [&](double value, int64_t row, const char* shown = "") {
    return Element{encode(dtype, value), row, shown};
  };
  std::vector<Element> list;
  const auto append = [&list](std::initializer_list<Element> more) { list.insert(list.end(), more); };
  switch (dtype) {
    case ACL_BOOL: return {integer(0, 0), integer(1, 1), integer(2, 1), integer(0x80, 1), integer(0xFF, 1)};
    case ACL_UINT8:
      return {integer(0, 0), integer(3, 3), integer(4, kNone, "4"), integer(128, kNone, "128"),
              integer(255, kNone, "255")};
    case ACL_INT64:
      append({integer(int64_t{1} << 32, kNone, "4294967296"),
              integer((int64_t{1} << 32) + 1, kNone, "4294967297"),
              integer(-(int64_t{1} << 32), kNone, "-4294967296"),
              integer(INT64_MIN, kNone, "-9223372036854775808"),
              integer(INT64_MIN + 2, kNone, "-9223372036854775806"),
              integer(INT64_MAX, kNone, "9223372036854775807")});
      [[fallthrough]];
    case ACL_INT32:
      append(
          {integer(65536, kNone, "65536"), integer(65537, kNone, "65537"), integer(-65535, kNone, "-65535")});
      if (dtype == ACL_INT32) {
        append({integer(INT32_MIN, kNone, "-2147483648"), integer(INT32_MAX, kNone, "2147483647")});
      }
      [[fallthrough]];
    case ACL_INT16:
      append({integer(256, kNone, "256"), integer(257, kNone, "257"), integer(-255, kNone, "-255"),
              integer(-32768, kNone, "-32768"), integer(32767, kNone, "32767")});
      [[fallthrough]];
    case ACL_INT8:
      append({integer(0, 0), integer(3, 3), integer(4, kNone, "4"), integer(-1, kNone, "-1"),
              integer(-128, kNone, "-128"), integer(127, kNone, "127")});
      return list;
    case ACL_DOUBLE:
      append({real(0x1p32, kNone, "4.2949673e+09"), real(-1e300, kNone, "-1e+300"), real(1e-300, 0),
              real(-1e-300, 0), real(0x1.fffffffffffffp0, 1), real(0x1p64, kNone, "1.84467441e+19"),
              real(std::nextafter(0x1p63, 0), kNone, "9.22337204e+18"), real(0x1.fffffffffffffp1, 3),
              real(-0x1.fffffffffffffp-1, 0)});
      [[fallthrough]];
    case ACL_FLOAT:
      append({real(0x1p63, kNone, "9.22337204e+18"), real(-0x1p63, kNone, "-9.22337204e+18"),
              real(0x1p127, kNone, "1.70141183e+38"), real(0x1.fffffep1, 3), real(0x1p-126, 0)});
      if (dtype == ACL_FLOAT) append({Element{0xFFC00001u, kNone, "nan"}});  // for any sign and payload
      [[fallthrough]];
    default:  // FLOAT16
      append({real(0, 0), real(-0.0, 0), real(-.5, 0), real(-.9995117, 0), real(.99, 0), real(1, 1),
              real(1.5, 1), real(3.75, 3), real(4, kNone, "4"), real(4.25, kNone, "4.25"),
              real(-1, kNone, "-1"), real(-1.5, kNone, "-1.5"), real(65504, kNone, "65504"),
              real(inf, kNone, "inf"), real(-inf, kNone, "-inf"), real(std::nan(""), kNone, "nan")});
      return list;
  }
}

// The element is between two indices of row 2 (BOOL: row 1).
TEST(EmbeddingBackwardIndices, EveryDtypeHasItsRowsAndFaults) {
  for (const aclDataType dtype : kBackwardIndexDtypes) {
    for (const Element& element : elements(dtype)) {
      SCOPED_TRACE(testing::Message() << "dtype " << dtype << ", element " << std::hex << element.bits);
      const int64_t other = dtype == ACL_BOOL ? 1 : 2;
      BackwardCall call(kFloats, dtype, {3}, 2, {.table_rows = 4});
      call[kGrad].fill({1, 10, 2, 20, 4, 40});
      call[kIndices].fill({static_cast<double>(other)});
      call[kIndices].set_bits(1, element.bits);
      const Outcome outcome = call.run();
      if (element.row == kNone) {
        EXPECT_TRUE(failed_in_sync(outcome, {kBackwardPhase2, "indices[1] = " + std::string(element.shown) +
                                                                  " is outside [0, 4); 1 of 3 indices"}));
      } else {
        EXPECT_TRUE(succeeded(outcome));
      }
      double rows[4] = {};
      rows[other] = 5;
      if (element.row != kNone) rows[element.row] += 2;
      for (int64_t row = 0; row < 4; ++row) {
        EXPECT_EQ(call[kOut].get(row * 2), rows[row]) << "row " << row;
        EXPECT_EQ(call[kOut].get(row * 2 + 1), rows[row] * 10) << "row " << row;
      }
      // The reference of the other tests agrees.
      EXPECT_EQ(call.expected(), call[kOut].all_bits());
    }
  }
}

TEST(EmbeddingBackwardIndices, OneIsOutOfRangeInATableOfOneRow) {
  BackwardCall call(kFloats, ACL_BOOL, {4}, 1, {.table_rows = 1});
  call[kGrad].fill({1, 2, 4, 8});
  for (int64_t n = 0; n < 4; ++n) call[kIndices].set_bits(n, n % 2 == 0 ? 0 : 1);
  EXPECT_TRUE(failed_in_sync(call.run(), {"indices[1] = 1 is outside [0, 1); 2 of 4 indices were skipped"}));
  EXPECT_EQ(call[kOut].get(0), 5);
}

// With many rows, higher bits also matter.
TEST(EmbeddingBackwardIndices, LargeRowsOfEveryDtypeAreFound) {
  struct Wide {
    aclDataType dtype;
    double largest;
  };
  for (const Wide& wide : {Wide{ACL_INT8, 127},
                           {ACL_UINT8, 255},
                           {ACL_INT16, 32767},
                           {ACL_INT32, 70000},
                           {ACL_INT64, 70000},
                           {ACL_FLOAT16, 65504},
                           {ACL_FLOAT, 70000.9},
                           {ACL_DOUBLE, 70000.9}}) {
    const int64_t rows = static_cast<int64_t>(wide.largest) + 1;
    BackwardCall call(kFloats, wide.dtype, {4}, 1, {.table_rows = rows});
    call[kGrad].fill({1, 2, 4, 8});
    call[kIndices].fill({wide.largest, 0, wide.largest, 1});
    ASSERT_TRUE(call.run_and_compare()) << "dtype " << wide.dtype;
    EXPECT_EQ(call[kOut].get(rows - 1), 5);
  }
}

// ---- The padding row ----

TEST(EmbeddingBackwardPadding, ItsRowIsZeroAndNotAFault) {
  for (const bool scale : {false, true}) {
    for (const int64_t padding : {0, 1, 2, 3}) {
      BackwardCall call(kFloats, ACL_INT64, {6}, 2,
                        {.table_rows = 4, .padding_row = padding, .scale = scale});
      Random random(test_seed());
      call.fill_grad(random);
      call[kIndices].fill({0, 3, 1, 1, 3, 2});
      ASSERT_TRUE(call.run_and_compare());
      EXPECT_EQ(call[kOut].bits(padding * 2), 0u);
      EXPECT_EQ(call[kOut].bits(padding * 2 + 1), 0u);
    }
  }
}

TEST(EmbeddingBackwardPadding, ValuesThatNameNoRowMeanNoPadding) {
  const BackwardAttributes plain = {.table_rows = 4};
  for (const int64_t padding :
       {int64_t{-1}, int64_t{-4}, int64_t{4}, int64_t{5}, int64_t{1} << 32, INT64_MAX, INT64_MIN}) {
    BackwardAttributes attributes = plain;
    attributes.padding_row = padding;
    BackwardCall call(kFloats, ACL_INT64, {6}, 2, attributes);
    Random random(test_seed());
    call.fill_grad(random);
    call[kIndices].fill({0, 3, 1, 1, 3, 2});
    ASSERT_TRUE(call.run_and_compare()) << "paddingIdx " << padding;
    for (int64_t row = 0; row < 4; ++row) EXPECT_NE(call[kOut].get(row * 2), 0) << "paddingIdx " << padding;
    // An index that equals it is out of range like any other.
    call[kIndices].set_bits(2, static_cast<uint64_t>(padding));
    EXPECT_TRUE(failed_in_sync(call.run(),
                               {"indices[2] = " + std::to_string(padding) + " is outside [0, 4); 1 of 6"}));
  }
}

TEST(EmbeddingBackwardPadding, OnlyPaddingGivesZeros) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    BackwardCall call(dtypes, ACL_INT64, {20000}, 3, {.table_rows = 50, .padding_row = 7, .scale = true});
    Random random(test_seed());
    call.fill_grad_with_anything(random);
    call[kIndices].fill({7});
    ASSERT_TRUE(call.run_and_compare());
    ASSERT_TRUE(call.has_bits(kOut, std::vector<uint64_t>(150)));
  }
}

// ---- The report ----

TEST(EmbeddingBackwardFaults, OtherRowsAreExactAndSkippedIndicesDoNotCount) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const aclDataType index_dtype : {ACL_INT16, ACL_INT32, ACL_INT64, ACL_FLOAT, ACL_DOUBLE}) {
      for (const int64_t positions : {10, 3000, 40000}) {
        if (positions == 40000 && dtypes.grad != dtypes.out) continue;
        BackwardCall call(dtypes, index_dtype, {positions}, 3,
                          {.table_rows = 90, .padding_row = 3, .scale = true});
        call.fill(random);
        for (int64_t n = 0; n < positions; ++n) {
          if (random.chance(7)) call[kIndices].set(n, static_cast<double>(random.between(-9000, 9000)));
        }
        call[kIndices].set(positions / 2, -1);
        ASSERT_TRUE(call.run_and_compare()) << dtypes << ", indices of dtype " << index_dtype;
        ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0) << "a fault is returned once";
      }
    }
  }
}

TEST(EmbeddingBackwardFaults, NoIndexInRangeGivesZeros) {
  BackwardCall call(kFloats, ACL_INT64, {5000}, 9, {.table_rows = 33, .scale = true});
  Random random(test_seed());
  call.fill_grad_with_anything(random);
  call[kIndices].fill({-1, 33, 34});
  ASSERT_TRUE(call.run_and_compare());
  EXPECT_TRUE(call.has_bits(kOut, std::vector<uint64_t>(33 * 9)));
}

// The second and third row of grad are in an inaccessible page.
TEST(EmbeddingBackwardFaults, GradOfSkippedAndPaddingPositionsIsNotRead) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns : {3, 64, 700}) {
      BackwardCall call(dtypes, ACL_INT64, {3}, columns, {.table_rows = 5, .padding_row = 4});
      const HostTensor memory(dtypes.grad, {columns});
      call.replace(kGrad,
                   HostTensor(dtypes.grad, {3, columns}, View{{columns, 1}, 0}, memory, memory.data()));
      for (int64_t c = 0; c < columns; ++c) call[kGrad].set(c, static_cast<double>(c % 100));
      call[kIndices].fill({2, 4, 5});
      ASSERT_TRUE(call.run_and_compare()) << dtypes;
    }
  }
}

TEST(EmbeddingBackwardFaults, TheLowestPositionIsReportedForAnyLayout) {
  Random random(test_seed());
  for (const Layout layout : kInputLayouts) {
    if (layout == Layout::expanded || layout == Layout::broadcast) continue;
    BackwardCall call(kFloats, ACL_INT32, {50, 60}, 4, {.table_rows = 20}, {.indices = layout});
    call.fill(random);
    call[kIndices].set(17 * 60 + 41, 20);
    call[kIndices].set(17 * 60 + 40, -7);
    call[kIndices].set(49 * 60 + 2, 21);
    const Outcome outcome = call.run();
    EXPECT_TRUE(
        failed_in_sync(outcome, {"indices[1060] = -7 is outside [0, 20); 3 of 3000 indices were skipped"}))
        << layout_name(layout);
  }
}

TEST(EmbeddingBackwardFaults, TheNextCallIsClean) {
  Random random(test_seed());
  BackwardCall call(kFloats, ACL_INT64, {30}, 5, {.table_rows = 6});
  call.fill(random);
  const uint64_t good = call[kIndices].bits(4);
  call[kIndices].set(4, 6);
  ASSERT_TRUE(call.run_and_compare());
  call[kIndices].set_bits(4, good);
  ASSERT_TRUE(call.run_and_compare());
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(EmbeddingBackwardSettings, Strict) {
  expect_suite_passes("EmbeddingBackwardStrict", {{"OPENACLNN_CHECK", "strict"}});
}
TEST(EmbeddingBackwardSettings, Silent) {
  expect_suite_passes("EmbeddingBackwardSilent", {{"OPENACLNN_CHECK", "silent"}});
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};

PROCESS_TEST(EmbeddingBackwardStrict, NothingIsWrittenAndPhase2ReturnsTheFault) {
  use_device();
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t positions : {9, 20000}) {
      BackwardCall call(dtypes, ACL_INT64, {positions}, 5, {.table_rows = 30}, {}, Placement::library);
      call.fill(random);
      call[kOut].remember();
      call[kIndices].set(3, 30);
      call[kIndices].set(5, -2);
      const std::string count = "2 of " + std::to_string(positions);
      EXPECT_TRUE(failed_in_phase2(
          call.run(kLibraryMemory), kBackwardPhase2, 507035,
          {"indices[3] = 30 is outside [0, 30)", count + " indices are wrong and nothing was written"}));
      EXPECT_TRUE(call[kOut].unchanged());
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
      call[kIndices].set(3, 29);
      call[kIndices].set(5, 0);
      EXPECT_TRUE(call.run_and_compare(kLibraryMemory));
    }
  }
}

PROCESS_TEST(EmbeddingBackwardStrict, PaddingAndEmptyTablesAreNoFaults) {
  use_device();
  Random random(test_seed());
  BackwardCall call(kFloats, ACL_INT32, {40}, 5, {.table_rows = 3, .padding_row = 2}, {}, Placement::library);
  call.fill(random);
  EXPECT_TRUE(call.run_and_compare(kLibraryMemory));
  BackwardCall empty(kFloats, ACL_INT32, {40}, 5, {.table_rows = 0}, {}, Placement::library);
  empty[kIndices].fill({-1});
  EXPECT_TRUE(succeeded(empty.run(kLibraryMemory)));
}

PROCESS_TEST(EmbeddingBackwardStrict, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    expect_unknown_memory_refused(make_launch(kBackwardPhase2,
                                              backward_case(dtypes.grad, dtypes.out, ACL_INT32, {40}, 5,
                                                            {.table_rows = 3}, Layout::contiguous, "strict"),
                                              Placement::library));
  }
}

PROCESS_TEST(EmbeddingBackwardSilent, OutIsTheSameWithoutAReport) {
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    BackwardCall call(dtypes, ACL_INT64, {3000}, 5, {.table_rows = 30, .scale = true});
    call.fill(random);
    for (int64_t n = 0; n < 3000; n += 7) call[kIndices].set(n, n % 2 == 0 ? -1 : 30);
    ASSERT_TRUE(succeeded(call.run()));
    ASSERT_TRUE(call.has_bits(kOut, call.expected())) << dtypes;
    ASSERT_EQ(aclrtSynchronizeDevice(), 0);
  }
}

}  // namespace
}  // namespace openaclnn_test
