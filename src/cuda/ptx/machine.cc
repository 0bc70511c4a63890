// Runs kernels of PTX: blocks, warps, and what each kind of instruction does.
#include "cuda/ptx/machine.h"

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "cuda/ptx/warp.h"

namespace openaclnn::ptx {

namespace {

std::string readable(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = result.find(unnamed)) != std::string::npos;) result.erase(at, unnamed.size());
  size_t parameters = result.find('(');  // those of a template follow a blank or a bracket
  while (parameters != std::string::npos && parameters > 0 && (result[parameters - 1] == '<' || result[parameters - 1] == ' '))
    parameters = result.find('(', parameters + 1);
  return result.substr(0, parameters);
}

std::string text_of(const Shape& shape) {
  return "(" + std::to_string(shape.x) + ", " + std::to_string(shape.y) + ", " + std::to_string(shape.z) + ")";
}

Shape place(uint64_t number, const Shape& in) {
  return {static_cast<unsigned>(number % in.x), static_cast<unsigned>(number / in.x % in.y),
          static_cast<unsigned>(number / in.x / in.y)};
}

template <class T>
uint64_t read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

uint64_t read_element(const std::byte* from, int bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? read_as<int8_t>(from) : read_as<uint8_t>(from);
    case 2: return is_signed ? read_as<int16_t>(from) : read_as<uint16_t>(from);
    case 4: return is_signed ? read_as<int32_t>(from) : read_as<uint32_t>(from);
    default: return read_as<uint64_t>(from);
  }
}

// Other streams may work on the same word. Returns what was there before.
template <class T>
uint64_t update(std::byte* at, Operation operation, uint64_t value, uint64_t other) {
  T* const to = reinterpret_cast<T*>(at);
  const T operand = static_cast<T>(value);
  T before = __atomic_load_n(to, __ATOMIC_RELAXED);
  for (;;) {
    T after = operand;  // exch
    switch (operation) {
      case Operation::add:
        after = static_cast<T>(static_cast<std::make_unsigned_t<T>>(before) + static_cast<std::make_unsigned_t<T>>(operand));
        break;
      case Operation::min: after = std::min(before, operand); break;
      case Operation::max: after = std::max(before, operand); break;
      case Operation::and_: after = before & operand; break;
      case Operation::or_: after = before | operand; break;
      case Operation::cas: after = before == operand ? static_cast<T>(other) : before; break;
      default: break;
    }
    if (__atomic_compare_exchange_n(to, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      return static_cast<uint64_t>(before);
  }
}

// One launch that is under way.
class Machine {
 public:
  Machine(const Launch& launch, const AddressMap& memory, Counter* counter)
      : launch_(launch), kernel_(*launch.kernel), memory_(memory), counter_(counter), warps_((launch.block.count() + kLanes - 1) / kLanes) {
    for (size_t w = 0; w < warps_.size(); ++w) {
      warps_[w].number = static_cast<unsigned>(w);
      warps_[w].registers.resize(static_cast<size_t>(kernel_.registers));
    }
  }

  void run_block(uint64_t number, bool reversed);

 private:
  void begin_block(uint64_t number);
  void set_specials(Warp& warp);
  uint64_t special(Special which, const Warp& warp, unsigned lane) const;

  void run_warp(Warp& warp);
  void run_group(Warp& warp, uint32_t group, int pc, int meeting);
  void compute(Warp& warp, const Instruction& i, uint32_t active);
  void load(Warp& warp, const Instruction& i, uint32_t active);
  void store(Warp& warp, const Instruction& i, uint32_t active);
  void update_atomically(Warp& warp, const Instruction& i, uint32_t active);
  bool release_barrier();

  const Lanes& source(const Warp& warp, Register r) const {
    return r < kernel_.registers ? warp.registers[static_cast<size_t>(r)]
                                 : kernel_.constants[static_cast<size_t>(r - kernel_.registers)];
  }
  std::byte* resolve(const Warp& warp, const Instruction& i, int lane, Touch kind);
  bool meet(Warp& warp, const Instruction& i, uint32_t active, uint32_t group, int pc);
  void give_results(Warp& warp, const Instruction& i, uint32_t lanes);

  [[noreturn]] void refuse(const Warp& warp, const Instruction& i, int lane, const std::string& what) const;
  [[noreturn]] void report_deadlock() const;

  const Launch& launch_;
  const Kernel& kernel_;
  const AddressMap& memory_;
  Counter* const counter_;
  SharedMemory shared_;
  std::vector<Warp> warps_;
  Shape block_;
  uint32_t block_time_ = 0;
};

// ---- blocks ----

void Machine::begin_block(uint64_t number) {
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

uint64_t Machine::special(Special which, const Warp& warp, unsigned lane) const {
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

void Machine::set_specials(Warp& warp) {
  for (const SpecialRegister& s : kernel_.specials) {
    Lanes& lanes = warp.registers[static_cast<size_t>(s.in)];
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.of[lane] = special(s.value, warp, lane);
  }
}

void Machine::run_block(uint64_t number, bool reversed) {
  begin_block(number);
  for (;;) {
    for (size_t w = 0; w < warps_.size(); ++w) run_warp(warps_[reversed ? warps_.size() - 1 - w : w]);
    if (std::ranges::all_of(warps_, &Warp::is_done)) return;
    if (!release_barrier()) report_deadlock();
  }
}

// Lets the threads go on if all of them stand at it.
bool Machine::release_barrier() {
  uint64_t votes = 0;
  for (const Warp& warp : warps_) {
    if (warp.at_barrier != warp.exists) return false;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.has(warp.exists, lane)) continue;
      const Instruction& i = kernel_.code[static_cast<size_t>(warp.pc[lane] - 1)];
      if (i.operation != Operation::none && (source(warp, i.from[0]).of[lane] & 1) != 0) ++votes;
    }
  }
  const uint64_t threads = launch_.block.count();
  for (Warp& warp : warps_) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.has(warp.exists, lane)) continue;
      const Instruction& i = kernel_.code[static_cast<size_t>(warp.pc[lane] - 1)];
      if (i.to[0] == kNone) continue;
      const uint64_t result = i.operation == Operation::popc   ? votes
                              : i.operation == Operation::and_ ? uint64_t{votes == threads}
                                                               : uint64_t{votes > 0};
      warp.registers[static_cast<size_t>(i.to[0])].of[lane] = result;
    }
    warp.at_barrier = 0;
  }
  ++block_time_;
  return true;
}

// ---- warps ----

void Machine::run_warp(Warp& warp) {
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

// Until the lanes part, wait, or reach the instruction where others of the warp are.
void Machine::run_group(Warp& warp, uint32_t group, int pc, int meeting) {
  constexpr uint64_t kMostSteps = uint64_t{1} << 33;
  for (; pc < meeting; ++pc) {
    const Instruction& i = kernel_.code[static_cast<size_t>(pc)];
    if (++warp.steps > kMostSteps) refuse(warp, i, std::countr_zero(group), "does not end");
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
        if (i.target > meeting) {
          warp.move(group, i.target);
          return;
        }
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

// Whether the group goes on as it is. Otherwise its lanes stand where they wait or go on, perhaps with others.
bool Machine::meet(Warp& warp, const Instruction& i, uint32_t active, uint32_t group, int pc) {
  const Lanes& masks = source(warp, i.from[3]);
  const uint32_t mask = static_cast<uint32_t>(masks.of[std::countr_zero(active)]);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.has(active, lane)) continue;
    if (static_cast<uint32_t>(masks.of[lane]) != mask) refuse(warp, i, lane, "passes another mask than the lanes beside it");
    if (!warp.has(mask, lane)) refuse(warp, i, lane, "is not in the mask that it passes");
  }
  const uint32_t wanted = mask & warp.exists;
  if ((wanted & warp.exited) != 0)
    refuse(warp, i, std::countr_zero(active), "waits for lanes that have returned");
  const uint32_t here = active | warp.lanes_at(pc, warp.waiting & mask);
  if ((here & wanted) != wanted) {
    warp.move(active, pc);
    warp.move(group & ~active, pc + 1);
    warp.waiting |= active;
    return false;
  }
  give_results(warp, i, wanted);
  if (i.action == Action::warp_barrier) ++warp.time;
  if (here == group) return true;
  warp.waiting &= ~here;
  warp.move(here | group, pc + 1);
  return false;
}

void Machine::give_results(Warp& warp, const Instruction& i, uint32_t lanes) {
  if (i.action == Action::vote) {
    warp.vote(i, source(warp, i.from[0]), lanes);
  } else if (i.action == Action::shuffle) {
    const int astray = warp.shuffle(i, source(warp, i.from[0]), source(warp, i.from[1]), source(warp, i.from[2]), lanes);
    if (astray >= 0) refuse(warp, i, astray, "takes the value of a lane that is not in the mask");
  }
}

// ---- instructions ----

void Machine::compute(Warp& warp, const Instruction& i, uint32_t active) {
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

// The host's address of what a lane touches.
std::byte* Machine::resolve(const Warp& warp, const Instruction& i, int lane, Touch kind) {
  uint64_t address = source(warp, i.from[0]).of[lane] + static_cast<uint64_t>(i.offset);
  const size_t bytes = size_t{i.bytes} * i.count;
  const char* const what = kind == Touch::read ? "reads " : kind == Touch::write ? "writes " : "updates ";
  if (address % bytes != 0)
    refuse(warp, i, lane, what + std::to_string(bytes) + " bytes at an address that is no multiple of that");
  Space space = i.space;
  if (space == Space::shared) address &= kWindowBytes - 1;  // such addresses have 32 bits
  if (space == Space::generic) {
    if (address - kSharedWindow < kWindowBytes) {
      space = Space::shared;
      address -= kSharedWindow;
    } else if (address - kParameterWindow < kWindowBytes) {
      space = Space::parameter;
      address -= kParameterWindow;
    }
  }
  if (space == Space::shared) {
    if (address >= shared_.bytes() || shared_.bytes() - address < bytes)
      refuse(warp, i, lane, what + std::string("beyond the block's shared memory"));
    const Moment now = {static_cast<uint16_t>(warp.number * kLanes + static_cast<unsigned>(lane)),
                        static_cast<uint16_t>(warp.number), block_time_, warp.time};
    if (const char* const wrong = shared_.touch(address, bytes, kind, now); wrong != nullptr)
      refuse(warp, i, lane, wrong);
    if (counter_ != nullptr) counter_->touch_shared(lane, address, bytes);
    return shared_.at(address);
  }
  if (space == Space::parameter) {
    if (kind != Touch::read) refuse(warp, i, lane, "writes to a parameter");
    if (address >= launch_.parameters.size() || launch_.parameters.size() - address < bytes)
      refuse(warp, i, lane, "reads beyond the parameters");
    return const_cast<std::byte*>(launch_.parameters.data() + address);  // which are read only
  }
  if (!memory_.holds(address, bytes))
    refuse(warp, i, lane, what + std::to_string(bytes) + " bytes of global memory that is not the program's");
  if (counter_ != nullptr) counter_->touch_global(address, bytes, kind != Touch::write, kind != Touch::read);
  return reinterpret_cast<std::byte*>(address);
}

void Machine::load(Warp& warp, const Instruction& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::byte* const from = resolve(warp, i, lane, Touch::read);
    for (int k = 0; k < i.count; ++k) {
      if (i.to[k] == kNone) continue;
      warp.registers[static_cast<size_t>(i.to[k])].of[lane] = read_element(from + k * i.bytes, i.bytes, i.is_signed);
    }
  }
}

void Machine::store(Warp& warp, const Instruction& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* const to = resolve(warp, i, lane, Touch::write);
    for (int k = 0; k < i.count; ++k) std::memcpy(to + k * i.bytes, &source(warp, i.to[k]).of[lane], i.bytes);
  }
}

void Machine::update_atomically(Warp& warp, const Instruction& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* const at = resolve(warp, i, lane, Touch::atomic);
    const uint64_t value = source(warp, i.from[1]).of[lane];
    const uint64_t other = i.from[2] != kNone ? source(warp, i.from[2]).of[lane] : 0;
    const auto apply = i.bytes == 8 ? (i.is_signed ? update<int64_t> : update<uint64_t>)
                                    : (i.is_signed ? update<int32_t> : update<uint32_t>);
    const uint64_t before = apply(at, i.operation, value, other);
    if (i.to[0] != kNone) warp.registers[static_cast<size_t>(i.to[0])].of[lane] = before;
  }
}

// ---- sentences ----

void Machine::refuse(const Warp& warp, const Instruction& i, int lane, const std::string& what) const {
  const Shape thread = place(uint64_t{warp.number} * kLanes + static_cast<uint64_t>(lane), launch_.block);
  std::string where = "line " + std::to_string(i.line) + " of its PTX";
  if (const std::string_view file = launch_.module->source_file(i.source_file); !file.empty() && i.source_line > 0)
    where = std::string(file) + ":" + std::to_string(i.source_line) + " (" + where + ")";
  std::string_view code = launch_.module->line(i.line);
  code.remove_prefix(std::min(code.find_first_not_of(" \t"), code.size()));
  report(readable(kernel_.name) + ", thread " + text_of(thread) + " of block " + text_of(block_) + " " + what + ", at " + where +
         ": " + std::string(code));
}

void Machine::report_deadlock() const {
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
  report(readable(kernel_.name) + ", block " + text_of(block_) + " cannot go on: of " + std::to_string(launch_.block.count()) +
         " threads " + std::to_string(exited) + " have returned, " + std::to_string(at_barrier) +
         " wait at a barrier and " + std::to_string(waiting) + " for other lanes of their warps, one at line " +
         std::to_string(kernel_.code[static_cast<size_t>(pc)].line) + " of the PTX");
}

}  // namespace

std::string readable_name(const Kernel& kernel) { return readable(kernel.name); }

void run(const Launch& launch, const AddressMap& memory, Schedule schedule, Counter* counter) {
  Machine machine(launch, memory, counter);
  const uint64_t blocks = launch.grid.count();
  const bool reversed = schedule == Schedule::reverse;
  for (uint64_t n = 0; n < blocks; ++n) machine.run_block(reversed ? blocks - 1 - n : n, reversed);
}

}  // namespace openaclnn::ptx
