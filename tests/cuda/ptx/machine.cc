// Runs kernels of PTX: blocks, warps, and how their lanes diverge and converge.
#include "cuda/ptx/machine.h"

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "cuda/ptx/execution.h"

namespace openaclnn::ptx {

namespace {

std::string readable(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // "f" would be float
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = result.find(unnamed)) != std::string::npos;) result.erase(at, unnamed.size());
  size_t parameters = result.find('(');  // parameters of a template follow a blank or a bracket
  while (parameters != std::string::npos && parameters > 0 &&
         (result[parameters - 1] == '<' || result[parameters - 1] == ' '))
    parameters = result.find('(', parameters + 1);
  return result.substr(0, parameters);
}

Shape place(uint64_t number, const Shape& in) {
  return {static_cast<unsigned>(number % in.x), static_cast<unsigned>(number / in.x % in.y),
          static_cast<unsigned>(number / in.x / in.y)};
}

std::string text_of(const Shape& shape) {
  return "(" + std::to_string(shape.x) + ", " + std::to_string(shape.y) + ", " + std::to_string(shape.z) +
         ")";
}

}  // namespace

// ---- blocks ----

void Execution::begin_block(uint64_t number) {
  block_ = place(number, launch_.grid);
  shared_.begin_block(kernel_.shared_bytes);
  block_time_ = 0;
  uint64_t left = launch_.block.count();
  for (Warp& warp : warps_) {
    const uint64_t lanes = std::min<uint64_t>(left, kLanes);
    left -= lanes;
    warp.begin(lanes == kLanes ? ~0u : (1u << lanes) - 1);
    set_specials(warp);
  }
}

uint64_t Execution::special(Special which, const Warp& warp, unsigned lane) const {
  const Shape thread = place(uint64_t{warp.number} * kLanes + lane, launch_.block);
  const uint32_t own = 1u << lane;
  switch (which) {
    case Special::tid_x: return thread.x;
    case Special::tid_y: return thread.y;
    case Special::tid_z: return thread.z;
    case Special::ntid_x: return launch_.block.x;
    case Special::ntid_y: return launch_.block.y;
    case Special::ntid_z: return launch_.block.z;
    case Special::ctaid_x: return block_.x;
    case Special::ctaid_y: return block_.y;
    case Special::ctaid_z: return block_.z;
    case Special::nctaid_x: return launch_.grid.x;
    case Special::nctaid_y: return launch_.grid.y;
    case Special::nctaid_z: return launch_.grid.z;
    case Special::laneid: return lane;
    case Special::lanemask_eq: return own;
    case Special::lanemask_lt: return own - 1;
    case Special::lanemask_le: return own | (own - 1);
    case Special::lanemask_gt: return ~(own | (own - 1));
    case Special::lanemask_ge: return ~(own - 1);
  }
  return 0;
}

void Execution::set_specials(Warp& warp) {
  for (const SpecialRegister& s : kernel_.specials) {
    Lanes& lanes = warp.registers[static_cast<size_t>(s.in)];
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.of[lane] = special(s.value, warp, lane);
  }
}

void Execution::run_block(uint64_t number, bool reversed) {
  begin_block(number);
  for (;;) {
    for (size_t w = 0; w < warps_.size(); ++w) run_warp(warps_[reversed ? warps_.size() - 1 - w : w]);
    if (std::ranges::all_of(warps_, &Warp::is_done)) return;
    if (!release_barrier()) report_deadlock();
  }
}

// Continues the threads if all of them have reached it.
bool Execution::release_barrier() {
  if (!std::ranges::all_of(warps_, [](const Warp& warp) { return warp.at_barrier == warp.exists; }))
    return false;
  const auto barrier_of = [&](const Warp& warp, int lane) -> const Instruction& {
    return kernel_.code[static_cast<size_t>(warp.pc[lane] - 1)];
  };
  const Operation operation = barrier_of(warps_.front(), 0).operation;
  uint64_t votes = 0;
  for (const Warp& warp : warps_) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.has(warp.exists, lane)) continue;
      const Instruction& i = barrier_of(warp, lane);
      if (warp.pc[lane] != warp.pc[0])
        refuse(warp, i, lane, "waits at another barrier than lanes of its warp");
      if (i.operation != operation)
        refuse(warp, i, lane, "waits at a barrier of another kind than other warps");
      if (operation != Operation::none && (source(warp, i.from[0]).of[lane] & 1) != 0) ++votes;
    }
  }
  const uint64_t result = operation == Operation::popc   ? votes
                          : operation == Operation::and_ ? uint64_t{votes == launch_.block.count()}
                                                         : uint64_t{votes > 0};
  Lanes results;
  std::ranges::fill(results.of, result);
  for (Warp& warp : warps_) {
    if (const Register to = barrier_of(warp, 0).to[0]; to != kNone)
      warp.assign(warp.registers[static_cast<size_t>(to)], results, warp.exists);
    warp.at_barrier = 0;
  }
  ++block_time_;
  return true;
}

// ---- warps ----

void Execution::run_warp(Warp& warp) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  while (const uint32_t ready = warp.ready()) {
    int pc = kNobody, meeting = kNobody;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.has(ready, lane) || warp.pc[lane] == pc) continue;
      if (warp.pc[lane] < pc) {
        meeting = pc;
        pc = warp.pc[lane];
      } else {
        meeting = std::min(meeting, warp.pc[lane]);
      }
    }
    run_group(warp, warp.lanes_at(pc, ready), pc, meeting);
  }
}

// Runs until the lanes diverge, wait, or reach the instruction of other lanes of the warp.
void Execution::run_group(Warp& warp, uint32_t group, int pc, int meeting) {
  for (; pc < meeting; ++pc) {
    const Instruction& i = kernel_.code[static_cast<size_t>(pc)];
    if (++warp.steps > launch_.most_steps) refuse(warp, i, std::countr_zero(group), "does not end");
    if (counter_ != nullptr) counter_->begin_instruction();
    uint32_t active = group;
    if (i.guard != kNone) {
      const uint32_t set = warp.true_lanes(i.guard);
      active &= i.guard_is_negated ? ~set : set;
    }
    switch (i.action) {
      case Action::compute: compute(warp, i, active); break;
      case Action::load: load(warp, i, active); break;
      case Action::store: store(warp, i, active); break;
      case Action::atomic: update_atomically(warp, i, active); break;
      case Action::fence: break;
      case Action::branch:
        if (active == 0) break;
        if (active != group) {
          warp.move(active, i.target);
          warp.move(group & ~active, pc + 1);
          return;
        }
        pc = i.target - 1;
        break;
      case Action::exit:
        warp.exited |= active;
        group &= ~active;
        if (group == 0) return;
        break;
      case Action::barrier:
        warp.move(group, pc + 1);
        warp.at_barrier |= active;
        return;
      case Action::warp_barrier:
      case Action::shuffle:
      case Action::vote:
        if (active == 0) break;
        if (!meet(warp, i, active, group, pc)) return;
        break;
    }
  }
  warp.move(group, pc);
}

// Returns whether the group stays as it is. Otherwise its lanes wait or continue, perhaps with others.
bool Execution::meet(Warp& warp, const Instruction& i, uint32_t active, uint32_t group, int pc) {
  const uint32_t here = active | warp.lanes_at(pc, warp.waiting);
  uint32_t going = group & ~active;
  for (uint32_t left = active; left != 0;) {
    const uint32_t mask = agreed_mask(warp, i, std::countr_zero(left), here);
    const uint32_t wanted = mask & warp.exists;
    if ((wanted & warp.exited) != 0)
      refuse(warp, i, std::countr_zero(left), "waits for lanes that have returned");
    left &= ~mask;
    if ((here & wanted) != wanted) continue;
    give_results(warp, i, wanted);
    // A barrier of part of a warp orders no accesses of the other lanes, so it does not count as a barrier.
    if (i.action == Action::warp_barrier && wanted == warp.exists) ++warp.time;
    going |= wanted;
  }
  if (going == group) return true;
  warp.move(active & ~going, pc);
  warp.waiting = (warp.waiting | active) & ~going;
  warp.move(going, pc + 1);
  return false;
}

// Returns a lane's mask of a warp operation, and all waiting lanes that the mask names.
uint32_t Execution::agreed_mask(const Warp& warp, const Instruction& i, int lane, uint32_t here) const {
  const Lanes& masks = source(warp, i.from[3]);
  const auto mask = static_cast<uint32_t>(masks.of[lane]);
  if (!warp.has(mask, lane)) refuse(warp, i, lane, "is not in the mask that it passes");
  for (uint32_t left = here & mask; left != 0; left &= left - 1) {
    const int other = std::countr_zero(left);
    if (static_cast<uint32_t>(masks.of[other]) != mask)
      refuse(warp, i, other, "passes another mask than lane " + std::to_string(lane) + ", which names it");
  }
  return mask;
}

void Execution::give_results(Warp& warp, const Instruction& i, uint32_t lanes) {
  if (i.action == Action::vote) {
    warp.vote(i, source(warp, i.from[0]), lanes);
  } else if (i.action == Action::shuffle) {
    const int astray =
        warp.shuffle(i, source(warp, i.from[0]), source(warp, i.from[1]), source(warp, i.from[2]), lanes);
    if (astray >= 0) refuse(warp, i, astray, "takes the value of a lane that is not in the mask");
  }
}

// ---- instructions ----

void Execution::compute(Warp& warp, const Instruction& i, uint32_t active) {
  const Lanes* from[4] = {};
  for (int k = 0; k < 4 && i.from[k] != kNone; ++k) from[k] = &source(warp, i.from[k]);
  Lanes& to = warp.registers[static_cast<size_t>(i.to[0])];
  if (active == ~0u) {
    i.compute(to, from);
    return;
  }
  Lanes result;
  i.compute(result, from);
  warp.assign(to, result, active);
}

// ---- error messages ----

void Execution::refuse(const Warp& warp, const Instruction& i, int lane, const std::string& what) const {
  const Shape thread = place(uint64_t{warp.number} * kLanes + static_cast<uint64_t>(lane), launch_.block);
  std::string where = "line " + std::to_string(i.line) + " of its PTX";
  if (const std::string_view file = launch_.module->source_file(i.source_file);
      !file.empty() && i.source_line > 0)
    where = std::string(file) + ":" + std::to_string(i.source_line) + " (" + where + ")";
  std::string_view code = launch_.module->line(i.line);
  code.remove_prefix(std::min(code.find_first_not_of(" \t"), code.size()));
  report(readable(kernel_.name) + ", thread " + text_of(thread) + " of block " + text_of(block_) + " " +
         what + ", at " + where + ": " + std::string(code));
}

void Execution::report_deadlock() const {
  uint64_t at_barrier = 0, waiting = 0, exited = 0;
  int pc = 0;
  for (const Warp& warp : warps_) {
    at_barrier += static_cast<uint64_t>(std::popcount(warp.at_barrier));
    waiting += static_cast<uint64_t>(std::popcount(warp.waiting));
    exited += static_cast<uint64_t>(std::popcount(warp.exited));
    for (int lane = 0; lane < kLanes; ++lane) {
      if (warp.has(warp.waiting, lane)) pc = warp.pc[lane];
      if (pc == 0 && warp.has(warp.at_barrier, lane)) pc = warp.pc[lane] - 1;
    }
  }
  report(readable(kernel_.name) + ", block " + text_of(block_) + " cannot go on: of " +
         std::to_string(launch_.block.count()) + " threads " + std::to_string(exited) + " have returned, " +
         std::to_string(at_barrier) + " wait at a barrier and " + std::to_string(waiting) +
         " for other lanes of their warps, one at line " +
         std::to_string(kernel_.code[static_cast<size_t>(pc)].line) + " of the PTX");
}

std::string readable_name(const Kernel& kernel) { return readable(kernel.name); }

void run(const KernelLaunch& launch, const AddressMap& memory, Schedule schedule, Counter* counter) {
  Execution execution(launch, memory, counter);
  const uint64_t blocks = launch.grid.count();
  const bool reversed = schedule == Schedule::reverse;
  for (uint64_t n = 0; n < blocks; ++n) execution.run_block(reversed ? blocks - 1 - n : n, reversed);
}

}  // namespace openaclnn::ptx
