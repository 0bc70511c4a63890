// Calls whose parameters are lists of tensors: the checks of phase 2 for any number of tensors, and what their tasks carry.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/tensor_view.h"
#include "runtime/device.h"
#include "runtime/recycle.h"

namespace openaclnn {

struct Call;

// One tensor of a list, as far as phase 2 needs it every time.
struct ListElement {
  ByteRange range;
  int64_t layout =
      0;  // where its offset, rank, dims and strides lie; of use only when tensors share an address
  aclDataType dtype = ACL_DT_UNDEFINED;
  bool is_dense = false;
  bool is_empty = true;
};

// The tensors of all list parameters of a call, list by list. There may be thousands, so they are kept small: the tensors of one
// index mostly have one layout, which is stored once.
class ListElements {
 public:
  void resize(size_t count);
  void set(size_t n, const TensorView& described);

  bool empty() const { return elements_.empty(); }
  size_t size() const { return elements_.size(); }
  const ListElement& operator[](size_t n) const { return elements_[n]; }
  TensorView view(size_t n, void* data) const;

  // The addresses of phase 1; the executor owns them from then on.
  RecycledVector<void*> take_addresses() { return std::move(addresses_); }

 private:
  RecycledVector<ListElement> elements_;
  RecycledVector<int64_t> layouts_;
  RecycledVector<void*> addresses_;
  size_t last_layout_ = 0;
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
std::shared_ptr<const ListIo> make_list_io(const Call& call, RecycledVector<void*> elements);

}  // namespace openaclnn
