// The control groups (cgroups) that bound this process: its own group for a controller, and all groups above it that it can see.
#pragma once

#include <functional>
#include <string_view>

#include "cpu/system_file.h"

namespace openaclnn::cpu {

// The two interfaces of Linux: files have other names in each.
enum class GroupVersion { v1, v2 };

using GroupVisitor = std::function<void(const PathText& folder, GroupVersion version)>;

// Calls visit(folder, version) for the group that `controller` ("memory", "cpu") has the process in, then for its parents up to the
// mount point. A folder may not exist. `root` stands before every path: "" except in tests. Returns false when the system does not
// say which group the process is in; then the folders are those where containers find their own.
bool visit_groups(std::string_view root, std::string_view controller, const GroupVisitor& visit);

}  // namespace openaclnn::cpu
