// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/observer_not_taken.cpp: a program that takes no observer is bound with none; the message names the backend.
// expect-error: zrt: this backend's programs take no observer; add one to Program::launch as its last parameter
// expect-error: DeafBackend
#include <zrt/backend/reference.hpp>
#include <zrt/exec/bind.hpp>

struct Nobody {
  zrt::Result<void> bind(const zrt::exec::ObservedProgram&) noexcept { return {}; }
  void begin_step(const zrt::ExecutionContext&) noexcept {}
  void end_step(bool) noexcept {}
};

struct DeafProgram : zrt::exec::HostBackendProgram {
  using zrt::exec::HostBackendProgram::HostBackendProgram;
  zrt::Result<bool> launch(const zrt::exec::HostDevice& device, const zrt::ExecutionContext& step,
                           const zrt::exec::StopPoll& stop) noexcept {
    return zrt::exec::HostBackendProgram::launch(device, step, stop);
  }
};

struct DeafBackend : zrt::ReferenceBackend {
#ifdef ZRT_COMPILE_FAIL
  using Program = DeafProgram;
#endif
};

[[maybe_unused]] static auto bind_it(const zrt::plan::CompiledPlan& plan, const zrt::exec::OpAdapters<DeafBackend>& ops,
                                     const zrt::exec::WeightSet<DeafBackend>& weights,
                                     const zrt::exec::StateStore<DeafBackend>& states,
                                     zrt::reference::Device& device) noexcept {
  return zrt::exec::bind<DeafBackend>(plan, ops, weights, states, {}, device, Nobody{});
}
