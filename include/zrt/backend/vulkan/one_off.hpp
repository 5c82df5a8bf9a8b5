// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/one_off.hpp: one launch of one kernel, recorded, run and waited for.
#pragma once

#include <zrt/backend/vulkan/commands.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Runs the kernel over that many workgroups, with the argument block at `arguments`, and waits until it has ended.
///
/// Errors: those of Commands, Device::submit and Device::wait.
[[nodiscard]] inline Result<void> run_once(Device& device, const Pipeline& kernel, std::uint64_t arguments,
                                           const std::array<std::uint32_t, 3>& grid,
                                           std::uint64_t timeout = std::uint64_t{30} * 1'000'000'000) noexcept {
  auto commands = Commands::begin(device);
  if (!commands) return pass(commands);
  commands->bind(kernel);
  commands->arguments(arguments);
  commands->dispatch(grid[0], grid[1], grid[2]);
  commands->show_to_host();
  return commands->run(device, timeout);
}

}  // namespace zrt::inline ZRT_ABI::vulkan
