// SPDX-License-Identifier: Apache-2.0
// examples/zrt/read_buffer.hpp: how large a buffer measures the read bandwidth of main memory on this machine.
#pragma once

#include "control_groups.hpp"
#include <zrt/core/error.hpp>

#include <cstdint>
#include <limits>

namespace program {

/// The number behind `name` in a file of lines such as "MemAvailable: 5 kB"; 0 if there is none.
inline std::uint64_t named_number(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::uint64_t value = 0; word == name && file >> value) return value;
  return 0;
}

/// A number that a line begins with; `other` where it is none, such as "max".
inline std::uint64_t number_or(const std::string& line, std::uint64_t other) {
  return line.empty() || line[0] < '0' || line[0] > '9' ? other : std::strtoull(line.c_str(), nullptr, 10);
}

/// Bytes that this process can still take before the system ends one: of the machine and of its control groups, whose
/// cached files give way.
inline std::uint64_t free_memory(const std::string& root = {}) {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t kib = named_number(root + "/proc/meminfo", "MemAvailable:");
  std::uint64_t least = kib == 0 ? kNone : kib << 10;
  for_each_control_group(root, "memory", [&](const std::string& folder, bool unified) {
    const char* const limit_name = unified ? "memory.max" : "memory.limit_in_bytes";
    const std::uint64_t limit = number_or(first_line(folder + limit_name), kNone);
    if (limit == kNone) return;
    const char* const usage_name = unified ? "memory.current" : "memory.usage_in_bytes";
    std::uint64_t used = number_or(first_line(folder + usage_name), 0);
    const std::uint64_t files =
        named_number(folder + "memory.stat", "active_file") + named_number(folder + "memory.stat", "inactive_file");
    used -= std::min(used, files);
    least = std::min(least, limit - std::min(limit, used));
  });
  return least;
}

/// Bytes of the buffer: four times the last-level cache, so that it holds at most a quarter, but twice that of a cache
/// beyond 512 MiB. It takes at most three quarters of the free memory, and less than two caches measure the cache.
///
/// Errors: Errc::out_of_memory where that is less than two caches or than the weights, which it stands for as well.
inline zrt::Result<std::uint64_t> read_buffer_bytes(std::uint64_t cache, std::uint64_t weights, std::uint64_t free) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t least = std::max(2 * cache, weights);
  const std::uint64_t wanted = std::max({least, std::min(4 * cache, 1024 * kMiB), 128 * kMiB});
  const std::uint64_t most = free / 4 * 3;
  if (least > most)
    return zrt::fail(zrt::Errc::out_of_memory, "a buffer of ", least / kMiB,
                     " MiB measures the machine's read bandwidth, and ", free / kMiB, " MiB of memory are free");
  return std::min(wanted, most);
}

}  // namespace program
