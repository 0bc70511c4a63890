// Tests the PTX machine: how lanes diverge and converge, special registers, and the syntax of a kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx_program.h"

namespace openaclnn::ptx {
namespace {

// ---- control ----

// Three branches; where they converge, a vote sees all lanes. The second block reuses the same registers.
TEST(Control, LanesThatPartJoinAgain) {
  const Values found = values_of_threads(R"(
  and.b32 %r2, %i, 3;
  setp.eq.s32 %p0, %r2, 0;
  @%p0 bra FOURTH;
  setp.eq.s32 %p1, %r2, 1;
  @!%p1 bra OTHER;
  mov.u32 %v, 10;
  bra JOINED;
OTHER:
  mov.u32 %v, 20;
  bra.uni JOINED;
FOURTH:
  mov.u32 %v, 40;
JOINED:
  setp.gt.u32 %p2, %v, 10;
  vote.sync.ballot.b32 %r3, %p2, 0xFFFFFFFF;
  setp.ne.s32 %p3, %r3, 0xDDDDDDDD;
  @%p3 mov.u32 %v, 0;
)",
                                         block_of(64, 2));
  EXPECT_EQ(found, values(128, [](uint32_t i) { return i % 4 == 0 ? 40u : i % 4 == 1 ? 10u : 20u; }));
}

TEST(Control, EachLaneHasItsOwnCount) {
  const Values found = values_of_threads(R"(
  mov.u32 %r2, %i;
AGAIN:
  setp.eq.s32 %p0, %r2, 0;
  @%p0 bra DONE;
  add.s32 %v, %v, %r2;
  add.s32 %r2, %r2, -1;
  bra AGAIN;
DONE:
  bar.warp.sync 0xFFFFFFFF;
)",
                                         block_of(64));
  EXPECT_EQ(found, values(64, [](uint32_t i) { return i * (i + 1) / 2; }));
}

TEST(Control, GuardsHoldBackAnyInstruction) {
  const Values found = values_of_threads(R"(
  setp.lt.u32 %p0, %i, 16;
  mov.u32 %v, 1;
  @%p0 add.s32 %v, %v, 10;
  @!%p0 add.s32 %v, %v, 20;
  @!%p0 st.global.u32 [%to], %v;
  @%p0 ld.global.u32 %v, [%to];
)",
                                         block_of(32));
  EXPECT_EQ(found, values(32, [](uint32_t i) { return i < 16 ? ~0u : 21u; }));
}

TEST(Control, ThreadsReturnWhenTheyLike) {
  const Values found = values_of_threads(R"(
  and.b32 %r2, %i, 1;
  setp.eq.s32 %p0, %r2, 0;
  @%p0 ret;
  setp.gt.u32 %p1, %i, 20;
  @!%p1 bra STAY;
  exit;
STAY:
  mov.u32 %v, 7;
)",
                                         block_of(40));
  EXPECT_EQ(found, values(40, [](uint32_t i) { return i % 2 == 0 || i > 20 ? ~0u : 7u; }));
}

// The last warp has fewer lanes; the others need not be in a mask of all.
TEST(Control, BlocksNeedNotFillTheirWarps) {
  const Values found = values_of_threads(R"(
  setp.ge.u32 %p0, %i, 0;
  vote.sync.ballot.b32 %v, %p0, 0xFFFFFFFF;
  bar.sync 0;
)",
                                         block_of(37));
  EXPECT_EQ(found, values(37, [](uint32_t i) { return i < 32 ? ~0u : 31u; }));
}

TEST(Control, ScopesHaveRegistersOfTheirOwn) {
  const Values found = values_of_threads(R"(
  mov.u32 %r2, 5;
  {
    .reg .b32 %r2, inner<2>;
    mov.u32 %r2, 6; mov.u32 inner1, %r2; // two in a line, and a comment
    add.s32 %v, %v, inner1;
  }
  add.s32 %v, %v, %r2;
)",
                                         block_of(1));
  EXPECT_EQ(found, Values{11});
}

// ---- special registers ----

TEST(SpecialRegisters, TellWhereAThreadIs) {
  constexpr Shape kGrid = {2, 3, 2}, kBlock = {3, 2, 4};
  constexpr uint32_t kThreads = 24, kNumbers = 12;
  std::string body = R"(
  mov.u32 %r0, %ctaid.z;
  mov.u32 %r1, %nctaid.y;
  mov.u32 %r2, %ctaid.y;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  mov.u32 %r1, %nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  mov.u32 %r1, %ntid.z;
  mov.u32 %r2, %tid.z;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  mov.u32 %r1, %ntid.y;
  mov.u32 %r2, %tid.y;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  mad.wide.u32 %to, %r0, 48, %out;
)";
  uint32_t place = 0;
  for (const std::string of : {"tid", "ntid", "ctaid", "nctaid"}) {
    for (const std::string axis : {".x", ".y", ".z"}) {
      body +=
          "mov.u32 %v, %" + of + axis + ";\nst.global.u32 [%to+" + std::to_string(4 * place++) + "], %v;\n";
    }
  }
  Setting setting;
  setting.grid = kGrid;
  setting.block = kBlock;
  Values found(kGrid.count() * kThreads * kNumbers), expected;
  run_text(text_of_kernel(body), found, setting);
  for (unsigned b = 0; b < kGrid.count(); ++b) {
    for (unsigned t = 0; t < kThreads; ++t) {
      expected.insert(expected.end(), {t % 3, t / 3 % 2, t / 6, 3, 2, 4, b % 2, b / 2 % 3, b / 6, 2, 3, 2});
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(SpecialRegisters, TellWhichLaneItIs) {
  const auto expect = [](const std::string& name, auto of_lane) {
    EXPECT_EQ(values_of_threads("mov.u32 %v, %" + name + ";", block_of(64)),
              values(64, [&](uint32_t i) { return static_cast<uint32_t>(of_lane(i % 32)); }))
        << name;
  };
  expect("laneid", [](uint64_t lane) { return lane; });
  expect("lanemask_eq", [](uint64_t lane) { return uint64_t{1} << lane; });
  expect("lanemask_lt", [](uint64_t lane) { return (uint64_t{1} << lane) - 1; });
  expect("lanemask_le", [](uint64_t lane) { return (uint64_t{2} << lane) - 1; });
  expect("lanemask_gt", [](uint64_t lane) { return ~((uint64_t{2} << lane) - 1); });
  expect("lanemask_ge", [](uint64_t lane) { return ~((uint64_t{1} << lane) - 1); });
}

// ---- operands ----

TEST(Operands, ConstantsOfAllKinds) {
  const auto expect = [](const std::string& instruction, const std::string& type, uint64_t value) {
    std::vector<uint64_t> out(1);
    const std::string to = type == "u64" ? "%d0" : "%r0";
    run_text(text_of_kernel(instruction + "\nst.global." + type + " [%out], " + to + ";"), out, {});
    EXPECT_EQ(out[0], value) << instruction;
  };
  expect("mov.u32 %r0, 12;", "u32", 12);
  expect("mov.u32 %r0, 0x1fU;", "u32", 31);
  expect("mov.u32 %r0, 017;", "u32", 15);
  expect("mov.u32 %r0, -3;", "u32", 0xFFFFFFFD);
  expect("mov.f32 %r0, 0f3F800000;", "u32", 0x3F800000);
  expect("mov.f64 %d0, 0dBFF0000000000000;", "u64", 0xBFF0000000000000);
  expect("mov.u64 %d0, -3;", "u64", 0xFFFFFFFFFFFFFFFD);
}

TEST(Operands, MovesPackAndUnpack) {
  Setting setting;
  setting.in = {0x1122334455667788};
  std::vector<uint64_t> out(4);
  run_text(text_of_kernel(R"(
  ld.global.u64 %d0, [%in];
  mov.b64 {%r0, %r1}, %d0;
  mov.b64 %d1, {%r1, %r0};
  st.global.u64 [%out], %d1;
  mov.b64 {%h0, %h1, %h2, %h3}, %d0;
  mov.b64 %d1, {%h3, %h2, %h1, %h0};
  st.global.u64 [%out+8], %d1;
  mov.b32 {_, %h0}, %r0;
  mov.b32 %r1, {%h0, %h1};
  st.global.u32 [%out+16], %r1;
  mov.b64 {%r1, %r0}, %d0;
  st.global.v2.u32 [%out+24], {%r0, %r1};
)"),
           out, setting);
  EXPECT_EQ(out,
            (std::vector<uint64_t>{0x5566778811223344, 0x7788556633441122, 0x55665566, 0x5566778811223344}));
}

// ---- modules ----

TEST(Modules, HaveKernelsByName) {
  Module module(
      ".version 8.0\n.target sm_90\n.entry first(.param .u8 a, .param .u64 b) { ret; }\n"
      ".visible .entry second()\n.maxntid 64, 2, 1\n{\n  .shared .align 8 .b8 s[24];\n  ret;\n}\n");
  EXPECT_EQ(module.target(), 90);
  EXPECT_EQ(module.find("third"), nullptr);
  const Kernel* const first = module.find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->parameter_bytes, 16u);
  EXPECT_EQ(first->parameters[1].offset, 8u);
  EXPECT_EQ(first->most_threads, 1024);
  const Kernel* const second = module.find("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->most_threads, 128);
  EXPECT_EQ(second->shared_bytes, 24u);
}

}  // namespace
}  // namespace openaclnn::ptx
