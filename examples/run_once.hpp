// SPDX-License-Identifier: Apache-2.0
// examples/run_once.hpp: one step of a plan with an input x and an output y, without weights and state.
#pragma once

#include <zrt/exec/bind.hpp>

namespace example {

/// Binds `compiled` on `device`, copies `x` in, runs it and copies `y` out.
template <class B>
[[nodiscard]] zrt::Result<void> run_once(const zrt::plan::CompiledPlan& compiled, const zrt::exec::OpAdapters<B>& ops,
                                         typename B::Device& device, std::span<const float> x, std::span<float> y) {
  const auto weights = zrt::exec::bind_weights<B>(compiled.plan, {}, device);
  if (!weights) return zrt::pass(weights);
  auto states = zrt::exec::StateStore<B>::make(compiled.plan, device, 0, 0);
  if (!states) return zrt::pass(states);
  auto bound = zrt::exec::bind<B>(compiled, ops, *weights, *states, {}, device);
  if (!bound) return zrt::pass(bound);
  auto in = bound->tensor(compiled.plan.input("x"));
  if (auto r = device.write(in, std::as_bytes(x)); !r) return r;
  if (auto r = bound->program().launch(device, zrt::ExecutionContext{}, {}); !r) return zrt::pass(r);
  auto out = bound->tensor(compiled.plan.output("y"));
  return device.read(out, 0, std::as_writable_bytes(y));
}

}  // namespace example
