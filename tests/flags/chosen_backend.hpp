// SPDX-License-Identifier: Apache-2.0
// tests/flags/chosen_backend.hpp: a variant of CpuBackend or ReferenceBackend, chosen when an engine is opened.
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>

namespace chosen {

/// What the engines opened from now on run. Engine<B> makes its own device, so there is no other way in.
struct Choice {
  zrt::cpu::Isa isa = zrt::cpu::Isa::v1;
  bool reference = false;
};
inline Choice choice;

using Types = zrt::cpu::WeightTypes<zrt::DType::f32, zrt::DType::bf16, zrt::DType::q8_0, zrt::DType::q4_0>;
using Cpu = zrt::BasicCpuBackend<Types>;

struct Device : Cpu::Device {
  Device() noexcept = default;
  Device(const zrt::Allocator& allocator, const zrt::ThreadHook& threads) noexcept
      : Cpu::Device(allocator, threads, choice.isa), reference(choice.reference) {}
  bool reference = false;
};

/// The variants that this unit builds.
inline constexpr std::span kVariants = zrt::cpu::kKernelSets<Types, zrt::cpu::AllVariants>;

struct Program : zrt::reference::Program {
  explicit Program(const Device& device) noexcept
      : zrt::reference::Program(zrt::reference::Device(device.allocator())), packed(device.allocator()) {}

  zrt::Vector<zrt::cpu::PackedStore::Use> packed;
};

/// Both backends' recorders over one program, of which all instructions use the same one.
struct Recorder {
  Recorder(Program& program, Device& device) noexcept
      : use_reference(device.reference),
        reference(program, {}),
        cpu(device.kernels(), program.recorder(), program.packed, {}),
        kernels(&device.kernels()),
        device(&device) {}

  zrt::Result<void> begin(const zrt::exec::RecordSite<zrt::Span<std::byte>>& site) noexcept {
    if (use_reference) return reference.begin(site);
    auto store = device->packed();
    if (!store) return zrt::pass(store);
    cpu.share(**store);
    return cpu.begin(site);
  }
  zrt::Result<void> finish() noexcept { return {}; }

  bool use_reference;
  zrt::reference::Recorder reference;
  zrt::cpu::Recorder cpu;
  const zrt::cpu::KernelSet* kernels;
  Device* device;
};

/// Whether Cpu records an op without kernels beside those of the device.
template <class O>
inline constexpr bool kOnBoth =
    zrt::cpu::Records<O> && (!zrt::cpu::HasKernels<O> || boost::mp11::mp_contains<zrt::cpu::KernelSet::Ops, O>::value);
template <class O> using OnBoth = boost::mp11::mp_bool<kOnBoth<O>>;

/// What Cpu records with the kernels of the device alone, each with the adapters of both backends: one
/// engine to compile instead of two.
struct Backend : zrt::exec::HostMemoryTypes {
  static constexpr std::string_view name = "chosen";
  using Device = chosen::Device;
  using Program = chosen::Program;
  using Recorder = chosen::Recorder;
  using Claims = boost::mp11::mp_copy_if<zrt::cpu::Claims, OnBoth>;
  using Unsupported = boost::mp11::mp_remove_if<zrt::ops::Catalog, OnBoth>;
};

template <class B, class O> zrt::Call<B, O> call_of(const zrt::Call<Backend, O>& c) noexcept {
  return {c.in, c.out, c.w, c.state, c.params, c.region};
}

}  // namespace chosen

template <class O>
  requires chosen::kOnBoth<O>
struct zrt::Adapter<chosen::Backend, O> {
  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    const CheckedSize cpu = Adapter<chosen::Cpu, O>::scratch(call, bounds);
    const CheckedSize reference = Adapter<ReferenceBackend, O>::scratch(call, bounds);
    return cpu.raw() < reference.raw() ? reference : cpu;
  }
  static Result<void> record(chosen::Recorder& r, const Call<chosen::Backend, O>& c) noexcept {
    if (r.use_reference) return Adapter<ReferenceBackend, O>::record(r.reference, chosen::call_of<ReferenceBackend>(c));
    return cpu::record<O, cpu::AllVariants>(r.cpu, HostCall<O>{c.in, c.out, c.w, c.state, c.params, c.region},
                                            *r.kernels);
  }
};

static_assert(zrt::CheckBackend<chosen::Backend, zrt::ops::Catalog>::kOk);
