// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu.hpp: the portable CPU backend: SIMD kernels chosen once, the reference's bits.
#pragma once

#include <zrt/backend/cpu/claims.hpp>
#include <zrt/backend/cpu/kernels.hpp>
#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/host_device.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

namespace cpu {

/// Host memory, threads, and the instruction set chosen when the device is made.
class Device : public exec::HostDevice {
 public:
  Device() noexcept : Device(system_allocator()) {}
  explicit Device(const Allocator& allocator, const ThreadHook& threads = {}) noexcept
      : exec::HostDevice(allocator, threads), kernels_(&kernels_for(detect_isa())) {}
  /// Uses the kernels of `isa` instead of the best that the processor has; the processor must have it.
  Device(const Allocator& allocator, const ThreadHook& threads, Isa isa) noexcept
      : exec::HostDevice(allocator, threads), kernels_(&kernels_for(isa)) {}

  [[nodiscard]] const KernelSet& kernels() const noexcept { return *kernels_; }
  /// The instruction set of the kernels.
  [[nodiscard]] Isa isa() const noexcept { return kernels_->isa; }

 private:
  const KernelSet* kernels_;
};

class Program : public exec::HostBackendProgram {
 public:
  explicit Program(const Device& device) noexcept : exec::HostBackendProgram(device) {}
};

/// A cpu::Recorder over a program of a device.
class DeviceRecorder : public Recorder {
 public:
  DeviceRecorder(Program& program, const Device& device) noexcept : Recorder(device.kernels(), program.recorder()) {}
};

}  // namespace cpu

/// The CPU with a host's own ops beside zrt's: each of `ExtraOps` has a `cpu::Adapter`.
template <class ExtraOps> struct BasicCpuBackend : exec::HostTypes {
  static constexpr std::string_view name = "cpu";
  using Device = cpu::Device;
  using Program = cpu::Program;
  using Recorder = cpu::DeviceRecorder;
  using Claims = boost::mp11::mp_append<cpu::Claims, ExtraOps>;
  using Unsupported = cpu::Unsupported;
};

using CpuBackend = BasicCpuBackend<boost::mp11::mp_list<>>;

template <class ExtraOps, class O>
  requires cpu::Records<O>
struct Adapter<BasicCpuBackend<ExtraOps>, O> {
  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    return cpu::scratch_bytes<O>(call, bounds);
  }
  static Result<void> record(cpu::DeviceRecorder& recorder, const Call<BasicCpuBackend<ExtraOps>, O>& c) noexcept {
    return cpu::Adapter<O>::record(recorder, HostCall<O>{c.in, c.out, c.w, c.state, c.params});
  }
};

static_assert(CheckBackend<CpuBackend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
