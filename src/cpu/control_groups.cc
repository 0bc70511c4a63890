// /proc/self/cgroup names the process's groups, and /proc/self/mountinfo their mount points. In a container
// either file may show the host's view. If no mount shows a group, the code therefore tries its usual
// location.
#include "cpu/control_groups.h"

namespace openaclnn::cpu {

namespace {

constexpr std::string_view kUsualMount = "/sys/fs/cgroup";

// The process's group in one hierarchy.
struct OwnGroup {
  bool is_there = false;
  PathText path;
};

struct OwnGroups {
  bool is_known = false;  // whether /proc/self/cgroup could be read
  OwnGroup v1, v2;
};

bool contains(std::string_view comma_list, std::string_view word) {
  while (!comma_list.empty()) {
    if (take_until(comma_list, ',') == word) return true;
  }
  return false;
}

// Lines have the form "number:controllers:path". Version 2 has no controllers.
OwnGroups find_own_groups(std::string_view root, std::string_view controller) {
  OwnGroups own;
  SystemFile file({root, "/proc/self/cgroup"});
  own.is_known = file.is_open();
  while (const auto line = file.next_line()) {
    std::string_view rest = *line;
    const std::string_view number = take_until(rest, ':');
    const std::string_view controllers = take_until(rest, ':');
    if (rest.empty() || rest.front() != '/') continue;
    if (contains(controllers, controller)) own.v1 = {true, {rest}};
    if (number == "0" && controllers.empty()) own.v2 = {true, {rest}};
  }
  return own;
}

// Decodes the escapes of mountinfo: "/a\040b" becomes "/a b".
PathText unescaped(std::string_view text) {
  PathText plain;
  const auto digit = [&](size_t k) { return text[k] >= '0' && text[k] <= '7' ? text[k] - '0' : -1; };
  for (size_t k = 0; k < text.size(); ++k) {
    char letter = text[k];
    if (letter == '\\' && k + 3 < text.size() && digit(k + 1) >= 0 && digit(k + 2) >= 0 &&
        digit(k + 3) >= 0) {
      letter = static_cast<char>(digit(k + 1) * 64 + digit(k + 2) * 8 + digit(k + 3));
      k += 3;
    }
    plain.append({&letter, 1});
  }
  return plain;
}

// The fields of a mountinfo line that are needed here.
struct Mount {
  PathText root;  // the group at the mount point
  PathText point;
  bool is_of_groups = false;
  GroupVersion version = GroupVersion::v2;
  std::string_view options;
};

// Parses "36 35 0:30 ROOT POINT options [more…] - TYPE source OPTIONS".
Mount parse_mount(std::string_view line) {
  Mount mount;
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return mount;
  std::string_view behind = line.substr(dash + 3);
  const std::string_view type = take_until(behind, ' ');
  mount.is_of_groups = type == "cgroup" || type == "cgroup2";
  if (!mount.is_of_groups) return mount;
  mount.version = type == "cgroup" ? GroupVersion::v1 : GroupVersion::v2;
  (void)take_until(behind, ' ');
  mount.options = behind;
  std::string_view before = line.substr(0, dash);
  for (int k = 0; k < 3; ++k) (void)take_until(before, ' ');
  mount.root = unescaped(take_until(before, ' '));
  mount.point = unescaped(take_until(before, ' '));
  return mount;
}

// A group above the root of the process's namespace is written with "..". No mount shows it.
bool leads_outside(std::string_view group) {
  return group.find("/../") != std::string_view::npos || group.ends_with("/..");
}

// Sets `below` to the path of a group relative to `mount_root`, "" for the root itself. Returns false if the
// group is elsewhere.
bool strip_root(std::string_view group, std::string_view mount_root, std::string_view& below) {
  if (leads_outside(group)) return false;
  if (mount_root == "/") mount_root = "";
  if (!group.starts_with(mount_root)) return false;
  below = group.substr(mount_root.size());
  if (below == "/") below = "";
  return below.empty() || below.front() == '/';
}

void visit_upwards(const PathText& top, std::string_view below, GroupVersion version,
                   const GroupVisitor& visit) {
  PathText folder = top;
  folder.append(below);
  if (!folder.fits()) folder = top;
  while (true) {
    visit(folder, version);
    if (folder.view().size() <= top.view().size()) return;
    folder.cut(folder.view().rfind('/'));
  }
}

// Visits the group in all mounts that show it. Returns false if there is none.
bool visit_mounts(std::string_view root, std::string_view controller, GroupVersion version,
                  std::string_view group, const GroupVisitor& visit) {
  bool found = false;
  SystemFile file({root, "/proc/self/mountinfo"});
  while (const auto line = file.next_line()) {
    const Mount mount = parse_mount(*line);
    if (!mount.is_of_groups || mount.version != version) continue;
    if (version == GroupVersion::v1 && !contains(mount.options, controller)) continue;
    std::string_view below;
    if (!mount.point.fits() || !strip_root(group, mount.root.view(), below)) continue;
    found = true;
    visit_upwards({root, mount.point.view()}, below, version, visit);
  }
  return found;
}

void visit_usual_place(std::string_view root, std::string_view controller, GroupVersion version,
                       std::string_view group, const GroupVisitor& visit) {
  PathText top = {root, kUsualMount};
  if (version == GroupVersion::v1) {
    top.append("/");
    top.append(controller);
  }
  std::string_view below;
  (void)strip_root(group, "/", below);
  visit_upwards(top, below, version, visit);
}

}  // namespace

bool visit_groups(std::string_view root, std::string_view controller, const GroupVisitor& visit) {
  const OwnGroups own = find_own_groups(root, controller);
  const auto visit_version = [&](const OwnGroup& group, GroupVersion version) {
    const std::string_view path = group.path.fits() ? group.path.view() : "/";
    if (!visit_mounts(root, controller, version, path, visit))
      visit_usual_place(root, controller, version, path, visit);
  };
  if (own.v1.is_there || !own.is_known) visit_version(own.v1, GroupVersion::v1);
  if (own.v2.is_there || !own.is_known) visit_version(own.v2, GroupVersion::v2);
  return own.is_known;
}

}  // namespace openaclnn::cpu
