// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/launch_limits.hpp: what a device takes of a step's launches, checked when they are recorded.
#pragma once

#include <zrt/backend/vulkan/device_facts.hpp>
#include <zrt/backend/vulkan/loop_turns.hpp>
#include <zrt/device/launch_values.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Errors: Errc::capacity_exceeded for a grid that the device does not take.
[[nodiscard]] inline Result<void> check_grids(const DeviceFacts& facts, const device::StepRecord& record) noexcept {
  for (const auto& grid : record.grids)
    for (std::size_t axis = 0; axis < facts.most_groups.size(); ++axis)
      if (const std::uint32_t groups = grid[axis].in(record.bounds.extents); groups > facts.most_groups[axis])
        return fail(Errc::capacity_exceeded, "a grid of ", groups, " workgroups, ", facts.name.view(),
                    " takes at most ", facts.most_groups[axis], ": shorter chunks of a prompt have smaller grids");
  return {};
}

/// Errors: Errc::limit_exceeded for a launch whose loops lavapipe would end too soon.
[[nodiscard]] inline Result<void> check_turns(const device::StepRecord& record) noexcept {
  device::LaunchValues values(record, record.bounds.extents);
  for (const device::RecordedLaunch& launch : record.launches) {
    const std::string_view name = launch.signature->name.view();
    const Span<const std::uint32_t> of = values.of(launch);
    const device::KernelAbi* const abi = device::find_kernel_abi(name);
    const std::uint64_t turns = abi == nullptr ? 0 : loop_turns(*abi, name, of);
    if (turns > kMostTurns)
      return fail(Errc::limit_exceeded, "a lane of kernel ", name, " may go ", turns,
                  " times round its loops, which a software device ends after ", kMostTurns,
                  " without a word: a shorter context or shorter chunks take fewer");
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::vulkan
