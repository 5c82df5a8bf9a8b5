// SPDX-License-Identifier: Apache-2.0
// zrt/ops/linear_heads.hpp: a projection of each head by a matrix of its own.
#pragma once

#include <zrt/ops/concat.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/transpose.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct LinearHeadsParams {
  std::uint32_t heads = 0;
  std::uint32_t pass = 0;  ///< last dims of a head of x that become the first of y as they are
  quant::Act act = quant::Act::none;
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LinearHeadsParams::heads, "heads"}, Member{&LinearHeadsParams::pass, "pass"},
                 Member{&LinearHeadsParams::act, "act"}, Member{&LinearHeadsParams::reserved, "reserved"});
};

/// y[h] = (p, W[h] n) for each head x[h] = (n, p), where p has `pass` dims and n the K others.
///
/// x f32 [T, heads·(K + pass)], weight [heads, N, K] of any type -> f32 [T, heads·(pass + N)].
/// Sums: dot16 over K, or blocks where `act` rounds n.
struct LinearHeads {
  using Params = LinearHeadsParams;
  static constexpr Opcode opcode{109};
  static constexpr std::string_view name = "linear_heads";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array({ActField<LinearHeadsParams>{0, &LinearHeadsParams::act}});
  using expands_to = boost::mp11::mp_list<Constant, Reshape, Slice, DotGeneral, Transpose, Concat>;

  static constexpr Result<void> infer(const TypeCall<LinearHeads>& c, OutputTypes<LinearHeads>& out) noexcept {
    using Self = LinearHeads;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (p.heads == 0) return bad_params<Self>("heads must not be 0");
    if (x.rank != 2 || x[1].symbol != 0 || x[1].extent % p.heads != 0 || x[1].extent / p.heads <= p.pass)
      return bad_shape<Self>("x", "[tokens, heads * (K + pass)]", x);
    const std::uint32_t cols = x[1].extent / p.heads - p.pass;
    if (!c.w[0].present()) return fail(Errc::missing_weight, "linear_heads: weight weight is not bound");
    const Shape& w = c.w[0].shape;
    if (w.rank != 3 || w[0] != Dim(p.heads) || w[1].symbol != 0) return bad_shape<Self>("weight", "[heads, N, K]", w);
    if (auto r = expect_matrix<Self>({true, c.w[0].dtype, Shape{w[1], w[2]}}, "weight", cols); !r) return r;
    if (!act_fits(c.w[0].dtype, p.act)) return bad_params<Self>("act does not fit the weight's type");
    const auto width = (CheckedSize(p.heads) * (CheckedSize(p.pass) + w[1].extent)).get("y");
    if (!width || *width > 0xffffffffu) return bad_shape<Self>("weight", "rows that fit 32 bits", w);
    out[0] = {DType::f32, x.with_last(static_cast<std::uint32_t>(*width))};
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<LinearHeads>& c, const Extents&) noexcept {
    return projection_scratch(c.w[0].shape.last().extent);
  }

  static void reference(const HostCall<LinearHeads>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Params& p = c.params;
    const std::uint32_t cols = c.w[0].cols;
    const std::uint32_t outputs = c.w[0].rows / p.heads;
    const std::uint64_t units = std::uint64_t{c.in[0].rows(step)} * p.heads;
    for (std::uint64_t unit = 0; unit < units; ++unit) {
      const float* x = c.in[0].as<float>() + unit * (cols + p.pass);
      float* y = c.out[0].as<float>() + unit * (p.pass + outputs);
      std::memcpy(y, x + cols, p.pass * sizeof(float));
      const ActivationRow row = round_row(x, cols, p.act, worker.scratch);
      const std::uint64_t first = unit % p.heads * outputs;
      for (std::uint32_t n = 0; n < outputs; ++n) y[p.pass + n] = project(c.w[0], first + n, row, worker.scratch);
    }
  }

  template <class G> static constexpr Result<Outputs<G, LinearHeads>> expand(G& g, const Call<G, LinearHeads>& c) {
    const Params& p = c.params;
    const Shape whole = g.type_of(c.in[0]).shape;
    const std::uint32_t cols = whole[1].extent / p.heads - p.pass;
    const auto shaped = [&](auto x, const Shape& to) {
      return g.template emit<Reshape>({.in = {x}, .params = {ShapeParams::of(to)}})[0];
    };
    const auto cut = [&](auto x, std::uint32_t start, std::uint32_t size) {
      return g.template emit<Slice>({.in = {x}, .params = SliceParams::of_last(g.type_of(x).shape, start, size)})[0];
    };
    const auto x = shaped(c.in[0], Shape{whole[0], p.heads, cols + p.pass});
    const auto w = g.template emit<Constant>({.in = {}, .w = {c.w[0]}})[0];
    DotGeneralParams dims;
    dims.batch_count = dims.contract_count = 1;
    dims.batch_lhs[0] = 1;
    dims.batch_rhs[0] = 0;
    dims.contract_lhs[0] = dims.contract_rhs[0] = 2;
    const auto by_head = g.template emit<DotGeneral>({.in = {cut(x, 0, cols), w}, .params = dims})[0];
    TransposeParams turned;
    turned.rank = 3;
    turned.perm[0] = 1;
    turned.perm[1] = 0;
    turned.perm[2] = 2;
    auto y = g.template emit<Transpose>({.in = {by_head}, .params = turned})[0];
    if (p.pass != 0) {
      const auto passed = cut(x, cols, p.pass);
      y = g.template emit<Concat>({.in = {passed, y}, .params = ConcatParams::of_last(g.type_of(passed).shape)})[0];
    }
    const std::uint32_t width = p.heads * g.type_of(y).shape.last().extent;
    return Outputs<G, LinearHeads>{shaped(y, Shape{whole[0], width})};
  }
};
static_assert(Op<LinearHeads> && HasReference<LinearHeads> && HasExpansion<LinearHeads>);

}  // namespace zrt::inline ZRT_ABI::ops
