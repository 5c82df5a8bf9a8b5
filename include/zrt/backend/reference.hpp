// SPDX-License-Identifier: Apache-2.0
// zrt/backend/reference.hpp: the oracle: every op that has a reference, by its plain loops, on one thread.
#pragma once

#include <zrt/backend/reference/declaration.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/custom_targets.hpp>
#include <zrt/exec/host_device.hpp>

namespace zrt::inline ZRT_ABI {

namespace reference {

template <class O> using HasLoops = boost::mp11::mp_bool<HasReference<O> || DefinedByHost<O>>;

struct Device : exec::HostDevice {
  using exec::HostDevice::HostDevice;
};

struct Program : exec::HostBackendProgram {
  explicit Program(const Device& device) noexcept : exec::HostBackendProgram(device) {}
};

struct Recorder : exec::HostRecorder {
  Recorder(Program& program, const Device&) noexcept : exec::HostRecorder(program.recorder()) {}
};

}  // namespace reference

template <class Catalog, class Targets> struct BasicReferenceBackend : exec::HostMemoryTypes {
  static constexpr std::string_view name = "reference";
  using Device = reference::Device;
  using Program = reference::Program;
  using Recorder = reference::Recorder;
  using Ops = Catalog;
  using Claims = boost::mp11::mp_copy_if<Catalog, reference::HasLoops>;
  using Unsupported = boost::mp11::mp_list<>;
};

/// Runs O's reference on the first worker.
template <class Catalog, class Targets, class O>
  requires HasReference<O>
struct Adapter<BasicReferenceBackend<Catalog, Targets>, O> {
  using Backend = BasicReferenceBackend<Catalog, Targets>;

  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    if constexpr (HasReferenceScratch<O>)
      return O::reference_scratch(call, bounds);
    else
      return 0;
  }
  static Result<void> record(reference::Recorder& recorder, const Call<Backend, O>& c) noexcept {
    return recorder.push(&run, HostCall<O>{c.in, c.out, c.w, c.state, c.params, c.region});
  }

 private:
  static void run(const HostCall<O>& call, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index == 0) O::reference(call, step, worker);
  }
};

/// Runs a target of the host's on the first worker, as if it were the only one.
template <class Catalog, class Targets> struct Adapter<BasicReferenceBackend<Catalog, Targets>, ops::CustomCall> {
  using Backend = BasicReferenceBackend<Catalog, Targets>;

  static CheckedSize scratch(const TypeCall<ops::CustomCall>& call, const Extents& bounds) noexcept {
    return exec::CustomTargets<Targets>::scratch(call, bounds);
  }
  static Result<void> check_target(const ops::CustomCallParams& params) noexcept {
    return exec::CustomTargets<Targets>::check(params, Backend::name);
  }
  static Result<void> record(reference::Recorder& recorder, const Call<Backend, ops::CustomCall>& c) noexcept {
    const HostCall<ops::CustomCall> call{c.in, c.out, c.w, c.state, c.params, c.region};
    const auto target = exec::CustomTargets<Targets>::bind(call, Backend::name);
    if (!target) return pass(target);
    return recorder.push(&run, Args{call, *target});
  }

 private:
  struct Args {
    HostCall<ops::CustomCall> call;
    const exec::CustomTargetRow* target;
  };
  static void run(const Args& args, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index == 0) args.target->run(args.call, step, Worker{0, 1, worker.instruction, worker.scratch});
  }
};

static_assert(CheckBackend<ReferenceBackend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
