// SPDX-License-Identifier: Apache-2.0
// zrt/model/check_arch.hpp: builds an arch program at compile time and finds what it forgets.
#pragma once

#include <zrt/model/family.hpp>
#include <zrt/ops/infer_types.hpp>
#include <zrt/ops/op.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

enum class ArchFault : std::uint8_t {
  none,
  value_not_produced,  ///< an op reads a value before it is produced
  role_not_bound,      ///< a required weight role of an op is not bound
  state_not_declared,  ///< a stateful op has no state
  shape,               ///< an op's shape rule refuses its operands
  no_output,           ///< the program names no output
};

/// The first fault of an arch program, and the op that met it.
struct ArchReport {
  ArchFault fault = ArchFault::none;
  Opcode opcode{};
};

/// An op that a list of a program's ops holds. It is an argument, so that a compiler that rejects the concept names both.
template <class List, class O>
concept ListsOp = boost::mp11::mp_contains<List, O>::value;

/// A builder that only checks: a host of `Call` that runs at compile time. Families with the same list of ops share it.
template <class Ops> class CheckBuilder {
 public:
  struct Tensor {
    std::uint32_t index = ~0u;
    [[nodiscard]] constexpr bool present() const noexcept { return index != ~0u; }
  };
  struct Weight {
    WeightInfo info{};
    [[nodiscard]] constexpr bool present() const noexcept { return info.bound; }
  };
  struct State {
    StateInfo info{};
  };

  /// `optional` says whether the imagined file holds the tensors that may be absent.
  constexpr explicit CheckBuilder(bool optional) noexcept : optional_(optional) {}

  constexpr SymbolId symbol(const Name&, std::uint32_t) noexcept { return ++symbols_; }
  constexpr Tensor input(const Name&, const TensorType& type) noexcept { return add(type); }
  constexpr void output(const Name&, Tensor value) noexcept { outputs_ += value.present() ? 1u : 0u; }
  constexpr Weight weight(const Name&, const Shape& shape) noexcept { return {{true, DType::f32, shape}}; }
  constexpr Weight optional_weight(const Name& name, const Shape& shape) noexcept {
    return optional_ ? weight(name, shape) : Weight{};
  }
  constexpr Weight constant(Span<const float> data) noexcept {
    return {{true, DType::f32, Shape{static_cast<std::uint32_t>(data.size())}}};
  }
  constexpr State state(const StateInfo& info) noexcept { return {info}; }
  constexpr TensorType type_of(Tensor value) const noexcept {
    return value.index < count_ ? types_[value.index] : TensorType{};
  }

  template <class O> constexpr std::array<Tensor, kOutputs<O>> emit(const Call<CheckBuilder, O>& call) noexcept {
    static_assert(ListsOp<Ops, O>, "zrt: an arch program emits an op that is not in its list Ops; add it there");
    TypeCall<O> typed;
    for (std::size_t i = 0; i < kInputs<O>; ++i) {
      if (call.in[i].index < count_)
        typed.in[i] = {true, types_[call.in[i].index]};
      else if (!O::input_roles[i].optional || call.in[i].present())
        report(ArchFault::value_not_produced, O::opcode);
    }
    for (std::size_t i = 0; i < kWeights<O>; ++i) {
      typed.w[i] = call.w[i].info;
      if (!call.w[i].present() && !O::weight_roles[i].optional) report(ArchFault::role_not_bound, O::opcode);
    }
    typed.state = call.state.info;
    if (typed.state.lifecycle != O::lifecycle) report(ArchFault::state_not_declared, O::opcode);
    typed.params = call.params;
    OutputTypes<O> types{};
    if (report_.fault == ArchFault::none && !infer_types<O>(typed, types)) report(ArchFault::shape, O::opcode);
    std::array<Tensor, kOutputs<O>> out{};
    for (std::size_t i = 0; i < kOutputs<O>; ++i) out[i] = add(types[i]);
    return out;
  }

  [[nodiscard]] constexpr ArchReport result() const noexcept {
    if (report_.fault == ArchFault::none && outputs_ == 0) return {ArchFault::no_output, {}};
    return report_;
  }

 private:
  constexpr Tensor add(const TensorType& type) noexcept {
    if (count_ == types_.size()) return {};
    types_[count_] = type;
    return {count_++};
  }
  constexpr void report(ArchFault fault, Opcode opcode) noexcept {
    if (report_.fault == ArchFault::none) report_ = {fault, opcode};
  }

  bool optional_;
  SymbolId symbols_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t outputs_ = 0;
  ArchReport report_{};
  std::array<TensorType, 256> types_{};
};

namespace detail {

template <class Arch> consteval ArchReport check_arch() {
  ArchReport worst{};
  for (const auto& config : Arch::canonical()) {
    for (bool optional : {true, false}) {
      CheckBuilder<typename Arch::Ops> builder(optional);
      Arch::build(builder, config);
      if (worst.fault == ArchFault::none) worst = builder.result();
    }
  }
  return worst;
}

/// The op type of a report, or void.
template <class Arch, Opcode kOpcode> struct OpOfReport {
  template <class O> using HasNumber = boost::mp11::mp_bool<O::opcode == kOpcode>;
  using Found = boost::mp11::mp_copy_if<typename Arch::Ops, HasNumber>;
  using type = boost::mp11::mp_front<boost::mp11::mp_push_back<Found, void>>;
};

}  // namespace detail

/// An arch program whose ops read only what an earlier op wrote.
template <class Arch, class O, ArchFault kFault>
concept ReadsOnlyProducedValues = kFault != ArchFault::value_not_produced;
/// An arch program that names a weight for every role that its ops require.
template <class Arch, class O, ArchFault kFault>
concept BindsEveryWeightRole = kFault != ArchFault::role_not_bound;
/// An arch program without a fault.
template <class Arch, class O, ArchFault kFault>
concept IsWellFormed = kFault == ArchFault::none;

/// The assertions about one report. Its arguments name arch and op in every compiler's message.
template <class Arch, class O, ArchFault kFault> struct CheckArchReport {
  static_assert(ReadsOnlyProducedValues<Arch, O, kFault>, "zrt: an arch program reads a value before it is produced");
  static_assert(BindsEveryWeightRole<Arch, O, kFault>, "zrt: an arch program leaves a required weight role unbound");
  static_assert(IsWellFormed<Arch, O, kFault> || kFault == ArchFault::value_not_produced ||
                    kFault == ArchFault::role_not_bound,
                "zrt: an arch program is not well-formed: state, shape or output");
  static constexpr bool kOk = kFault == ArchFault::none;
};

/// Asserts that a family is one, and that its program builds for each of its canonical configs, with and without the
/// optional tensors.
template <class Arch> struct CheckArch {
  static_assert(Family<Arch>, "zrt: a model family lacks a member that docs/adding-a-family.md lists");
  static constexpr ArchReport kReport = detail::check_arch<Arch>();
  static constexpr bool kOk =
      CheckArchReport<Arch, typename detail::OpOfReport<Arch, kReport.opcode>::type, kReport.fault>::kOk;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
