// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_attention.hpp: attention from two products with a softmax between them.
#pragma once

#include <zrt/ir/passes/causal_mask.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/select.hpp>

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// What a pattern of attention is made of.
struct AttentionParts {
  std::array<std::uint32_t, 3> operand{};      ///< q, k and v as the products read them
  std::array<ops::DotGeneralParams, 2> dot{};  ///< of the scores, and of the values
  Shape scores{};                              ///< of what the softmax sees
  double scale = 1;
  std::uint32_t mask = kNone;    ///< what is added
  std::uint32_t choice = kNone;  ///< of i1: which scores are taken, or which are hidden if `inverted`
  bool inverted = false;
  bool causal = false;
  bool finite = false;  ///< what hides later keys is a finite score: nothing else may hide keys beside it
  bool lifted = false;  ///< what the mask or the choice hides has the lowest score, not -infinity
};

/// True while neither a mask nor a choice hides keys.
[[nodiscard]] inline bool is_open(const AttentionParts& parts) noexcept {
  return parts.mask == kNone && parts.choice == kNone;
}

/// Steps from `v` through reshapes that leave the last two axes as they are.
[[nodiscard]] inline std::uint32_t with_other_leads(Pattern& p, std::uint32_t v) noexcept {
  for (;;) {
    Span<const std::uint32_t> in;
    const Shape to = p.type(v).shape;
    const std::uint32_t at = p.mark();
    if (!p.made_by<ops::Reshape>(v, in)) return v;
    const Shape from = p.type(in[0]).shape;
    if (from.rank < 2 || to.rank < 2 || from.last() != to.last() || from[from.rank - 2u] != to[to.rank - 2u]) {
      p.back(at);
      return v;
    }
    v = in[0];
  }
}

/// A product of f32 that contracts one axis of each operand and batches over all others but one.
[[nodiscard]] inline bool is_batched_matmul(const Pattern& p, const ops::DotGeneralParams& dot, std::uint32_t lhs,
                                            std::uint32_t rhs) noexcept {
  return dot.contract_count == 1 && dot.accum_dtype == DType::f32 && dot.out_dtype == DType::f32 && p.is_f32(lhs) &&
         p.type(lhs).shape.rank == dot.batch_count + 2 && p.type(rhs).shape.rank == dot.batch_count + 2;
}

/// `v` is scale · q kᵀ, to which a mask may be added, and in which a choice may hide keys.
[[nodiscard]] inline bool attention_scores(Pattern& p, std::uint32_t v, AttentionParts& parts, int depth = 0) noexcept {
  const AttentionParts before = parts;
  const Dim queries = parts.scores[parts.scores.rank - 2u];
  const Dim keys = parts.scores.last();
  const auto again = [&](std::uint32_t inner) {
    parts = before;
    return depth < 3 && attention_scores(p, inner, parts, depth + 1);
  };
  const auto product = [&] {
    parts = before;
    double scale = 1;
    Span<const std::uint32_t> in;
    const auto dot = p.made_by<ops::DotGeneral>(with_other_leads(p, unscaled(p, v, scale)), in);
    if (!dot || !is_batched_matmul(p, *dot, in[0], in[1])) return false;
    parts.dot[0] = *dot;
    for (std::size_t i = 0; i < 2; ++i) parts.operand[i] = unscaled(p, in[i], scale);
    parts.scale = scale * double{dot->alpha};
    return is_f32_factor(parts.scale);
  };
  const auto choice = [&] {
    Span<const std::uint32_t> in;
    if (!p.made_by<ops::Select>(v, in)) return false;
    for (const bool inverted : {false, true}) {
      const auto fill = p.splat(in[inverted ? 1 : 2]);
      const std::uint32_t at = p.mark();
      if (fill && *fill <= double{kHidden} && again(in[inverted ? 2 : 1])) {
        const bool finite = *fill != -std::numeric_limits<double>::infinity();
        if (is_causal_choice(p, in[0], queries, keys, inverted) && (!finite || is_open(parts))) {
          parts.causal = true;
          parts.finite = parts.finite || finite;
          return true;
        }
        // A query that sees no key gives NaN in both forms only if nothing finite hides its keys.
        if (!finite && !parts.finite && is_open(parts)) {
          parts.choice = in[0];
          parts.inverted = inverted;
          return true;
        }
      }
      p.back(at);
    }
    return false;
  };
  // scores · taken + shift, and with a difference.
  const auto masked_product = [&](std::uint32_t masked, std::uint32_t shift, float sign) {
    return p.commutes(masked, ops::BinaryKind::mul, [&](std::uint32_t scores, std::uint32_t taken) {
      if (!is_causal_product(p, taken, shift, sign, queries, keys) || !again(scores) || !is_open(parts)) return false;
      parts.causal = true;
      parts.finite = true;
      return true;
    });
  };
  const auto shifted = [&] {
    std::uint32_t masked = 0;
    std::uint32_t shift = 0;
    return p.binary(v, ops::BinaryKind::sub, masked, shift) && masked_product(masked, shift, -1.0f);
  };
  // The larger one of each score and the lowest number, as which -infinity alone is another: a query that sees no key
  // then sees all alike, also those that a causal choice hides, which is why nothing may stand beside one.
  const auto lifted = [&](std::uint32_t scores, std::uint32_t lowest) {
    if (p.splat(lowest) != double{std::numeric_limits<float>::lowest()} || !again(scores)) return false;
    parts.lifted = !is_open(parts);
    parts.finite = parts.finite || parts.causal;
    return !(parts.causal && parts.lifted);
  };
  return p.attempt(product) || p.attempt(choice) || p.attempt(shifted) ||
         p.commutes(v, ops::BinaryKind::maximum, lifted) ||
         p.commutes(v, ops::BinaryKind::add,
                    [&](std::uint32_t masked, std::uint32_t shift) { return masked_product(masked, shift, 1.0f); }) ||
         p.commutes(v, ops::BinaryKind::add, [&](std::uint32_t scores, std::uint32_t mask) {
           if (!again(scores) || parts.finite || !is_open(parts)) return false;
           parts.mask = mask;
           return true;
         });
}

/// The root is softmax(scores) v.
[[nodiscard]] inline bool attention(Pattern& p, AttentionParts& parts) noexcept {
  Span<const std::uint32_t> in;
  const auto dot = p.made_by<ops::DotGeneral>(p.result(), in);
  if (!dot || dot->alpha != 1.0f || !is_batched_matmul(p, *dot, in[0], in[1])) return false;
  parts.dot[1] = *dot;
  parts.operand[2] = in[1];
  const std::uint32_t batches = dot->batch_count;
  if (batches + 2 > kMaxActivationRank || dot->contract_lhs[0] != batches + 1) return false;
  for (std::uint32_t i = 0; i < batches; ++i)
    if (dot->batch_lhs[i] != i) return false;
  const std::uint32_t probabilities = with_other_leads(p, in[0]);
  Span<const std::uint32_t> scores;
  if (!p.made_by<ops::Softmax>(probabilities, scores)) return false;
  const std::uint32_t masked = with_other_leads(p, scores[0]);
  parts.scores = p.type(masked).shape;
  return parts.scores.rank >= 2 && attention_scores(p, masked, parts) && parts.dot[0].batch_count == batches;
}

/// `v` with its axes in the order batch, then `second`, then `last`, before node `at`; where `v` is a
/// transpose, what it was made of is put into that order.
[[nodiscard]] inline Result<ValueId> in_order(Rewriter& r, std::uint32_t at, std::uint32_t v,
                                              Span<const std::uint8_t> batch, std::uint8_t second,
                                              std::uint8_t last) noexcept {
  ops::TransposeParams params;
  for (std::uint8_t axis : batch) params.perm[params.rank++] = axis;
  params.perm[params.rank++] = second;
  params.perm[params.rank++] = last;
  while (const auto inner = r.params<ops::Transpose>(r.producer(v))) {
    for (std::uint8_t axis = 0; axis < params.rank; ++axis) params.perm[axis] = inner->perm[params.perm[axis]];
    v = r.graph().node_inputs(r.graph().nodes[r.producer(v)])[0];
  }
  bool same = true;
  for (std::uint8_t axis = 0; axis < params.rank; ++axis) same = same && params.perm[axis] == axis;
  if (same) return ValueId{v};
  return r.insert<ops::Transpose>(at, {v}, {}, params);
}

/// `v` with the leading axes of `leads`, before node `at`.
[[nodiscard]] inline Result<ValueId> with_leads(Rewriter& r, std::uint32_t at, std::uint32_t v,
                                                const Shape& leads) noexcept {
  const Shape from = r.type(v).shape;
  Shape to = leads;
  to.dims[to.rank - 2u] = from[from.rank - 2u];
  to.dims[to.rank - 1u] = from.last();
  if (to == from) return ValueId{v};
  return r.insert<ops::Reshape>(at, {v}, {}, {ShapeParams::of(to)});
}

/// The axis that is neither batched over nor contracted.
[[nodiscard]] inline std::uint8_t free_axis(const ops::DotGeneralParams& dot, bool lhs) noexcept {
  std::uint8_t axis = 0;
  while (ops::DotGeneral::listed(dot, lhs, axis)) ++axis;
  return axis;
}

/// What `mask` is spread from, if that still has an entry per query and key.
[[nodiscard]] inline std::uint32_t narrow_mask(const Rewriter& r, std::uint32_t mask, const Shape& scores) noexcept {
  if (mask == kNone || !r.params<ops::BroadcastTo>(r.producer(mask))) return mask;
  const std::uint32_t narrow = r.graph().node_inputs(r.graph().nodes[r.producer(mask)])[0];
  const Shape shape = r.type(narrow).shape;
  const bool fits =
      shape.rank >= 2 && shape[shape.rank - 2u] == scores[scores.rank - 2u] && shape.last() == scores.last();
  return fits ? narrow : mask;
}

/// A tensor of one number, before node `at`.
[[nodiscard]] inline Result<ValueId> filled(Rewriter& r, std::uint32_t at, const Shape& shape, float number) noexcept {
  const auto weight = r.constant(as_bytes(Span(&number, 1)), DType::f32, Shape{});
  if (!weight) return pass(weight);
  const auto one = r.insert<ops::Constant>(at, {}, {*weight}, {ops::ConstantForm::stored});
  if (!one || !one->present()) return one;
  return r.insert<ops::BroadcastTo>(at, {one->index}, {}, {ShapeParams::of(shape)});
}

/// 0 where `choice`, of i1, takes a score and `hides` where it hides one, before node `at`.
[[nodiscard]] inline Result<ValueId> mask_of_choice(Rewriter& r, std::uint32_t at, std::uint32_t choice, bool inverted,
                                                    float hides) noexcept {
  const Shape shape = r.type(choice).shape;
  const auto taken = filled(r, at, shape, 0.0f);
  if (!taken || !taken->present()) return taken;
  const auto hidden = filled(r, at, shape, hides);
  if (!hidden || !hidden->present()) return hidden;
  const auto yes = inverted ? hidden->index : taken->index;
  const auto no = inverted ? taken->index : hidden->index;
  return r.insert<ops::Select>(at, {choice, yes, no}, {}, {});
}

/// `mask` with `lowest` in the place of -infinity, before node `at`. What is added to it is lost beside it, so that the
/// sum with a score is what the larger one of `lowest` and their sum was.
[[nodiscard]] inline Result<ValueId> lifted_mask(Rewriter& r, std::uint32_t at, std::uint32_t mask,
                                                 float lowest) noexcept {
  const auto least = filled(r, at, r.type(mask).shape, lowest);
  if (!least || !least->present()) return least;
  return r.insert<ops::ElementwiseBinary>(at, {mask, least->index}, {}, {ops::BinaryKind::maximum});
}

/// Puts attention of these parts in place of the root.
[[nodiscard]] inline Result<void> replace_by_attention(Rewriter& r, std::uint32_t node, AttentionParts parts) noexcept {
  const auto batch = [&](const std::array<std::uint8_t, kMaxRank>& list) {
    return Span<const std::uint8_t>(list.data(), parts.dot[0].batch_count);
  };
  const auto& scores = parts.dot[0];
  const auto& values = parts.dot[1];
  std::array<ValueId, 3> in;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool lhs = i == 0;
    const auto& dot = i == 2 ? values : scores;
    const std::uint8_t contract = lhs ? dot.contract_lhs[0] : dot.contract_rhs[0];
    const std::uint8_t free = free_axis(dot, lhs);
    const auto made = in_order(r, node, parts.operand[i], batch(lhs ? dot.batch_lhs : dot.batch_rhs),
                               i == 2 ? contract : free, i == 2 ? free : contract);
    if (!made) return pass(made);
    if (!made->present()) return {};
    in[i] = *made;
  }
  // A mask that is the same for all leading axes fits whatever these are, else they must be those of the scores.
  Shape leads = r.type(in[0].index).shape;
  std::uint32_t mask = narrow_mask(r, parts.mask != kNone ? parts.mask : parts.choice, parts.scores);
  if (parts.choice != kNone || parts.lifted) {
    constexpr float kLowest = std::numeric_limits<float>::lowest();
    const float hides = parts.lifted ? kLowest : -std::numeric_limits<float>::infinity();
    const auto made = parts.choice != kNone ? mask_of_choice(r, node, mask, parts.inverted, hides)
                                            : lifted_mask(r, node, mask, kLowest);
    if (!made) return pass(made);
    if (!made->present()) return {};
    mask = made->index;
  }
  if (mask != kNone) {
    const Dim queries = parts.scores[parts.scores.rank - 2u];
    bool plain = true;
    const Shape shape = r.type(mask).shape;
    for (std::size_t axis = 0; axis + 2 < shape.rank; ++axis) plain = plain && shape[axis] == Dim(1);
    if (!plain) leads = parts.scores;
    if (leads.rank > kMaxActivationRank) return {};
    if (plain && shape.rank > leads.rank) {
      const auto made = r.insert<ops::Reshape>(node, {mask}, {}, {ShapeParams::of(Shape{queries, shape.last()})});
      if (!made) return pass(made);
      if (!made->present()) return {};
      mask = made->index;
    }
  }
  bool moved = false;
  for (ValueId& value : in) {
    const auto made = with_leads(r, node, value.index, leads);
    if (!made) return pass(made);
    if (!made->present()) return {};
    moved = moved || *made != value;
    value = *made;
  }
  const ops::AttentionParams params{
      static_cast<float>(parts.scale), static_cast<std::uint8_t>(parts.causal ? 1 : 0), {}};
  if (!moved) {
    const auto done = r.replace<ops::Attention>(node, {in[0].index, in[1].index, in[2].index, mask}, {}, params);
    return done ? Result<void>() : pass(done);
  }
  const auto made = r.insert<ops::Attention>(node, {in[0].index, in[1].index, in[2].index, mask}, {}, params);
  if (!made) return pass(made);
  if (!made->present()) return {};
  const Shape shape = r.type(r.graph().node_outputs(r.graph().nodes[node])[0]).shape;
  const auto done = r.replace<ops::Reshape>(node, {made->index}, {}, {ShapeParams::of(shape)});
  return done ? Result<void>() : pass(done);
}

}  // namespace detail

/// Replaces softmax(scale · q kᵀ + mask) v by attention: for heads that are batched over in any order of the
/// axes, scales on either side of the product, masks that are added, and choices that put -infinity in the
/// place of scores. Within 1e-5 + T · 2^-26 of the largest magnitude among the
/// values, for T keys and scores up to 64: products and exponentials are summed in another order.
[[nodiscard]] inline Result<bool> fuse_attention(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.params<ops::DotGeneral>(node) || !r.claims(ops::Attention::opcode)) return {};
    Pattern p(r, node);
    detail::AttentionParts parts;
    if (!detail::attention(p, parts) || !p.closed()) return {};
    // Sums over no keys are 0, where attention has no weights to give.
    if (parts.scores.last() == Dim(0)) return {};
    return detail::replace_by_attention(r, node, parts);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir
