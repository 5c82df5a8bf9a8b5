// SPDX-License-Identifier: Apache-2.0
// tests/onnx/on_cpu.cpp: node tests on CpuBackend.
#include <onnx/run_case.hpp>
#include <programs.hpp>

namespace zrt::test {

Outcome run_on_cpu(const NodeCase& test, bool optimise) { return run_case<engines::CpuPrograms>(test, 2, optimise); }

}  // namespace zrt::test
