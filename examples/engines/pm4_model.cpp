// SPDX-License-Identifier: Apache-2.0
// examples/engines/pm4_model.cpp: the one place where the interpreter of the device model is compiled.
#include "pm4_model.hpp"
#include <zrt/backend/pm4/emulator/run_dispatch.hpp>

namespace engines {

zrt::Result<pm4::emulator::Counters> run_grid(const pm4::emulator::Dispatch& dispatch,
                                              const pm4::emulator::AddressSpace& memory,
                                              const zrt::ThreadHook& threads) noexcept {
  return pm4::emulator::run(dispatch, memory, threads);
}

zrt::Result<void> ModelledCard::run(void* self, const pm4::emulator::Dispatch& dispatch,
                                    const pm4::emulator::AddressSpace& memory) noexcept {
  auto& card = *static_cast<ModelledCard*>(self);
  const auto counters = run_grid(dispatch, memory, card.threads_);
  if (!counters) return zrt::pass(counters);
  GridWork work{.wave_instructions = counters->wave_instructions};
  for (const pm4::emulator::RegionTraffic& region : counters->regions)
    work.bytes += region.bytes_read + region.bytes_written;
  card.grids_.push_back(work);
  return {};
}

}  // namespace engines
