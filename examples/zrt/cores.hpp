// SPDX-License-Identifier: Apache-2.0
// examples/zrt/cores.hpp: how many workers this process should have, as the operating system tells it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sched.h>
#include <set>
#include <string>

namespace program {

/// The first line of a file, empty if there is none.
inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Physical cores among those of the affinity mask: the hardware threads of a core share its arithmetic.
///
/// `root` is put in front of every path.
inline std::uint32_t cores_of_affinity(const std::string& root = {}) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &set)) continue;
    const std::string number = std::to_string(cpu);
    const std::string threads =
        first_line(root + "/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
    cores.insert(threads.empty() ? "cpu " + number : threads);
  }
  return static_cast<std::uint32_t>(std::max<std::size_t>(cores.size(), 1));
}

/// Whole cores that a quota is worth, at least one; "max" or anything else that is no quota gives the largest number.
inline std::uint32_t cores_of_quota(const std::string& quota, const std::string& period) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  char* end = nullptr;
  const long long part = std::strtoll(quota.c_str(), &end, 10);
  if (end == quota.c_str() || part <= 0) return kNone;
  const long long whole = std::strtoll(period.c_str(), &end, 10);
  if (end == period.c_str() || whole <= 0) return kNone;
  return static_cast<std::uint32_t>(std::clamp<long long>(part / whole, 1, 1 << 20));
}

/// The smallest quota of the process's control groups (both versions) and of those above them.
inline std::uint32_t cores_of_cgroups(const std::string& root = {}) {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines like "0::/user.slice" (version 2) and "3:cpu,cpuacct:/docker/1" (version 1).
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    std::string group = line.substr(second + 1);
    while (true) {
      const std::string folder = root + "/sys/fs/cgroup" + (unified ? "" : "/cpu") + (group == "/" ? "" : group) + "/";
      if (unified) {
        const std::string limit = first_line(folder + "cpu.max");
        const std::size_t space = limit.find(' ');
        if (space != std::string::npos)
          least = std::min(least, cores_of_quota(limit.substr(0, space), limit.substr(space + 1)));
      } else {
        least = std::min(
            least, cores_of_quota(first_line(folder + "cpu.cfs_quota_us"), first_line(folder + "cpu.cfs_period_us")));
      }
      if (group.size() <= 1) break;
      group.erase(std::max<std::size_t>(group.rfind('/'), 1));
    }
  }
  return least;
}

/// The program's default for --threads.
inline std::uint32_t default_threads() {
  return std::clamp<std::uint32_t>(std::min(cores_of_affinity(), cores_of_cgroups()), 1, 1024);
}

}  // namespace program
