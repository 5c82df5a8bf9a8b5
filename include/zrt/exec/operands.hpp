// SPDX-License-Identifier: Apache-2.0
// zrt/exec/operands.hpp: what an adapter is handed, and the check that it is what the op needs.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// A register in the memory of backend B (runtime contract, TensorHandle with its TensorViewDesc).
///
/// Only B's device and adapters look into `tensor`. All other code reads `view`.
template <class B> struct TensorHandle {
  plan::RegisterRef reg = plan::kNoRegister;
  typename B::Tensor tensor{};
  TensorViewDesc view{};
};

/// The memory of one state of a plan on backend B (runtime contract, StateBlockHandle).
///
/// Only B's device and adapters look into `block`.
template <class B> struct StateBlockHandle {
  std::uint8_t id = 0;
  typename B::State block{};
  std::uint64_t size = 0;  ///< bytes of all pages or slot blocks
  std::uint16_t align_bytes = 64;
};

namespace detail {
template <class B> struct RegionTypeOf {
  struct type {};
};
template <class B>
  requires requires { typename B::Region; }
struct RegionTypeOf<B> {
  using type = typename B::Region;
};
}  // namespace detail

/// A recorded region as backend B's adapters name it; an empty type where B runs none.
template <class B> using RegionOf = typename detail::RegionTypeOf<B>::type;

/// The operands of one instruction on backend B.
template <class B> struct BoundOperands {
  Span<const TensorHandle<B>> inputs;
  Span<const TensorHandle<B>> outputs;
  Span<const typename B::Weight> weights;
  const StateBlockHandle<B>* state = nullptr;  ///< null for an op without state
  ParamBlock params{};
  Span<const RegionOf<B>> regions{};
};

/// Checks that a register holds what an op needs.
///
/// Errors: Errc::dtype_mismatch, Errc::unsupported_tensor_rank and Errc::shape_mismatch (extents,
/// strides or layout), naming op, operand and register.
[[nodiscard]] inline Result<void> check_view(std::string_view op, std::string_view operand, plan::RegisterRef reg,
                                             const TensorViewDesc& found, const TensorViewDesc& expected) noexcept {
  if (found == expected) return {};
  auto bad = [&](Errc code, auto... pieces) {
    Error error = Error::of(code, op, ": ", operand, " in register ", plan::index(reg), pieces...);
    return std::unexpected<Error>(error.at_tensor(plan::index(reg)));
  };
  if (found.dtype != expected.dtype)
    return bad(Errc::dtype_mismatch, " is ", name(found.dtype), ", expected ", name(expected.dtype));
  if (found.rank != expected.rank)
    return bad(Errc::unsupported_tensor_rank, " has ", unsigned{found.rank}, " axes, expected ",
               unsigned{expected.rank});
  if (found.layout != expected.layout)
    return bad(Errc::shape_mismatch, " is ", name(found.layout), ", expected ", name(expected.layout));
  for (std::uint8_t axis = 0; axis < found.rank; ++axis)
    if (found.shape[axis] != expected.shape[axis] || found.stride_elems[axis] != expected.stride_elems[axis] ||
        found.symbol[axis] != expected.symbol[axis])
      return bad(Errc::shape_mismatch, " has ", found.shape[axis], " elements on axis ", unsigned{axis}, ", ",
                 found.stride_elems[axis], " apart, expected ", expected.shape[axis], " and ",
                 expected.stride_elems[axis]);
  return {};
}

/// Compares the memory of a state with its descriptor.
///
/// Errors: Errc::invalid_state naming the state and what differs.
template <class B>
[[nodiscard]] Result<void> check_state(const StateBlockHandle<B>& found, const StateDescriptor& expected) noexcept {
  if (found.id != expected.id)
    return fail(Errc::invalid_state, "state ", unsigned{found.id}, " was handed over, expected ",
                unsigned{expected.id});
  if (found.align_bytes < expected.align_bytes)
    return fail(Errc::invalid_state, "state ", unsigned{found.id}, " is aligned to ", unsigned{found.align_bytes},
                " bytes, expected ", unsigned{expected.align_bytes});
  if (expected.size_bytes == 0 ? found.size != 0 : found.size % expected.size_bytes != 0)
    return fail(Errc::invalid_state, "state ", unsigned{found.id}, " has ", found.size, " bytes, expected units of ",
                expected.size_bytes);
  return {};
}

/// Checks the operands of `insn` once, at bind, before its adapter receives them: inputs, weights, state and parameters
/// by the op's shape rule, and the memory of every register and state by rule and plan. `row` is the op's row.
///
/// Errors: those of check_view, check_state and of the op's rule.
template <class B>
[[nodiscard]] Result<void> check_operands(const plan::ExecutionPlan& plan, const plan::Instruction& insn,
                                          const OpRow& row, const BoundOperands<B>& operands,
                                          const Extents& bounds) noexcept {
  OperandStorage storage;
  std::array<TensorType, kMaxOperands> types;
  const OperandInfo info = plan.operand_info(insn, storage);
  if (auto r = row.infer(info, types); !r) return pass(r);
  auto check = [&](const Role& role, const TensorHandle<B>& handle, const TensorType& type) -> Result<void> {
    const auto expected = contiguous_view(type, bounds);
    if (!expected) return pass(expected);
    return check_view(row.name, role.name, handle.reg, handle.view, *expected);
  };
  for (std::size_t k = 0; k < info.inputs.size(); ++k)
    if (info.inputs[k].present())
      if (auto r = check(row.input(k), operands.inputs[k], info.inputs[k].type); !r) return r;
  for (std::size_t k = 0; k < insn.outputs.size(); ++k)
    if (auto r = check(row.output(k), operands.outputs[k], types[k]); !r) return r;
  if (operands.state == nullptr || !insn.state_block_id) return {};
  return check_state(*operands.state, plan.states[*insn.state_block_id]);
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
