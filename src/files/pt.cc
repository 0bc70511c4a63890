// Reads the zip archive of torch.save: data.pkl describes tensors as views of the entries data/0, data/1, …
#include "files/pt.h"

#include <fmt/core.h>

#include <map>

#include "base/dtype.h"
#include "files/errors.h"
#include "files/pickle.h"
#include "files/zip.h"

namespace openaclnn_files {

namespace {

constexpr std::string_view kPickleName = "data.pkl";

const ZipEntry& find_entry(const std::map<std::string, ZipEntry>& entries, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) throw BadInput(fmt::format("the file lacks the zip entry '{}'", shown(name)));
  return found->second;
}

void require_zip(const Source& file) {
  const std::string head = file.head(0, 4);
  if (head.starts_with("PK\x03\x04")) return;
  if (head.starts_with("\x80\x02")) {
    throw BadInput(
        "the file has the format of torch.save before PyTorch 1.6; convert it with "
        "torch.save(torch.load(file), file)");
  }
  throw BadInput("the file isn't a zip archive as torch.save writes it");
}

void require_little_endian(const Source& file, const std::map<std::string, ZipEntry>& entries,
                           const std::string& folder) {
  const auto order = entries.find(folder + "byteorder");
  if (order == entries.end()) return;  // PyTorch before 2.1, on little-endian machines only
  const std::string word = file.head(order->second.begin, std::min<uint64_t>(order->second.bytes, 16));
  if (word != "little")
    throw BadInput(fmt::format("the byte order of the file is '{}'; accepted is 'little'", shown(word)));
}

// Returns the elements from the first to the last of a view. Throws BadInput if one is outside the storage.
uint64_t checked_span(const PickledTensor& tensor, const std::string& what, uint64_t storage_elements) {
  uint64_t last = 0;
  for (size_t k = 0; k < tensor.dims.size(); ++k) {
    if (tensor.dims[k] == 1) continue;  // its stride has no meaning
    if (tensor.strides[k] < 0) throw BadInput(what + " has a negative stride");
    uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.dims[k] - 1),
                               static_cast<uint64_t>(tensor.strides[k]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      throw BadInput(what + " has strides that leave its storage");
  }
  const auto offset = static_cast<uint64_t>(tensor.offset);
  if (offset > storage_elements || last >= storage_elements - offset)
    throw BadInput(
        fmt::format("{} leaves its storage, which has {} elements in the file", what, storage_elements));
  return last + 1;
}

StoredView locate(const PickledTensor& tensor, const std::string& name, const ZipEntry& entry) {
  const std::string what = name.empty() ? "the tensor" : fmt::format("tensor '{}'", shown(name));
  StoredView view = {name, tensor.dtype, tensor.dims, tensor.strides, entry.begin, 0, 0};
  view.bytes = checked_bytes(what, tensor.dtype, tensor.dims);
  if (tensor.offset < 0) throw BadInput(what + " has a negative offset");
  if (view.bytes == 0) return view;
  const uint64_t element_bytes = openaclnn::dtype_size(tensor.dtype);
  const uint64_t span = checked_span(tensor, what, entry.bytes / element_bytes);
  view.begin += static_cast<uint64_t>(tensor.offset) * element_bytes;
  view.span_bytes = span * element_bytes;
  if (view.bytes > view.span_bytes && view.bytes > kMostExpandedBytes) {
    throw BadInput(fmt::format("{} repeats its elements up to {} bytes; at most {} are accepted", what,
                               view.bytes, kMostExpandedBytes));
  }
  return view;
}

}  // namespace

std::vector<StoredView> parse_pt(const Source& file) {
  require_zip(file);
  std::map<std::string, ZipEntry> entries;
  std::string folder;
  bool has_pickle = false;
  for (ZipEntry& entry : read_zip(file)) {
    // All entries are in one folder: "archive/data.pkl".
    const size_t slash = entry.name.find('/');
    if (slash != std::string::npos && entry.name.substr(slash + 1) == kPickleName) {
      folder = entry.name.substr(0, slash + 1);
      has_pickle = true;
    }
    entries.insert_or_assign(entry.name, entry);
  }
  if (!has_pickle) throw BadInput("the zip archive has no data.pkl; it isn't a file of torch.save");
  require_little_endian(file, entries, folder);
  const ZipEntry pickle = find_entry(entries, folder + std::string(kPickleName));
  if (pickle.bytes > kMostPickle)
    throw BadInput(fmt::format("data.pkl has {} bytes; at most {} are accepted", pickle.bytes, kMostPickle));
  const std::string text = file.head(pickle.begin, pickle.bytes);
  std::vector<StoredView> views;
  for (const auto& [name, tensor] : parse_pickle(text))
    views.push_back(locate(tensor, name, find_entry(entries, folder + "data/" + tensor.storage)));
  return views;
}

FileTensor read_pt(const Source& file, const std::string& name) {
  const std::vector<StoredView> views = parse_pt(file);
  std::vector<StoredTensor> headers;
  for (size_t k = 0; k < views.size(); ++k) headers.push_back({views[k].name, {}, {}, false, k, 0});
  const StoredView& view = views[choose_tensor(std::move(headers), name).begin];
  std::vector<std::byte> storage(view.span_bytes);
  file.read(view.begin, storage.data(), storage.size());
  FileTensor tensor = {view.dtype, view.dims, {}};
  if (view.bytes > 0)
    tensor.bytes = gather(storage.data(), openaclnn::dtype_size(view.dtype), view.dims, view.strides);
  return tensor;
}

}  // namespace openaclnn_files
