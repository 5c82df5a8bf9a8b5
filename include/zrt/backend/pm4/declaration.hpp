// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/declaration.hpp: the name, device and options of the backend for AMD cards, for sources that call engines compiled elsewhere.
#pragma once

#include <zrt/backend/pm4/any_transport.hpp>
#include <zrt/backend/pm4/backend_device.hpp>
#include <zrt/backend/pm4/linux_os.hpp>
#include <zrt/exec/device_of.hpp>

namespace zrt::inline ZRT_ABI {

/// A card behind `Transport`, whose packets are written for `Target`: a processor, or pm4::AnyTarget for whatever is
/// there when an engine is opened.
///
/// A host hands Engine::open a pm4::DeviceOptions: the operating system and the kernels. A host that wants a modelled
/// card names emulator::Pm4Backend.
template <pm4::PacketTransport Transport, pm4::TargetChoice Target = pm4::AnyTarget> struct BasicPm4Backend;

/// Whatever card a machine has, by the first way to its queues that works: chosen when an engine is opened.
using Pm4Backend = BasicPm4Backend<pm4::AnyTransport<pm4::LinuxOs>>;

template <pm4::PacketTransport Transport, pm4::TargetChoice Target>
struct DeviceTypes<BasicPm4Backend<Transport, Target>> {
  using Device = pm4::BackendDevice<Transport, Target>;
  using Options = pm4::DeviceOptions<Transport>;
};

}  // namespace zrt::inline ZRT_ABI
