// Tests the errors that end the process on the PTX machine, and for each the nearest program that runs to
// its end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx_program.h"

// A death test forks, and fork() takes more locks than the detector of deadlocks can count.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }

namespace openaclnn::ptx {
namespace {

// Two programs with a small difference, and the error message of the wrong one.
struct Refusal {
  std::string wrong, sentence, right;
};

// 62 words, so that an access of four may start inside and end outside. In %in: an address that no program
// may access, and a valid one.
void run_body(const std::string& body, const Setting& shape, const std::string& before) {
  static uint64_t foreign[2];
  std::vector<uint32_t> out(62);
  Setting setting = shape;
  setting.in = {reinterpret_cast<uint64_t>(foreign), reinterpret_cast<uint64_t>(out.data())};
  run_text(text_of_kernel("mov.u32 %i, %tid.x;\n" + body, before), out, setting);
}

void expect_all(const std::vector<Refusal>& refusals, const Setting& shape = {},
                const std::string& before = "") {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.wrong);
    EXPECT_DEATH(run_body(refusal.wrong, shape, before), refusal.sentence);
    run_body(refusal.right, shape, before);
  }
}

// ---- addresses ----

TEST(RefusalsDeathTest, GlobalMemory) {
  const std::string take_foreign = "ld.global.u64 %d0, [%in];\n", take_own = "ld.global.u64 %d0, [%in+8];\n";
  const std::string foreign = " of global memory that is not the program's";
  const std::string misaligned = " at an address that is no multiple of that";
  const std::string reach_shared = "mov.u64 %d0, word;\ncvta.shared.u64 %d0, %d0;\n";
  expect_all(
      {
          {"st.global.u32 [%out+248], %i;", "writes 4 bytes" + foreign, "st.global.u32 [%out+244], %i;"},
          {"ld.global.u32 %v, [%out+-4];", "reads 4 bytes" + foreign, "ld.global.u32 %v, [%out];"},
          {"ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out+240];", "reads 16 bytes" + foreign,
           "ld.global.v2.u32 {%r0, %r1}, [%out+240];"},
          {take_foreign + "st.global.u32 [%d0], %i;", "writes 4 bytes" + foreign,
           take_own + "st.global.u32 [%d0], %i;"},
          {take_foreign + "ld.u64 %d0, [%d0];", "reads 8 bytes" + foreign, take_own + "ld.u64 %d0, [%d0];"},
          {take_foreign + "red.global.add.u32 [%d0], 1;", "updates 4 bytes" + foreign,
           take_own + "red.global.add.u32 [%d0], 1;"},
          {"mov.u64 %d0, 0;\nld.global.u8 %h0, [%d0];", "reads 1 bytes" + foreign,
           "ld.global.u8 %h0, [%out];"},
          {reach_shared + "st.global.u32 [%d0], %i;", "writes 4 bytes" + foreign,
           reach_shared + "st.u32 [%d0], %i;"},
          {"ld.global.u32 %v, [%out+2];", "reads 4 bytes" + misaligned, "ld.global.u16 %h0, [%out+2];"},
          {"st.global.v2.u32 [%out+4], {%i, %i};", "writes 8 bytes" + misaligned,
           "st.global.v2.u32 [%out+8], {%i, %i};"},
          {"red.global.add.u64 [%out+4], 1;", "updates 8 bytes" + misaligned,
           "red.global.add.u64 [%out+8], 1;"},
      },
      {}, ".shared .align 4 .u32 word;");
}

TEST(RefusalsDeathTest, SharedMemory) {
  const std::string beyond = " beyond the block's shared memory",
                    generic = "mov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\n";
  expect_all(
      {
          {"st.shared.u32 [s+20], %i;", "writes" + beyond, "st.shared.u32 [s+16], %i;"},
          {"mov.u32 %r0, s;\nst.shared.u32 [%r0+-4], %i;", "writes" + beyond,
           "mov.u32 %r0, s;\nst.shared.u32 [%r0], %i;"},
          {"st.shared.v2.u32 [s+16], {%i, %i};", "writes" + beyond, "st.shared.v2.u32 [s+8], {%i, %i};"},
          // Addresses have 32 bits.
          {"mov.u32 %r0, s;\nsub.u32 %r0, %r0, 4;\nst.shared.u32 [%r0+24], %i;", "writes" + beyond,
           "mov.u32 %r0, s;\nsub.u32 %r0, %r0, 4;\nst.shared.u32 [%r0+8], %i;"},
          {"ld.shared.u32 %v, [s+20];", "reads" + beyond,
           "st.shared.u32 [s+16], %i;\nld.shared.u32 %v, [s+16];"},
          {"atom.shared.add.u32 %v, [s+20], 1;", "updates" + beyond,
           "st.shared.u32 [s+16], %i;\natom.shared.add.u32 %v, [s+16], 1;"},
          {generic + "st.u32 [%d0+20], %i;", "writes" + beyond, generic + "st.u32 [%d0+16], %i;"},
          {"st.shared.u32 [s+2], %i;", "writes 4 bytes at an address", "st.shared.u32 [s+4], %i;"},
          // Reads of uninitialised memory.
          {"ld.shared.u32 %v, [s];", "reads shared memory that nobody wrote",
           "st.shared.u32 [s], 0;\nld.shared.u32 %v, [s];"},
          {"st.shared.u8 [s], 0;\nld.shared.u16 %h0, [s];", "reads shared memory that nobody wrote",
           "st.shared.u8 [s], 0;\nst.shared.u8 [s+1], 0;\nld.shared.u16 %h0, [s];"},
          {"atom.shared.add.u32 %v, [s], 1;", "reads shared memory that nobody wrote",
           "st.shared.u32 [s], 0;\natom.shared.add.u32 %v, [s], 1;"},
      },
      {}, ".shared .align 16 .b8 s[20];");
  // Writes of the previous block do not count.
  const std::string only_the_first = R"(
  mov.u32 %r0, %ctaid.x;
  setp.eq.s32 %p0, %r0, 0;
)";
  expect_all({{only_the_first + "@%p0 st.shared.u32 [s], 0;\nld.shared.u32 %v, [s];",
               "of block .1, 0, 0. reads shared memory that nobody wrote",
               only_the_first + "@%p0 st.shared.u32 [s], 0;\n@%p0 ld.shared.u32 %v, [s];"}},
             block_of(1, 2), ".shared .align 16 .b8 s[16];");
}

TEST(RefusalsDeathTest, Parameters) {
  const std::string generic = "mov.b64 %d0, in;\ncvta.param.u64 %d0, %d0;\n";
  expect_all({
      {"ld.param.u32 %v, [in+8];", "reads beyond the parameters", "ld.param.u32 %v, [in+4];"},
      {"ld.param.u32 %v, [in+2];", "reads 4 bytes at an address", "ld.param.u16 %h0, [in+2];"},
      {generic + "st.u32 [%d0], %i;", "writes to a parameter", generic + "ld.u32 %v, [%d0];"},
      {generic + "ld.u64 %d0, [%d0+8];", "reads beyond the parameters", generic + "ld.u64 %d0, [%d0];"},
  });
}

// ---- races ----

const std::string kBarrier = "bar.sync 0;\n", kWarpBarrier = "bar.warp.sync 0xFFFFFFFF;\n";
const std::string kReads = "reads what another thread writes", kWrites = "writes where another thread writes",
                  kWritesRead = "writes what another thread reads";
const std::string kShared = ".shared .align 16 .b8 s[256];";
const std::string kOfFirst = "setp.eq.s32 %p0, %i, 0;\n@%p0 ";  // the first thread does the following
// Every thread has its own word, and in %r2 the address of its neighbour's in pairs.
const std::string kOwn = R"(
  mov.u32 %r0, s;
  mad.lo.s32 %r1, %i, 4, %r0;
  xor.b32 %r2, %i, 1;
  mad.lo.s32 %r2, %r2, 4, %r0;
)";
const std::string kWriteOwn = kOwn + "st.shared.u32 [%r1], %i;\n";

TEST(RefusalsDeathTest, RacesOfWarps) {
  const std::string read = "ld.shared.u32 %v, [s];\n", write = kOfFirst + "st.shared.u32 [s], 5;\n";
  const std::string add = "atom.shared.add.u32 %r3, [s], 1;\n", overwrite = "st.shared.u32 [s], 6;\n";
  const std::string set_last = "setp.eq.s32 %p1, %i, 63;\n";
  for (const Schedule schedule : {Schedule::forward, Schedule::reverse}) {
    Setting shape = block_of(64);
    shape.schedule = schedule;
    const bool forward = schedule == Schedule::forward;
    expect_all(
        {
            {set_last + write + "@%p1 " + overwrite, kWrites,
             set_last + write + kBarrier + "@%p1 " + overwrite},
            {set_last + write + kBarrier + "@%p0 " + overwrite + "@%p1 " + read,
             forward ? kReads : kWritesRead,
             set_last + write + kBarrier + "@%p0 " + overwrite + kBarrier + "@%p1 " + read},
            {set_last + write + kBarrier + "@%p0 " + read + "@%p1 " + overwrite,
             forward ? kWritesRead : kReads,
             set_last + write + kBarrier + "@%p0 " + read + kBarrier + "@%p1 " + overwrite},
            // The last of several that read or add is ordered after itself, the others are not.
            {set_last + write + kBarrier + read + kWarpBarrier + "@%p1 " + overwrite,
             forward ? kWritesRead : kReads,
             set_last + write + kBarrier + read + kBarrier + "@%p1 " + overwrite},
            {set_last + write + kBarrier + add + kWarpBarrier + "@%p1 " + read,
             forward ? kReads : kWritesRead, set_last + write + kBarrier + add + kBarrier + "@%p1 " + read},
            {write + kBarrier + add + read, kReads, write + kBarrier + add + kBarrier + read},
            {write + kWarpBarrier + "ld.shared.u32 %v, [s];", forward ? kReads : "nobody wrote",
             write + kBarrier + "ld.shared.u32 %v, [s];"},
        },
        shape, kShared);
  }
}

TEST(RefusalsDeathTest, RacesOfLanes) {
  const std::string read = "ld.shared.u32 %v, [%r2];\n", overwrite = "st.shared.u32 [%r2], %i;\n";
  const std::string write = "st.shared.u32 [%r1], %i;\n";
  const std::string parted = "and.b32 %r3, %i, 1;\nsetp.eq.s32 %p0, %r3, 0;\n";
  expect_all(
      {
          {kWriteOwn + read, kReads, kWriteOwn + kWarpBarrier + read},
          {kWriteOwn + overwrite, kWrites, kWriteOwn + kWarpBarrier + overwrite},
          {kWriteOwn + kWarpBarrier + read + write, kWritesRead,
           kWriteOwn + kWarpBarrier + read + kWarpBarrier + write},
          {kWriteOwn + kWarpBarrier + read + parted + "@%p0 " + write, kWritesRead,
           kWriteOwn + kWarpBarrier + read + parted + "@%p0 " + overwrite},
          {"st.shared.u32 [s], %i;", kWrites, kOfFirst + "st.shared.u32 [s], %i;"},
          // Other warp operations order no accesses, nor does a barrier that leaves out lanes.
          {kWriteOwn + "vote.sync.ballot.b32 %v, 1, 0xFFFFFFFF;\n" + read, kReads,
           kWriteOwn + kBarrier + read},
          {kWriteOwn + "setp.lt.u32 %p0, %i, 16;\n@%p0 bar.warp.sync 0xFFFF;\n" + read, kReads,
           kWriteOwn + kWarpBarrier + read},
          {kWriteOwn + "membar.cta;\n" + read, kReads, kWriteOwn + "membar.cta;\n" + kWarpBarrier + read},
          // Several lanes read; the last of them is the one that writes.
          {kOfFirst + "st.shared.u32 [s], 0;\n" + kWarpBarrier +
               "ld.shared.u32 %v, [s];\nsetp.eq.s32 %p1, %i, 31;\n@%p1 st.shared.u32 [s], 1;",
           kWritesRead,
           kOfFirst + "st.shared.u32 [s], 0;\n@%p0 ld.shared.u32 %v, [s];\n@%p0 st.shared.u32 [s], 1;"},
      },
      block_of(32), kShared);
}

// ---- barriers ----

TEST(RefusalsDeathTest, Barriers) {
  const std::string two_ways = R"(
  @%p0 bra OTHER;
  bar.sync 0;
  bra END;
OTHER:
  bar.sync 0;
END:
)";
  const std::string two_kinds = "@%p0 bar.sync 0;\n@!%p0 bar.red.or.pred %p1, 0, %p0;\n";
  expect_all(
      {
          {"setp.lt.u32 %p0, %i, 10;\n@%p0 ret;\nbar.sync 0;",
           "cannot go on: of 64 threads 10 have returned, 54 wait at a barrier and 0 for other lanes",
           "setp.lt.u32 %p0, %i, 10;\nbar.sync 0;\n@%p0 ret;"},
          {"setp.lt.u32 %p0, %i, 32;\n@%p0 ret;\nbar.sync 0;", "32 have returned, 32 wait at a barrier",
           "setp.lt.u32 %p0, %i, 32;\nbar.sync 0;\n@%p0 ret;"},
          {"setp.lt.u32 %p0, %i, 10;" + two_ways, "waits at another barrier than lanes of its warp",
           "setp.lt.u32 %p0, %i, 32;" + two_ways},
          {"setp.lt.u32 %p0, %i, 32;\n" + two_kinds, "waits at a barrier of another kind than other warps",
           "setp.lt.u32 %p0, %i, 64;\n" + two_kinds},
      },
      block_of(64));
}

// ---- warps ----

TEST(RefusalsDeathTest, OperationsOfWarps) {
  const std::string half = "setp.lt.u32 %p0, %i, 16;\n", vote = "vote.sync.ballot.b32 %v, 1, ";
  const std::string later = R"(
  @%p0 bra MEETING;
  mov.u32 %r3, 0xFFFE0000;
  bra BACK;
MEETING:
  vote.sync.ballot.b32 %v, 1, %r3;
  bra END;
BACK:
  selp.b32 %r3, %r3, %r2, %p1;
  bra MEETING;
END:
)";
  const std::string outside = "takes the value of a lane that is not in the mask";
  expect_all(
      {
          {half + "@%p0 " + vote + "0xFFFFFFFF;",
           "cannot go on: of 32 threads 16 have returned, 0 wait at a barrier and 16 for other lanes",
           half + "@%p0 " + vote + "0xFFFF;"},
          {half + "@%p0 bar.warp.sync 0xFFFFFFFF;\n@!%p0 " + vote + "0xFFFFFFFF;",
           "0 have returned, 0 wait at a barrier and 32 for other lanes",
           half + "@%p0 bar.warp.sync 0xFFFF;\n@!%p0 " + vote + "0xFFFF0000;"},
          {half + "@%p0 ret;\n" + vote + "0xFFFFFFFF;", "waits for lanes that have returned",
           half + "@%p0 ret;\n" + vote + "0xFFFF0000;"},
          {vote + "0xFFFF;", "thread .16, 0, 0. .* is not in the mask that it passes",
           half + "@%p0 " + vote + "0xFFFF;"},
          {half + "selp.b32 %r2, 0x1FFFF, 0xFFFF0000, %p0;\n" + vote + "%r2;",
           "thread .16, 0, 0. .* passes another mask than lane 0, which names it",
           half + "selp.b32 %r2, 0xFFFF, 0xFFFF0000, %p0;\n" + vote + "%r2;"},
          // The lanes that arrive later pass the mask of the others; the last one does not.
          {half + "mov.u32 %r2, -1;\nmov.u32 %r3, -1;\nsetp.eq.s32 %p1, %i, 31;" + later,
           "passes another mask than lane",
           half + "mov.u32 %r2, -1;\nmov.u32 %r3, -1;\nsetp.eq.s32 %p1, %i, 32;" + later},
          {half + "@%p0 shfl.sync.idx.b32 %v, %i, 20, 31, 0xFFFF;", outside,
           half + "@%p0 shfl.sync.idx.b32 %v, %i, 10, 31, 0xFFFF;"},
      },
      block_of(32));
  // Lanes that the block does not have.
  expect_all({{"shfl.sync.down.b32 %v, %i, 4, 31, 0xFFFFFFFF;", outside,
               "shfl.sync.down.b32 %v, %i, 4, 19, 0xFFFFFFFF;"}},
             block_of(20));
}

// ---- text ----

TEST(RefusalsDeathTest, InstructionsOfOtherBits) {
  const std::string unknown =
      "this machine does not know the instruction, or it gives other bits on other GPUs";
  expect_all({
      {"frobnicate.u32 %v, %i;", unknown, "mov.u32 %v, %i;"},
      {"add.f32 %r0, %r1, %r2;", unknown, "add.rn.f32 %r0, %r1, %r2;"},
      {"mul.f64 %d0, %d1, %d2;", unknown, "mul.rn.f64 %d0, %d1, %d2;"},
      {"add.rn.ftz.f32 %r0, %r1, %r2;", unknown, "sub.rn.f32 %r0, %r1, %r2;"},
      {"mad.f32 %r0, %r1, %r2, %r3;", unknown, "fma.rn.f32 %r0, %r1, %r2, %r3;"},
      {"ex2.approx.f32 %r0, %r1;", unknown, "mov.f32 %r0, %r1;"},
      {"sqrt.approx.f32 %r0, %r1;", unknown, "sqrt.rn.f32 %r0, %r1;"},
      {"div.full.f32 %r0, %r1, %r2;", unknown, "div.rn.f32 %r0, %r1, %r2;"},
      {"rcp.approx.ftz.f64 %d0, %d1;", unknown, "rcp.rn.f64 %d0, %d1;"},
      {"mov.u32 %r0, %clock;", "an unknown operand, %clock", "mov.u32 %r0, %laneid;"},
  });
}

TEST(RefusalsDeathTest, TextOfKernels) {
  const std::string atomic = "an atomic operation that is not known here",
                    part = "a barrier of a part of the block";
  expect_all({
      {"bra NOWHERE;", "a branch to NOWHERE, which doesn't exist", "bra HERE;\nHERE:"},
      {"HERE:\nHERE:", "a second label of this name", "HERE:\nTHERE:"},
      {"add.s32 %r16, %i, 1;", "an unknown register, %r16: add.s32", "add.s32 %r15, %i, 1;"},
      {"@%p8 add.s32 %r0, %i, 1;", "an unknown register, %p8", "@%p7 add.s32 %r0, %i, 1;"},
      {"add.s32 %r0, %x, 1;", "an unknown operand, %x", "add.s32 %r0, %i, 1;"},
      {"add.s32 %r0, 1.5, 1;", "an unknown operand, 1.5", "add.s32 %r0, 1, 1;"},
      {"add.s32 _, %i, 1;", "a result that goes nowhere", "ld.global.v2.u32 {_, %r0}, [%out];"},
      {"{ .reg .b32 x; }\nmov.u32 x, 0;", "an unknown register, x", "{ .reg .b32 x; mov.u32 x, 0; }"},
      {"ld.global.b128 %d0, [%out];", "an unknown type", "ld.global.b64 %d0, [%out];"},
      {"ld.local.u32 %v, [%out];", "an unknown kind of access", "ld.global.u32 %v, [%out];"},
      {"ld.global.v2.u32 {%r0, %r1, %r2}, [%out];", "a vector of another size",
       "ld.global.v2.u32 {%r0, %r1}, [%out];"},
      {"atom.global.add.f32 %r0, [%out], %r1;", atomic, "atom.global.add.u32 %r0, [%out], %r1;"},
      {"atom.global.cas.b16 %h0, [%out], %h1, %h2;", atomic, "atom.global.cas.b32 %r0, [%out], %r1, %r2;"},
      {"atom.global.inc.u32 %r0, [%out], %r1;", "an unknown kind of access",
       "red.global.max.u32 [%out], %r1;"},
      {"atom.global.u32 %r0, [%out], %r1;", atomic, "atom.global.exch.b32 %r0, [%out], %r1;"},
      {"bar.sync 1;", part, "bar.sync 0;"},
      {"bar.sync 0, 32;", part, "barrier.sync 0;"},
      {"bar.red.xor.pred %p0, 0, %p1;", "a vote that is not known here", "bar.red.and.pred %p0, 0, %p1;"},
      {"vote.ballot.b32 %v, %p0;", "an operation of warps that is not known here",
       "vote.sync.ballot.b32 %v, %p0, 1;"},
      {"shfl.sync.any.b32 %v, %i, 0, 31, 1;", "an operation of warps that is not known",
       "shfl.sync.up.b32 %v, %i, 0, 0, 1;"},
      {"mov.b64 {%r0, %r1, %r2}, %d0;", "a move of parts that are not known here",
       "mov.b64 {%r0, %r1}, %d0;"},
      {"mov.b64 %d0, {%r0, %r1, %r2};", "a move of parts that are not known here",
       "mov.b64 %d0, {%r0, %r1};"},
      {".local .u32 x;", "this machine does not know the directive", ".shared .u32 x;"},
  });
}

TEST(RefusalsDeathTest, TextOfModules) {
  EXPECT_DEATH(Module(".global .align 4 .u32 x = 5;"),
               "a variable with a value, which is not known here: .global");
  EXPECT_DEATH(Module(".entry test() { ret;").find("test"),
               "kernel test, line 1 of its PTX: the text ends inside");
  EXPECT_NE(Module(".global .align 4 .u32 x;\n.entry test() { ret; }").find("test"), nullptr);
}

// ---- error messages ----

TEST(RefusalsDeathTest, SayWhereItHappened) {
  const std::string source = "  .file 1 \"room/cuda.cu\"\n";
  EXPECT_DEATH(run_body(".loc 1 45 3\n  st.global.u32 [%out+1000], %i;", block_of(1, 2), source),
               "openaclnn PTX machine: test, thread .0, 0, 0. of block .0, 0, 0. writes 4 bytes of global "
               "memory that is not the program's, at room/cuda.cu:45 .line [0-9]+ of its PTX.: "
               "st.global.u32 .%out.1000., %i;");
  const std::string named =
      ".visible .entry _Z4sumsPKf(.param .u64 x) { .reg .b64 %d<2>;\n ld.param.v2.u64 {%d0, %d1}, [x]; ret; "
      "}";
  EXPECT_DEATH(
      {
        Module module(named);
        run({&module, module.find("_Z4sumsPKf"), {}, {}, std::vector<std::byte>(8)}, AddressMap({}),
            Schedule::forward);
      },
      "machine: sums, thread .* reads beyond the parameters, at line 2 of its PTX: ld.param.v2.u64");
}

TEST(RefusalsDeathTest, KernelsEnd) {
  const std::string loop = R"(
  mov.u32 %r0, 0;
AGAIN:
  add.s32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 100;
  @%p0 bra AGAIN;
)";
  // Including the addresses, the thread's number, and the return.
  constexpr uint64_t kSteps = 2 + 1 + 1 + 3 * 100 + 1;
  Setting setting;
  setting.most_steps = kSteps;
  run_body(loop, setting, "");
  --setting.most_steps;
  EXPECT_DEATH(run_body(loop, setting, ""), "does not end");
  EXPECT_DEATH(run_body("AGAIN:\nbra AGAIN;", setting, ""),
               "thread .0, 0, 0. of block .0, 0, 0. does not end, at line");
}

}  // namespace
}  // namespace openaclnn::ptx
