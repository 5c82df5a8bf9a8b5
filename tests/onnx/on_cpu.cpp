// SPDX-License-Identifier: Apache-2.0
// tests/onnx/on_cpu.cpp: node tests on CpuBackend.
#include <zrt/backend/cpu.hpp>

#include <onnx/run_case.hpp>

namespace zrt::test {

Outcome run_on_cpu(const NodeCase& test, bool optimise) {
  return run_case<
      BasicCpuBackend<cpu::WeightTypes<>, cpu::Variants<cpu::Isa::v1>, boost::mp11::mp_list<>, onnx::Targets>>(
      test, 2, optimise);
}

}  // namespace zrt::test
