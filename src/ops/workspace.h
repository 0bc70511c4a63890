// WorkspaceLayout: cuts a task's workspace into parts, each on a cache line, with checked sizes.
#pragma once

#include <cstdint>

#include "aclnn/aclnn_base.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

inline constexpr int64_t kCacheLineBytes = 64;

class WorkspaceLayout {
 public:
  // Offset of a part of `bytes` from the first cache line of the workspace; kernels find it with workspace_part().
  int64_t reserve(Checked bytes) {
    const int64_t offset = total_.value();
    total_ = total_ + bytes + (kCacheLineBytes - 1);
    total_ = total_ + -(total_.value() % kCacheLineBytes);
    return offset;
  }

  // What phase 1 asks for: all parts, and space to find a cache line at any alignment, rounded up to cache lines so that callers
  // who place something behind a workspace keep its alignment. 0 when there is no part. `what` are the pieces of text that say
  // in the sentence of a failure what needs the space.
  template <class... What>
  Result<uint64_t> bytes(const What&... what) const {
    if (total_.value() == 0 && total_.ok()) return uint64_t{0};
    const Checked padded = total_ + kCacheLineBytes;
    if (padded.ok()) return static_cast<uint64_t>(padded.value());
    return Status(ACLNN_ERR_INNER_CREATE_EXECUTOR,
                  text("EL0004 Failed to allocate: the workspace for ", what..., " exceeds 2^63 bytes"));
  }

 private:
  Checked total_ = 0;
};

}  // namespace openaclnn
