// The objects of a run of API calls as the program knows them, for fuzz targets that compare the library
// with a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "fuzz/found.h"
#include "fuzz/input.h"

namespace openaclnn_test {

enum class Kind : uint8_t {
  tensor,
  scalar,
  int_array,
  float_array,
  bool_array,
  tensor_list,
  scalar_list,
  executor,
  stream,
  event
};
inline constexpr int kKinds = 10;

// Returns the code for a handle that is dead, or of another kind.
inline int stale_code(Kind kind) {
  return kind < Kind::executor ? 161002 : kind == Kind::executor ? 561000 : 107017;
}

struct Object {
  Kind kind = Kind::tensor;
  void* handle = nullptr;
  bool is_live = false;
  std::vector<size_t> elements = {};  // of a list: it owns them
  bool is_repeatable = false;         // of an executor
  int64_t runs = 0;                   // of a stream: tasks that add 1 to its counter
  bool is_recorded = false;           // of an event
};

// Codes that a call may return. The error text must match the code in any case.
inline void require_outcome(const char* function, int code, std::initializer_list<int> allowed) {
  const char* const text = aclGetRecentErrMsg();
  bool is_allowed = false;
  for (const int one : allowed) is_allowed = is_allowed || code == one;
  if (!is_allowed)
    found(std::string(function) + " returned " + std::to_string(code) + ": " +
          (text != nullptr ? text : "without a word"));
  if (code == 0 && text != nullptr) found(std::string(function) + " succeeded and left: " + text);
  if (code != 0 && text == nullptr) found(std::string(function) + " failed without a message");
}

class Objects {
 public:
  static constexpr size_t kMost = 24;

  std::vector<Object> all = {};

  bool is_full() const { return all.size() >= kMost; }
  size_t add(Kind kind, void* handle) {
    if (handle == nullptr) found(std::string("an object could not be made: ") + text_or_nothing());
    for (const Object& other : all) {
      if (other.handle == handle) found("a handle was given twice");
    }
    all.push_back({.kind = kind, .handle = handle, .is_live = true});
    return all.size() - 1;
  }
  // Any object, dead or alive, of any kind. None if there are none, or sometimes a value that is not a
  // handle.
  struct Choice {
    void* handle;
    Object* object;  // nullptr: no handle
    bool is(Kind kind) const { return object != nullptr && object->is_live && object->kind == kind; }
    bool is_null() const { return handle == nullptr; }
  };
  Choice choose(Input& in) {
    const uint8_t choice = in.byte();
    if (choice == 255 || all.empty()) return {nullptr, nullptr};
    if (choice >= 240) return forged(in.bits());
    Object& object = all[choice % all.size()];
    return {object.handle, &object};
  }
  // Prefers a live object of the kind.
  Choice choose(Input& in, Kind kind) {
    const uint8_t choice = in.byte();
    if (choice >= 200) return choose(in);
    size_t left = choice % 8;
    Object* last = nullptr;
    for (Object& object : all) {
      if (object.kind != kind || !object.is_live) continue;
      last = &object;
      if (left-- == 0) break;
    }
    return last != nullptr ? Choice{last->handle, last} : choose(in);
  }
  Object* of(const void* handle) {
    for (Object& object : all) {
      if (object.handle == handle) return &object;
    }
    return nullptr;
  }

 private:
  static std::string text_or_nothing() {
    const char* const text = aclGetRecentErrMsg();
    return text != nullptr ? text : "without a word";
  }
  Choice forged(uint64_t bits) {
    auto* const handle = reinterpret_cast<void*>(bits);
    Object* const object = of(handle);
    // An input that happens to equal a counter of the library would be a live object of unknown origin, so
    // values stay out of their range.
    return object != nullptr ? Choice{handle, object}
                             : Choice{reinterpret_cast<void*>(bits | uint64_t{1} << 55), nullptr};
  }
};

}  // namespace openaclnn_test
