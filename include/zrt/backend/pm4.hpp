// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4.hpp: AMD cards by packets: a step recorded once, replayed by one doorbell.
#pragma once

#include <zrt/backend/pm4/declaration.hpp>
#include <zrt/backend/pm4/packet_program.hpp>
#include <zrt/device/adapters.hpp>
#include <zrt/device/claims.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

template <pm4::PacketTransport Transport, pm4::TargetChoice Target> struct BasicPm4Backend {
  static constexpr std::string_view name = "pm4";
  using Tensor = device::Tensor;
  using Weight = device::Weight;
  using State = device::State;
  using Scratch = device::Scratch;
  using Device = pm4::BackendDevice<Transport, Target>;
  using DeviceOptions = pm4::DeviceOptions<Transport>;
  using Memory = typename Device::Memory;
  using Program = pm4::PacketProgram<Transport, Target>;
  using Recorder = device::DeviceRecorder<Program, Device>;
  using Claims = device::Claims;
  using Unsupported = device::Unsupported;
};

template <pm4::PacketTransport Transport, pm4::TargetChoice Target, class O>
  requires device::RecordsDispatches<O>
struct Adapter<BasicPm4Backend<Transport, Target>, O> : device::SharedAdapter<BasicPm4Backend<Transport, Target>, O> {};

static_assert(CheckBackend<Pm4Backend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
