// SPDX-License-Identifier: Apache-2.0
// zrt/ops/op.hpp: what an op's header must say, and the argument type that all hosts of an op share.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/execution_context.hpp>
#include <zrt/ops/host.hpp>
#include <zrt/ops/params.hpp>
#include <zrt/ops/rule_call.hpp>
#include <zrt/ops/state.hpp>
#include <zrt/ops/statement.hpp>
#include <zrt/quant/activation.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace zrt::inline ZRT_ABI {

/// One operand position of an op.
struct Role {
  std::string_view name;
  bool optional = false;
};

/// An output that may lie where an input lay, if that input dies with the op.
struct Alias {
  std::uint8_t output;
  std::uint8_t input;
};

/// Ties a rounding field of a parameter struct to the weight role whose type decides it.
template <class P, class Act = quant::Act> struct ActField {
  std::uint8_t weight;
  Act P::* field;
};

inline constexpr std::array<Role, 0> kNoRoles{};
inline constexpr std::array<Alias, 0> kNoAlias{};

/// Operands per kind that one node may have.
inline constexpr std::size_t kMaxOperands = 64;
/// Regions that one node may have.
inline constexpr std::size_t kMaxRegions = 2;
/// How deep regions may lie within each other; the graph or program itself counts 0.
inline constexpr std::size_t kMaxRegionDepth = 64;

/// Operands of an op whose last role repeats: as many as its node has, at most kMaxOperands.
template <class T> struct Repeated {
  std::array<T, kMaxOperands> items{};
  std::uint32_t count = 0;

  constexpr Repeated() = default;
  constexpr Repeated(std::initializer_list<T> list) noexcept {
    for (const T& item : list)
      if (count < kMaxOperands) items[count++] = item;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) noexcept { return items[i]; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const noexcept { return items[i]; }
  [[nodiscard]] constexpr const T* data() const noexcept { return items.data(); }
  [[nodiscard]] constexpr const T* begin() const noexcept { return items.data(); }
  [[nodiscard]] constexpr const T* end() const noexcept { return items.data() + count; }
};

/// An op whose last input role stands for any number of inputs, none included.
template <class O>
concept RepeatsInputs = requires { requires O::repeats_inputs; };
/// An op whose last output role stands for any number of outputs.
template <class O>
concept RepeatsOutputs = requires { requires O::repeats_outputs; };
/// An op that runs regions: graphs of their own, closed over their parameters.
template <class O>
concept HasRegions = requires { O::region_roles.size(); };

template <class O> inline constexpr std::size_t kInputs = O::input_roles.size();
template <class O> inline constexpr std::size_t kOutputs = O::output_roles.size();
template <class O> inline constexpr std::size_t kWeights = O::weight_roles.size();
template <class O>
inline constexpr std::size_t kRegions = [] {
  if constexpr (HasRegions<O>)
    return O::region_roles.size();
  else
    return std::size_t{0};
}();

template <class T, class O>
using InputList = std::conditional_t<RepeatsInputs<O>, Repeated<T>, std::array<T, kInputs<O>>>;
template <class T, class O>
using OutputList = std::conditional_t<RepeatsOutputs<O>, Repeated<T>, std::array<T, kOutputs<O>>>;

namespace detail {
struct NoRegions {};
template <class B, class O> struct RegionList {
  using type = NoRegions;
};
template <class B, HasRegions O> struct RegionList<B, O> {
  using type = std::array<typename B::Region, kRegions<O>>;
};
}  // namespace detail

/// Everything an op works on, as host B names it: a backend, a graph builder, the shape rule.
///
/// An optional operand that is absent is a default-constructed handle, for which `present` is false.
template <class B, class O> struct Call {
  InputList<typename B::Tensor, O> in{};
  OutputList<typename B::Tensor, O> out{};
  std::array<typename B::Weight, kWeights<O>> w{};
  typename B::State state{};
  typename O::Params params{};
  [[no_unique_address]] typename detail::RegionList<B, O>::type region{};
};

template <class G, class O> using Outputs = OutputList<typename G::Tensor, O>;

/// Copies operands into a call's list, each through `get`; `from` has as many as the op takes.
template <class T, std::size_t N, class From, class Get>
constexpr void fill(std::array<T, N>& list, const From& from, Get get) noexcept {
  for (std::size_t i = 0; i < N; ++i) list[i] = get(from[i]);
}
template <class T, class From, class Get> constexpr void fill(Repeated<T>& list, const From& from, Get get) noexcept {
  list.count = static_cast<std::uint32_t>(from.size() < kMaxOperands ? from.size() : kMaxOperands);
  for (std::uint32_t i = 0; i < list.count; ++i) list.items[i] = get(from[i]);
}
template <class List, class From> constexpr void fill(List& list, const From& from) noexcept {
  fill(list, from, [](const auto& operand) { return operand; });
}

/// A weight as the shape rule sees it; `bound` is false for an optional role that is absent.
struct WeightInfo {
  bool bound = false;
  DType dtype = DType::f32;
  Shape shape{};

  [[nodiscard]] constexpr bool present() const noexcept { return bound; }
};

/// An input as the shape rule sees it.
struct InputInfo {
  bool bound = false;
  TensorType type{};

  [[nodiscard]] constexpr bool present() const noexcept { return bound; }
};

/// A region as the shape rule sees it: the types of its parameters and results.
struct RegionInfo {
  Span<const TensorType> params;
  Span<const TensorType> results;
};

/// The host of shape inference: types instead of memory.
struct TypeHost {
  using Tensor = InputInfo;
  using Weight = WeightInfo;
  using State = StateInfo;
  using Region = RegionInfo;
};

template <class O> using TypeCall = Call<TypeHost, O>;
template <class O> using OutputTypes = OutputList<TensorType, O>;

template <class O> using HostCall = Call<Host, O>;

/// An op whose meaning stands in plain loops.
template <class O>
concept HasReference = requires(const HostCall<O>& call, const ExecutionContext& step, const Worker& worker) {
  { O::reference(call, step, worker) } noexcept;
};

/// An op that says which other ops it is made of.
template <class O>
concept HasExpansion = requires { typename O::expands_to; };

/// An op whose reference takes more steps than its operands and results have elements says how many for each element of
/// its first result; extents are constants.
template <class O>
concept HasStepsPerElement = requires(const TypeCall<O>& call) {
  { O::steps_per_element(call) } -> std::same_as<CheckedSize>;
};

/// An op whose reference needs memory beyond its outputs; sized with the symbols at their bounds.
template <class O>
concept HasReferenceScratch = requires(const TypeCall<O>& call, const Extents& bounds) {
  { O::reference_scratch(call, bounds) } -> std::same_as<CheckedSize>;
};

/// An op whose only result may be a part of its first input. `view` returns the byte of the input where the result
/// begins, if that is the same in every step. The planner then lets both share memory, and nothing runs.
template <class O>
concept HasView = O::output_roles.size() == 1 && requires(const TypeCall<O>& call) {
  { O::view(call) } noexcept -> std::same_as<std::optional<std::uint64_t>>;
};

/// The most axes that a result of the op may have: `O::max_rank` if the op names one, else kMaxRank for primitives and
/// kMaxActivationRank for all others.
template <class O> [[nodiscard]] consteval std::uint8_t max_rank() {
  if constexpr (requires { O::max_rank; })
    return O::max_rank;
  else
    return O::rung == Rung::primitive ? kMaxRank : kMaxActivationRank;
}

/// An op that says how C computes it, in `template <class E> static void emit_c(E& f, const Call<E, O>& c) noexcept`:
/// what its reference computes, in the same order; a result without elements is not asked for.
///
/// `f` is a plan::c::Context. `emit_c_scratch = true` asks for the bytes of `reference_scratch`, at `f.scratch`. A long
/// form calls a function of plan/c, which `f` finds by its namespace.
template <class O>
concept HasFormInC = requires(TypeHost& f, const TypeCall<O>& call) { O::emit_c(f, call); };
/// An op whose form in C may be off the reference's bits, by `bound_in_c` relative to the larger magnitude, because it
/// calls libm. All others give the reference's bits.
template <class O>
concept StatesBoundInC = requires {
  { O::bound_in_c } -> std::convertible_to<float>;
};
/// Eight units in the last place of f32: libm's functions and the library's own are each within a few of the exact number.
inline constexpr float kLibmBound = 0x1p-20f;
/// An op that says why C leaves it out.
template <class O>
concept HasNoFormInC = requires {
  { O::emit_c } -> std::convertible_to<NoForm>;
};
/// An op with a form in C, an expansion, or the reason why C leaves it out.
template <class O>
concept SaysItsFormInC = HasFormInC<O> || HasNoFormInC<O> || HasExpansion<O>;

/// An op with projections whose activations may be rounded; see `assign_act` in the plan compiler.
template <class O>
concept RoundsActivations = requires { O::act_fields.size(); };

/// An op that says its number, name and rung.
template <class O>
concept NamesItself = requires {
  { O::opcode } -> std::convertible_to<Opcode>;
  { O::name } -> std::convertible_to<std::string_view>;
  { O::rung } -> std::convertible_to<Rung>;
};
/// An op that says its inputs, outputs, weights, in-place rules and class of state.
template <class O>
concept StatesItsOperands = requires {
  O::input_roles.size();
  O::output_roles.size();
  O::weight_roles.size();
  O::may_alias.size();
  { O::lifecycle } -> std::convertible_to<StateLifecycle>;
};
/// An op with a rule of its own for graphs.
template <class O>
concept HasGraphRule = requires(const TypeCall<O>& call, OutputTypes<O>& out) {
  { O::infer(call, out) } noexcept -> std::same_as<Result<void>>;
};
/// An operation of programs with one rule for graphs and programs; see rule_call.hpp.
template <class O>
concept HasTypeRule = requires(RuleCall<Dim>& call) {
  { O::infer(call) } noexcept -> std::same_as<Result<void>>;
  O::attributes.size();
};
/// An op that infers the types of its outputs.
template <class O>
concept HasShapeRule = HasGraphRule<O> || HasTypeRule<O>;
/// An op whose meaning is not the catalog's: what it runs is listed in the backend by the host.
template <class O>
concept DefinedByHost = requires { requires O::defined_by_host; };
/// A macro is defined by its expansion alone; every other op has loops, an expansion, or both, unless the
/// host defines it.
template <class O>
concept HasMeaning = HasReference<O> || HasExpansion<O> || DefinedByHost<O>;

/// A catalog op.
template <class O>
concept Op =
    NamesItself<O> && ParamStruct<typename O::Params> && StatesItsOperands<O> && HasShapeRule<O> && HasMeaning<O>;

/// Fails a shape rule, naming op, operand and both shapes.
template <class O>
[[nodiscard]] constexpr std::unexpected<Error> bad_shape(std::string_view operand, std::string_view expected,
                                                         const Shape& found) noexcept {
  Error error = Error::of(Errc::shape_mismatch, O::name, ": ", operand, " must have ", expected, ", found ");
  append_shape(error, found);
  return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, number(O::opcode)));
}

template <class O>
[[nodiscard]] constexpr std::unexpected<Error> bad_dtype(std::string_view operand, std::string_view expected,
                                                         DType found) noexcept {
  Error error = Error::of(Errc::dtype_mismatch, O::name, ": ", operand, " must be ", expected, ", found ", name(found));
  return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, number(O::opcode)));
}

template <class O> [[nodiscard]] constexpr std::unexpected<Error> bad_params(std::string_view what) noexcept {
  Error error = Error::of(Errc::invalid_params, O::name, ": ", what);
  return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, number(O::opcode)));
}

}  // namespace zrt::inline ZRT_ABI
