// SPDX-License-Identifier: Apache-2.0
// examples/zrt/control_groups.hpp: the control groups that bound this process.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace program {

/// The first line of a file, empty if there is none.
inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Calls `visit(folder, unified)` for the groups of this process that the controller bounds, each before those above it.
/// `unified` says which files a folder has: those of version 2.
///
/// `root` is put in front of every path.
template <class Visit>
void for_each_control_group(const std::string& root, const std::string& controller, const Visit& visit) {
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines like "0::/user.slice" (version 2) and "3:cpu,cpuacct:/docker/1" (version 1).
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find("," + controller + ",") == std::string::npos) continue;
    std::string group = line.substr(second + 1);
    while (true) {
      visit(root + "/sys/fs/cgroup" + (unified ? "" : "/" + controller) + (group == "/" ? "" : group) + "/", unified);
      if (group.size() <= 1) break;
      group.erase(std::max<std::size_t>(group.rfind('/'), 1));
    }
  }
}

}  // namespace program
