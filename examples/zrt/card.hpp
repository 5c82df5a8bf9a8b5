// SPDX-License-Identifier: Apache-2.0
// examples/zrt/card.hpp: the card that the command line names: the machine's own, or a modelled one.
#pragma once

#include "model.hpp"
#include "tested_kernels.hpp"
#include <zrt/exec/thread_pool.hpp>

#include <memory>
#include <optional>
#include <pm4.hpp>

namespace program {

/// Memory of a modelled card: as much as it is told.
inline constexpr std::uint64_t kModelledBytes = std::uint64_t{16} << 30;

/// The processor of a modelled card called emulated-<processor>.
[[nodiscard]] zrt::Result<const zrt::pm4::TargetFacts*> modelled_target(std::string_view device);

/// The tier that the command line forces, if it does.
[[nodiscard]] std::optional<zrt::pm4::Tier> forced_tier(const CardChoice& choice);

/// A modelled card, and the threads that run its workgroups.
struct CardWithWorkers {
  CardWithWorkers(const zrt::emulator::Card& described, std::uint32_t threads)
      : started(threads > 1 ? workers.start(threads) : zrt::Result<void>{}),
        card(described, threads > 1 ? workers.hook() : zrt::ThreadHook{}) {}

  zrt::exec::ThreadPool workers{zrt::system_allocator()};
  zrt::Result<void> started;
  engines::ModelledCard card;
};

/// The operating system below a card: the machine's own, or that of a modelled card. It stays where it is made.
class CardSystem {
 public:
  /// Errors: a device that is not modelled; those of the workers.
  [[nodiscard]] static zrt::Result<std::unique_ptr<CardSystem>> make(const CardChoice& choice,
                                                                     std::uint64_t video_bytes = kModelledBytes,
                                                                     std::uint32_t threads = 1);

  [[nodiscard]] zrt::emulator::ChosenOs& os() noexcept { return model_ ? model_->card.os() : own_; }
  /// Of the machine's card.
  [[nodiscard]] TestedKernels& tested() noexcept { return tested_; }
  /// Null for a card of the machine.
  [[nodiscard]] engines::ModelledCard* modelled() noexcept { return model_ ? &model_->card : nullptr; }
  /// "gfx1201", or "modelled gfx1201".
  [[nodiscard]] std::string name_of(const zrt::pm4::TargetFacts& target) const {
    return (model_ ? "modelled " : "") + std::string(target.name);
  }

 private:
  std::optional<CardWithWorkers> model_{};
  zrt::emulator::ChosenOs own_{};
  TestedKernels tested_ = TestedKernels::of_user();
};

/// A model on the card of `system`, which lives as long as the model.
[[nodiscard]] Opened open_on(const std::shared_ptr<CardSystem>& system, const CardChoice& choice,
                             const std::string& path, const zrt::EngineOptions& options, const Watchers& watchers = {});

/// What an engine on that card takes.
[[nodiscard]] zrt::emulator::Pm4Backend::DeviceOptions card_options(CardSystem& system, const CardChoice& choice);

/// An error of an engine on that card, with what the device model says of it, or how to do without a card.
[[nodiscard]] zrt::Error explained(const zrt::Error& error, CardSystem& system);

}  // namespace program
