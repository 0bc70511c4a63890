// Tests every function that takes a handle with NULL, forged bits, stale handles and handles of every other
// kind.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "runtime/handle_doors.h"
#include "support/paths.h"
#include "support/verify.h"
#include "verify/random.h"

namespace {

using namespace runtime_test;

TEST_F(HandlesTest, Null) {
  for (const Door& door : doors) {
    SCOPED_TRACE(door.name);
    expect(door.null_code, door.call(nullptr));
  }
  expect(0, aclrtSynchronizeDevice());
}

TEST_F(HandlesTest, StaleOnes) {
  for (const Door& door : doors) {
    SCOPED_TRACE(door.name);
    const Handle handle = make(door.kind);
    expect(0, destroy(door.kind, handle));
    expect(door.stale_code, door.call(handle));
    if (door.kind == 'M') continue;        // an address may be reused
    const Handle newer = make(door.kind);  // most likely in the same slot
    EXPECT_NE(newer, handle);
    expect(door.stale_code, door.call(handle));
    expect(0, destroy(door.kind, newer));
  }
}

TEST_F(HandlesTest, OtherKinds) {
  for (const char* kind = kKinds; *kind != '\0'; ++kind) {
    const Handle handle = make(*kind);
    ASSERT_NE(handle, nullptr);
    for (const Door& door : doors) {
      SCOPED_TRACE(std::string(door.name) + " with " + *kind);
      if (door.kind != *kind) expect(door.stale_code, door.call(handle));
    }
    expect(0, destroy(*kind, handle));  // no call above destroyed it
  }
}

// Values that look like handles, but do not name a live object of the door's kind.
class Forger {
 public:
  Forger(uint64_t seed, const std::vector<std::pair<char, Handle>>& live, const std::vector<Handle>& stale)
      : random_(seed), live_(live), stale_(stale) {}

  uint64_t value_for(const Door& door) {
    const uint64_t bits = random_.bits();
    const auto [kind, handle] = live_[(bits >> 40) % live_.size()];
    switch (bits % 8) {
      case 0: return random_.bits();
      // The kind is right and the slot is used, but no object has had this many predecessors.
      case 1:
        return uint64_t(door.kind) << 56 | uint64_t{1} << 55 | (random_.bits() & ((uint64_t{1} << 55) - 1));
      // A live handle with one bit of its generation flipped: other bits could name another live object.
      case 2: return as_bits(handle) ^ uint64_t { 1 } << (28 + random_.bits() % 28);
      case 3: return random_.bits() & 0xFFFF;
      case 4: return as_bits(stale_[random_.bits() % stale_.size()]);
      case 5: return kind != door.kind ? as_bits(handle) : ~uint64_t{0} - (bits >> 56);
      case 6: return as_bits(kAddresses[random_.bits() % std::size(kAddresses)]) + random_.bits() % 64;
      default: return uint64_t{1} << (bits >> 58) | random_.bits() % 4;
    }
  }

 private:
  static uint64_t as_bits(const void* address) { return reinterpret_cast<uint64_t>(address); }
  static inline char memory_[64];
  static inline const void* const kAddresses[] = {memory_, reinterpret_cast<const void*>(&aclrtSetDevice),
                                                  &memory_};

  openaclnn_test::Random random_;
  const std::vector<std::pair<char, Handle>>& live_;
  const std::vector<Handle>& stale_;
};

// 2^24 in ./dev check: OPENACLNN_TEST_VALUES.
TEST_F(HandlesTest, ForgedValuesAreNeverAccepted) {
  // Live objects of all kinds, as possible matches, and some destroyed ones.
  std::vector<std::pair<char, Handle>> live;
  std::vector<Handle> stale;
  for (const char* kind = kKinds; *kind != '\0'; ++kind) {
    for (int n = 0; n < 4; ++n) {
      stale.push_back(make(*kind));
      expect(0, destroy(*kind, stale.back()));
    }
    live.emplace_back(*kind, make(*kind));
  }
  const char* const wanted = std::getenv("OPENACLNN_TEST_VALUES");
  const uint64_t values =
      wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : uint64_t{1} << (kThreadSanitizer ? 16 : 19);
  constexpr uint64_t kSeeds = 4;
  uint64_t tried = 0, accepted = 0, wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Forger forger(openaclnn_test::test_seed() + seed, live, stale);
    for (uint64_t k = 0; k < values / kSeeds; ++k) {
      const Door& door = doors[k % doors.size()];
      const uint64_t bits = forger.value_for(door);
      if (bits == 0) continue;
      ++tried;
      (void)aclGetRecentErrMsg();
      const int code = door.call(reinterpret_cast<Handle>(bits));
      accepted += code == 0;
      if (code != door.stale_code && ++wrong <= 20)
        ADD_FAILURE() << door.name << " returned " << code << " for " << std::hex << bits << "; "
                      << openaclnn_test::seed_text();
    }
  }
  EXPECT_EQ(wrong, 0u);
  std::printf("figure values %llu\nfigure accepted %llu\nfigure doors %zu\n",
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(accepted),
              doors.size());
  (void)aclGetRecentErrMsg();
  for (const auto& [kind, handle] : live) expect(0, destroy(kind, handle));
}

// A new function that takes a handle has no test until it has a door.
TEST_F(HandlesTest, EveryExportedFunctionHasItsDoor) {
  std::set<std::string> functions = {// They take no handle, or ignore it here.
                                     "aclAppLog",
                                     "InitHugeMemThreadLocal",
                                     "ReleaseHugeMem",
                                     "UnInitHugeMemThreadLocal",
                                     "aclCreateBoolArray",
                                     "aclCreateFloatArray",
                                     "aclCreateIntArray",
                                     "aclCreateScalar",
                                     "aclCreateTensor",
                                     "aclDataTypeSize",
                                     "aclDumpOpTensors",
                                     "aclFinalize",
                                     "aclFinalizeReference",
                                     "aclFloat16ToFloat",
                                     "aclFloatToFloat16",
                                     "aclGetRecentErrMsg",
                                     "aclInit",
                                     "aclnnFinalize",
                                     "aclnnInit",
                                     "aclrtCreateContext",
                                     "aclrtCreateEvent",
                                     "aclrtCreateEventExWithFlag",
                                     "aclrtCreateEventWithFlag",
                                     "aclrtCreateStream",
                                     "aclrtCreateStreamWithConfig",
                                     "aclrtCtxGetCurrentDefaultStream",
                                     "aclrtCtxGetSysParamOpt",
                                     "aclrtCtxSetSysParamOpt",
                                     "aclrtDeviceCanAccessPeer",
                                     "aclrtDeviceEnablePeerAccess",
                                     "aclrtGetCurrentContext",
                                     "aclrtGetDevice",
                                     "aclrtGetDeviceCount",
                                     "aclrtGetLastError",
                                     "aclrtGetMemInfo",
                                     "aclrtGetRunMode",
                                     "aclrtGetSocName",
                                     "aclrtGetSysParamOpt",
                                     "aclrtGetVersion",
                                     "aclrtMalloc",
                                     "aclrtMallocAlign32",
                                     "aclrtMallocCached",
                                     "aclrtMallocHost",
                                     "aclrtMemcpy",
                                     "aclrtMemcpy2d",
                                     "aclrtMemset",
                                     "aclrtPeekAtLastError",
                                     "aclrtResetDevice",
                                     "aclrtResetDeviceForce",
                                     "aclrtSetDevice",
                                     "aclrtSetSysParamOpt",
                                     "aclrtSynchronizeDevice",
                                     "aclrtSynchronizeDeviceWithTimeout",
                                     "openaclnnCreateStreamFromNative",
                                     "openaclnnDescribe",
                                     "openaclnnReleaseMemory",
                                     "openaclnnReportMissing"};
  for (const Door& door : doors) functions.insert(door.function());
  std::ifstream symbols(test_paths::exported_symbols);
  ASSERT_TRUE(symbols);
  size_t found = 0;
  for (std::string symbol; std::getline(symbols, symbol); ++found)
    EXPECT_TRUE(functions.contains(symbol)) << symbol << " has no door in handle_doors.cc";
  EXPECT_EQ(found, functions.size()) << "a door that is not exported";
}

TEST_F(HandlesTest, AReusedSlotNeverRevivesAHandle) {
  std::vector<const aclTensor*> old;
  for (int k = 0; k < 20000; ++k) {
    const aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
    for (const aclTensor* earlier :
         {old.empty() ? nullptr : old.back(), old.empty() ? nullptr : old.front()}) {
      EXPECT_NE(tensor, earlier);
    }
    expect(0, aclDestroyTensor(tensor));
    old.push_back(tensor);
  }
  const aclTensor* live = make_tensor({1}, ACL_FLOAT, nullptr);
  for (const aclTensor* tensor : old) ASSERT_EQ(aclDestroyTensor(tensor), 161002);
  (void)aclGetRecentErrMsg();
  expect(0, aclDestroyTensor(live));
}

}  // namespace
