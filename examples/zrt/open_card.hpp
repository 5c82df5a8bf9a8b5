// SPDX-License-Identifier: Apache-2.0
// examples/zrt/open_card.hpp: a card below an engine: its device, memory and queue.
#pragma once

#include "card.hpp"

namespace program {

using CardDevice = zrt::pm4::AnyDevice<zrt::emulator::ChosenOs>;
using CardMemory = zrt::pm4::AnyMemory<zrt::emulator::ChosenOs>;
using CardQueue = zrt::pm4::AnyTransport<zrt::emulator::ChosenOs>;

}  // namespace program
