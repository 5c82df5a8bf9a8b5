// SPDX-License-Identifier: Apache-2.0
// examples/engines/programs_reference.cpp: the one place where the runner of tensor programs on the oracle is compiled, and their way to C.
//
// One source, because the passes on the way to C fold constants by the same references.
#include <zrt/plan/c/bound.hpp>

#include <c_programs.hpp>
#include <programs.hpp>

template struct zrt::exec::AllAdapters<engines::ReferencePrograms>;
template struct zrt::ir::Evaluations<zrt::ops::Catalog>;
template class zrt::ProgramRunner<engines::ReferencePrograms>;

namespace engines {

using namespace zrt;

Result<String> to_c(const ir::ptir::Program& program, std::span<const ir::ptir::Shape> shapes,
                    const plan::c::Options& options) {
  return plan::c::to_c(program, shapes, options);
}
Result<String> to_c(const ir::fused::FusedProgram& program, std::span<const ir::fused::FeedType> feeds,
                    ir::fused::CutWire* cut) {
  return plan::c::to_c(program, feeds, {}, cut);
}
Result<plan::c::Package> to_c_package(const ir::ptir::Program& program, std::span<const ir::ptir::Shape> shapes,
                                      bool threads, const plan::c::Options& options) {
  return plan::c::to_package(program, shapes, threads, options);
}

Result<void> add_to_c(plan::c::Module& module, std::string_view name, const ir::ptir::Program& program,
                      std::span<const ir::ptir::Shape> shapes, const plan::c::Options& options) {
  return plan::c::add_program(module, name, program, shapes, options);
}

Result<void> add_to_c(plan::c::Module& module, std::string_view name, const ir::fused::FusedProgram& program,
                      std::span<const ir::fused::FeedType> feeds) {
  return plan::c::add_program(module, name, program, feeds);
}

float c_bound(Opcode opcode) noexcept { return plan::c::bound(opcode); }

}  // namespace engines
