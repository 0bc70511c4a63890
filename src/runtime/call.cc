// Builds calls, the results of phase 1.
#include "runtime/call.h"

#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

Parameter& Call::append() {
  if (parameters.empty()) parameters.reserve(kMaxParameters);
  return parameters.emplace_back();
}

std::string_view Call::function() const {
  constexpr std::string_view kSuffix = "GetWorkspaceSize";
  std::string_view name = phase1;
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

const Parameter* Call::find(std::string_view argument) const {
  // A parameter's name may omit the "Optional" of the argument's name.
  const auto found = std::ranges::find_if(parameters, [&](const Parameter& parameter) {
    return argument == parameter.name || argument == text(parameter.name, "Optional");
  });
  return found == parameters.end() ? nullptr : &*found;
}

Status Call::lacks_places() const {
  if (parameters.size() > kMaxParameters) {
    return {ACLNN_ERR_INNER, text(op->name, " has ", parameters.size(),
                                  " tensors and lists; an executor holds at most ", kMaxParameters)};
  }
  return {ACLNN_ERR_INNER, text(op->name, " writes ", written_tensors(),
                                " tensors outside of lists; a task holds at most ", kMaxOutputs)};
}

MemoryRange memory_at(const void* data, const ByteRange& bytes) {
  return {static_cast<const char*>(data) + bytes.begin, static_cast<size_t>(bytes.end - bytes.begin)};
}

std::shared_ptr<const ListIo> make_list_io(const Call& call, RecycledVector<void*> elements) {
  auto io = make_recycled<ListIo>();
  for (const Parameter& of : call.parameters) {
    if (!of.is_list || !of.is_output || !of.is_accessed) continue;
    for (size_t n = of.first_element; n < of.first_element + of.element_count; ++n) {
      if (call.elements[n].is_empty) continue;
      const MemoryRange range = memory_at(elements[n], call.elements[n].range);
      if (!io->written.empty() && io->written.back().end() == range.begin) {
        io->written.back().bytes += range.bytes;
      } else {
        io->written.push_back(range);
      }
    }
  }
  io->addresses = std::move(elements);
  return io;
}

}  // namespace openaclnn
