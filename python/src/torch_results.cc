// Calls the functions that openaclnn/torch/results.py registers, and advises the system about its memory.
#include "torch_results.h"

#include <sys/mman.h>

#include "acl/acl_base.h"

namespace openaclnn::python {

namespace {

struct TorchResults {
  nb::object make, release;
  double least_bytes = 0;
};

TorchResults& torch_results() {
  static auto& results = *new TorchResults;  // never destroyed: Python may have ended
  return results;
}

void set_torch_results(nb::object make, nb::object release, double least_bytes) {
  torch_results() = {std::move(make), std::move(release), least_bytes};
}

// Huge pages need one fault for 2 MiB instead of 512. Only whole ones are advised, because the memory around
// may be anybody's.
void allow_huge_pages(uintptr_t address, size_t bytes) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  // Only a hint: everything also works without huge pages.
  if (end > begin) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

nb::object torch_result(const nb::object& shape, const nb::object& dtype, aclDataType type,
                        std::span<const int64_t> dims) {
  const TorchResults& results = torch_results();
  if (!results.make.is_valid()) return {};
  double bytes = static_cast<double>(aclDataTypeSize(type));
  for (const int64_t dim : dims) bytes *= static_cast<double>(dim);
  return bytes >= results.least_bytes ? results.make(shape, dtype) : nb::object();
}

void release_torch_results() {
  if (torch_results().release.is_valid()) torch_results().release();
}

void add_torch_results(nb::module_& module) {
  using namespace nb::literals;
  module.def("set_torch_results", &set_torch_results, "make"_a, "release"_a, "least_bytes"_a,
             "Registers the functions of openaclnn/torch/results.py.");
  module.def("allow_huge_pages", &allow_huge_pages, "address"_a, "bytes"_a,
             "Asks the system for huge pages in a range of memory.");
}

}  // namespace openaclnn::python
