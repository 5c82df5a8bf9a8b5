// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rope.hpp: rotary position embedding of the heads of a row.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/rope_frequencies.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slice.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// Rotates pairs of the first n_rot dims of every head by position · frequency.
///
/// x f32 [T, heads·head_dim], positions si32 [T], weight `factors` f32 [n_rot/2], optional.
/// y0 = fma(x0, cos, -(x1 · sin)), y1 = fma(x0, sin, x1 · cos).
struct Rope {
  using Params = RopeParams;
  static constexpr Opcode opcode{35};
  static constexpr std::string_view name = "rope";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"positions"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"factors", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to =
      boost::mp11::mp_list<Constant, BroadcastTo, Cast, Concat, ElementwiseBinary, ElementwiseUnary, Reshape, Slice>;

  /// The largest number of rotated pairs: bounds the tables that kernels keep.
  static constexpr std::uint32_t kMaxPairs = 256;

  /// The rule that every op with a rotation inside shares.
  template <class O>
  static constexpr Result<void> check(const Params& p, const InputInfo& positions, const WeightInfo& factors) noexcept {
    if (p.n_rot % 2 != 0 || p.n_rot > p.head_dim || p.n_rot / 2 > kMaxPairs)
      return bad_params<O>("n_rot must be even, at most head_dim and at most 512");
    if (static_cast<std::uint8_t>(p.style) > 1 || static_cast<std::uint8_t>(p.scaling) > 2)
      return bad_params<O>("style or scaling is not known");
    if (!(p.base > 1.0f) || !(p.factor > 0.0f)) return bad_params<O>("base must be above 1 and factor above 0");
    if (p.scaling == RopeScaling::yarn && p.original_context == 0)
      return bad_params<O>("yarn needs the original context length");
    if (auto r = expect_input<O>(positions, "positions", DType::si32, 1); !r) return r;
    if (positions.type.shape.rank != 1) return bad_shape<O>("positions", "one axis", positions.type.shape);
    return expect_vector<O>(factors, "factors", p.n_rot / 2, false);
  }

  static constexpr Result<void> infer(const TypeCall<Rope>& c, OutputTypes<Rope>& out) noexcept {
    if (auto r = expect_input<Rope>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = check<Rope>(c.params, c.in[1], c.w[0]); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x.rank != 2 || x[1].symbol != 0 || c.params.head_dim == 0 || x[1].extent % c.params.head_dim != 0 ||
        x[0] != c.in[1].type.shape[0])
      return bad_shape<Rope>("x", "[tokens, heads * head_dim]", x);
    out[0] = c.in[0].type;
    return {};
  }

  /// cos and sin of every pair at one position.
  struct Angles {
    std::array<float, kMaxPairs> cos;
    std::array<float, kMaxPairs> sin;
  };
  static void angles(const Params& p, const float* frequency, float magnitude, std::uint32_t position,
                     Angles& out) noexcept {
    for (std::uint32_t i = 0; i < p.n_rot / 2; ++i) {
      const float angle = math::sealed(static_cast<float>(position) * frequency[i]);
      out.cos[i] = math::cos(angle) * magnitude;
      out.sin[i] = math::sin(angle) * magnitude;
    }
  }

  /// Rotates one head in place.
  static void rotate(const Params& p, const Angles& angles, float* x) noexcept {
    const std::uint32_t half = p.n_rot / 2;
    for (std::uint32_t i = 0; i < half; ++i) {
      float& a = p.style == RopeStyle::neox ? x[i] : x[2 * i];
      float& b = p.style == RopeStyle::neox ? x[i + half] : x[2 * i + 1];
      const float x0 = a;
      const float x1 = b;
      a = __builtin_fmaf(x0, angles.cos[i], -(x1 * angles.sin[i]));
      b = __builtin_fmaf(x0, angles.sin[i], x1 * angles.cos[i]);
    }
  }

  static void reference(const HostCall<Rope>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    const float* factors = c.w[0].present() ? c.w[0].f32() : nullptr;
    std::array<float, kMaxPairs> frequency;
    for (std::uint32_t i = 0; i < p.n_rot / 2; ++i) frequency[i] = rope_frequency(p, factors, i);
    const std::uint32_t cols = c.in[0].cols(step);
    Angles at;
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * cols;
      float* y = c.out[0].as<float>() + std::uint64_t{t} * cols;
      if (x != y) std::memcpy(y, x, cols * sizeof(float));
      angles(p, frequency.data(), rope_magnitude(p), static_cast<std::uint32_t>(c.in[1].as<std::int32_t>()[t]), at);
      for (std::uint32_t head = 0; head < cols; head += p.head_dim) rotate(p, at, y + head);
    }
  }

  template <class G> static constexpr Result<Outputs<G, Rope>> expand(G& g, const Call<G, Rope>& c) {
    const Params& p = c.params;
    const Shape whole = g.type_of(c.in[0]).shape;
    if (p.n_rot == 0)
      return Outputs<G, Rope>{g.template emit<Reshape>({.in = {c.in[0]}, .params = {ShapeParams::of(whole)}})[0]};
    const std::uint32_t half = p.n_rot / 2;
    const Dim tokens = whole[0];
    const std::uint32_t heads = whole[1].extent / p.head_dim;
    auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    auto spread = [&](auto x, const Shape& to) {
      return g.template emit<BroadcastTo>({.in = {x}, .params = {ShapeParams::of(to)}})[0];
    };
    auto shaped = [&](auto x, const Shape& to) {
      return g.template emit<Reshape>({.in = {x}, .params = {ShapeParams::of(to)}})[0];
    };
    auto cut = [&](auto x, std::uint32_t start, std::uint32_t size) {
      return g.template emit<Slice>({.in = {x}, .params = SliceParams::of_last(g.type_of(x).shape, start, size)})[0];
    };
    // A pair's two elements are either halves of the rotated dims or the last axis of [.., half, 2].
    const bool neox = p.style == RopeStyle::neox;
    const Shape pairs = neox ? Shape{tokens, heads, half} : Shape{tokens, heads, half, 1};
    auto turned = [&](auto wave) {
      const Shape one = neox ? Shape{tokens, 1, half} : Shape{tokens, 1, half, 1};
      return spread(shaped(wave, one), pairs);
    };
    std::array<float, kMaxPairs> frequency{};
    for (std::uint32_t i = 0; i < half; ++i) frequency[i] = rope_frequency(p, nullptr, i);
    auto table = g.template emit<Constant>({.in = {}, .w = {g.constant({frequency.data(), half})}})[0];
    if (c.w[0].present())
      table = binary(BinaryKind::div, table, g.template emit<Constant>({.in = {}, .w = {c.w[0]}})[0]);
    const auto position = g.template emit<Cast>({.in = {c.in[1]}, .params = {DType::f32}})[0];
    const Shape waves{tokens, half};
    const auto angle = binary(BinaryKind::mul, spread(shaped(position, Shape{tokens, 1}), waves), spread(table, waves));
    const float magnitude = rope_magnitude(p);
    const auto scale = spread(g.template emit<Constant>({.in = {}, .w = {g.constant({&magnitude, 1})}})[0], waves);
    auto wave = [&](UnaryKind kind) {
      return turned(
          binary(BinaryKind::mul, g.template emit<ElementwiseUnary>({.in = {angle}, .params = {kind}})[0], scale));
    };
    const auto cos = wave(UnaryKind::cos);
    const auto sin = wave(UnaryKind::sin);
    const auto x = shaped(c.in[0], Shape{tokens, heads, p.head_dim});
    const auto rotated =
        shaped(cut(x, 0, p.n_rot), neox ? Shape{tokens, heads, p.n_rot} : Shape{tokens, heads, half, 2});
    const auto x0 = cut(rotated, 0, neox ? half : 1);
    const auto x1 = cut(rotated, neox ? half : 1, neox ? half : 1);
    const auto y0 = binary(BinaryKind::sub, binary(BinaryKind::mul, x0, cos), binary(BinaryKind::mul, x1, sin));
    const auto y1 = binary(BinaryKind::add, binary(BinaryKind::mul, x0, sin), binary(BinaryKind::mul, x1, cos));
    auto joined = [&](auto a, auto b) {
      return g.template emit<Concat>({.in = {a, b}, .params = ConcatParams::of_last(g.type_of(a).shape)})[0];
    };
    auto y = shaped(joined(y0, y1), Shape{tokens, heads, p.n_rot});
    if (p.n_rot < p.head_dim) y = joined(y, cut(x, p.n_rot, p.head_dim - p.n_rot));
    return Outputs<G, Rope>{shaped(y, whole)};
  }
};
static_assert(Op<Rope> && HasReference<Rope> && HasExpansion<Rope>);

}  // namespace zrt::inline ZRT_ABI::ops
