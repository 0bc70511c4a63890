// Reads the text of a PTX kernel: text, declarations and operands. decode.cc decodes the instructions.
#include "cuda/ptx/reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace openaclnn::ptx {

namespace {

// Constants have numbers from here on until the number of registers is known.
constexpr Register kFirstConstant = 1 << 24;

size_t aligned(size_t offset, size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

// Decides by the next character: "ld.global.L1::evict_first" is not a label.
bool is_label(std::string_view behind_name) {
  return behind_name.starts_with(':') && !behind_name.starts_with("::");
}

size_t bytes_of_type(std::string_view type) {
  if (type == "pred") return 1;
  int bits = 0;
  if (!type.empty()) std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return static_cast<size_t>(bits) / 8;
}

template <class T>
bool parse(std::string_view text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// 12, -3, 0x1F, 017, 0f3F800000 and 0d3FF0000000000000, optionally followed by U.
bool read_immediate(std::string_view text, uint64_t& value) {
  if (text.ends_with('U')) text.remove_suffix(1);
  if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D") ||
      text.starts_with("0x") || text.starts_with("0X"))
    return parse(text.substr(2), value, 16);
  if (text.size() > 1 && text.starts_with('0')) return parse(text.substr(1), value, 8);
  int64_t number = 0;
  if (text.starts_with('-') && parse(text, number)) {
    value = static_cast<uint64_t>(number);
    return true;
  }
  return parse(text, value);
}

constexpr std::array<std::pair<std::string_view, Special>, 18> kSpecials = {{
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
}};

}  // namespace

Reader::Reader(const Module& module, size_t entry)
    : module_(module),
      text_(module.text_),
      at_(entry),
      line_(static_cast<int>(std::ranges::upper_bound(module.lines_, entry) - module.lines_.begin())),
      kernel_(std::make_unique<Kernel>()) {}

void Reader::refuse(const std::string& why) const {
  report("kernel " + kernel_->name + ", line " + std::to_string(line_) + " of its PTX: " + why + ": " +
         std::string(trimmed(module_.line(line_))));
}

// ---- text ----

void Reader::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '\n') ++line_;
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_blank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

// Moves to the position after `end`.
std::string_view Reader::take_until(char end) {
  const size_t begin = at_;
  at_ = std::min(text_.find(end, at_), text_.size());
  const std::string_view taken = text_.substr(begin, at_ - begin);
  line_ += static_cast<int>(std::ranges::count(taken, '\n')) + (end == '\n' ? 1 : 0);
  ++at_;
  return taken;
}

// Splits at commas outside brackets.
Reader::Operands Reader::split(std::string_view list) {
  Operands operands;
  int depth = 0;
  size_t begin = 0;
  for (size_t k = 0; k <= list.size(); ++k) {
    const char c = k < list.size() ? list[k] : ',';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c != ',' || depth != 0) continue;
    if (const std::string_view operand = trimmed(list.substr(begin, k - begin)); !operand.empty())
      operands.push_back(operand);
    begin = k + 1;
  }
  return operands;
}

std::string Reader::name_after(std::string_view text) {
  text = trimmed(text);
  size_t length = 0;
  while (length < text.size() && is_name(text[length])) ++length;
  return std::string(text.substr(0, length));
}

Variable Reader::read_variable(std::string_view declaration) {
  Variable variable;
  size_t element = 0, elements = 1;
  while (!(declaration = trimmed(declaration)).empty()) {
    const std::string word = name_after(declaration);
    if (word.empty()) break;
    declaration.remove_prefix(word.size());
    if (word == ".align") {
      declaration = trimmed(declaration);
      const std::string number = name_after(declaration);
      parse(std::string_view(number), variable.alignment);
      declaration.remove_prefix(number.size());
    } else if (word.front() != '.') {
      variable.name = word;
      if (declaration.starts_with('[')) parse(declaration.substr(1, declaration.find(']') - 1), elements);
      break;
    } else if (const size_t bytes = bytes_of_type(word.substr(1)); bytes > 0) {
      element = bytes;
    }
  }
  variable.bytes = element * elements;
  variable.alignment = std::max(variable.alignment, element);
  return variable;
}

// ---- declarations ----

std::unique_ptr<const Kernel> Reader::read() {
  at_ += 6;  // after ".entry"
  kernel_->name = name_after(text_.substr(at_, std::min(text_.find('(', at_), text_.find('{', at_)) - at_));
  read_parameters();
  read_body();
  resolve();
  return std::move(kernel_);
}

// Reads the parentheses after the name, and the launch directives before the body.
void Reader::read_parameters() {
  size_t offset = 0;
  const size_t body = text_.find('{', at_);
  if (text_.find('(', at_) < body) {
    take_until('(');
    const std::string_view list = take_until(')');
    for (const std::string_view declaration : split(list)) {
      const Variable variable = read_variable(declaration);
      offset = aligned(offset, variable.alignment);
      symbols_[variable.name] = offset;
      kernel_->parameters.push_back({offset, variable.bytes});
      offset += variable.bytes;
    }
  }
  kernel_->parameter_bytes = offset;
  const std::string_view limits = take_until('{');
  if (const size_t found = limits.find(".maxntid"); found != std::string_view::npos) {
    const std::string_view numbers = limits.substr(found + 8);
    int threads = 1;
    for (const std::string_view number : split(numbers.substr(0, numbers.find_first_of(".\n")))) {
      int factor = 1;
      parse(number, factor);
      threads *= factor;
    }
    kernel_->most_threads = threads;
  }
}

void Reader::read_body() {
  scopes_.emplace_back();
  while (!scopes_.empty()) {
    skip_blanks();
    if (at_ >= text_.size()) refuse("the text ends inside");
    const std::string_view rest = text_.substr(at_);
    if (rest.front() == '{') {
      scopes_.emplace_back();
      ++at_;
    } else if (rest.front() == '}') {
      scopes_.pop_back();
      ++at_;
    } else if (rest.starts_with(".loc") && !rest.starts_with(".local")) {
      note_source_line(take_until('\n'));
    } else if (rest.starts_with(".reg")) {
      declare_registers(trimmed(take_until(';')).substr(4));
    } else if (rest.starts_with(".shared")) {
      place_in_shared_memory(read_variable(take_until(';')));
    } else if (rest.starts_with(".pragma")) {
      take_until(';');
    } else if (rest.front() == '.') {
      refuse("this machine does not know the directive");
    } else if (const std::string name = name_after(rest); is_label(rest.substr(name.size()))) {
      if (!labels_.emplace(name, static_cast<int>(kernel_->code.size())).second)
        refuse("a second label of this name");
      at_ += name.size() + 1;
    } else {
      const int first = line_;
      const std::string_view text = take_until(';');
      const int last = std::exchange(line_, first);
      read_instruction(text);
      line_ = last;
    }
  }
}

void Reader::place_in_shared_memory(const Variable& variable) {
  size_t& bytes = kernel_->shared_bytes;
  bytes = aligned(bytes, variable.alignment);
  symbols_[variable.name] = bytes;
  bytes += variable.bytes;
}

// ".b32 %r<9>" or ".pred p, q"
void Reader::declare_registers(std::string_view declaration) {
  declaration = trimmed(declaration);
  declaration.remove_prefix(name_after(declaration).size());  // a register of the machine can hold any type
  for (const std::string_view entry : split(declaration)) {
    const size_t bracket = entry.find('<');
    int count = 1;
    if (bracket == std::string_view::npos) {
      scopes_.back().names[std::string(entry)] = kernel_->registers;
    } else {
      parse(entry.substr(bracket + 1, entry.find('>') - bracket - 1), count);
      scopes_.back().ranges[std::string(entry.substr(0, bracket))] = {kernel_->registers, count};
    }
    kernel_->registers += count;
  }
}

// ".loc 1 45 3", optionally followed by more
void Reader::note_source_line(std::string_view text) {
  int* const numbers[] = {&source_file_, &source_line_};
  text.remove_prefix(4);
  for (int* number : numbers) {
    text = trimmed(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error == std::errc()) text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

// ---- operands ----

Register Reader::find_register(std::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  int number = 0;
  const bool counts = parse(name.substr(digits), number);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
    if (!counts) continue;
    const auto range = scope->ranges.find(name.substr(0, digits));
    if (range != scope->ranges.end() && number < range->second.count) return range->second.first + number;
  }
  return kNone;
}

Register Reader::constant(uint64_t value) {
  const auto [place, is_new] =
      constants_.try_emplace(value, kFirstConstant + static_cast<Register>(constants_.size()));
  if (is_new) std::ranges::fill(kernel_->constants.emplace_back().of, value);
  return place->second;
}

Register Reader::special(std::string_view name) {
  const auto known = std::ranges::find(kSpecials, name, &std::pair<std::string_view, Special>::first);
  if (known == kSpecials.end()) return kNone;
  const auto [place, is_new] = specials_.try_emplace(std::string(name), kernel_->registers);
  if (is_new) kernel_->specials.push_back({known->second, kernel_->registers++});
  return place->second;
}

Register Reader::source(std::string_view operand) {
  if (const Register found = find_register(operand); found != kNone) return found;
  if (const Register found = special(operand); found != kNone) return found;
  if (uint64_t value = 0; read_immediate(operand, value)) return constant(value);
  const size_t plus = operand.find('+');
  const std::string_view name = operand.substr(0, plus);
  int64_t offset = 0;
  if (plus != std::string_view::npos && !parse(operand.substr(plus + 1), offset))
    refuse("an unknown operand");
  if (const auto shared = module_.shared_.find(name);
      shared != module_.shared_.end() && !symbols_.contains(name))
    place_in_shared_memory(shared->second);
  if (const auto symbol = symbols_.find(name); symbol != symbols_.end())
    return constant(symbol->second + static_cast<uint64_t>(offset));
  if (const auto variable = module_.globals_.find(name); variable != module_.globals_.end())
    return constant(reinterpret_cast<uint64_t>(variable->second.data()) + static_cast<uint64_t>(offset));
  refuse("an unknown operand, " + std::string(operand));
}

Register Reader::destination(std::string_view operand) const {
  if (operand == "_") return kNone;
  const Register found = find_register(operand);
  if (found == kNone) refuse("an unknown register, " + std::string(operand));
  return found;
}

Register Reader::result(std::string_view operand) const {
  const Register to = destination(operand);
  if (to == kNone) refuse("a result that goes nowhere");
  return to;
}

// "%r1" or "{%r1, %r2}", into to[].
void Reader::read_values(std::string_view operand, bool are_sources, Instruction& instruction) {
  if (operand.starts_with('{')) operand = operand.substr(1, operand.size() - 2);
  const Operands values = split(operand);
  if (values.size() != instruction.count) refuse("a vector of another size");
  for (size_t k = 0; k < values.size(); ++k)
    instruction.to[k] = are_sources ? source(values[k]) : destination(values[k]);
}

// "[%rd1+16]" or "[name+4]"
void Reader::read_address(std::string_view operand, Instruction& instruction) {
  if (!operand.starts_with('[')) refuse("an address is missing");
  operand = trimmed(operand.substr(1, operand.size() - 2));
  const size_t plus = operand.find('+');
  if (plus != std::string_view::npos && !parse(trimmed(operand.substr(plus + 1)), instruction.offset))
    refuse("an unknown offset");
  instruction.from[0] = source(trimmed(operand.substr(0, plus)));
}

// Resolves the targets of branches and the final numbers of constants.
void Reader::resolve() {
  for (const auto& [instruction, label] : branches_) {
    const auto target = labels_.find(label);
    if (target == labels_.end()) refuse("a branch to " + label + ", which doesn't exist");
    kernel_->code[instruction].target = target->second;
  }
  const auto renumber = [&](Register& r) {
    if (r >= kFirstConstant) r += kernel_->registers - kFirstConstant;
  };
  for (Instruction& instruction : kernel_->code) {
    for (Register& r : instruction.to) renumber(r);
    for (Register& r : instruction.from) renumber(r);
  }
  Instruction end;  // a label may follow the last instruction
  end.action = Action::exit;
  append(end);
}

}  // namespace openaclnn::ptx
