// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tested_kernels.hpp: which kernels have passed their self-test on this machine's card, in a file of the user's.
#pragma once

#include <zrt/backend/pm4/selftest/self_test.hpp>

#include <set>
#include <string>

namespace program {

/// One key in a line, in hexadecimal digits. Without a place for it, and where it cannot be read or written, nothing is
/// remembered: then kernels are tried again.
class TestedKernels {
 public:
  /// Below XDG_CACHE_HOME, or .cache of HOME.
  [[nodiscard]] static TestedKernels of_user();

  [[nodiscard]] zrt::pm4::SelfTestCache cache() noexcept;

 private:
  void read();
  void add(std::uint64_t key);

  std::string path_{};
  bool is_read_ = false;
  std::set<std::uint64_t> keys_{};
};

}  // namespace program
