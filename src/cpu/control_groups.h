// The control groups (cgroups) that limit this process: its own group for a controller and all visible
// ancestors.
#pragma once

#include <functional>
#include <string_view>

#include "cpu/system_file.h"

namespace openaclnn::cpu {

// The two cgroup interfaces of Linux, which use different file names.
enum class GroupVersion { v1, v2 };

using GroupVisitor = std::function<void(const PathText& folder, GroupVersion version)>;

// Calls visit(folder, version) for the process's group of `controller` ("memory", "cpu"), then for its
// ancestors up to the mount point. A folder may not exist. `root` is prepended to every path; it is "" except
// in tests. Returns false if the system does not report the process's group. The folders are then those where
// containers find their own group.
bool visit_groups(std::string_view root, std::string_view controller, const GroupVisitor& visit);

}  // namespace openaclnn::cpu
