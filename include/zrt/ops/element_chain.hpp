// SPDX-License-Identifier: Apache-2.0
// zrt/ops/element_chain.hpp: several functions of single elements in one pass, operands of fewer elements read in place.
#pragma once

#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// What a step of a chain applies.
enum class ChainFamily : std::uint8_t { unary, binary, activation };

/// One step: y = f(lhs) or f(lhs, rhs). An operand below kChainInputs is an input, another the result of a step before.
struct ChainStep {
  ChainFamily family = ChainFamily::unary;
  std::uint8_t kind = 0;  ///< a UnaryKind, BinaryKind or Activation
  std::uint8_t lhs = 0;
  std::uint8_t rhs = 0;  ///< as lhs where f has one operand

  [[nodiscard]] static constexpr ChainStep of(std::uint32_t word) noexcept {
    const auto byte = [word](unsigned i) { return static_cast<std::uint8_t>(word >> 8 * i); };
    return {static_cast<ChainFamily>(byte(0)), byte(1), byte(2), byte(3)};
  }
  [[nodiscard]] constexpr std::uint32_t word() const noexcept {
    return static_cast<std::uint32_t>(family) | std::uint32_t{kind} << 8 | std::uint32_t{lhs} << 16 |
           std::uint32_t{rhs} << 24;
  }
};
inline constexpr std::size_t kChainInputs = 6;
inline constexpr std::size_t kChainSteps = 12;

struct ElementChainParams {
  std::uint32_t count = 0;
  std::array<std::uint32_t, kChainSteps> steps{};  ///< ChainStep::word

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ElementChainParams::count, "count"}, Member{&ElementChainParams::steps, "steps"});

  [[nodiscard]] constexpr ChainStep step(std::size_t i) const noexcept { return ChainStep::of(steps[i]); }
};

/// Where each element of a result has its element of an operand that is right-aligned with it and has extents of 1
/// where it is repeated: at i / inner mod extent.
struct SpreadOperand {
  std::uint64_t inner = 1;
  std::uint64_t extent = 1;

  /// True where the axes of more than one element stand together, so that one quotient finds the element.
  [[nodiscard]] static constexpr bool fits(const Shape& x, const Shape& y) noexcept {
    if (x.rank > y.rank) return false;
    enum { before, within, behind } place = before;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      const Dim to = y[y.size() - x.size() + axis];
      if (x[axis].is_constant(1)) {
        if (place == within && !to.is_constant(1)) place = behind;
      } else if (place == behind || x[axis] != to) {
        return false;
      } else {
        place = within;
      }
    }
    return true;
  }

  SpreadOperand() = default;
  SpreadOperand(const Shape& x, const Shape& y, const ExecutionContext& step) noexcept {
    bool before = false;
    for (std::size_t axis = y.size(); axis-- > 0;) {
      const std::size_t lead = y.size() - x.size();
      const bool repeated = axis < lead || x[axis - lead].is_constant(1);
      if (!repeated) {
        extent *= step.extents.of(y[axis]);
        before = true;
      } else if (!before) {
        inner *= step.extents.of(y[axis]);
      }
    }
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const noexcept { return i / inner % extent; }
};

/// y[i] = the last of up to twelve steps, each elementwise_unary, elementwise_binary or an activation of single
/// elements: inputs f32, right-aligned, repeated along axes where they have one element, as broadcast_to would.
///
/// Every step rounds as the op that it stands for.
struct ElementChain {
  using Params = ElementChainParams;
  static constexpr Opcode opcode{114};
  static constexpr std::string_view name = "element_chain";
  static constexpr Rung rung = Rung::fused;
  static constexpr std::uint8_t max_rank = kMaxRank;
  static constexpr auto input_roles =
      std::to_array({Role{"a"}, Role{"b", true}, Role{"c", true}, Role{"d", true}, Role{"e", true}, Role{"f", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<BroadcastTo, ElementwiseUnary, ElementwiseBinary, GatedAct>;
  static_assert(input_roles.size() == kChainInputs);

  static constexpr Result<void> infer(const TypeCall<ElementChain>& c, OutputTypes<ElementChain>& out) noexcept {
    Shape y;
    for (const InputInfo& x : c.in) {
      if (!x.present() && &x != &c.in[0]) continue;
      if (auto r = expect_input<ElementChain>(x, "of the chain", DType::f32, 0); !r) return r;
      if (!widen(y, x.type.shape)) return bad_shape<ElementChain>("of the chain", "the others' extents", x.type.shape);
    }
    for (const InputInfo& x : c.in)
      if (x.present() && !SpreadOperand::fits(x.type.shape, y))
        return bad_shape<ElementChain>("of the chain", "its axes of more than one element together", x.type.shape);
    if (c.params.count == 0 || c.params.count > kChainSteps) return bad_params<ElementChain>("count is not in 1..12");
    for (std::size_t i = 0; i < kChainSteps; ++i) {
      const ChainStep step = c.params.step(i);
      if (i >= c.params.count) {
        if (c.params.steps[i] != 0) return bad_params<ElementChain>("a step behind the last is not 0");
        continue;
      }
      if (!known(step)) return bad_params<ElementChain>("a step is not known");
      for (const std::size_t operand : {step.lhs, step.rhs})
        if (operand >= kChainInputs + i || (operand < kChainInputs && !c.in[operand].present()))
          return bad_params<ElementChain>("a step has an operand that is not there");
    }
    out[0] = {DType::f32, y};
    return {};
  }

  [[nodiscard]] static constexpr bool known(const ChainStep& step) noexcept {
    switch (step.family) {
      case ChainFamily::unary:
        return step.kind < kUnaryKinds && step.lhs == step.rhs;
      case ChainFamily::binary:
        return step.kind < kBinaryKinds;
      case ChainFamily::activation:
        return step.kind < kActivations && step.lhs == step.rhs;
    }
    return false;
  }

  [[nodiscard]] static float apply(const ChainStep& step, float a, float b) noexcept {
    bool unused = false;
    switch (step.family) {
      case ChainFamily::unary:
        return ElementwiseUnary::apply(static_cast<UnaryKind>(step.kind), a);
      case ChainFamily::binary:
        return ElementwiseBinary::apply(static_cast<BinaryKind>(step.kind), a, b, unused);
      case ChainFamily::activation:
        return activate(static_cast<Activation>(step.kind), a);
    }
    return a;
  }

  static void reference(const HostCall<ElementChain>& c, const ExecutionContext& step, const Worker&) noexcept {
    std::array<SpreadOperand, kChainInputs> from;
    for (std::size_t k = 0; k < kChainInputs; ++k)
      if (c.in[k].present()) from[k] = SpreadOperand(c.in[k].type.shape, c.out[0].type.shape, step);
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.out[0].elements(step); ++i) {
      std::array<float, kChainInputs + kChainSteps> value{};
      for (std::size_t k = 0; k < kChainInputs; ++k)
        if (c.in[k].present()) value[k] = c.in[k].as<float>()[from[k].at(i)];
      for (std::size_t s = 0; s < c.params.count; ++s) {
        const ChainStep each = c.params.step(s);
        value[kChainInputs + s] = math::sealed(apply(each, value[each.lhs], value[each.rhs]));
      }
      y[i] = value[kChainInputs + c.params.count - 1];
    }
  }

  template <class G> static constexpr Result<Outputs<G, ElementChain>> expand(G& g, const Call<G, ElementChain>& c) {
    Shape shape;
    for (const auto& x : c.in)
      if (x.present()) (void)widen(shape, g.type_of(x).shape);
    std::array<std::remove_cvref_t<decltype(c.in[0])>, kChainInputs + kChainSteps> value{};
    for (std::size_t k = 0; k < kChainInputs; ++k) {
      if (!c.in[k].present()) continue;
      value[k] = c.in[k];
      if (!(g.type_of(c.in[k]).shape == shape))
        value[k] = g.template emit<BroadcastTo>({.in = {c.in[k]}, .params = {ShapeParams::of(shape)}})[0];
    }
    for (std::size_t s = 0; s < c.params.count; ++s) {
      const ChainStep step = c.params.step(s);
      auto& y = value[kChainInputs + s];
      const auto a = value[step.lhs];
      if (step.family == ChainFamily::unary)
        y = g.template emit<ElementwiseUnary>({.in = {a}, .params = {static_cast<UnaryKind>(step.kind)}})[0];
      else if (step.family == ChainFamily::binary)
        y = g.template emit<ElementwiseBinary>(
            {.in = {a, value[step.rhs]}, .params = {static_cast<BinaryKind>(step.kind)}})[0];
      else
        y = g.template emit<GatedAct>({.in = {a, {}}, .params = {static_cast<Activation>(step.kind)}})[0];
    }
    return Outputs<G, ElementChain>{value[kChainInputs + c.params.count - 1]};
  }

 private:
  /// Adds the axes of `x`, right-aligned, to those of `y`; false where two extents differ and neither is 1.
  [[nodiscard]] static constexpr bool widen(Shape& y, const Shape& x) noexcept {
    Shape wide = x.rank > y.rank ? x : y;
    const Shape& narrow = x.rank > y.rank ? y : x;
    const std::size_t lead = wide.size() - narrow.size();
    for (std::size_t axis = 0; axis < narrow.size(); ++axis) {
      Dim& both = wide.dims[lead + axis];
      if (narrow[axis] == both || narrow[axis].is_constant(1)) continue;
      if (!both.is_constant(1)) return false;
      both = narrow[axis];
    }
    y = wide;
    return true;
  }
};
static_assert(Op<ElementChain> && HasReference<ElementChain> && HasExpansion<ElementChain>);

}  // namespace zrt::inline ZRT_ABI::ops
