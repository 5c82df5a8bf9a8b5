// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/step_commands.hpp: the command buffers of a step, recorded once.
#pragma once

#include <zrt/backend/vulkan/commands.hpp>
#include <zrt/backend/vulkan/launch_limits.hpp>
#include <zrt/backend/vulkan/pipeline_set.hpp>
#include <zrt/device/recorded_device.hpp>
#include <zrt/device/step_position.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// One command buffer per piece of a step; a step in one piece is all of them in one submission.
class StepCommands {
 public:
  using Step = device::PlacedStep<Memory>;

  explicit StepCommands(const Allocator& allocator) noexcept : pieces_(allocator), handles_(allocator) {}

  /// Records the launches of a step. Grids are read from memory, because their sizes follow the step.
  ///
  /// Errors: those of check_grids(), and of check_turns() on a software device; those of Commands and PipelineSet.
  [[nodiscard]] Result<void> write(const Device& device, PipelineSet& kernels, const DeviceNumerics& numerics,
                                   const Step& step) noexcept {
    if (auto r = check_grids(device.facts(), step.record); !r) return r;
    if (device.facts().is_software())
      if (auto r = check_turns(step.record); !r) return r;
    const Span<const device::RecordedLaunch> launches = step.record.launches.span();
    if (step.record.times_launches)
      if (auto r = make_times(device, launches.size()); !r) return r;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (i == 0 || (launches[i].barrier && begins(i, launches.size()))) {
        if (auto r = begin_piece(device, step, i); !r) return r;
      } else if (launches[i].barrier) {
        wait_before(step, i);
      }
      const auto kernel = kernels.pipeline(device, launches[i].kernel, numerics);
      if (!kernel) return pass(kernel);
      launch(**kernel, step, i);
    }
    return end_step(step);
  }

  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  /// A piece, or device::kWholeStep.
  [[nodiscard]] Span<const VkCommandBuffer> of(std::size_t piece) const noexcept {
    return piece == device::kWholeStep ? handles_.span() : handles_.span().subspan(piece, 1);
  }

 private:
  // A piece costs a submission; two are under way, so that the queue hardly notices.
  static constexpr std::size_t kMostPieces = 16, kLeastLaunches = 8;

  [[nodiscard]] bool begins(std::size_t launch, std::size_t launches) const noexcept {
    const std::size_t whole = launches / kLeastLaunches, most = whole < kMostPieces ? whole : kMostPieces;
    return pieces_.size() < most && launch * most >= pieces_.size() * launches;
  }
  [[nodiscard]] Commands& now() noexcept { return pieces_.back(); }

  [[nodiscard]] Result<void> make_times(const Device& device, std::size_t launches) noexcept {
    auto times = LaunchTimes::make(device, static_cast<std::uint32_t>(launches + 1));
    if (!times) return pass(times);
    times_ = std::move(*times);
    return {};
  }
  /// A piece sees what the one before it, or the step before, has written.
  [[nodiscard]] Result<void> begin_piece(const Device& device, const Step& step, std::size_t launch) noexcept {
    if (launch != 0)
      if (auto r = now().end(); !r) return r;
    auto commands = Commands::begin(device);
    if (!commands) return pass(commands);
    if (auto r = handles_.push_back(commands->handle()); !r) return r;
    if (auto r = pieces_.push_back(std::move(*commands)); !r) return r;
    wait_before(step, launch);
    if (launch != 0 || !step.record.times_launches) return {};
    now().forget(times_, static_cast<std::uint32_t>(step.record.launches.size() + 1));
    now().tell(times_, 0);
    return {};
  }
  /// Every launch before that one has ended, and the host may know it.
  void wait_before(const Step& step, std::size_t launch) noexcept {
    now().barrier();
    now().write(step.words, step.answers.progress, device::position_before(launch));
  }
  void launch(const Pipeline& kernel, const Step& step, std::size_t i) noexcept {
    const device::RecordedLaunch& launch = step.record.launches[i];
    now().bind(kernel);
    now().arguments(step.memory.address() + step.layout.arguments + launch.arguments);
    now().dispatch(step.memory, step.layout.grids + launch.grid * device::kGridBytes);
    if (step.record.times_launches) now().tell(times_, static_cast<std::uint32_t>(i + 1));
  }
  [[nodiscard]] Result<void> end_step(const Step& step) noexcept {
    if (pieces_.empty()) return {};
    wait_before(step, step.record.launches.size());
    if (step.record.times_launches)
      now().write(times_, static_cast<std::uint32_t>(step.record.launches.size() + 1), step.words, step.answers.times);
    now().show_to_host();
    return now().end();
  }

  LaunchTimes times_{};
  Vector<Commands> pieces_;
  Vector<VkCommandBuffer> handles_;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
