// SPDX-License-Identifier: Apache-2.0
// examples/zrt/open_card.hpp: the card that the options name, with its queues.
#pragma once

#include "card.hpp"
#include "options.hpp"

#include <memory>
#include <optional>

namespace program {

using CardDevice = zrt::pm4::AnyDevice<zrt::pm4::ChosenOs>;
using CardMemory = zrt::pm4::AnyMemory<zrt::pm4::ChosenOs>;
using CardQueue = zrt::pm4::AnyTransport<zrt::pm4::ChosenOs>;

/// An operating system: the machine's own, or that of a modelled card.
class CardOs {
 public:
  /// Errors: a device or kernel that is not modelled.
  [[nodiscard]] static zrt::Result<std::unique_ptr<CardOs>> make(const Pm4CardOptions& options,
                                                                 std::uint64_t video_bytes);

  [[nodiscard]] zrt::pm4::ChosenOs& os() noexcept { return model_ ? model_->os() : own_; }
  /// Null for a card of the machine.
  [[nodiscard]] zrt::pm4::emulator::EmulatedOs* model() noexcept { return model_ ? &model_->model() : nullptr; }

 private:
  std::optional<engines::ModelledCard> model_{};
  zrt::pm4::ChosenOs own_{};
};

/// The way that the options force, if they do.
[[nodiscard]] std::optional<zrt::pm4::Tier> forced_tier(const Pm4CardOptions& options);

}  // namespace program
