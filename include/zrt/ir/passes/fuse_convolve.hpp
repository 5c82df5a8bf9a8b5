// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_convolve.hpp: products of extracted patches become convolutions, without the patches.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/convolve.hpp>

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// What a convolution is made of, and how its weights lie in the product.
struct ConvolveParts {
  std::uint32_t x = kNone;
  std::uint32_t w = kNone;
  ops::ExtractPatchesParams patches{};
  std::uint32_t groups = 1;
  std::uint32_t out = 0;       ///< channels of a group of the result
  std::uint32_t elements = 0;  ///< of a window
  std::uint32_t channels = 0;  ///< of a group of x
  bool grouped = false;        ///< rows [R, window, group, channel] times [group, out, channel, window]
  bool turned = false;         ///< not grouped: rows [.., patch] times [patch, out]
};

/// The root is patches times a matrix, or times a matrix for each group.
[[nodiscard]] inline bool patches_product(Pattern& p, ConvolveParts& parts) noexcept {
  Span<const std::uint32_t> in;
  const auto dot = p.made_by<ops::DotGeneral>(p.result(), in);
  if (!dot || dot->accum_dtype != DType::f32 || dot->out_dtype != DType::f32 || dot->alpha != 1.0f || !p.is_f32(in[0]))
    return false;
  const Shape rows = p.type(in[0]).shape;
  const Shape w = p.type(in[1]).shape;
  parts.w = in[1];
  Span<const std::uint32_t> from;
  const std::uint32_t made = p.through(in[0]);
  const auto patches = p.made_by<ops::ExtractPatches>(made, from);
  if (!patches) return false;
  parts.x = from[0];
  parts.patches = *patches;
  const Shape x = p.type(parts.x).shape;
  for (std::size_t axis = 0; axis < w.rank; ++axis)
    if (w[axis].symbol != 0 || w[axis].extent == 0) return false;
  if (x.last().symbol != 0 || x.last().extent == 0) return false;
  CheckedSize elements = 1;
  for (std::size_t i = 0; i < patches->spatial; ++i) elements *= CheckedSize(patches->window[i]);
  if (!elements.ok() || elements.raw() > 0xffffffffu) return false;
  parts.elements = static_cast<std::uint32_t>(elements.raw());
  const std::uint64_t patch = elements.raw() * x.last().extent;
  if (dot->batch_count == 0 && dot->contract_count == 1 && w.rank == 2) {
    // Rows may be split or joined, not what lies in them.
    if (dot->contract_lhs[0] + 1u != rows.rank || rows.last().symbol != 0 || rows.last().extent != patch) return false;
    parts.turned = dot->contract_rhs[0] == 0;
    parts.channels = x.last().extent;
    parts.out = w[parts.turned ? 1 : 0].extent;
    return true;
  }
  const auto contracts = [&](std::uint8_t lhs, std::uint8_t rhs, std::size_t i) {
    return dot->contract_lhs[i] == lhs && dot->contract_rhs[i] == rhs;
  };
  if (rows.rank != 4 || w.rank != 4 || dot->batch_count != 1 || dot->batch_lhs[0] != 2 || dot->batch_rhs[0] != 0 ||
      dot->contract_count != 2 || !contracts(1, 3, 0) || !contracts(3, 2, 1))
    return false;
  parts.grouped = true;
  parts.groups = w[0].extent;
  parts.out = w[1].extent;
  parts.channels = w[2].extent;
  return w[3].extent == parts.elements && std::uint64_t{parts.groups} * parts.channels == x.last().extent;
}

/// The weights as the op takes them, [M, window, channel], before node `at`.
[[nodiscard]] inline Result<ValueId> convolve_weights(Rewriter& r, std::uint32_t at,
                                                      const ConvolveParts& parts) noexcept {
  ValueId w{parts.w};
  ops::TransposeParams order;
  if (parts.turned) order = {{1, 0}, 2};
  if (parts.grouped) order = {{0, 1, 3, 2}, 4};
  if (order.rank != 0) {
    const auto turned = r.insert<ops::Transpose>(at, {w.index}, {}, order);
    if (!turned || !turned->present()) return turned;
    w = *turned;
  }
  const Shape shape{Dim(parts.groups * parts.out), Dim(parts.elements), Dim(parts.channels)};
  return r.insert<ops::Reshape>(at, {w.index}, {}, {ShapeParams::of(shape)});
}

}  // namespace detail

/// Replaces a product whose rows are extracted patches by convolve: patches times a matrix either way round, and
/// patches in groups of channels as readers of ONNX write them. f32 with at most two spatial axes. The same bits.
[[nodiscard]] inline Result<bool> fuse_convolve(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.params<ops::DotGeneral>(node) || !r.claims(ops::Convolve::opcode)) return {};
    Pattern p(r, node);
    detail::ConvolveParts parts;
    if (!detail::patches_product(p, parts) || !p.closed()) return {};
    if (p.type(parts.x).shape.rank > kMaxActivationRank) return {};
    const Shape result = p.type(p.result()).shape;
    const auto w = detail::convolve_weights(r, node, parts);
    if (!w) return pass(w);
    if (!w->present()) return {};
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    const auto y = r.insert<ops::Convolve>(node, {parts.x, w->index}, {}, {parts.patches, parts.groups});
    if (!y) return pass(y);
    if (!y->present()) return {};
    if (parts.groups == 1) return settle(r.replace<ops::Reshape>(node, {y->index}, {}, {ShapeParams::of(result)}));
    // [rows, group, out] to [group, rows, out].
    const auto split =
        r.insert<ops::Reshape>(node, {y->index}, {}, {ShapeParams::of(Shape{result[1], result[0], result[2]})});
    if (!split) return pass(split);
    if (!split->present()) return {};
    return settle(r.replace<ops::Transpose>(node, {split->index}, {}, {{1, 0, 2}, 3}));
  });
}

}  // namespace zrt::inline ZRT_ABI::ir
