// Tests checked arithmetic at its borders.
#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace openaclnn {
namespace {

TEST(Checked, RemembersOverflow) {
  EXPECT_EQ((Checked(2) * 3 + 4).value(), 10);
  EXPECT_TRUE((Checked(INT64_MAX) + 0).ok());
  EXPECT_FALSE((Checked(INT64_MAX) + 1).ok());
  EXPECT_FALSE((Checked(INT64_MIN) + -1).ok());
  EXPECT_FALSE((Checked(INT64_MIN) * -1).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 32) * (int64_t{1} << 31)).ok());
  EXPECT_TRUE((Checked(int64_t{1} << 31) * (int64_t{1} << 31)).ok());
  EXPECT_FALSE(((Checked(INT64_MAX) + 1) * 0).ok()) << "an overflow must not be forgotten";
}

TEST(Checked, CeilDivNeedsNoRoomToRound) {
  EXPECT_EQ(ceil_div(0, 7), 0);
  EXPECT_EQ(ceil_div(7, 7), 1);
  EXPECT_EQ(ceil_div(8, 7), 2);
  EXPECT_EQ(ceil_div(INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

}  // namespace
}  // namespace openaclnn
