// SPDX-License-Identifier: Apache-2.0
// examples/engines/pm4_model.hpp: a modelled card that runs kernels; its interpreter is compiled elsewhere (pm4_model.cpp).
#pragma once

#include <zrt/emulator/chosen_os.hpp>
#include <zrt/emulator/counters.hpp>

#include <vector>

namespace engines {

namespace pm4 = zrt::pm4;

/// Runs a grid of the device model on the interpreter.
[[nodiscard]] zrt::Result<zrt::emulator::Counters> run_grid(const zrt::emulator::Dispatch& dispatch,
                                                            const zrt::emulator::AddressSpace& memory,
                                                            const zrt::ThreadHook& threads = {}) noexcept;

/// What one grid of a modelled card has done.
struct GridWork {
  std::uint64_t wave_instructions = 0;
  std::uint64_t bytes = 0;  ///< read and written; what lanes of one instruction share counts once
};

/// A machine with one modelled card that runs kernels, the workgroups of each on the workers of `threads`; it stays where
/// it is made. What it computes does not depend on the workers.
class ModelledCard {
 public:
  explicit ModelledCard(const zrt::emulator::Card& card, const zrt::ThreadHook& threads = {}) noexcept
      : threads_(threads), model_(card, {this, &ModelledCard::run}), os_(model_) {}

  [[nodiscard]] zrt::emulator::EmulatedOs& model() noexcept { return model_; }
  [[nodiscard]] zrt::emulator::ChosenOs& os() noexcept { return os_; }
  /// The grids since forget(), in their order.
  [[nodiscard]] const std::vector<GridWork>& grids() const noexcept { return grids_; }
  /// Doorbells that were rung before forget().
  [[nodiscard]] std::uint64_t doorbells_before() const noexcept { return doorbells_before_; }
  void forget() {
    grids_.clear();
    doorbells_before_ = model_.queues().doorbells_rung();
  }

 private:
  static zrt::Result<void> run(void* self, const zrt::emulator::Dispatch& dispatch,
                               const zrt::emulator::AddressSpace& memory) noexcept;

  zrt::ThreadHook threads_;
  zrt::emulator::EmulatedOs model_;
  zrt::emulator::ChosenOs os_;
  std::vector<GridWork> grids_{};
  std::uint64_t doorbells_before_ = 0;
};

}  // namespace engines
