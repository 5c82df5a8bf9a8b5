// SPDX-License-Identifier: Apache-2.0
// zrt/ops/attention.hpp: attention of plain tensors of queries, keys and values.
#pragma once

#include <zrt/ops/attention_sum.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/select.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/softmax.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct AttentionParams {
  float scale = 1.0f;
  std::uint8_t causal = 0;  ///< query i sees keys 0..i only
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&AttentionParams::scale, "scale"}, Member{&AttentionParams::causal, "causal"},
                 Member{&AttentionParams::reserved, "reserved"});
};

/// y = softmax(scale · q kᵀ + mask) v: q f32 [..., S, D], k [..., T, D], v [..., T, E] -> y [..., S, E],
/// with the same leading axes.
///
/// mask f32 [S, T] or with leading axes, each 1 or that of q; a key whose entry is -infinity is not
/// visible and is part of no sum. A query that sees no key gives NaN.
/// Sums: keys in steps of 64 positions and segments of 512; scores by chain over D on the pre-scaled
/// query; P·V by chain over keys; the 64 probabilities by dot16's lanes and tree; segments merge in
/// index order (NUMERICS, Attention). The expansion sums scores and P·V by dot16.
struct Attention {
  using Params = AttentionParams;
  static constexpr Opcode opcode{105};
  static constexpr std::string_view name = "attention";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"q"}, Role{"k"}, Role{"v"}, Role{"mask", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to =
      boost::mp11::mp_list<Constant, BroadcastTo, ElementwiseBinary, DotGeneral, Iota, Compare, Select, Softmax>;

  static constexpr Result<void> infer(const TypeCall<Attention>& c, OutputTypes<Attention>& out) noexcept {
    for (std::size_t i = 0; i < 3; ++i)
      if (auto r = expect_input<Attention>(c.in[i], input_roles[i].name, DType::f32, 2); !r) return r;
    if (c.params.causal > 1) return bad_params<Attention>("causal is neither 0 nor 1");
    const Shape& q = c.in[0].type.shape;
    const Shape& k = c.in[1].type.shape;
    const Shape& v = c.in[2].type.shape;
    const std::size_t lead = q.rank - 2u;
    if (q.last().symbol != 0) return bad_shape<Attention>("q", "a constant last axis", q);
    if (k.rank != q.rank || k.last() != q.last())
      return bad_shape<Attention>("k", "the axes of q, and its last one", k);
    if (v.rank != q.rank || v[lead] != k[lead] || v.last().symbol != 0)
      return bad_shape<Attention>("v", "the axes of k, and a constant last one", v);
    for (std::size_t axis = 0; axis < lead; ++axis)
      if (k[axis] != q[axis] || v[axis] != q[axis])
        return bad_shape<Attention>(k[axis] != q[axis] ? "k" : "v", "the leading axes of q",
                                    k[axis] != q[axis] ? k : v);
    if (c.in[3].present()) {
      if (auto r = expect_input<Attention>(c.in[3], "mask", DType::f32, 2); !r) return r;
      const Shape& mask = c.in[3].type.shape;
      bool fits = mask.rank <= q.rank && mask[mask.rank - 2u] == q[lead] && mask.last() == k[lead];
      for (std::size_t axis = 0; fits && axis + 2 < mask.rank; ++axis)
        fits = mask[axis] == Dim(1) || mask[axis] == q[axis + q.rank - mask.rank];
      if (!fits) return bad_shape<Attention>("mask", "an entry per query and key", mask);
    }
    out[0] = {DType::f32, q.with_last(v.last())};
    return {};
  }

  /// A pre-scaled query and two sums of values.
  static constexpr CheckedSize reference_scratch(const TypeCall<Attention>& c, const Extents&) noexcept {
    const CheckedSize values = c.in[2].type.shape.last().extent;
    return (CheckedSize(c.in[0].type.shape.last().extent) + values + values) * sizeof(float);
  }

  static void reference(const HostCall<Attention>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const RowMajor q(c.in[0], step);
    const RowMajor k(c.in[1], step);
    const RowMajor v(c.in[2], step);
    const std::size_t lead = q.rank - 2u;
    const std::uint64_t queries = q.extent[lead];
    const std::uint64_t keys = k.extent[lead];
    const std::uint64_t key_dim = q.extent[lead + 1u];
    const std::uint64_t value_dim = v.extent[lead + 1u];
    std::uint64_t batches = 1;
    for (std::size_t axis = 0; axis < lead; ++axis) batches *= q.extent[axis];
    auto* scaled = reinterpret_cast<float*>(worker.scratch.data());
    for (std::uint64_t b = 0; b < batches; ++b) {
      const float* key = c.in[1].as<float>() + b * keys * key_dim;
      const float* value = c.in[2].as<float>() + b * keys * value_dim;
      const float* mask = c.in[3].present() ? c.in[3].as<float>() + mask_offset(c, step, b) : nullptr;
      for (std::uint64_t i = 0; i < queries; ++i) {
        const float* query = c.in[0].as<float>() + (b * queries + i) * key_dim;
        for (std::uint64_t d = 0; d < key_dim; ++d) scaled[d] = query[d] * c.params.scale;
        const std::uint64_t end = c.params.causal != 0 && i + 1 < keys ? i + 1 : keys;
        AttentionSum total(scaled + key_dim, value_dim);
        for (std::uint64_t segment = 0; segment < end; segment += kAttentionSegment) {
          AttentionSum part(scaled + key_dim + value_dim, value_dim);
          for (std::uint64_t first = segment; first < end && first < segment + kAttentionSegment;
               first += kAttentionStep) {
            std::array<float, kAttentionStep> scores{};
            std::uint64_t visible = 0;
            for (std::uint64_t j = 0; j < kAttentionStep && first + j < end; ++j) {
              const float bias = mask == nullptr ? 0.0f : mask[i * keys + first + j];
              if (bias == -std::numeric_limits<float>::infinity()) continue;
              visible |= std::uint64_t{1} << j;
              scores[j] = quant::chain(scaled, key + (first + j) * key_dim, key_dim);
              if (mask != nullptr) scores[j] += bias;
            }
            part.take(scores, visible, [&](std::uint64_t j) {
              return [row = value + (first + j) * value_dim](std::uint64_t d) noexcept { return row[d]; };
            });
          }
          total.merge(part);
        }
        float* y = c.out[0].as<float>() + (b * queries + i) * value_dim;
        for (std::uint64_t d = 0; d < value_dim; ++d) y[d] = total.o[d] / total.l;
      }
    }
  }

  template <class G> static constexpr Result<Outputs<G, Attention>> expand(G& g, const Call<G, Attention>& c) {
    const Shape q = g.type_of(c.in[0]).shape;
    const Shape k = g.type_of(c.in[1]).shape;
    const auto lead = static_cast<std::uint8_t>(q.rank - 2);
    auto spread = [&](auto value, const Shape& to) {
      return g.template emit<BroadcastTo>({.in = {value}, .params = {ShapeParams::of(to)}})[0];
    };
    auto scalar = [&](float value, const Shape& to) {
      return spread(g.template emit<Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0], to);
    };
    auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    DotGeneralParams dims;
    dims.batch_count = lead;
    for (std::uint8_t axis = 0; axis < lead; ++axis) dims.batch_lhs[axis] = dims.batch_rhs[axis] = axis;
    dims.contract_count = 1;
    dims.contract_lhs[0] = dims.contract_rhs[0] = static_cast<std::uint8_t>(lead + 1);
    const auto scaled = binary(BinaryKind::mul, c.in[0], scalar(c.params.scale, q));
    auto scores = g.template emit<DotGeneral>({.in = {scaled, c.in[1]}, .params = dims})[0];
    const Shape all = q.with_last(k[lead]);
    if (c.in[3].present()) scores = binary(BinaryKind::add, scores, spread(c.in[3], all));
    if (c.params.causal != 0) {
      const Shape pairs{q[lead], k[lead]};
      auto index = [&](std::uint8_t axis) {
        return g.template emit<Iota>({.in = {}, .params = {ShapeParams::of(pairs), axis, DType::si32}})[0];
      };
      const auto seen =
          spread(g.template emit<Compare>({.in = {index(1), index(0)}, .params = {CompareKind::le}})[0], all);
      const auto hidden = scalar(-std::numeric_limits<float>::infinity(), all);
      scores = g.template emit<Select>({.in = {seen, scores, hidden}})[0];
    }
    const auto p = g.template emit<Softmax>({.in = {scores}})[0];
    dims.contract_rhs[0] = lead;
    return g.template emit<DotGeneral>({.in = {p, c.in[2]}, .params = dims});
  }

  /// Where the mask of batch `b` begins: axes of extent 1 stand for all.
  static std::uint64_t mask_offset(const HostCall<Attention>& c, const ExecutionContext& step,
                                   std::uint64_t b) noexcept {
    const RowMajor q(c.in[0], step);
    const RowMajor mask(c.in[3], step);
    const std::size_t missing = std::size_t{q.rank} - mask.rank;
    std::uint64_t offset = 0;
    for (std::size_t axis = q.rank - 2u; axis-- > 0; b /= q.extent[axis])
      if (axis >= missing && mask.extent[axis - missing] != 1)
        offset += b % q.extent[axis] * mask.stride[axis - missing];
    return offset;
  }
};
static_assert(Op<Attention> && HasReference<Attention> && HasExpansion<Attention>);

}  // namespace zrt::inline ZRT_ABI::ops
