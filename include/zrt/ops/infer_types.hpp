// SPDX-License-Identifier: Apache-2.0
// zrt/ops/infer_types.hpp: the types that a call of an op gives in a graph.
#pragma once

#include <zrt/ops/attributes.hpp>

namespace zrt::inline ZRT_ABI {

/// Checks a call of a graph and gives the types of its results, by the op's own rule or by the one that it shares with
/// programs.
template <class O>
[[nodiscard]] constexpr Result<void> infer_types(const TypeCall<O>& call, OutputTypes<O>& out) noexcept {
  if constexpr (!HasTypeRule<O>) {
    return O::infer(call, out);
  } else {
    constexpr std::size_t kFields = O::attributes.size;
    InputList<TensorType, O> in{};
    std::size_t operands = 0;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const std::string_view role = kOpInfo<O>.operand(i);
      if (!call.in[i].present()) {
        if (!RepeatsInputs<O> && O::input_roles[i].optional) break;
        return fail(Errc::dangling_value, O::name, ": input ", role, " is required");
      }
      if (is_block(call.in[i].type.dtype)) return bad_dtype<O>(role, "a plain type", call.in[i].type.dtype);
      if constexpr (RepeatsInputs<O>) in.count = static_cast<std::uint32_t>(i + 1);
      in[operands++] = call.in[i].type;
    }
    if (!kOpInfo<O>.takes(operands))
      return fail(Errc::invalid_argument, O::name, ": there are ", operands, " inputs, expected ", kOpInfo<O>.bound(),
                  unsigned{kOpInfo<O>.bounded()});
    const Span<const TensorType> types(in.data(), operands);
    std::array<AttributeValue<Dim>, kFields == 0 ? 1 : kFields> values{};
    std::string_view refused;
    const auto read = [&](const auto& item, std::size_t i) {
      values[i].present = true;
      if (!item.read(call.params, types, values[i]) && refused.empty()) refused = item.name;
    };
    std::apply(
        [&](const auto&... items) {
          std::size_t i = 0;
          (read(items, i++), ...);
        },
        O::attributes.items);
    if (!refused.empty()) {
      Error error = Error::of(Errc::invalid_params, O::name, ": ", refused, " is out of range");
      return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, number(O::opcode)));
    }
    RuleCall<Dim> rule{kOpInfo<O>, types, Span<const AttributeValue<Dim>>(values.data(), kFields),
                       [](Error& error, Dim dim, const void*) noexcept { append_extent(error, dim); }};
    if (auto r = O::infer(rule); !r) return r;
    for (std::size_t i = 0; i < rule.results; ++i) {
      if (rule.out[i].shape.rank > kMaxRank)
        return fail(Errc::unsupported_tensor_rank, O::name, ": a result would have ", unsigned{rule.out[i].shape.rank},
                    " axes, at most ", unsigned{kMaxRank}, " expected");
      out[i] = rule.out[i];
    }
    if constexpr (requires { O::check(call); }) return O::check(call);
    return {};
  }
}

}  // namespace zrt::inline ZRT_ABI
