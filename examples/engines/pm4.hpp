// SPDX-License-Identifier: Apache-2.0
// examples/engines/pm4.hpp: the engine on AMD cards, its kernels and the device model, compiled elsewhere (pm4.cpp, pm4_model.cpp, and what CMake writes from kernels/).
#pragma once

#include "pm4_model.hpp"
#include <zrt/emulator/pm4_backend.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

namespace engines {

/// The kernels of this repository for all targets.
[[nodiscard]] pm4::KernelFiles kernels() noexcept;

}  // namespace engines

extern template class zrt::Engine<zrt::emulator::Pm4Backend>;
extern template class zrt::Engine<zrt::emulator::Pm4Backend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
extern template class zrt::Engine<zrt::emulator::Pm4Backend, zrt::AllFamilies, zrt::trace::RunObserver>;
