// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_attention.hpp: attention from two products with a softmax between them.
#pragma once

#include <zrt/ir/passes/attention_pattern.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

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

/// Puts attention of some parts in place of the root. Each step gives false where the backend or a shape refuses a
/// node; then nothing is replaced.
class AttentionWriter {
 public:
  AttentionWriter(Rewriter& r, std::uint32_t node, const AttentionParts& parts) noexcept
      : r_(r), node_(node), parts_(parts) {}

  [[nodiscard]] Result<void> run() noexcept {
    for (const auto step : {&AttentionWriter::order_operands, &AttentionWriter::make_mask, &AttentionWriter::fit_mask,
                            &AttentionWriter::share_leads}) {
      const auto done = (this->*step)();
      if (!done) return pass(done);
      if (!*done) return {};
    }
    return moved_ ? replace_with_reshape() : replace();
  }

 private:
  /// Keeps a node that was inserted.
  [[nodiscard]] static Result<bool> keep(const Result<ValueId>& made, std::uint32_t& value) noexcept {
    if (!made) return pass(made);
    value = made->index;
    return made->present();
  }

  /// q and k as [batch, token, feature], v as [batch, key, feature].
  [[nodiscard]] Result<bool> order_operands() noexcept {
    for (std::size_t i = 0; i < 3; ++i) {
      const bool lhs = i == 0;
      const ops::DotGeneralParams& dot = parts_.dot[i == 2 ? 1 : 0];
      const Span<const std::uint8_t> batch((lhs ? dot.batch_lhs : dot.batch_rhs).data(), dot.batch_count);
      const std::uint8_t contract = lhs ? dot.contract_lhs[0] : dot.contract_rhs[0];
      const std::uint8_t free = free_axis(dot, lhs);
      const auto made =
          in_order(r_, node_, parts_.operand[i], batch, i == 2 ? contract : free, i == 2 ? free : contract);
      if (auto kept = keep(made, in_[i]); !kept || !*kept) return kept;
    }
    return true;
  }

  /// The mask that is added, or one made of the choice.
  [[nodiscard]] Result<bool> make_mask() noexcept {
    constexpr float kLowest = std::numeric_limits<float>::lowest();
    mask_ = narrow_mask(r_, parts_.mask != kNone ? parts_.mask : parts_.choice, parts_.scores);
    if (parts_.choice != kNone) {
      const float hides = parts_.lifted ? kLowest : -std::numeric_limits<float>::infinity();
      return keep(mask_of_choice(r_, node_, mask_, parts_.inverted, hides), mask_);
    }
    return parts_.lifted ? keep(lifted_mask(r_, node_, mask_, kLowest), mask_) : true;
  }

  /// A mask that is the same for all leading axes fits whatever these are, else they must be those of the scores.
  [[nodiscard]] Result<bool> fit_mask() noexcept {
    leads_ = r_.type(in_[0]).shape;
    if (mask_ == kNone) return true;
    const Shape shape = r_.type(mask_).shape;
    bool plain = true;
    for (std::size_t axis = 0; axis + 2 < shape.rank; ++axis) plain = plain && shape[axis] == Dim(1);
    if (!plain) leads_ = parts_.scores;
    if (leads_.rank > kMaxActivationRank) return false;
    if (!plain || shape.rank <= leads_.rank) return true;
    const Shape matrix{parts_.scores[parts_.scores.rank - 2u], shape.last()};
    return keep(r_.insert<ops::Reshape>(node_, {mask_}, {}, {ShapeParams::of(matrix)}), mask_);
  }

  [[nodiscard]] Result<bool> share_leads() noexcept {
    for (std::uint32_t& value : in_) {
      const std::uint32_t before = value;
      if (auto kept = keep(with_leads(r_, node_, value, leads_), value); !kept || !*kept) return kept;
      moved_ = moved_ || value != before;
    }
    return true;
  }

  [[nodiscard]] ops::AttentionParams params() const noexcept {
    return {static_cast<float>(parts_.scale), static_cast<std::uint8_t>(parts_.causal ? 1 : 0), {}};
  }
  [[nodiscard]] Result<void> replace() noexcept {
    const auto done = r_.replace<ops::Attention>(node_, {in_[0], in_[1], in_[2], mask_}, {}, params());
    return done ? Result<void>() : pass(done);
  }
  /// Where the operands were reshaped, so is the result.
  [[nodiscard]] Result<void> replace_with_reshape() noexcept {
    const auto made = r_.insert<ops::Attention>(node_, {in_[0], in_[1], in_[2], mask_}, {}, params());
    if (!made) return pass(made);
    if (!made->present()) return {};
    const Shape shape = r_.type(r_.graph().node_outputs(r_.graph().nodes[node_])[0]).shape;
    const auto done = r_.replace<ops::Reshape>(node_, {made->index}, {}, {ShapeParams::of(shape)});
    return done ? Result<void>() : pass(done);
  }

  Rewriter& r_;
  std::uint32_t node_;
  const AttentionParts& parts_;
  std::array<std::uint32_t, 3> in_{};  ///< q, k and v as attention takes them
  std::uint32_t mask_ = kNone;
  Shape leads_{};       ///< the leading axes of all operands, and two more
  bool moved_ = false;  ///< an operand was given other leading axes
};

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
    return detail::AttentionWriter(r, node, parts).run();
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
