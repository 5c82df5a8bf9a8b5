// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_convolve.hpp: products of extracted patches become convolutions, without the patches.
#pragma once

#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/convolve.hpp>
#include <zrt/ops/stop_gradient.hpp>
#include <zrt/ops/transpose.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Axes of a tensor in some order.
struct AxisOrder {
  std::array<std::uint8_t, kMaxRank> at{};
  std::uint32_t count = 0;

  /// False when there is no room.
  [[nodiscard]] constexpr bool push(std::size_t axis) noexcept {
    if (count == kMaxRank) return false;
    at[count++] = static_cast<std::uint8_t>(axis);
    return true;
  }
  [[nodiscard]] constexpr bool append(const AxisOrder& more) noexcept {
    bool fits = true;
    for (std::uint32_t i = 0; i < more.count; ++i) fits = fits && push(more.at[i]);
    return fits;
  }
};

/// An operand of a product that is patches, whatever moved their axes since they were extracted.
struct PatchOperand {
  std::uint32_t x = kNone;
  ops::ExtractPatchesParams patches{};
  Shape rows{};                  ///< the shape of the patches
  std::array<DType, 4> casts{};  ///< types that they were cast to, the last one first
  std::size_t cast_count = 0;
  std::array<AxisOrder, kMaxRank> of{};  ///< by axis of the operand: the axes of `rows` that it joins

  /// Notes a cast on the way; false when there is no room for one more.
  [[nodiscard]] bool add_cast(const std::optional<ops::CastParams>& cast) noexcept {
    if (!cast) return true;
    if (cast_count == casts.size()) return false;
    casts[cast_count++] = cast->dtype;
    return true;
  }
};

/// For each axis of `joined`, those of `apart` that it joins; false where an axis of `apart` is cut.
[[nodiscard]] inline bool parts_of(const Shape& joined, const Shape& apart,
                                   std::array<AxisOrder, kMaxRank>& of) noexcept {
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < joined.rank; ++axis) {
    std::uint64_t extent = 1;
    while (next < apart.rank && !(Dim(static_cast<std::uint32_t>(extent)) == joined[axis])) {
      if (!of[axis].push(next)) return false;
      if (apart[next] == joined[axis] && extent == 1) {
        ++next;
        extent = joined[axis].extent;
        break;
      }
      if (apart[next].symbol != 0 || apart[next].extent == 0) return false;
      extent *= apart[next++].extent;
      if (extent > 0xffffffffu) return false;
    }
    if (extent != joined[axis].extent) return false;
  }
  for (; next < apart.rank; ++next)
    if (joined.rank == 0 || apart[next] != Dim(1) || !of[joined.rank - 1u].push(next)) return false;
  return true;
}

/// Reads back from operand `v` of a product to the patches that it is.
[[nodiscard]] inline bool find_patches(const Rewriter& r, std::uint32_t v, PatchOperand& found) noexcept {
  found.rows = r.type(v).shape;
  for (std::size_t axis = 0; axis < found.rows.rank; ++axis) (void)found.of[axis].push(axis);
  for (int hops = 0; hops < 64; ++hops) {
    // Under any shape, patches whose elements keep their order are rows.
    PatchOperand direct = found;
    std::uint32_t node = r.producer(v);
    while (node != kNone &&
           (r.params<ops::Reshape>(node) || r.params<ops::StopGradient>(node) || r.params<ops::Cast>(node))) {
      if (!direct.add_cast(r.params<ops::Cast>(node))) return false;
      node = r.producer(r.graph().node_inputs(r.graph().nodes[node])[0]);
    }
    if (const auto patches = r.params<ops::ExtractPatches>(node)) {
      found = direct;
      found.patches = *patches;
      found.x = r.graph().node_inputs(r.graph().nodes[node])[0];
      return true;
    }
    node = r.producer(v);
    if (node == kNone) return false;
    std::array<AxisOrder, kMaxRank> parts{};
    const std::uint32_t from =
        r.graph().node_inputs(r.graph().nodes[node]).empty() ? kNone : r.graph().node_inputs(r.graph().nodes[node])[0];
    if (const auto transpose = r.params<ops::Transpose>(node)) {
      for (std::size_t axis = 0; axis < found.rows.rank; ++axis) (void)parts[axis].push(transpose->perm[axis]);
    } else if (r.params<ops::Reshape>(node) || r.params<ops::StopGradient>(node) || r.params<ops::Cast>(node)) {
      if (!found.add_cast(r.params<ops::Cast>(node))) return false;
      if (!parts_of(found.rows, r.type(from).shape, parts)) return false;
    } else {
      return false;
    }
    for (AxisOrder& list : found.of) {
      AxisOrder now;
      for (std::uint32_t i = 0; i < list.count; ++i)
        if (!now.append(parts[list.at[i]])) return false;
      list = now;
    }
    found.rows = r.type(from).shape;
    v = from;
  }
  return false;
}

/// A product with patches as convolve takes it.
struct ConvolveForm {
  ops::ConvolveParams params{};
  ops::TransposeParams w_order{};  ///< how the other operand's axes come to lie as [batch, free, contracted]
  Shape w{};                       ///< its shape then
  ops::TransposeParams y_order{};  ///< how the convolution's axes come to the product's order
  bool y_moves = false;
};

/// Whether an axis of the rows, or a part of one, goes from place to place of the window.
[[nodiscard]] inline bool goes_along_places(const Rewriter& r, const PatchOperand& patches, std::size_t axis) noexcept {
  ops::ConvolveParams params;
  params.patches = patches.patches;
  const Shape extracted = ops::Convolve::patches_type(r.type(patches.x), params).shape;
  CheckedSize places = extracted.last().extent;
  for (std::size_t i = 0; i < patches.patches.spatial; ++i) {
    if (extracted[i + 1].symbol != 0) return true;
    places *= CheckedSize(extracted[i + 1].extent);
  }
  CheckedSize inner = 1;
  for (std::size_t i = axis + 1; i < patches.rows.rank; ++i) {
    if (patches.rows[i].symbol != 0) return true;
    inner *= CheckedSize(patches.rows[i].extent);
  }
  const CheckedSize end = inner * CheckedSize(patches.rows[axis].extent);
  if (!places.ok() || !end.ok() || extracted.last().symbol != 0) return true;
  return inner.raw() < places.raw() && end.raw() > extracted.last().extent;
}

/// Writes the product `dot` over the axes that the patches have; false where that takes too many of them, or where a
/// sum over places is longer than a patch: a block of rows would be as large as all patches.
[[nodiscard]] inline bool convolve_form(const Rewriter& r, const PatchOperand& patches,
                                        const ops::DotGeneralParams& dot, std::uint32_t w, bool second,
                                        ConvolveForm& form) noexcept {
  const auto& batch = second ? dot.batch_rhs : dot.batch_lhs;
  const auto& contract = second ? dot.contract_rhs : dot.contract_lhs;
  const auto& w_batch = second ? dot.batch_lhs : dot.batch_rhs;
  const auto& w_contract = second ? dot.contract_lhs : dot.contract_rhs;
  const Shape from = r.type(w).shape;
  AxisOrder batches, contracted, order;
  Shape batch_dims, free_dims, depth_dims;
  CheckedSize depth = 1;
  bool over_places = false;
  for (std::uint32_t i = 0; i < dot.batch_count; ++i) {
    const AxisOrder& list = patches.of[batch[i]];
    if (!batches.append(list) || !order.push(w_batch[i])) return false;
    for (std::uint32_t k = 0; k < list.count; ++k) batch_dims = batch_dims.appended(patches.rows[list.at[k]]);
  }
  for (std::uint8_t axis = 0; axis < from.rank; ++axis) {
    if (ops::DotGeneral::listed(dot, second, axis)) continue;
    if (!order.push(axis)) return false;
    free_dims = free_dims.appended(from[axis]);
  }
  for (std::uint32_t i = 0; i < dot.contract_count; ++i) {
    const AxisOrder& list = patches.of[contract[i]];
    if (!contracted.append(list) || !order.push(w_contract[i])) return false;
    for (std::uint32_t k = 0; k < list.count; ++k) {
      const Dim dim = patches.rows[list.at[k]];
      if (dim.symbol != 0) return false;
      depth *= CheckedSize(dim.extent);
      over_places = over_places || goes_along_places(r, patches, list.at[k]);
      depth_dims = depth_dims.appended(dim);
    }
  }
  CheckedSize patch = r.type(patches.x).shape.last().extent;
  for (std::size_t i = 0; i < patches.patches.spatial; ++i) patch *= CheckedSize(patches.patches.window[i]);
  if (!depth.ok() || !patch.ok() || r.type(patches.x).shape.last().symbol != 0) return false;
  if (over_places && depth.raw() > patch.raw()) return false;
  if (std::size_t{batch_dims.rank} + free_dims.rank + depth_dims.rank > kMaxRank) return false;

  form.w = batch_dims;
  for (std::size_t i = 0; i < free_dims.rank; ++i) form.w = form.w.appended(free_dims[i]);
  for (std::size_t i = 0; i < depth_dims.rank; ++i) form.w = form.w.appended(depth_dims[i]);
  form.w_order.rank = from.rank;
  form.w_order.perm = order.at;
  form.params.patches = patches.patches;
  form.params.rows = ShapeParams::of(patches.rows);
  form.params.patches_rhs = second ? 1 : 0;
  ops::DotGeneralParams& p = form.params.dot;
  p.accum_dtype = dot.accum_dtype;
  p.out_dtype = dot.out_dtype;
  p.alpha = dot.alpha;
  p.batch_count = batches.count;
  p.contract_count = contracted.count;
  (second ? p.batch_rhs : p.batch_lhs) = batches.at;
  (second ? p.contract_rhs : p.contract_lhs) = contracted.at;
  for (std::uint32_t i = 0; i < batches.count; ++i)
    (second ? p.batch_lhs : p.batch_rhs)[i] = static_cast<std::uint8_t>(i);
  for (std::uint32_t i = 0; i < contracted.count; ++i)
    (second ? p.contract_lhs : p.contract_rhs)[i] = static_cast<std::uint8_t>(form.w.rank - contracted.count + i);

  // The convolution's free axes are those of the patches in their order, the product's in that of the operand.
  AxisOrder wanted;
  for (std::uint8_t axis = 0; axis < kMaxRank; ++axis)
    if (!ops::DotGeneral::listed(dot, !second, axis) && !wanted.append(patches.of[axis])) return false;
  const std::size_t rank = std::size_t{batches.count} + wanted.count + free_dims.rank;
  if (rank > kMaxRank) return false;
  const std::size_t first = batches.count + (second ? std::size_t{free_dims.rank} : 0);
  form.y_order.rank = static_cast<std::uint8_t>(rank);
  for (std::size_t i = 0; i < rank; ++i) form.y_order.perm[i] = static_cast<std::uint8_t>(i);
  for (std::uint32_t i = 0; i < wanted.count; ++i) {
    std::size_t before = 0;
    for (std::uint32_t k = 0; k < wanted.count; ++k) before += wanted.at[k] < wanted.at[i] ? 1u : 0u;
    form.y_order.perm[first + i] = static_cast<std::uint8_t>(first + before);
    form.y_moves = form.y_moves || before != i;
  }
  return true;
}

/// What the patches are of, cast as they were, before node `at`; their padding with it.
[[nodiscard]] inline Result<ValueId> cast_ahead(Rewriter& r, std::uint32_t at, const PatchOperand& patches,
                                                ops::ConvolveParams& params) noexcept {
  ValueId x{patches.x};
  for (std::size_t i = patches.cast_count; i-- > 0;) {
    const DType from = r.type(x.index).dtype;
    const ElementValue before = params.patches.pad_value;
    params.patches.pad_value = {};
    cast_elements(from, reinterpret_cast<const std::byte*>(before.data()), patches.casts[i],
                  reinterpret_cast<std::byte*>(params.patches.pad_value.data()), 0, 1);
    const auto made = r.insert<ops::Cast>(at, {x.index}, {}, {patches.casts[i]});
    if (!made || !made->present()) return made;
    x = *made;
  }
  return x;
}

/// The other operand as [batch, free, contracted], before node `at`.
[[nodiscard]] inline Result<ValueId> laid_out(Rewriter& r, std::uint32_t at, std::uint32_t w,
                                              const ConvolveForm& form) noexcept {
  ValueId v{w};
  bool moves = false;
  for (std::size_t axis = 0; axis < form.w_order.rank; ++axis) moves = moves || form.w_order.perm[axis] != axis;
  if (moves) {
    const auto moved = r.insert<ops::Transpose>(at, {v.index}, {}, form.w_order);
    if (!moved || !moved->present()) return moved;
    v = *moved;
  }
  if (r.type(v.index).shape == form.w) return v;
  return r.insert<ops::Reshape>(at, {v.index}, {}, {ShapeParams::of(form.w)});
}

}  // namespace detail

/// Replaces a product with extracted patches by convolve, with the same bits.
///
/// The patches may be either operand, of any type and number of spatial axes, in groups of channels, and with other
/// readers; reshapes, casts and transposes between are followed. The sum may run over some of a patch's axes and from
/// patch to patch. A sum over places that is longer than a patch stays a product.
[[nodiscard]] inline Result<bool> fuse_convolve(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto dot = r.params<ops::DotGeneral>(node);
    if (!dot || dot->contract_count == 0 || !r.claims(ops::Convolve::opcode)) return {};
    const auto in = r.graph().node_inputs(r.graph().nodes[node]);
    const std::array<std::uint32_t, 2> operand{in[0], in[1]};
    const Shape result = r.type(r.graph().node_outputs(r.graph().nodes[node])[0]).shape;
    for (const bool second : {false, true}) {
      detail::PatchOperand patches;
      detail::ConvolveForm form;
      const std::uint32_t other = operand[second ? 0 : 1];
      if (!detail::find_patches(r, operand[second ? 1 : 0], patches) ||
          !detail::convolve_form(r, patches, *dot, other, second, form))
        continue;
      const auto w = detail::laid_out(r, node, other, form);
      if (!w) return pass(w);
      if (!w->present()) return {};
      const auto x = detail::cast_ahead(r, node, patches, form.params);
      if (!x) return pass(x);
      if (!x->present()) return {};
      const auto y = r.insert<ops::Convolve>(node, {x->index, w->index}, {}, form.params);
      if (!y) return pass(y);
      if (!y->present()) return {};
      ValueId turned = *y;
      if (form.y_moves) {
        const auto moved = r.insert<ops::Transpose>(node, {y->index}, {}, form.y_order);
        if (!moved) return pass(moved);
        if (!moved->present()) return {};
        turned = *moved;
      }
      const auto done = r.replace<ops::Reshape>(node, {turned.index}, {}, {ShapeParams::of(result)});
      return done ? Result<void>() : pass(done);
    }
    return {};
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
