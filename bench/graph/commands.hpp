// SPDX-License-Identifier: Apache-2.0
// bench/graph/commands.hpp: what the programs of this folder do as the scripts beside them say.
#pragma once

#include <zrt/core/error.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Obeys the commands on stdin, a line each, and answers each by a line: `run N` calls `run` N times and gives the
/// nanoseconds of each, `output FILE` writes `result`. Returns what went wrong, or nothing.
template <class Run> [[nodiscard]] std::string obey_commands(Run&& run, std::span<const std::byte> result) {
  for (std::string command; std::cin >> command;) {
    if (command == "run") {
      int times = 0;
      std::cin >> times;
      std::vector<double> took;
      for (int i = 0; i < times; ++i) {
        const auto start = Clock::now();
        if (const zrt::Result<void> done = run(); !done) return std::string(done.error().text());
        took.push_back(nanoseconds_since(start));
      }
      for (const double each : took) std::cout << each << ' ';
      std::cout << std::endl;
    } else if (command == "output") {
      std::string path;
      std::cin >> path;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(result.data()), static_cast<std::streamsize>(result.size()));
      std::cout << "written" << std::endl;
    } else {
      return "unknown command: " + command;
    }
  }
  return {};
}

}  // namespace bench
