// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/pm4_backend.hpp: the backend for AMD cards, on the machine's own card or on a modelled one.
#pragma once

#include <zrt/backend/pm4.hpp>
#include <zrt/emulator/chosen_os.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// As zrt::Pm4Backend; its DeviceOptions take a ChosenOs, which is the machine or a device model. Which one is chosen
/// when an engine is opened.
using Pm4Backend = BasicPm4Backend<pm4::AnyTransport<ChosenOs>>;

static_assert(CheckBackend<Pm4Backend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI::emulator
