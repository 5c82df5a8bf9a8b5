// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu.hpp: the portable CPU backend: SIMD kernels chosen once, the reference's bits.
#pragma once

#include <zrt/backend/cpu/claims.hpp>
#include <zrt/backend/cpu/declaration.hpp>
#include <zrt/backend/cpu/device.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/custom_targets.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

template <class Types, class Variants, class ExtraOps, class Targets> struct BasicCpuBackend : exec::HostMemoryTypes {
  static constexpr std::string_view name = "cpu";
  using Device = cpu::BasicDevice<Types, Variants>;
  using Program = cpu::Program;
  using Recorder = cpu::DeviceRecorder;
  using Claims = boost::mp11::mp_append<cpu::Claims, boost::mp11::mp_list<ops::CustomCall>, ExtraOps>;
  using Unsupported = OpsWithoutClaim<ops::Catalog, Claims>;
};

template <class Types, class Variants, class ExtraOps, class Targets, class O>
  requires cpu::Records<O>
struct Adapter<BasicCpuBackend<Types, Variants, ExtraOps, Targets>, O> {
  using Backend = BasicCpuBackend<Types, Variants, ExtraOps, Targets>;

  ZRT_COLD static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    return cpu::scratch_bytes<O>(call, bounds);
  }
  ZRT_COLD static Result<void> record(cpu::DeviceRecorder& recorder, const Call<Backend, O>& c) noexcept {
    return cpu::record<O, Variants>(recorder, HostCall<O>{c.in, c.out, c.w, c.state, c.params, c.region},
                                    recorder.kernels());
  }
};

/// Runs a target of the host's on every worker.
template <class Types, class Variants, class ExtraOps, class Targets>
struct Adapter<BasicCpuBackend<Types, Variants, ExtraOps, Targets>, ops::CustomCall> {
  using Backend = BasicCpuBackend<Types, Variants, ExtraOps, Targets>;

  static CheckedSize scratch(const TypeCall<ops::CustomCall>& call, const Extents& bounds) noexcept {
    return exec::CustomTargets<Targets>::scratch(call, bounds);
  }
  static Result<void> check_target(const ops::CustomCallParams& params) noexcept {
    return exec::CustomTargets<Targets>::check(params, Backend::name);
  }
  static Result<void> record(cpu::DeviceRecorder& recorder, const Call<Backend, ops::CustomCall>& c) noexcept {
    const HostCall<ops::CustomCall> call{c.in, c.out, c.w, c.state, c.params, c.region};
    const auto target = exec::CustomTargets<Targets>::bind(call, Backend::name);
    if (!target) return pass(target);
    return recorder.push((*target)->run, call);
  }
};

static_assert(CheckBackend<CpuBackend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
