// SPDX-License-Identifier: Apache-2.0
// tests/support/run_with.hpp: binds a plan without state on a backend and runs one step.
#pragma once

#include <zrt/exec/step_fault.hpp>

#include <support/run_plan.hpp>

namespace zrt::test {

template <class B>
Result<std::vector<Bytes>> run_with(const plan::CompiledPlan& compiled, const exec::WeightSource& source,
                                    const StepData& run, typename B::Device& device) {
  auto weights = exec::bind_weights<B>(compiled.plan, source, device);
  if (!weights) return pass(weights);
  auto states = exec::StateStore<B>::make(compiled.plan, device, 0, 0);
  if (!states) return pass(states);
  auto bound = exec::bind<B>(compiled, *catalog_ops().table, *weights, *states, {run.bounds, 1, run.fit}, device);
  if (!bound) return pass(bound);
  for (std::size_t i = 0; i < compiled.plan.inputs.size(); ++i) {
    if (auto r = device.write(bound->tensor(compiled.plan.inputs[i].reg), run.inputs[i]); !r) return pass(r);
  }
  ExecutionContext step;
  step.extents = run.actual;
  StepStatus status;
  step.status = &status;
  auto done = bound->program().launch(device, step, {});
  if (!done) return pass(done);
  if (auto fault = exec::step_fault(status, compiled.plan); !fault) return pass(fault);
  if (!*done) return fail(Errc::limit_exceeded, "the step ended early");
  std::vector<Bytes> outputs;
  for (const plan::PlanPort& port : compiled.plan.outputs) {
    const TensorType& type = compiled.plan.registers[plan::index(port.reg)];
    Bytes bytes(static_cast<std::size_t>(bytes_of(type.dtype, type.shape.elements(run.actual).raw())));
    if (auto r = device.read(bound->tensor(port.reg), 0, bytes); !r) return pass(r);
    outputs.push_back(std::move(bytes));
  }
  return outputs;
}

}  // namespace zrt::test
