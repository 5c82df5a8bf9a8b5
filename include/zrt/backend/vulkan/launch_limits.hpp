// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/launch_limits.hpp: what a device takes of a step's launches, checked when they are recorded.
#pragma once

#include <zrt/backend/vulkan/device_facts.hpp>
#include <zrt/backend/vulkan/loop_turns.hpp>
#include <zrt/device/step_record.hpp>

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

namespace detail {

/// The values of one launch after the other, those that follow the step at their largest.
class LargestValues {
 public:
  explicit LargestValues(const device::StepRecord& record) noexcept : record_(&record) {}

  /// Of the launch behind the one before. Links stand in the order of launches.
  [[nodiscard]] Span<const std::uint32_t> of(const device::RecordedLaunch& launch) noexcept {
    const std::size_t begin = launch.arguments + std::size_t{launch.signature->buffers} * 8;
    const std::size_t count = launch.signature->value_bytes / 4;
    for (std::size_t i = 0; i < count; ++i)
      values_[i] = read_little<std::uint32_t>(record_->arguments.data() + begin + i * 4);
    for (; link_ < record_->links.size() && record_->links[link_].at < begin + count * 4; ++link_) {
      const device::Link& link = record_->links[link_];
      if (link.kind == device::LinkKind::count) values_[(link.at - begin) / 4] = link.count.in(record_->bounds.extents);
    }
    return Span<const std::uint32_t>(values_).first(count);
  }

 private:
  const device::StepRecord* record_;
  std::array<std::uint32_t, device::KernelCall::kMostBytes / 4> values_{};
  std::size_t link_ = 0;
};

}  // namespace detail

/// Errors: Errc::limit_exceeded for a launch whose loops lavapipe would end too soon.
[[nodiscard]] inline Result<void> check_turns(const device::StepRecord& record) noexcept {
  detail::LargestValues values(record);
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
