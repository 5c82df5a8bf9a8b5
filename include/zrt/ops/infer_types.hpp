// SPDX-License-Identifier: Apache-2.0
// zrt/ops/infer_types.hpp: the types that a call of an op gives in a graph.
#pragma once

#include <zrt/ops/attributes.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// What the type rule of an op has of a call in a graph.
struct GraphRuleCall {
  const OpInfo& op;
  Span<const AttributeSpec> attributes;
  Span<const Role> roles;  ///< of the inputs
  Span<const InputInfo> in;
  Span<const std::byte> params;  ///< as they lie in memory

  /// Gives the call to `infer` with operands and attributes checked, and its results to `out`.
  ///
  /// Errors: Errc::dangling_value, dtype_mismatch and invalid_argument for operands, invalid_params for bytes that no
  /// attribute has, those of the rule, and unsupported_tensor_rank.
  [[nodiscard]] constexpr Result<void> run(Result<void> (*infer)(RuleCall<Dim>&) noexcept,
                                           Span<TensorType> out) const noexcept {
    std::array<TensorType, kMaxOperands> types{};
    std::size_t operands = 0;
    for (const InputInfo& input : in) {
      const std::string_view role = op.operand(operands);
      if (!input.present()) {
        if (!op.repeats && roles[operands].optional) break;
        return fail(Errc::dangling_value, op.name, ": input ", role, " is required");
      }
      if (is_block(input.type.dtype))
        return fail(Errc::dtype_mismatch, op.name, ": ", role, " must be a plain type, found ", name(input.type.dtype));
      types[operands++] = input.type;
    }
    const Span<const TensorType> present(types.data(), operands);
    if (!op.takes(operands))
      return fail(Errc::invalid_argument, op.name, ": there are ", operands, " inputs, expected ", op.bound(),
                  unsigned{op.bounded()});
    std::array<AttributeValue<Dim>, OpInfo::kMaxFields> values{};
    for (std::size_t f = 0; f < attributes.size(); ++f)
      if (!read_attribute(attributes[f], params, present, values[f])) {
        Error error = Error::of(Errc::invalid_params, op.name, ": ", attributes[f].field.name, " is out of range");
        return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, number(op.opcode)));
      }
    RuleCall<Dim> rule{op, present, Span<const AttributeValue<Dim>>(values.data(), attributes.size()),
                       [](Error& error, Dim dim, const void*) noexcept { append_extent(error, dim); }};
    if (auto r = infer(rule); !r) return r;
    for (std::size_t i = 0; i < rule.results; ++i) {
      if (rule.out[i].shape.rank > kMaxRank)
        return fail(Errc::unsupported_tensor_rank, op.name, ": a result would have ", unsigned{rule.out[i].shape.rank},
                    " axes, at most ", unsigned{kMaxRank}, " expected");
      out[i] = rule.out[i];
    }
    return {};
  }
};

/// Checks a call of a graph and gives the types of its results, by the op's own rule or by the one that it shares with
/// programs.
template <class O>
[[nodiscard]] constexpr Result<void> infer_types(const TypeCall<O>& call, OutputTypes<O>& out) noexcept {
  if constexpr (!HasTypeRule<O>) {
    return O::infer(call, out);
  } else {
    using P = typename O::Params;
    std::array<std::byte, kParamBytes<P>> params{};
    if constexpr (!std::is_empty_v<P>) params = std::bit_cast<std::array<std::byte, sizeof(P)>>(call.params);
    const GraphRuleCall rule{kOpInfo<O>, O::attributes, O::input_roles,
                             Span<const InputInfo>(call.in.data(), call.in.size()), params};
    if (auto r =
            rule.run([](RuleCall<Dim>& c) noexcept { return O::infer(c); }, Span<TensorType>(out.data(), out.size()));
        !r)
      return r;
    if constexpr (requires { O::check(call); }) return O::check(call);
    return {};
  }
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
