// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/evaluate.hpp: runs the reference of one primitive on host memory, while a graph is being optimised.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/ir/graph.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// What may be computed ahead for one graph, its regions and all rounds over it: what goes beyond is left to the run.
struct FoldingBudget {
  std::uint64_t steps = std::uint64_t{1} << 28;    ///< elements of operands, and of results with their windows and sums
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< of what is computed, whether it is stored or not

  /// That of a graph with `constant_bytes` bytes of constants: twice as much as they are, and what every graph has.
  [[nodiscard]] static constexpr FoldingBudget of(std::uint64_t constant_bytes) noexcept {
    FoldingBudget budget;
    const std::uint64_t more = constant_bytes < (std::uint64_t{1} << 48) ? 2 * constant_bytes : 0;
    budget.steps += more;
    budget.bytes += more;
    return budget;
  }
  /// Takes what a computation needs; false when there is not as much.
  [[nodiscard]] constexpr bool take(CheckedSize more_steps, CheckedSize more_bytes) noexcept {
    if (!more_steps.ok() || !more_bytes.ok() || more_steps.raw() > steps || more_bytes.raw() > bytes) return false;
    steps -= more_steps.raw();
    bytes -= more_bytes.raw();
    return true;
  }
};

/// The operands of a node as tensors in host memory; extents are constants.
struct EvaluateArgs {
  OperandInfo operands;  ///< types and parameters of the same node
  Span<const HostTensor> in;
  Span<const HostWeight> w;
  Span<const HostTensor> out;
  Allocator allocator;
  FoldingBudget* budget;
};

/// Computes a node; false when its data breaks the op's contract, so that only a step may report it, or when the
/// budget does not have what it takes.
using EvaluateFn = Result<bool> (*)(const EvaluateArgs& args) noexcept;
using EvaluateTable = std::array<EvaluateFn, 256>;

namespace detail {

/// An op that is a function of its operands' values and has loops.
template <class O>
concept Evaluates =
    O::rung == Rung::primitive && HasReference<O> && !HasRegions<O> && O::lifecycle == StateLifecycle::none;

template <class O> ZRT_COLD Result<bool> evaluate_node(const EvaluateArgs& args) noexcept {
  TypeCall<O> types;
  if (auto r = fill_type_call<O>(args.operands, types); !r) return pass(r);
  HostCall<O> call;
  fill(call.in, args.in);
  fill(call.out, args.out);
  fill(call.w, args.w);
  call.params = types.params;
  CheckedSize steps = 0;
  for (const HostTensor& x : args.in) steps += x.type.shape.elements({});
  CheckedSize made = args.out[0].type.shape.elements({});
  CheckedSize memory_bytes = 0;
  if constexpr (HasStepsPerElement<O>) made *= O::steps_per_element(types);
  if constexpr (HasReferenceScratch<O>) memory_bytes += O::reference_scratch(types, Extents{});
  if (!args.budget->take(steps + made, memory_bytes)) return false;
  Buffer scratch;
  if constexpr (HasReferenceScratch<O>) {
    const auto bytes = O::reference_scratch(types, Extents{}).get(O::name);
    if (!bytes) return pass(bytes);
    auto memory = Buffer::zeroed(args.allocator, *bytes);
    if (!memory) return pass(memory);
    scratch = std::move(*memory);
  }
  StepStatus status;
  ExecutionContext step;
  step.status = &status;
  const RoundingMode rounding;
  O::reference(call, step, Worker{0, 1, 0, scratch.span()});
  return status.word.load(MemoryOrder::relaxed) == StepStatus::kClean;
}

template <class O> consteval EvaluateFn evaluate_fn() {
  if constexpr (Evaluates<O>)
    return &evaluate_node<O>;
  else
    return nullptr;
}

template <class... O> consteval EvaluateTable evaluate_fns(boost::mp11::mp_list<O...>) {
  EvaluateTable table{};
  ((table[number(O::opcode)] = evaluate_fn<O>()), ...);
  return table;
}

}  // namespace detail

/// Evaluators by number; null for an op that is not a primitive with loops.
template <class Catalog> inline constexpr EvaluateTable kEvaluateTable = detail::evaluate_fns(Catalog{});

/// The table behind a call: a source that declares `extern template struct Evaluations<Catalog>` compiles no reference.
template <class Catalog> struct Evaluations {
  [[nodiscard]] static const EvaluateTable& table() noexcept;
};
template <class Catalog> const EvaluateTable& Evaluations<Catalog>::table() noexcept { return kEvaluateTable<Catalog>; }

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
