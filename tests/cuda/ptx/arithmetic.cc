// Computes PTX's instructions without side effects: predicates and addresses, and looks up the others.
#include "cuda/ptx/arithmetic.h"

namespace openaclnn::ptx {

namespace {

Table make_table() {
  Table t;
  add_integers(t);
  add_numbers(t);
  t.add<Predicate>("mov.pred", [](Predicate p) { return p; });
  t.add<Predicate>("not.pred", [](Predicate p) { return !p.is_true; });
  t.add<Predicate, Predicate>("and.pred", [](Predicate a, Predicate b) { return a.is_true && b.is_true; });
  t.add<Predicate, Predicate>("or.pred", [](Predicate a, Predicate b) { return a.is_true || b.is_true; });
  t.add<Predicate, Predicate>("xor.pred", [](Predicate a, Predicate b) { return a.is_true != b.is_true; });
  // Addresses: those of global memory are the host's, the others are in separate windows.
  for (const char* space : {"cvta.to.global.u64", "cvta.global.u64"})
    t.add<uint64_t>(space, [](uint64_t a) { return a; });
  t.add<uint64_t>("cvta.shared.u64", [](uint64_t a) { return a + kSharedWindow; });
  t.add<uint64_t>("cvta.to.shared.u64", [](uint64_t a) { return a - kSharedWindow; });
  t.add<uint64_t>("cvta.param.u64", [](uint64_t a) { return a + kParameterWindow; });
  t.add<uint64_t>("cvta.to.param.u64", [](uint64_t a) { return a - kParameterWindow; });
  return t;
}

}  // namespace

Arithmetic find_arithmetic(std::string_view opcode) {
  static const Table table = make_table();
  return table.find(opcode);
}

}  // namespace openaclnn::ptx
