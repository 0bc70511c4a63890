// Calls whose parameters are lists of tensors: the checks of phase 2 for any number of tensors, and what their tasks carry.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_view.h"
#include "runtime/device.h"

namespace openaclnn {

struct Call;

// One tensor of a list. Extent and density are kept because phase 2 needs them of thousands of tensors.
struct ListElement {
  ListElement() = default;
  explicit ListElement(const TensorView& described);

  TensorView view;  // with the address it had in phase 1
  ByteRange range;
  bool is_dense = false;
  bool is_empty = true;
};

// What one phase 2 found in an executor.
struct CallAddresses {
  const std::array<void*, kMaxParameters>& tensors;  // in the order of the parameters
  const std::shared_ptr<const ListIo>& lists;
  void* workspace;
};

// P9 to P11, and P12 when `strict`, for a call that has list elements. Sorting finds overlaps in n log n, and addresses that
// passed once are not sorted again.
Status check_lists(const Call& call, const CallAddresses& addresses, bool strict);

// `elements`: the addresses of all lists, in the order of Call::elements.
std::shared_ptr<const ListIo> make_list_io(const Call& call, std::vector<void*> elements);

}  // namespace openaclnn
