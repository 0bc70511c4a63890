// Reads a dump, repeats the call, and compares its results with the room's oracle.
#include "replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/dump_setting.h"
#include "files/folder.h"
#include "host_call.h"
#include "judge/own_dump.h"
#include "program.h"
#include "verify/room_cases.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;
using openaclnn_verify::Description;
using openaclnn_verify::HostTensor;
using openaclnn_verify::Parameter;

// Returns the tensors of the call for a judge: in the order of the signature, with lists expanded.
std::vector<HostTensor> snapshot(const Description& description, const LoadedArguments& arguments) {
  std::vector<HostTensor> tensors;
  for (const Parameter& parameter : description.parameters) {
    if (!arguments.has(parameter.name)) continue;
    for (const LoadedTensor& tensor : arguments.tensors.at(parameter.name)) {
      HostTensor& copy = tensors.emplace_back(tensor.header.dtype, tensor.header.dims);
      if (tensor.header.bytes > 0) tensor.memory->get(copy.element(0), tensor.header.bytes);
    }
  }
  return tensors;
}

openaclnn_verify::JudgeResults judge_of(const Description& description, const LoadedArguments& arguments) {
  const openaclnn_verify::RecordedCall call = openaclnn_verify::recorded_call(description, arguments.values);
#define OPENACLNN_OPERATOR(folder_, name_) \
  if (description.room == #folder_) return openaclnn_verify::recorded_judge_of_##folder_(call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  throw Failure(description.name() + " has no judge");
}

}  // namespace

std::vector<std::string> dump_folders(const std::string& path) {
  if (openaclnn_judge::is_own_dump(path)) return {path};
  std::vector<std::string> folders;
  for (const fs::directory_entry& entry : openaclnn_files::entries_of(path)) {
    if (openaclnn_judge::is_own_dump(entry.path().string())) folders.push_back(entry.path().string());
  }
  if (folders.empty())
    throw BadInput(fmt::format("{}: neither this folder nor its subfolders contain a call.json", path));
  // Their names start with numbers: 7-2-… was saved before 7-10-….
  std::ranges::sort(folders, [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return folders;
}

Replay replay(const std::string& folder, openaclnn_verify::Judge& judge) {
  openaclnn_judge::OwnDump dump = openaclnn_judge::load_own_dump(folder);
  const Description& description = *dump.call.description;
  Replay done;
  done.operator_name = description.name();
  done.reason = dump.reason;
  if (!dump.incomplete.empty()) {
    done.problem = "not repeated: " + dump.incomplete;
    return done;
  }
  LoadedArguments arguments = arguments_of(std::move(dump.call));
  const std::vector<HostTensor> before = snapshot(description, arguments);
  done.result = call_operator(description, arguments);
  if (done.result.code != 0) {
    done.problem = done.result.sentence;
    return done;
  }
  judge.start_case(folder);
  judge_of(description, arguments)(before, snapshot(description, arguments), judge);
  if (done.reason != openaclnn::kSelectedReason) {
    done.problem =
        "the call succeeds now: a dump has neither the stream, the workspace, the addresses, the formats nor "
        "the handles that were not live, and a replay uses contiguous tensors";
  }
  return done;
}

}  // namespace openaclnn_cli
