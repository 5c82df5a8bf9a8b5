// SPDX-License-Identifier: Apache-2.0
// examples/zrt/cores.hpp: how many workers this process should have, as the operating system tells it.
#pragma once

#include "control_groups.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sched.h>
#include <set>
#include <string>

namespace program {

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
  for_each_control_group(root, "cpu", [&](const std::string& folder, bool unified) {
    if (!unified) {
      const std::string quota = first_line(folder + "cpu.cfs_quota_us");
      least = std::min(least, cores_of_quota(quota, first_line(folder + "cpu.cfs_period_us")));
      return;
    }
    const std::string limit = first_line(folder + "cpu.max");
    const std::size_t space = limit.find(' ');
    if (space == std::string::npos) return;
    least = std::min(least, cores_of_quota(limit.substr(0, space), limit.substr(space + 1)));
  });
  return least;
}

/// The program's default for --threads.
inline std::uint32_t default_threads() {
  return std::clamp<std::uint32_t>(std::min(cores_of_affinity(), cores_of_cgroups()), 1, 1024);
}

}  // namespace program
