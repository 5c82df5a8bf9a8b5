// SPDX-License-Identifier: Apache-2.0
// zrt/plan/plan_buffers.hpp: what memory a program will need, before it is bound to a backend.
#pragma once

#include <zrt/ir/ptir/lower.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

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
  std::uint64_t arena_bytes = 0;     ///< all registers, those of regions too; kernels may want workspace besides
};

namespace detail {

/// Bytes of a plan's arena with those of its regions, which lie in the workspace of their instructions;
/// `constants` grows by those of all.
[[nodiscard]] inline Result<std::uint64_t> arena_bytes(const ExecutionPlan& plan, const OpTable& table,
                                                       std::uint64_t& constants) noexcept {
  constants += plan.constants.size();
  Vector<std::uint64_t> regions(plan.allocator);
  for (const ExecutionPlan& region : plan.regions) {
    const auto bytes = arena_bytes(region, table, constants);
    if (!bytes) return bytes;
    if (auto r = regions.push_back(*bytes); !r) return pass(r);
  }
  Vector<std::uint64_t> scratch(plan.allocator);
  for (const InstructionRecord& insn : plan.instructions) {
    CheckedSize bytes = 0;
    for (std::size_t k = 0; k < insn.regions; ++k) bytes = bytes.aligned(64) + regions[insn.first_region + k];
    const auto total = bytes.get("an instruction's workspace");
    if (!total) return total;
    if (auto r = scratch.push_back(*total); !r) return pass(r);
  }
  const auto live = liveness(plan);
  if (!live) return pass(live);
  const auto mapping = plan_memory(plan, *live, table, {}, scratch.span());
  if (!mapping) return pass(mapping);
  return mapping->arena_bytes;
}

}  // namespace detail

/// Sizes the memory of `program` for inputs of `shapes`: what stands at its border, its constants, and the
/// arena of a backend that runs every op as the program wrote it, before the passes of ir/passes/.
///
/// Errors: those of ir::ptir::lower, compile and plan_memory.
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
  const auto arena = detail::arena_bytes(plan, *kOps.table, buffers.constant_bytes);
  if (!arena) return pass(arena);
  buffers.arena_bytes = *arena;
  return buffers;
}

}  // namespace zrt::inline ZRT_ABI::plan
