// Executes loads, stores and atomics of PTX kernels.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "cuda/ptx/execution.h"

namespace openaclnn::ptx {

namespace {

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

// Other streams may work on the same word. Returns the previous value.
template <class T>
uint64_t update(std::byte* at, Operation operation, uint64_t value, uint64_t other) {
  T* const to = reinterpret_cast<T*>(at);
  const T operand = static_cast<T>(value);
  T before = __atomic_load_n(to, __ATOMIC_RELAXED);
  for (;;) {
    T after = operand;  // exch
    switch (operation) {
      case Operation::add:
        after = static_cast<T>(static_cast<std::make_unsigned_t<T>>(before) +
                               static_cast<std::make_unsigned_t<T>>(operand));
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

}  // namespace

// Returns the host's address of a lane's access.
std::byte* Execution::resolve(const Warp& warp, const Instruction& i, int lane, Touch kind) {
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
    return const_cast<std::byte*>(launch_.parameters.data() + address);  // parameters are only read
  }
  if (!memory_.holds(address, bytes))
    refuse(warp, i, lane, what + std::to_string(bytes) + " bytes of global memory that is not the program's");
  if (counter_ != nullptr) counter_->touch_global(address, bytes, kind != Touch::write, kind != Touch::read);
  return reinterpret_cast<std::byte*>(address);
}

void Execution::load(Warp& warp, const Instruction& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::byte* const from = resolve(warp, i, lane, Touch::read);
    for (int k = 0; k < i.count; ++k) {
      if (i.to[k] == kNone) continue;
      warp.registers[static_cast<size_t>(i.to[k])].of[lane] =
          read_element(from + k * i.bytes, i.bytes, i.is_signed);
    }
  }
}

void Execution::store(Warp& warp, const Instruction& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* const to = resolve(warp, i, lane, Touch::write);
    for (int k = 0; k < i.count; ++k) std::memcpy(to + k * i.bytes, &source(warp, i.to[k]).of[lane], i.bytes);
  }
}

void Execution::update_atomically(Warp& warp, const Instruction& i, uint32_t active) {
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

}  // namespace openaclnn::ptx
