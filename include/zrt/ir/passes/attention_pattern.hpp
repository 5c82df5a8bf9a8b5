// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/attention_pattern.hpp: two products with a softmax between them, read as attention.
#pragma once

#include <zrt/ir/passes/causal_mask.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/select.hpp>

ZRT_LOAD_TIME_BEGIN

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

/// Reads scores as scale · q kᵀ, to which a mask may be added, and in which a choice may hide keys.
class AttentionScores {
 public:
  /// `parts.scores` is known; the rest is filled by a match.
  AttentionScores(Pattern& p, AttentionParts& parts) noexcept
      : p_(p),
        parts_(parts),
        before_(parts),
        queries_(parts.scores[parts.scores.rank - 2u]),
        keys_(parts.scores.last()) {}

  [[nodiscard]] bool match(std::uint32_t v) noexcept {
    return p_.attempt([&] { return product(v); }) || p_.attempt([&] { return chosen(v); }) ||
           p_.attempt([&] { return shifted_down(v); }) || lifted(v) || shifted_up(v) || masked(v);
  }

 private:
  /// Masks, choices and lower bounds around the product, at most.
  static constexpr int kMaxLayers = 3;

  /// Reads what is left of the scores below one layer.
  [[nodiscard]] bool match_below(std::uint32_t v) noexcept {
    parts_ = before_;
    if (layers_ == kMaxLayers) return false;
    ++layers_;
    const bool matched = match(v);
    --layers_;
    return matched;
  }

  /// scale · q kᵀ itself.
  [[nodiscard]] bool product(std::uint32_t v) noexcept {
    parts_ = before_;
    double scale = 1;
    Span<const std::uint32_t> in;
    const auto dot = p_.made_by<ops::DotGeneral>(with_other_leads(p_, unscaled(p_, v, scale)), in);
    if (!dot || !is_batched_matmul(p_, *dot, in[0], in[1])) return false;
    parts_.dot[0] = *dot;
    for (std::size_t i = 0; i < 2; ++i) parts_.operand[i] = unscaled(p_, in[i], scale);
    parts_.scale = scale * double{dot->alpha};
    return is_f32_factor(parts_.scale);
  }

  /// A select that puts a hidden score in the place of some.
  [[nodiscard]] bool chosen(std::uint32_t v) noexcept {
    Span<const std::uint32_t> in;
    if (!p_.made_by<ops::Select>(v, in)) return false;
    return p_.attempt([&] { return hides(in, false); }) || p_.attempt([&] { return hides(in, true); });
  }
  /// The select takes a score where its condition holds, or, `inverted`, where it does not.
  [[nodiscard]] bool hides(Span<const std::uint32_t> in, bool inverted) noexcept {
    const auto fill = p_.splat(in[inverted ? 1 : 2]);
    if (!fill || *fill > double{kHidden} || !match_below(in[inverted ? 2 : 1])) return false;
    const bool finite = *fill != -std::numeric_limits<double>::infinity();
    if (is_causal_choice(p_, in[0], queries_, keys_, inverted) && (!finite || is_open(parts_))) {
      parts_.causal = true;
      parts_.finite = parts_.finite || finite;
      return true;
    }
    // A query that sees no key gives NaN in both forms only if nothing finite hides its keys.
    if (finite || parts_.finite || !is_open(parts_)) return false;
    parts_.choice = in[0];
    parts_.inverted = inverted;
    return true;
  }

  /// scores · taken - shift.
  [[nodiscard]] bool shifted_down(std::uint32_t v) noexcept {
    std::uint32_t product = 0;
    std::uint32_t shift = 0;
    return p_.binary(v, ops::BinaryKind::sub, product, shift) && masked_product(product, shift, -1.0f);
  }
  /// scores · taken + shift.
  [[nodiscard]] bool shifted_up(std::uint32_t v) noexcept {
    return p_.commutes(v, ops::BinaryKind::add, [&](std::uint32_t product, std::uint32_t shift) {
      return masked_product(product, shift, 1.0f);
    });
  }
  [[nodiscard]] bool masked_product(std::uint32_t product, std::uint32_t shift, float sign) noexcept {
    return p_.commutes(product, ops::BinaryKind::mul, [&](std::uint32_t scores, std::uint32_t taken) {
      if (!is_causal_product(p_, taken, shift, sign, queries_, keys_) || !match_below(scores) || !is_open(parts_))
        return false;
      parts_.causal = true;
      parts_.finite = true;
      return true;
    });
  }

  /// The larger one of each score and the lowest number, as which -infinity alone is another: a query that sees no key
  /// then sees all alike, also those that a causal choice hides, which is why nothing may stand beside one.
  [[nodiscard]] bool lifted(std::uint32_t v) noexcept {
    return p_.commutes(v, ops::BinaryKind::maximum, [&](std::uint32_t scores, std::uint32_t lowest) {
      if (p_.splat(lowest) != double{std::numeric_limits<float>::lowest()} || !match_below(scores)) return false;
      parts_.lifted = !is_open(parts_);
      parts_.finite = parts_.finite || parts_.causal;
      return !(parts_.causal && parts_.lifted);
    });
  }

  /// scores + mask.
  [[nodiscard]] bool masked(std::uint32_t v) noexcept {
    return p_.commutes(v, ops::BinaryKind::add, [&](std::uint32_t scores, std::uint32_t mask) {
      if (!match_below(scores) || parts_.finite || !is_open(parts_)) return false;
      parts_.mask = mask;
      return true;
    });
  }

  Pattern& p_;
  AttentionParts& parts_;
  const AttentionParts before_;
  const Dim queries_;
  const Dim keys_;
  int layers_ = 0;
};

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
  return parts.scores.rank >= 2 && AttentionScores(p, parts).match(masked) && parts.dot[0].batch_count == batches;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
