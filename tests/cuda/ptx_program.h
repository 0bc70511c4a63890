// Small programs of PTX for the tests of the machine that runs them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/ptx/machine.h"

namespace openaclnn::ptx {

// The input of a program and the shape of its launch: a block of one thread, unless a test changes it.
struct Setting {
  Shape grid, block;
  std::vector<uint64_t> in;
  Schedule schedule = Schedule::forward;
  uint64_t most_steps = KernelLaunch().most_steps;
};

inline Setting block_of(unsigned threads, unsigned blocks = 1) {
  Setting setting;
  setting.grid.x = blocks;
  setting.block.x = threads;
  return setting;
}

// A kernel with two addresses in %out and %in, registers of all widths, and `before` in front of it.
inline std::string text_of_kernel(const std::string& body, const std::string& before = "") {
  return R"(.version 8.0
.target sm_90
.address_size 64
)" + before +
         R"(
.visible .entry test(.param .u64 out, .param .u64 in)
{
  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<16>, %i, %v;
  .reg .b64 %d<8>, %out, %in, %to;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
)" + body +
         R"(
  ret;
}
)";
}

// Runs the kernel named test over `out`, which is all that it may access besides setting.in.
template <class T>
void run_text(const std::string& text, std::vector<T>& out, const Setting& setting) {
  Module module(text);
  const Kernel* const kernel = module.find("test");
  ASSERT_NE(kernel, nullptr);
  const uint64_t addresses[] = {reinterpret_cast<uint64_t>(out.data()),
                                reinterpret_cast<uint64_t>(setting.in.data())};
  KernelLaunch launch = {
      &module,           kernel, setting.grid, setting.block, std::vector<std::byte>(sizeof addresses),
      setting.most_steps};
  std::memcpy(launch.parameters.data(), addresses, sizeof addresses);
  std::vector<AddressMap::Range> ranges = {{addresses[0], out.size() * sizeof(T)},
                                           {addresses[1], setting.in.size() * sizeof(uint64_t)}};
  for (const auto& [name, variable] : module.globals())
    ranges.push_back({reinterpret_cast<uint64_t>(variable.data()), variable.size()});
  run(launch, AddressMap(ranges), setting.schedule);
}

using Values = std::vector<uint32_t>;

// The register class and type of the value that each thread computes.
template <class F>
Values values(uint32_t threads, F f) {
  Values all;
  for (uint32_t i = 0; i < threads; ++i) all.push_back(f(i));
  return all;
}

// Returns the value of %v of each thread of a grid of one dimension, with the thread's number in %i. A
// thread that returns before the end leaves ~0.
inline Values values_of_threads(const std::string& body, Setting setting, const std::string& before = "") {
  const std::string text = text_of_kernel(R"(
  mov.u32 %v, 0;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.s32 %i, %r0, %r1, %i;
  mul.wide.u32 %to, %i, 4;
  add.s64 %to, %to, %out;
)" + body + R"(
  st.global.u32 [%to], %v;
)",
                                          before);
  Values forward(setting.grid.count() * setting.block.count(), ~0u), reverse = forward;
  run_text(text, forward, setting);
  setting.schedule = Schedule::reverse;
  run_text(text, reverse, setting);
  EXPECT_EQ(forward, reverse) << "the order of warps makes a difference";
  return forward;
}

}  // namespace openaclnn::ptx
