// SPDX-License-Identifier: Apache-2.0
// examples/zrt/kernel_cases.hpp: one launch of each kernel of pm4, and what it must leave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace program {

/// A buffer of a launch: absent, read, or held to what it should have afterwards.
struct CaseBuffer {
  std::vector<std::byte> before{};
  std::vector<std::byte> after{};
};

struct KernelCase {
  std::string kernel;
  std::vector<CaseBuffer> buffers{};
  std::vector<std::uint32_t> values{};
  std::array<std::uint32_t, 3> grid{1, 1, 1};
};

/// One for each kernel, small; the expected bytes are those of the ops' references.
[[nodiscard]] std::vector<KernelCase> kernel_cases();

}  // namespace program
