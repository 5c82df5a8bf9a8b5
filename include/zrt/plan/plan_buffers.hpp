// SPDX-License-Identifier: Apache-2.0
// zrt/plan/plan_buffers.hpp: what memory a program will need, before it is bound to a backend.
#pragma once

#include <zrt/ir/ptir/lower.hpp>
#include <zrt/plan/arena_layout.hpp>
#include <zrt/plan/compile.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// A tensor that a caller hands over or takes.
struct BufferSpec {
  Name name{};
  TensorType type{};
  std::uint64_t bytes = 0;
};

/// The memory of a program for one set of input shapes.
struct BufferPlan {
  explicit BufferPlan(Allocator a = system_allocator()) noexcept : inputs(a), outputs(a) {}

  Vector<BufferSpec> inputs;         ///< in the order of the program's parameters
  Vector<BufferSpec> outputs;        ///< in that of its results
  std::uint64_t constant_bytes = 0;  ///< literals, those of regions too
  std::uint64_t arena_bytes = 0;  ///< registers but constants, those of regions too; kernels may want workspace besides
};

namespace detail {

/// Bytes of the literals of a plan and of its regions.
[[nodiscard]] inline std::uint64_t constant_bytes(const ExecutionPlan& plan) noexcept {
  std::uint64_t bytes = plan.constants.size();
  for (const ExecutionPlan& region : plan.regions) bytes += constant_bytes(region);
  return bytes;
}

}  // namespace detail

/// Sizes the memory of `program` for inputs of `shapes`: inputs and outputs, constants, and the arena. The sizes hold
/// for a backend that runs every op as the program wrote it, without the passes of ir/passes/, and reads constants in
/// place.
///
/// Errors: those of ir::ptir::lower, compile and lay_out.
[[nodiscard]] inline Result<BufferPlan> plan_buffers(const ir::ptir::Program& program,
                                                     Span<const ir::ptir::Shape> shapes) noexcept {
  static constexpr ir::Ops kOps = ir::Ops::of<ops::Catalog>();
  const auto graph = ir::ptir::lower(program, shapes, *kOps.table);
  if (!graph) return pass(graph);
  const auto compiled = compile(*graph, kOps, OpSet::of(ops::Catalog{}));
  if (!compiled) return pass(compiled);
  const ExecutionPlan& plan = compiled->plan;
  BufferPlan buffers(program.allocator);
  const auto list = [&](const Vector<PlanPort>& ports, Vector<BufferSpec>& to) -> Result<void> {
    for (const PlanPort& port : ports) {
      const TensorType& type = plan.registers[index(port.reg)];
      const auto bytes = register_bytes(type, {});
      if (!bytes) return pass(bytes);
      if (auto r = to.push_back({port.name, type, *bytes}); !r) return r;
    }
    return {};
  };
  if (auto r = list(plan.inputs, buffers.inputs); !r) return pass(r);
  if (auto r = list(plan.outputs, buffers.outputs); !r) return pass(r);
  const auto arena = lay_out(plan, *kOps.table, {}, InputsLie::in_arena);
  if (!arena) return pass(arena);
  buffers.constant_bytes = detail::constant_bytes(plan);
  buffers.arena_bytes = arena->mapping.arena_bytes;
  return buffers;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
