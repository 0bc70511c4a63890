// A kernel of nvcc in the form that the machine (machine.h) runs: instructions of PTX, decoded once, over
// the registers of a warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace openaclnn::ptx {

inline constexpr int kLanes = 32;

// One register of all lanes of a warp. A value of any type is in the lowest bits; the others have no
// meaning.
struct alignas(64) Lanes {
  uint64_t of[kLanes];
};

// Runs an instruction without side effects in all lanes. Results of inactive lanes are not used.
using Arithmetic = void (*)(Lanes& to, const Lanes* const (&from)[4]);

enum class Space : uint8_t { generic, global, shared, parameter };

enum class Action : uint8_t {
  compute,
  branch,
  exit,
  load,
  store,
  atomic,
  barrier,  // a barrier of the block; with a result: the threads' combined predicates
  warp_barrier,
  shuffle,
  vote,
  fence,  // no effect: the machine runs one instruction after the other
};

// The variants of warp operations, of votes at barriers, and of atomics.
enum class Operation : uint8_t {
  none,
  idx,
  up,
  down,
  bfly,
  ballot,
  any,
  all,
  popc,
  add,
  min,
  max,
  cas,
  exch,
  and_,
  or_
};

// Numbers of registers: of the warp, and from Kernel::registers on constants.
using Register = int;
inline constexpr Register kNone = -1;

struct Instruction {
  Action action = Action::compute;
  Operation operation = Operation::none;
  bool guard_is_negated = false;
  Register guard = kNone;
  Register to[4] = {kNone, kNone, kNone, kNone};
  Register from[4] = {kNone, kNone, kNone, kNone};
  Arithmetic compute = nullptr;
  int target = -1;  // the instruction that a branch goes to

  // Loads, stores and atomics: `count` elements of `bytes` bytes at from[0] + offset. Stores also have
  // their values in to[].
  Space space = Space::generic;
  bool is_signed = false;
  uint8_t bytes = 0;
  uint8_t count = 1;
  int64_t offset = 0;

  int line = 0;         // in the PTX
  int source_line = 0;  // in the .cu file or a header, 0 if unknown
  int source_file = 0;
};

// A declared piece of memory.
struct Variable {
  std::string name;
  size_t bytes = 0, alignment = 1;
};

struct Parameter {
  size_t offset, bytes;
};

// Values that threads find in special registers.
enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
};
struct SpecialRegister {
  Special value;
  Register in;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  int registers = 0;
  std::vector<Lanes> constants;
  std::vector<SpecialRegister> specials;
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
  size_t shared_bytes = 0;
  int most_threads = 1024;  // of a block
};

// The text of one .cu file's kernels. Each is decoded at its first use.
class Module {
 public:
  explicit Module(std::string text);
  Module(const Module&) = delete;

  // Returns nullptr if no kernel has that name. Ends the process with an error message if the machine does
  // not know a part of the PTX.
  const Kernel* find(const std::string& name);
  std::string_view line(int number) const;         // of the PTX, from 1 on
  std::string_view source_file(int number) const;  // "" for one without a name
  int target() const { return target_; }           // 90 for sm_90

  // A variable of the module in global memory, and its bytes.
  const std::map<std::string, std::vector<std::byte>, std::less<>>& globals() const { return globals_; }

 private:
  void read();
  std::string_view rest_of_line(size_t position) const;

  const std::string text_;
  std::vector<size_t> lines_;                           // the start of each line
  std::map<std::string, size_t, std::less<>> entries_;  // position of the word .entry of each kernel
  std::map<std::string, std::vector<std::byte>, std::less<>> globals_;
  std::map<int, std::string> files_;
  std::map<std::string, Variable, std::less<>> shared_;  // shared variables of several kernels
  std::map<std::string, std::unique_ptr<const Kernel>, std::less<>> kernels_;
  int target_ = 0;

  friend class Reader;
};

// The windows of generic addresses outside global memory, whose addresses are those of the host.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 62, kParameterWindow = uint64_t{1} << 61;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;

// Returns the function of "add.rn.f32" and the like, or nullptr if it is unknown.
Arithmetic find_arithmetic(std::string_view opcode);

// Reports an error in the machine's input on the standard error and ends the process, like a GPU's
// sanitizer.
[[noreturn]] void report(const std::string& sentence);

}  // namespace openaclnn::ptx
