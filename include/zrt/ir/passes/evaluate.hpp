// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/evaluate.hpp: runs the reference of one primitive on host memory, while a graph is being optimised.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/ir/graph.hpp>

namespace zrt::inline ZRT_ABI::ir {

/// The operands of a node as tensors in host memory; extents are constants.
struct EvaluateArgs {
  OperandInfo operands;  ///< types and parameters of the same node
  std::span<const HostTensor> in;
  std::span<const HostWeight> w;
  std::span<const HostTensor> out;
  Allocator allocator;
};

/// Computes a node; false when its data breaks the op's contract, so that only a step may report it.
using EvaluateFn = Result<bool> (*)(const EvaluateArgs& args) noexcept;
using EvaluateTable = std::array<EvaluateFn, 256>;

namespace detail {

/// An op that is a function of its operands' values and has loops.
template <class O>
concept Evaluates =
    O::rung == Rung::primitive && HasReference<O> && !HasRegions<O> && O::lifecycle == StateLifecycle::none;

template <class O> ZRT_COLD Result<bool> evaluate_node(const EvaluateArgs& args) noexcept {
  auto types = type_call<O>(args.operands);
  if (!types) return pass(types);
  HostCall<O> call;
  fill(call.in, args.in);
  fill(call.out, args.out);
  fill(call.w, args.w);
  call.params = types->params;
  Buffer scratch;
  if constexpr (HasReferenceScratch<O>) {
    const auto bytes = O::reference_scratch(*types, Extents{}).get(O::name);
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

}  // namespace zrt::inline ZRT_ABI::ir
