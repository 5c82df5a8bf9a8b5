// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packet_program.hpp: a step recorded once as packets in the GPU's memory.
#pragma once

#include <zrt/backend/pm4/step_commands.hpp>
#include <zrt/device/step_program.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A recorded step. launch() patches what changes from step to step, hands the ring one group of packets, rings one
/// doorbell and waits for one fence; it makes no system call and allocates nothing.
template <PacketTransport Transport, TargetChoice Target>
class PacketProgram : public device::StepProgram<BackendDevice<Transport, Target>> {
  using Base = device::StepProgram<BackendDevice<Transport, Target>>;

 public:
  using Base::Base;

  /// The packets of the step.
  [[nodiscard]] Span<const std::uint32_t> packets() const noexcept {
    return {reinterpret_cast<const std::uint32_t*>(this->memory().span().data()), this->commands().dwords()};
  }
  /// What the ring gets for each step, its fence left out.
  [[nodiscard]] Span<const std::uint32_t> start() const noexcept { return this->commands().start(device::kWholeStep); }
};

}  // namespace zrt::inline ZRT_ABI::pm4
