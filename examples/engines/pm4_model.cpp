// SPDX-License-Identifier: Apache-2.0
// examples/engines/pm4_model.cpp: the one place where the interpreter of the device model is compiled.
#include "pm4_model.hpp"
#include <zrt/emulator/run_dispatch.hpp>

namespace engines {

zrt::Result<zrt::emulator::Counters> run_grid(const zrt::emulator::Dispatch& dispatch,
                                              const zrt::emulator::AddressSpace& memory,
                                              const zrt::ThreadHook& threads) noexcept {
  return zrt::emulator::run(dispatch, memory, threads);
}

zrt::Result<void> ModelledCard::run(void* self, const zrt::emulator::Dispatch& dispatch,
                                    const zrt::emulator::AddressSpace& memory) noexcept {
  auto& card = *static_cast<ModelledCard*>(self);
  const auto counters = run_grid(dispatch, memory, card.threads_);
  if (!counters) return zrt::pass(counters);
  GridWork work{.wave_instructions = counters->wave_instructions};
  for (const zrt::emulator::RegionTraffic& region : counters->regions)
    work.bytes += region.bytes_read + region.bytes_written;
  card.grids_.push_back(work);
  return {};
}

}  // namespace engines
