// SPDX-License-Identifier: Apache-2.0
// zrt/ops/op_table.hpp: the catalog as a table by number, for code that meets ops at run time.
#pragma once

#include <zrt/core/room.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/catalog_rules.hpp>
#include <zrt/ops/infer_types.hpp>
#include <zrt/ops/op.hpp>
#include <zrt/quant/types.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// A set of op numbers.
class OpSet {
 public:
  constexpr OpSet() = default;
  /// The numbers of a list of op types.
  template <class... O> [[nodiscard]] static constexpr OpSet of(boost::mp11::mp_list<O...>) noexcept {
    OpSet set;
    (set.insert(O::opcode), ...);
    return set;
  }
  constexpr void insert(Opcode opcode) noexcept {
    words_[number(opcode) / 64] |= std::uint64_t{1} << number(opcode) % 64;
  }
  /// These without `others`.
  [[nodiscard]] constexpr OpSet without(const OpSet& others) const noexcept {
    OpSet rest = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) rest.words_[i] &= ~others.words_[i];
    return rest;
  }
  [[nodiscard]] constexpr bool contains(Opcode opcode) const noexcept {
    return (words_[number(opcode) / 64] >> number(opcode) % 64 & 1u) != 0;
  }
  [[nodiscard]] constexpr bool contains(const OpSet& others) const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((others.words_[i] & ~words_[i]) != 0) return false;
    return true;
  }

 private:
  std::array<std::uint64_t, 4> words_{};
};

/// The operands of one node or instruction as the shape rule sees them.
struct OperandInfo {
  Span<const InputInfo> inputs;
  Span<const WeightInfo> weights;
  StateInfo state;
  ParamBlock params;
  Span<const RegionInfo> regions{};
};

/// Memory that an OperandInfo points into.
struct OperandStorage {
  Room<InputInfo, kMaxOperands> in;
  Room<WeightInfo, kMaxOperands> w;
  Room<RegionInfo, kMaxRegions> regions;
  Room<TensorType, 2 * kMaxRegions * kMaxOperands> types;
};

/// Which rounding of activations the plan compiler chooses.
enum class ActPolicy : std::uint8_t {
  none,    ///< exact-math: weights are dequantised, activations stay f32
  weight,  ///< the rounding that the weight's type names
};

/// Everything of one op that does not need its type.
struct OpRow {
  Opcode opcode;
  std::string_view name;
  Rung rung;
  std::uint8_t max_rank;  ///< of a result
  Span<const Role> inputs;
  Span<const Role> outputs;
  Span<const Role> weights;
  Span<const std::string_view> regions;
  bool repeats_inputs;
  bool repeats_outputs;
  Span<const Alias> may_alias;
  StateLifecycle lifecycle;
  std::uint8_t params_version;
  std::uint16_t params_bytes;
  Span<const Field> fields;
  bool has_reference;
  bool has_expansion;
  OpSet expands_to;
  /// Decodes the parameters, runs the op's shape rule, and gives the number of outputs. `outputs`
  /// has room for kMaxOperands where the op repeats its outputs.
  Result<std::uint32_t> (*infer)(const OperandInfo& operands, Span<TensorType> outputs) noexcept;
  /// Sets the rounding fields of an encoded block from the types of its weights; true when any rounds.
  bool (*assign_act)(Span<const WeightInfo> weights, ActPolicy policy, Span<std::byte> params) noexcept;
  /// Where a valid call's result lies in its first input; null for an op whose results are never there.
  std::optional<std::uint64_t> (*view)(const OperandInfo& operands) noexcept;

  [[nodiscard]] constexpr bool takes_inputs(std::size_t count) const noexcept {
    return repeats_inputs ? count + 1 >= inputs.size() && count <= kMaxOperands : count == inputs.size();
  }
  [[nodiscard]] constexpr bool gives_outputs(std::size_t count) const noexcept {
    return repeats_outputs ? count + 1 >= outputs.size() && count <= kMaxOperands : count == outputs.size();
  }
  /// The role of operand `i`; operands past the last role have that one.
  [[nodiscard]] constexpr const Role& input(std::size_t i) const noexcept {
    return inputs[i < inputs.size() ? i : inputs.size() - 1];
  }
  [[nodiscard]] constexpr const Role& output(std::size_t i) const noexcept {
    return outputs[i < outputs.size() ? i : outputs.size() - 1];
  }
};

/// Puts the operands of one node into `call`, as op O's shape rule takes them.
///
/// Errors: Errc::invalid_param_block_abi.
template <class O>
[[nodiscard]] ZRT_COLD Result<void> fill_type_call(const OperandInfo& operands, TypeCall<O>& call) noexcept {
  if (auto r = decode_params<O>(operands.params, call.params); !r) return r;
  fill(call.in, operands.inputs);
  fill(call.w, operands.weights);
  if constexpr (HasRegions<O>) fill(call.region, operands.regions);
  call.state = operands.state;
  return {};
}

namespace detail {

/// Operands and results have at most kMaxRank axes: an op's rule reads and gives them without looking.
[[nodiscard]] constexpr Result<void> check_rank(std::string_view op, std::string_view what,
                                                const Shape& shape) noexcept {
  if (shape.rank <= kMaxRank) return {};
  return fail(Errc::unsupported_tensor_rank, op, ": ", what, " has ", unsigned{shape.rank}, " axes, at most ",
              unsigned{kMaxRank}, " expected");
}

[[nodiscard]] constexpr Result<void> check_ranks(std::string_view op, const OperandInfo& operands) noexcept {
  for (const InputInfo& input : operands.inputs)
    if (auto r = check_rank(op, "an input", input.type.shape); !r) return r;
  for (const WeightInfo& weight : operands.weights)
    if (auto r = check_rank(op, "a weight", weight.shape); !r) return r;
  return {};
}

template <class O>
ZRT_COLD Result<std::uint32_t> infer_row(const OperandInfo& operands, Span<TensorType> outputs) noexcept {
  TypeCall<O> call;
  if (auto r = check_ranks(O::name, operands); !r) return pass(r);
  if (auto r = fill_type_call<O>(operands, call); !r) return pass(r);
  if constexpr (RepeatsInputs<O>)
    for (const InputInfo& input : operands.inputs)
      if (!input.present()) return fail(Errc::dangling_value, O::name, ": an input is required");
  OutputTypes<O> types{};
  if (auto r = infer_types<O>(call, types); !r) return pass(r);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (auto r = check_rank(O::name, "a result", types[i].shape); !r) return pass(r);
    outputs[i] = types[i];
  }
  return static_cast<std::uint32_t>(types.size());
}

template <class O> consteval Span<const std::string_view> region_roles() {
  if constexpr (HasRegions<O>)
    return O::region_roles;
  else
    return {};
}

template <class O>
ZRT_COLD bool assign_act_row([[maybe_unused]] Span<const WeightInfo> weights, [[maybe_unused]] ActPolicy policy,
                             [[maybe_unused]] Span<std::byte> params) noexcept {
  bool rounds = false;
  if constexpr (RoundsActivations<O>) {
    typename O::Params decoded{};
    if (!decode_params<O>({O::Params::version, O::opcode, params}, decoded)) return false;
    for (const auto& act : O::act_fields) {
      const quant::TypeFacts* type = quant::facts(weights[act.weight].dtype);
      decoded.*act.field = policy == ActPolicy::weight && type != nullptr ? type->act : quant::Act::none;
      rounds = rounds || decoded.*act.field != quant::Act::none;
    }
    encode_params(decoded, params);
  }
  return rounds;
}

template <class O> ZRT_COLD std::optional<std::uint64_t> view_row(const OperandInfo& operands) noexcept {
  TypeCall<O> call;
  return fill_type_call<O>(operands, call) ? O::view(call) : std::nullopt;
}

template <class O> consteval auto view_function() {
  std::optional<std::uint64_t> (*function)(const OperandInfo&) noexcept = nullptr;
  if constexpr (HasView<O>) function = &view_row<O>;
  return function;
}

template <class O> consteval OpSet expands_to() {
  if constexpr (HasExpansion<O>)
    return OpSet::of(typename O::expands_to{});
  else
    return {};
}

template <class O>
inline constexpr OpRow kOpRow{O::opcode,
                              O::name,
                              O::rung,
                              max_rank<O>(),
                              O::input_roles,
                              O::output_roles,
                              O::weight_roles,
                              region_roles<O>(),
                              RepeatsInputs<O>,
                              RepeatsOutputs<O>,
                              O::may_alias,
                              O::lifecycle,
                              O::Params::version,
                              static_cast<std::uint16_t>(kParamBytes<typename O::Params>),
                              O::Params::fields,
                              HasReference<O>,
                              HasExpansion<O>,
                              expands_to<O>(),
                              &infer_row<O>,
                              &assign_act_row<O>,
                              view_function<O>()};

template <class... O> consteval auto op_rows(boost::mp11::mp_list<O...>) {
  std::array<const OpRow*, 256> rows{};
  ((rows[number(O::opcode)] = &kOpRow<O>), ...);
  return rows;
}

}  // namespace detail

/// Rows by number; null where the catalog has no op.
using OpTable = std::array<const OpRow*, 256>;

template <class Catalog> inline constexpr OpTable kOpTable = detail::op_rows(Catalog{});

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
