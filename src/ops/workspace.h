// WorkspaceLayout: divides a task's workspace into parts, each aligned to a cache line, with checked sizes.
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
  // Returns the offset of a part of `bytes` from the first cache line of the workspace; kernels use
  // workspace_part().
  int64_t reserve(Checked bytes) {
    const int64_t offset = total_.value();
    total_ = total_ + bytes + (kCacheLineBytes - 1);
    total_ = total_ + -(total_.value() % kCacheLineBytes);
    return offset;
  }

  // Returns the size that phase 1 requests: all parts, and space to align to a cache line, rounded up to
  // cache lines. Callers that place data after a workspace therefore keep its alignment. 0 if there is no
  // part. `what` are pieces of text that name the user of the space in an error message.
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
