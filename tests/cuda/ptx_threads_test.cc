// Tests the PTX machine: shared memory of threads, and communication between the lanes of a warp and the
// warps of a block.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx_program.h"

namespace openaclnn::ptx {
namespace {

// ---- memory ----

TEST(Memory, LoadsExtendAndStoresCut) {
  Setting setting;
  setting.in = {0x80FF, 0x1111111122222222, 0x3333333344444444, 0x5555555566666666};
  std::vector<uint32_t> out(12);
  run_text(text_of_kernel(R"(
  ld.global.s8 %r0, [%in+1];
  ld.global.u8 %r1, [%in+1];
  ld.s16 %r2, [%in];
  ld.volatile.global.u16 %r3, [%in];
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
  add.s64 %d0, %in, 16;
  ld.global.nc.L1::no_allocate.v2.b32 {%r0, %r1}, [%d0+-8];
  st.global.u8 [%out+16], %r0;
  st.global.b16 [%out+18], %r1;
  ld.global.v2.u64 {%d1, %d2}, [%in+16];
  st.global.u64 [%out+24], %d2;
  ld.global.v4.b16 {%h0, _, _, %h3}, [%in];
  st.global.v2.b16 [%out+32], {%h0, %h3};
)"),
           out, setting);
  EXPECT_EQ(out, (std::vector<uint32_t>{0xFFFFFF80, 0x80, 0xFFFF80FF, 0x80FF, 0x11110022, 0, 0x66666666,
                                        0x55555555, 0x80FF, 0, 0, 0}));
}

// Every thread reverses the block: by plain and generic addresses, and with a variable of the module.
TEST(Memory, BlocksShareIt) {
  const Values found = values_of_threads(R"(
  .shared .align 4 .b8 numbers[256];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, numbers;
  mad.lo.s32 %r3, %r2, 4, %r3;
  st.shared.u32 [%r3], %i;
  setp.eq.s32 %p0, %r2, 0;
  @%p0 st.shared.u32 [total], 0;
  bar.sync 0;
  atom.shared.add.u32 %r4, [total], %r2;
  mov.u64 %d0, numbers;
  cvta.shared.u64 %d0, %d0;
  sub.s32 %r2, 63, %r2;
  mul.wide.u32 %d1, %r2, 4;
  add.s64 %d0, %d0, %d1;
  ld.u32 %v, [%d0];
  bar.sync 0;
  ld.shared.u32 %r4, [total];
  setp.ne.s32 %p0, %r4, 2016;
  @%p0 mov.u32 %v, 0;
)",
                                         block_of(64, 2), ".shared .align 4 .u32 total;");
  EXPECT_EQ(found, values(128, [](uint32_t i) { return i < 64 ? 63 - i : 191 - i; }));
}

TEST(Memory, AtomicsSeeEveryThread) {
  Setting setting = block_of(70, 3);
  std::vector<uint32_t> out = {0, 5, 5, 0xFF, 0, 9, 0, 0, 0, 0};
  run_text(text_of_kernel(R"(
  mov.u32 %r0, %tid.x;
  red.global.add.u32 [%out], 1;
  atom.global.max.u32 %r1, [%out+4], %r0;
  neg.s32 %r1, %r0;
  atom.global.min.s32 %r2, [%out+8], %r1;
  and.b32 %r1, %r0, 15;
  or.b32 %r1, %r1, 0xF0;
  red.global.and.b32 [%out+12], %r1;
  atom.global.or.b32 %r2, [%out+16], %r0;
  atom.global.cas.b32 %r2, [%out+20], 9, 100;
  setp.eq.s32 %p0, %r2, 9;
  @%p0 red.global.add.u32 [%out+24], 1;
  atom.global.exch.b32 %r2, [%out+28], 3;
  atom.global.add.u64 %d0, [%out+32], 0x100000001;
)"),
           out, setting);
  EXPECT_EQ(out, (std::vector<uint32_t>{210, 69, 0u - 69, 0xF0, 127, 100, 1, 3, 210, 210}));
}

TEST(Memory, VariablesOfTheModuleBeginAsZero) {
  const Values found = values_of_threads("ld.global.u32 %v, [counter+4];\nadd.s32 %v, %v, 1;\n", block_of(2),
                                         ".global .align 4 .u32 counter[2];");
  EXPECT_EQ(found, (Values{1, 1}));
}

// ---- warps ----

// The values of a shuffle of 32 lanes' numbers; 100 is added if the result is another lane's.
Values shuffled(const std::string& mode, int by, int limits, const std::string& mask = "0xFFFFFFFF") {
  return values_of_threads("shfl.sync." + mode + ".b32 %v|%p0, %i, " + std::to_string(by) + ", " +
                               std::to_string(limits) + ", " + mask + ";\n@%p0 add.s32 %v, %v, 100;\n",
                           block_of(32));
}

TEST(Warps, ShufflesGiveValuesToOtherLanes) {
  EXPECT_EQ(shuffled("idx", 5, 31), Values(32, 105));
  EXPECT_EQ(shuffled("down", 3, 31), values(32, [](uint32_t i) { return i < 29 ? i + 103 : i; }));
  EXPECT_EQ(shuffled("up", 3, 0), values(32, [](uint32_t i) { return i >= 3 ? i + 97 : i; }));
  EXPECT_EQ(shuffled("bfly", 16, 31), values(32, [](uint32_t i) { return (i ^ 16) + 100; }));
  EXPECT_EQ(shuffled("idx", 37, 31), Values(32, 105));  // five bits count
}

// Segments of eight lanes: bits 8 to 12 of the limits are 24.
TEST(Warps, ShufflesStayInSegments) {
  EXPECT_EQ(shuffled("idx", 5, 0x181F), values(32, [](uint32_t i) { return i / 8 * 8 + 105; }));
  EXPECT_EQ(shuffled("idx", 13, 0x181F), values(32, [](uint32_t i) { return i / 8 * 8 + 105; }));
  EXPECT_EQ(shuffled("down", 3, 0x181F), values(32, [](uint32_t i) { return i % 8 < 5 ? i + 103 : i; }));
  EXPECT_EQ(shuffled("up", 3, 0x1800), values(32, [](uint32_t i) { return i % 8 >= 3 ? i + 97 : i; }));
  EXPECT_EQ(shuffled("bfly", 8, 0x181F), values(32, [](uint32_t i) { return i / 8 % 2 == 1 ? i + 92 : i; }));
  EXPECT_EQ(shuffled("idx", 7, 0x1805),
            values(32, [](uint32_t i) { return i; }));  // beyond the last lane of a segment
}

TEST(Warps, LanesVote) {
  const auto voted = [](const std::string& vote, const std::string& result) {
    return values_of_threads("setp.lt.u32 %p0, %i, 40;\nvote.sync." + vote + " " + result +
                                 ", %p0, 0xFFFFFFFF;\n" +
                                 (result == "%v" ? "" : "selp.u32 %v, 1, 0, " + result + ";\n"),
                             block_of(96));
  };
  EXPECT_EQ(voted("ballot.b32", "%v"), values(96, [](uint32_t i) {
              return i < 32 ? ~0u : i < 64 ? 0xFFu : 0u;
            }));
  EXPECT_EQ(voted("any.pred", "%p1"), values(96, [](uint32_t i) { return i < 64 ? 1u : 0u; }));
  EXPECT_EQ(voted("all.pred", "%p1"), values(96, [](uint32_t i) { return i < 32 ? 1u : 0u; }));
}

// Both halves are at the same instruction, each with its own mask; or one half alone.
TEST(Warps, HalvesWorkAlone) {
  const std::string masks = R"(
  setp.lt.u32 %p0, %i, 16;
  selp.b32 %r2, 0xFFFF, 0xFFFF0000, %p0;
)";
  EXPECT_EQ(values_of_threads(masks + "shfl.sync.down.b32 %v, %i, 1, 0x100F, %r2;\n", block_of(32)),
            values(32, [](uint32_t i) { return i % 16 == 15 ? i : i + 1; }));
  EXPECT_EQ(values_of_threads(masks + "vote.sync.ballot.b32 %v, 1, %r2;\n", block_of(32)),
            values(32, [](uint32_t i) { return i < 16 ? 0xFFFFu : 0xFFFF0000u; }));
  EXPECT_EQ(values_of_threads(masks + "@%p0 vote.sync.ballot.b32 %v, %p0, 0xFFFF;\n", block_of(32)),
            values(32, [](uint32_t i) { return i < 16 ? 0xFFFFu : 0u; }));
}

// Odd lanes reach the shuffle by another path than even ones, and again in a loop where some are ahead.
TEST(Warps, LanesThatArriveLaterAreWaitedFor) {
  const std::string parted = R"(
  and.b32 %r2, %i, 1;
  setp.eq.s32 %p0, %r2, 0;
)";
  EXPECT_EQ(values_of_threads(parted + R"(
  @%p0 bra MEETING;
  mov.u32 %r3, 1;
  bra BACK;
MEETING:
  shfl.sync.bfly.b32 %v, %i, 1, 31, 0xFFFFFFFF;
  bra END;
BACK:
  add.s32 %i, %i, 100;
  bra MEETING;
END:
  bar.warp.sync 0xFFFFFFFF;
)",
                              block_of(32)),
            values(32, [](uint32_t i) { return i % 2 == 0 ? i + 101 : i - 1; }));
  EXPECT_EQ(values_of_threads(parted + R"(
  mov.u32 %r4, 0;
AGAIN:
  add.s32 %r4, %r4, 1;
  @%p0 bra AHEAD;
  add.s32 %v, %v, 1;
AHEAD:
  vote.sync.ballot.b32 %r5, %p0, 0xFFFFFFFF;
  popc.b32 %r5, %r5;
  add.s32 %v, %v, %r5;
  setp.lt.u32 %p1, %r4, 5;
  @%p1 bra AGAIN;
)",
                              block_of(32)),
            values(32, [](uint32_t i) { return i % 2 == 0 ? 80u : 85u; }));
}

TEST(Barriers, CountAndVote) {
  const auto reduced = [](const std::string& barrier, unsigned below) {
    return values_of_threads("setp.lt.u32 %p0, %i, " + std::to_string(below) + ";\n" + barrier, block_of(70));
  };
  EXPECT_EQ(reduced("bar.red.popc.u32 %v, 0, %p0;", 41), Values(70, 41));
  EXPECT_EQ(reduced("barrier.cta.red.popc.aligned.u32 %v, 0, %p0;", 41), Values(70, 41));
  const std::string tell = "selp.u32 %v, 1, 0, %p1;";
  EXPECT_EQ(reduced("bar.red.or.pred %p1, 0, %p0;" + tell, 1), Values(70, 1));
  EXPECT_EQ(reduced("bar.red.or.pred %p1, 0, %p0;" + tell, 0), Values(70, 0));
  EXPECT_EQ(reduced("bar.red.and.pred %p1, 0, %p0;" + tell, 70), Values(70, 1));
  EXPECT_EQ(reduced("bar.red.and.pred %p1, 0, %p0;" + tell, 69), Values(70, 0));
}

// Warps may be at different instructions: it is the same barrier.
TEST(Barriers, WarpsMeetAtAnyOfThem) {
  EXPECT_EQ(values_of_threads(R"(
  .shared .align 4 .u32 word;
  setp.lt.u32 %p0, %i, 32;
  @%p0 bra FIRST;
  st.shared.u32 [word], 5;
  bar.sync 0;
  bra END;
FIRST:
  bar.sync 0;
  ld.shared.u32 %v, [word];
END:
)",
                              block_of(33)),
            values(33, [](uint32_t i) { return i < 32 ? 5u : 0u; }));
}

}  // namespace
}  // namespace openaclnn::ptx
