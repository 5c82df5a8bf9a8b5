// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/step_commands.hpp: the command buffers of a step, recorded once.
#pragma once

#include <zrt/backend/vulkan/commands.hpp>
#include <zrt/backend/vulkan/launch_limits.hpp>
#include <zrt/backend/vulkan/pipeline_set.hpp>
#include <zrt/device/launch_work.hpp>
#include <zrt/device/pace.hpp>
#include <zrt/device/recorded_device.hpp>
#include <zrt/device/step_position.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// One command buffer for a step that is handed over at once, and one for each piece of a step that is not.
class StepCommands {
 public:
  using Step = device::PlacedStep<Memory>;

  explicit StepCommands(const Allocator& allocator) noexcept
      : pieces_(allocator), begins_(allocator), submissions_(allocator) {}

  /// Records the launches of a step. Grids are read from memory, because their sizes follow the step. A piece begins with
  /// a launch that waits for all before it, where the largest step has enough to do since the last one.
  ///
  /// Errors: those of check_grids(), and of check_turns() on a software device; those of Commands and PipelineSet.
  [[nodiscard]] Result<void> write(const Device& device, PipelineSet& kernels, const DeviceNumerics& numerics,
                                   const Step& step) noexcept {
    if (auto r = check_grids(device.facts(), step.record); !r) return r;
    if (device.facts().is_software())
      if (auto r = check_turns(step.record); !r) return r;
    const std::size_t launches = step.record.launches.size();
    if (launches == 0) return {};
    if (step.record.times_launches)
      if (auto r = make_times(device, launches); !r) return r;
    if (auto r = cut(step.record); !r) return r;
    auto whole = record(device, kernels, numerics, step, 0, launches);
    if (!whole) return pass(whole);
    whole_ = std::move(*whole);
    for (std::size_t piece = 0; piece < begins_.size() && begins_.size() > 1; ++piece) {
      const std::size_t end = piece + 1 < begins_.size() ? begins_[piece + 1] : launches;
      auto part = record(device, kernels, numerics, step, begins_[piece], end);
      if (!part) return pass(part);
      if (auto r = submissions_.push_back(part->submission()); !r) return r;
      if (auto r = pieces_.push_back(std::move(*part)); !r) return r;
    }
    return submissions_.push_back(whole_.submission());
  }

  [[nodiscard]] std::size_t pieces() const noexcept { return begins_.size(); }
  /// The launch that a piece begins with.
  [[nodiscard]] std::size_t begin_of(std::size_t piece) const noexcept { return begins_[piece]; }
  /// The pieces from `first` to before `end`.
  [[nodiscard]] Span<const VkCommandBufferSubmitInfo> of(std::size_t first, std::size_t end) const noexcept {
    const bool whole = first == 0 && end == pieces();
    return whole ? submissions_.span().last(1) : submissions_.span().subspan(first, end - first);
  }

 private:
  /// Where pieces begin.
  [[nodiscard]] Result<void> cut(const device::StepRecord& record) noexcept {
    std::uint64_t work = device::Pace::kLeastWork;
    Result<void> done{};
    device::for_each_work(record, record.bounds.extents, furthest(record), [&](std::size_t launch, std::uint64_t more) {
      if (done && work >= device::Pace::kLeastWork && (launch == 0 || record.launches[launch].barrier)) {
        done = begins_.push_back(launch);
        work = 0;
      }
      work += more;
    });
    return done;
  }
  /// The last position that a step may have.
  [[nodiscard]] static std::uint32_t furthest(const device::StepRecord& record) noexcept {
    const CheckedSize positions = CheckedSize(record.bounds.pages_per_slot) * kPageTokens;
    return positions.ok() && positions.raw() < ~0u ? static_cast<std::uint32_t>(positions.raw()) : ~0u;
  }

  [[nodiscard]] Result<void> make_times(const Device& device, std::size_t launches) noexcept {
    auto times = LaunchTimes::make(device, static_cast<std::uint32_t>(launches + 1));
    if (!times) return pass(times);
    times_ = std::move(*times);
    return {};
  }
  /// The launches from `first` to before `end`. They see what the step before, or a piece before them, has written.
  [[nodiscard]] Result<Commands> record(const Device& device, PipelineSet& kernels, const DeviceNumerics& numerics,
                                        const Step& step, std::size_t first, std::size_t end) noexcept {
    auto begun = Commands::begin(device);
    if (!begun) return pass(begun);
    Commands& to = *begun;
    const std::size_t launches = step.record.launches.size();
    const auto times = static_cast<std::uint32_t>(step.record.times_launches ? launches + 1 : 0);
    for (std::size_t i = first; i < end; ++i) {
      const device::RecordedLaunch& launch = step.record.launches[i];
      if (i == first || launch.barrier) wait_before(to, step, i);
      if (i == 0 && times != 0) {
        to.forget(times_, times);
        to.tell(times_, 0);
      }
      const auto kernel = kernels.pipeline(device, launch.kernel, numerics);
      if (!kernel) return pass(kernel);
      to.bind(**kernel);
      to.arguments(step.memory.address() + step.layout.arguments + launch.arguments, launch.first);
      to.dispatch(step.memory, step.layout.grids + launch.grid * device::kGridBytes);
      if (times != 0) to.tell(times_, static_cast<std::uint32_t>(i + 1));
    }
    if (end == launches) {
      wait_before(to, step, launches);
      if (times != 0) to.write(times_, times, step.words, step.answers.times);
    }
    // A step may be stopped behind any piece, and the host writes then what the pieces wrote.
    to.show_to_host();
    if (auto r = to.end(); !r) return pass(r);
    return begun;
  }
  /// Every launch before that one has ended, and the host may know it.
  static void wait_before(Commands& to, const Step& step, std::size_t launch) noexcept {
    to.barrier();
    to.write(step.words, step.answers.progress, device::position_before(launch));
  }

  LaunchTimes times_{};
  Commands whole_{};
  Vector<Commands> pieces_;  ///< none where a step is one
  Vector<std::size_t> begins_;
  Vector<VkCommandBufferSubmitInfo> submissions_;  ///< of each piece, then of the whole step
};

}  // namespace zrt::inline ZRT_ABI::vulkan
