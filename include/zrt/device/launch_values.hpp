// SPDX-License-Identifier: Apache-2.0
// zrt/device/launch_values.hpp: the values of a step's launches, those that follow the step at any extents.
#pragma once

#include <zrt/device/step_record.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The values of one launch after the other.
class LaunchValues {
 public:
  LaunchValues(const StepRecord& record, const Extents& extents) noexcept : record_(&record), extents_(&extents) {}

  /// Of the launch behind the one before, or with the same block of arguments. Links stand in the order of launches.
  [[nodiscard]] Span<const std::uint32_t> of(const RecordedLaunch& launch) noexcept {
    if (launch.first != 0) return Span<const std::uint32_t>(values_).first(launch.signature->value_bytes / 4);
    const std::size_t begin = launch.arguments + std::size_t{launch.signature->buffers} * 8;
    const std::size_t count = launch.signature->value_bytes / 4;
    for (std::size_t i = 0; i < count; ++i)
      values_[i] = read_little<std::uint32_t>(record_->arguments.data() + begin + i * 4);
    for (; link_ < record_->links.size() && record_->links[link_].at < begin + count * 4; ++link_) {
      const Link& link = record_->links[link_];
      if (link.kind == LinkKind::count) values_[(link.at - begin) / 4] = link.count.in(*extents_);
    }
    return Span<const std::uint32_t>(values_).first(count);
  }

 private:
  const StepRecord* record_;
  const Extents* extents_;
  std::array<std::uint32_t, KernelCall::kMostBytes / 4> values_{};
  std::size_t link_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::device
