// Decodes the instructions of PTX for the machine.
#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "cuda/ptx/reader.h"

namespace openaclnn::ptx {

namespace {

using Name = std::string_view;

// Caching and ordering of loads and stores make no difference to a machine that runs them one after the
// other.
constexpr std::array<Name, 18> kOfNoEffect = {
    "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "gpu", "cta", "sys",
    "nc",       "ca",      "cg",      "cs",      "lu",      "cv",   "wb",  "wt",  "cluster"};

bool has_no_effect(Name part) {
  return std::ranges::find(kOfNoEffect, part) != kOfNoEffect.end() || part.starts_with("L1::") ||
         part.starts_with("L2::");
}

struct NamedOperation {
  Name name;
  Operation operation;
};
constexpr std::array<NamedOperation, 15> kOperations = {{
    {"idx", Operation::idx},
    {"up", Operation::up},
    {"down", Operation::down},
    {"bfly", Operation::bfly},
    {"ballot", Operation::ballot},
    {"any", Operation::any},
    {"all", Operation::all},
    {"popc", Operation::popc},
    {"add", Operation::add},
    {"min", Operation::min},
    {"max", Operation::max},
    {"cas", Operation::cas},
    {"exch", Operation::exch},
    {"and", Operation::and_},
    {"or", Operation::or_},
}};

Operation find_operation(Name part) {
  const auto found = std::ranges::find(kOperations, part, &NamedOperation::name);
  return found != kOperations.end() ? found->operation : Operation::none;
}

// "u32": 4 bytes. 0: not a type, or one that no register of the machine holds.
uint8_t bytes_of(Name type) {
  int bits = 0;
  if (type.size() < 2 || Name("busf").find(type.front()) == Name::npos) return 0;
  const auto [end, error] = std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  const bool is_known = error == std::errc() && end == type.data() + type.size() && bits <= 64;
  return is_known ? static_cast<uint8_t>(bits / 8) : 0;
}

bool is_one_of(Operation operation, std::initializer_list<Operation> list) {
  return std::ranges::find(list, operation) != list.end();
}

Operation operation_among(const std::vector<Name>& parts) {
  for (const Name part : parts) {
    if (const Operation found = find_operation(part); found != Operation::none) return found;
  }
  return Operation::none;
}

}  // namespace

bool Reader::Opcode::has(std::string_view part) const {
  return std::ranges::find(parts, part) != parts.end();
}

// "@!%p1 add.s32 %r1, %r2, 1"
void Reader::read_instruction(std::string_view text) {
  Instruction instruction;
  instruction.line = line_;
  instruction.source_line = source_line_;
  instruction.source_file = source_file_;
  const auto take_word = [&] {
    const size_t begin = text.find_first_not_of(" \t\n\r");
    const size_t end = std::min(text.find_first_of(" \t\n\r", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
  };
  Opcode opcode;
  opcode.whole = take_word();
  if (opcode.whole.starts_with('@')) {
    std::string_view guard = opcode.whole.substr(1);
    instruction.guard_is_negated = guard.starts_with('!');
    if (instruction.guard_is_negated) guard.remove_prefix(1);
    instruction.guard = destination(guard);
    opcode.whole = take_word();
  }
  for (size_t begin = 0; begin <= opcode.whole.size();) {
    const size_t end = std::min(opcode.whole.find('.', begin), opcode.whole.size());
    opcode.parts.push_back(opcode.whole.substr(begin, end - begin));
    begin = end + 1;
  }
  decode(opcode, split(text), instruction);
}

void Reader::decode(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  const std::string_view head = opcode.parts.front();
  if (head == "bra") {
    instruction.action = Action::branch;
    if (operands.size() != 1) refuse("a label is missing");
    branches_.emplace_back(kernel_->code.size(), std::string(operands[0]));
    append(instruction);
  } else if (head == "ret" || head == "exit") {
    instruction.action = Action::exit;
    append(instruction);
  } else if (head == "ld" || head == "st" || head == "atom" || head == "red") {
    decode_memory(opcode, operands, instruction);
  } else if (head == "bar" || head == "barrier") {
    decode_barrier(opcode, operands, instruction);
  } else if (head == "shfl" || head == "vote") {
    decode_warp_operation(opcode, operands, instruction);
  } else if (head == "membar" || head == "fence") {
    instruction.action = Action::fence;
    append(instruction);
  } else {
    decode_arithmetic(opcode, operands, instruction);
  }
}

void Reader::decode_memory(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  const std::string_view head = opcode.parts.front();
  const bool is_load = head == "ld", is_store = head == "st";
  instruction.action = is_load ? Action::load : is_store ? Action::store : Action::atomic;
  const std::string_view type = opcode.parts.back();
  instruction.bytes = bytes_of(type);
  instruction.is_signed = type.starts_with('s');
  if (instruction.bytes == 0) refuse("an unknown type");
  for (size_t k = 1; k + 1 < opcode.parts.size(); ++k) {
    const std::string_view part = opcode.parts[k];
    if (part == "global") {
      instruction.space = Space::global;
    } else if (part == "shared" || part == "shared::cta") {
      instruction.space = Space::shared;
    } else if (part == "param") {
      instruction.space = Space::parameter;
    } else if (part == "v2" || part == "v4") {
      instruction.count = part == "v2" ? 2 : 4;
    } else if (const Operation found = find_operation(part);
               found != Operation::none && !is_load && !is_store) {
      instruction.operation = found;
    } else if (!has_no_effect(part)) {
      refuse("an unknown kind of access");
    }
  }
  if (is_load) {
    if (operands.size() != 2) refuse("operands are missing");
    read_values(operands[0], false, instruction);
    read_address(operands[1], instruction);
  } else if (is_store) {
    if (operands.size() != 2) refuse("operands are missing");
    read_address(operands[0], instruction);
    read_values(operands[1], true, instruction);
  } else {
    const size_t first = head == "atom" ? 1 : 0;
    const size_t wanted = first + (instruction.operation == Operation::cas ? 3 : 2);
    const bool is_known = operands.size() == wanted && instruction.operation >= Operation::add &&
                          instruction.count == 1 && instruction.bytes >= 4 && !type.starts_with('f');
    if (!is_known) refuse("an atomic operation that is not known here");
    if (first == 1) instruction.to[0] = destination(operands[0]);
    read_address(operands[first], instruction);
    for (size_t k = first + 1; k < operands.size(); ++k) instruction.from[k - first] = source(operands[k]);
  }
  append(instruction);
}

// bar.sync 0; bar.red.or.pred p, 0, q; bar.warp.sync mask
void Reader::decode_barrier(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  if (opcode.has("warp")) {
    instruction.action = Action::warp_barrier;
    if (operands.size() != 1) refuse("operands are missing");
    instruction.from[3] = source(operands[0]);
  } else {
    instruction.action = Action::barrier;
    const bool votes = opcode.has("red");
    if (operands.size() != (votes ? 3u : 1u) || operands[votes ? 1 : 0] != "0")
      refuse("a barrier of a part of the block");
    if (votes) {
      instruction.operation = operation_among(opcode.parts);
      if (!is_one_of(instruction.operation, {Operation::popc, Operation::and_, Operation::or_}))
        refuse("a vote that is not known here");
      instruction.to[0] = result(operands[0]);
      instruction.from[0] = source(operands[2]);
    }
  }
  append(instruction);
}

// shfl.sync.down.b32 d|p, a, b, c, mask; vote.sync.ballot.b32 d, p, mask
void Reader::decode_warp_operation(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  const bool shuffles = opcode.parts.front() == "shfl";
  instruction.action = shuffles ? Action::shuffle : Action::vote;
  instruction.operation = operation_among(opcode.parts);
  const bool is_its_own =
      shuffles ? is_one_of(instruction.operation,
                           {Operation::idx, Operation::up, Operation::down, Operation::bfly})
               : is_one_of(instruction.operation, {Operation::ballot, Operation::any, Operation::all});
  const bool is_known = is_its_own && opcode.has("sync") && operands.size() == (shuffles ? 5u : 3u);
  if (!is_known) refuse("an operation of warps that is not known here");
  const size_t bar = operands[0].find('|');
  instruction.to[0] = result(operands[0].substr(0, bar));
  if (bar != std::string_view::npos) instruction.to[1] = destination(operands[0].substr(bar + 1));
  for (size_t k = 1; k + 1 < operands.size(); ++k) instruction.from[k - 1] = source(operands[k]);
  instruction.from[3] = source(operands.back());
  append(instruction);
}

// mov.b64 {%r1, %r2}, %rd1, and the reverse.
bool Reader::decode_pack(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  if (opcode.parts.front() != "mov" || operands.size() != 2) return false;
  const bool packs = operands[1].starts_with('{'), unpacks = operands[0].starts_with('{');
  if (!packs && !unpacks) return false;
  const std::string_view braced = operands[packs ? 1 : 0];
  const Operands parts = split(braced.substr(1, braced.size() - 2));
  const size_t bits = 8u * bytes_of(opcode.parts.back()) / std::max<size_t>(parts.size(), 1);
  instruction.compute = find_arithmetic("pack.b" + std::to_string(bits) + "x" + std::to_string(parts.size()));
  if (instruction.compute == nullptr) refuse("a move of parts that are not known here");
  if (packs) {
    instruction.to[0] = result(operands[0]);
    for (size_t k = 0; k < parts.size(); ++k) instruction.from[k] = source(parts[k]);
    append(instruction);
    return true;
  }
  // Moves each part in turn. If one of them is the register that holds the whole, it must come last.
  const Register whole = source(operands[1]);
  for (size_t k = 0; k < parts.size(); ++k) {
    instruction.to[0] = destination(parts[k]);
    if (instruction.to[0] == kNone) continue;
    if (instruction.to[0] == whole && k + 1 < parts.size()) refuse("a part that takes the whole's place");
    instruction.compute = find_arithmetic("shr.u64");
    instruction.from[0] = whole;
    instruction.from[1] = constant(bits * k);
    append(instruction);
  }
  return true;
}

void Reader::decode_arithmetic(const Opcode& opcode, const Operands& operands, Instruction& instruction) {
  if (decode_pack(opcode, operands, instruction)) return;
  instruction.compute = find_arithmetic(opcode.whole);
  if (instruction.compute == nullptr) {
    refuse(
        "this machine does not know the instruction, or it gives other bits on other GPUs, as contractions "
        "and approximations do");
  }
  if (operands.size() < 2 || operands.size() > 5) refuse("operands are missing");
  instruction.to[0] = result(operands[0]);
  for (size_t k = 1; k < operands.size(); ++k) instruction.from[k - 1] = source(operands[k]);
  append(instruction);
}

}  // namespace openaclnn::ptx
