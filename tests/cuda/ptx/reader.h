// Reads the text of a PTX kernel into instructions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

class Reader {
 public:
  Reader(const Module& module, size_t entry);
  std::unique_ptr<const Kernel> read();

  static std::string name_after(std::string_view text);
  // ".shared .align 16 .b8 name[128]"
  static Variable read_variable(std::string_view declaration);

 private:
  using Operands = std::vector<std::string_view>;
  struct Opcode {
    std::string_view whole;
    std::vector<std::string_view> parts;
    bool has(std::string_view part) const;
  };

  // Text.
  [[noreturn]] void refuse(const std::string& why) const;
  void skip_blanks();
  std::string_view take_until(char end);
  static Operands split(std::string_view list);

  // Declarations.
  void read_parameters();
  void read_body();
  void place_in_shared_memory(const Variable& variable);
  void declare_registers(std::string_view declaration);
  void note_source_line(std::string_view text);

  // Operands.
  Register find_register(std::string_view name) const;
  Register source(std::string_view operand);
  Register destination(std::string_view operand) const;  // kNone for "_", if the value is not used
  Register result(std::string_view operand) const;
  Register constant(uint64_t value);
  Register special(std::string_view name);
  void read_values(std::string_view operand, bool are_sources, Instruction& instruction);
  void read_address(std::string_view operand, Instruction& instruction);

  // Instructions.
  void read_instruction(std::string_view text);
  void decode(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  void decode_memory(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  void decode_barrier(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  void decode_warp_operation(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  void decode_arithmetic(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  bool decode_pack(const Opcode& opcode, const Operands& operands, Instruction& instruction);
  void append(const Instruction& instruction) { kernel_->code.push_back(instruction); }
  void resolve();

  const Module& module_;
  const std::string_view text_;
  size_t at_;
  int line_;
  int source_file_ = 0, source_line_ = 0;
  std::unique_ptr<Kernel> kernel_;

  // A scope declares names one by one, or many numbered names with a prefix.
  struct Range {
    Register first;
    int count;
  };
  struct Scope {
    std::map<std::string, Register, std::less<>> names;
    std::map<std::string, Range, std::less<>> ranges;
  };
  std::vector<Scope> scopes_;
  std::map<std::string, uint64_t, std::less<>> symbols_;  // addresses within their spaces
  std::map<std::string, int, std::less<>> labels_;
  std::vector<std::pair<size_t, std::string>> branches_;  // instructions whose label follows later
  std::map<uint64_t, Register> constants_;
  std::map<std::string, Register, std::less<>> specials_;
};

}  // namespace openaclnn::ptx
