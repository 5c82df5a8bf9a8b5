// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_rope.hpp: rotary positions from slices, tables of cosines and sines, and joins.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ir/passes/rope_tables.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/slice.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// What a pattern of rotary positions is made of.
struct RopeParts {
  std::uint32_t x = kNone;
  std::uint32_t cos = kNone;  ///< what cosines are multiplied with, spread over x
  std::uint32_t sin = kNone;
  ops::RopeStyle style = ops::RopeStyle::neox;
};

/// `v` is elements [start, start + size) of the last axis of `x`.
[[nodiscard]] inline bool cut_of_last(Pattern& p, std::uint32_t v, std::uint32_t& x, std::uint32_t& start) noexcept {
  return p.attempt([&] {
    Span<const std::uint32_t> in;
    const auto params = p.made_by<ops::Slice>(v, in);
    if (!params) return false;
    const Shape from = p.type(in[0]).shape;
    const Shape to = p.type(v).shape;
    for (std::size_t axis = 0; axis + 1 < from.rank; ++axis)
      if (params->starts[axis] != 0 || from[axis] != to[axis]) return false;
    x = in[0];
    start = params->starts[from.rank - 1u];
    return true;
  });
}

/// `a` and `b` are the halves of the last axis of `x`.
[[nodiscard]] inline bool halves(Pattern& p, std::uint32_t a, std::uint32_t b, std::uint32_t& x) noexcept {
  std::uint32_t of = 0;
  std::uint32_t start = 0;
  const Dim half = p.type(a).shape.last();
  return half.symbol == 0 && cut_of_last(p, a, x, start) && start == 0 && cut_of_last(p, b, of, start) && of == x &&
         start == half.extent && p.type(b).shape.last() == half && p.type(x).shape.last() == Dim(2 * half.extent);
}

/// `a` and `b` are the even and the odd elements of the last axis of `x`.
[[nodiscard]] inline bool evens_and_odds(Pattern& p, std::uint32_t a, std::uint32_t b, std::uint32_t& x) noexcept {
  std::uint32_t pairs = 0;
  std::uint32_t of = 0;
  std::uint32_t start = 0;
  Span<const std::uint32_t> in;
  const Shape half = p.type(a).shape;
  if (!cut_of_last(p, p.through(a), pairs, start) || start != 0) return false;
  if (!cut_of_last(p, p.through(b), of, start) || of != pairs || start != 1) return false;
  if (p.type(pairs).shape != half.appended(2) || half.last().symbol != 0) return false;
  if (!p.made_by<ops::Reshape>(pairs, in)) return false;
  x = in[0];
  return p.type(x).shape == half.with_last(2 * half.last().extent);
}

/// `v` = part · table, with a constant table.
[[nodiscard]] inline bool weighted(Pattern& p, std::uint32_t v, std::uint32_t& part, std::uint32_t& table) noexcept {
  return p.commutes(v, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
    part = a;
    table = b;
    return p.constant(b, /*spread=*/true) != kNone && p.constant(a, /*spread=*/true) == kNone;
  });
}

/// `u` = a · cos - b · sin and `w` = a · sin + b · cos.
[[nodiscard]] inline bool rotation(Pattern& p, std::uint32_t u, std::uint32_t w, std::uint32_t& a, std::uint32_t& b,
                                   RopeParts& parts) noexcept {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t part = 0;
  std::uint32_t table = 0;
  return p.binary(u, ops::BinaryKind::sub, first, second) && weighted(p, first, a, parts.cos) &&
         weighted(p, second, b, parts.sin) &&
         p.commutes(w, ops::BinaryKind::add, [&](std::uint32_t m, std::uint32_t n) {
           return weighted(p, m, part, table) && part == a && table == parts.sin && weighted(p, n, part, table) &&
                  part == b && table == parts.cos;
         });
}

/// The two operands of a join along the last axis.
[[nodiscard]] inline bool joined(Pattern& p, std::uint32_t v, std::uint32_t& a, std::uint32_t& b) noexcept {
  Span<const std::uint32_t> in;
  const auto params = p.made_by<ops::Concat>(v, in);
  if (!params || in.size() != 2 || params->axis + 1u != p.type(v).shape.rank) return false;
  a = in[0];
  b = in[1];
  return true;
}

/// The root is x turned: by halves, with a half of it negated and changed over, or by pairs that lie side by side.
[[nodiscard]] inline bool rotated(Pattern& p, RopeParts& parts) noexcept {
  const std::uint32_t v = p.result();
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t u = 0;
  std::uint32_t w = 0;
  return p.attempt([&] {
    return joined(p, v, u, w) && rotation(p, u, w, a, b, parts) && halves(p, a, b, parts.x);
  }) || p.commutes(v, ops::BinaryKind::add, [&](std::uint32_t straight, std::uint32_t across) {
    std::uint32_t turned = 0;
    std::uint32_t x = 0;
    const auto negated = [&](std::uint32_t of) {
      return p.unary(of, ops::UnaryKind::neg, b) ||
             p.commutes(of, ops::BinaryKind::mul, [&](std::uint32_t y, std::uint32_t by) {
               b = y;
               return p.is_splat(by, -1.0);
             });
    };
    return weighted(p, straight, x, parts.cos) && weighted(p, across, turned, parts.sin) && joined(p, turned, u, w) &&
           negated(u) && halves(p, w, b, parts.x) && parts.x == x;
  }) || p.attempt([&] {
    Span<const std::uint32_t> in;
    parts.style = ops::RopeStyle::interleaved;
    if (!p.made_by<ops::Reshape>(v, in) || !joined(p, in[0], u, w)) return false;
    return rotation(p, p.through(u), p.through(w), a, b, parts) && evens_and_odds(p, a, b, parts.x) &&
           p.type(in[0]).shape == p.type(a).shape.appended(2) && p.type(v).shape == p.type(parts.x).shape;
  });
}

/// A constant that has one row for each position along one axis of x.
struct PositionTable {
  std::uint32_t weight = kNone;
  std::uint8_t axis = 0;
};
[[nodiscard]] inline std::optional<PositionTable> position_table(const Pattern& p, std::uint32_t v) noexcept {
  const std::uint8_t rank = p.type(v).shape.rank;
  while (p.rewriter().params<ops::BroadcastTo>(p.rewriter().producer(v)))
    v = p.graph().node_inputs(p.graph().nodes[p.rewriter().producer(v)])[0];
  const Shape shape = p.type(v).shape;
  PositionTable table{p.constant(v)};
  if (table.weight == kNone || !p.is_f32(v)) return std::nullopt;
  std::uint32_t axes = 0;
  for (std::uint8_t i = 0; i + 1 < shape.rank; ++i) {
    if (shape[i] == Dim(1)) continue;
    table.axis = static_cast<std::uint8_t>(rank - shape.rank + i);
    ++axes;
  }
  return axes == 1 ? std::optional(table) : std::nullopt;
}

/// Turns `x`, whose positions lie along `axis`, before node `at`: [rows, heads · head], as the op takes it.
[[nodiscard]] inline Result<ValueId> turn(Rewriter& r, std::uint32_t at, std::uint32_t x, std::uint8_t axis,
                                          const RopeFit& fit) noexcept {
  const Shape shape = r.type(x).shape;
  std::uint32_t rows = 1;
  for (std::uint8_t i = 0; i <= axis; ++i) rows *= shape[i].extent;
  std::uint32_t columns = 1;
  for (std::size_t i = axis + 1u; i < shape.rank; ++i) columns *= shape[i].extent;
  Vector<std::int32_t> positions(r.allocator());
  if (auto done = positions.resize(rows); !done) return pass(done);
  for (std::uint32_t row = 0; row < rows; ++row) positions[row] = static_cast<std::int32_t>(row % shape[axis].extent);
  const auto data = r.constant(as_bytes(positions.span()), DType::si32, Shape{rows});
  if (!data) return pass(data);
  const auto place = r.insert<ops::Constant>(at, {}, {*data}, {ops::ConstantForm::stored});
  if (!place || !place->present()) return place;
  WeightId factors;
  if (fit.factored) {
    const auto weight =
        r.constant(as_bytes(Span(fit.factor).first(fit.params.n_rot / 2)), DType::f32, Shape{fit.params.n_rot / 2});
    if (!weight) return pass(weight);
    factors = *weight;
  }
  const auto flat = r.insert<ops::Reshape>(at, {x}, {}, {ShapeParams::of(Shape{rows, columns})});
  if (!flat || !flat->present()) return flat;
  return r.insert<ops::Rope>(at, {flat->index, place->index}, {factors}, fit.params);
}

/// The fit that was found last: the blocks of a model share their tables.
struct LastFit {
  std::uint32_t cos = kNone;
  std::uint32_t sin = kNone;
  std::uint32_t rows = 0;
  std::uint32_t width = 0;
  std::uint32_t pairs = 0;
  std::optional<RopeFit> fit{};
};

/// Puts rope of these parts in place of the root.
[[nodiscard]] inline Result<void> replace_by_rope(Rewriter& r, std::uint32_t node, const Pattern& p,
                                                  const RopeParts& parts, LastFit& last) noexcept {
  const Shape shape = r.type(parts.x).shape;
  for (std::size_t axis = 0; axis < shape.rank; ++axis)
    if (shape[axis].symbol != 0 || shape[axis].extent == 0) return {};
  const auto cos = position_table(p, parts.cos);
  const auto sin = position_table(p, parts.sin);
  if (!cos || !sin || cos->axis != sin->axis) return {};
  RopeTables tables{p.data_of(cos->weight), p.data_of(sin->weight), shape[cos->axis].extent,
                    p.type(parts.cos).shape.last().extent};
  if (tables.cos.size() != std::size_t{tables.rows} * tables.width * sizeof(float) ||
      tables.sin.size() != tables.cos.size())
    return {};
  const std::uint32_t pairs = shape.last().extent / 2;
  // Tables as wide as x say everything twice.
  for (std::uint32_t t = 0; t < tables.rows && tables.width == 2 * pairs; ++t)
    for (std::uint32_t i = 0; i < pairs; ++i)
      if (tables.at(tables.cos, t, i) != tables.at(tables.cos, t, i + pairs) ||
          tables.at(tables.sin, t, i) != tables.at(tables.sin, t, i + pairs))
        return {};
  if (tables.width != pairs && tables.width != 2 * pairs) return {};
  const bool same = last.cos == cos->weight && last.sin == sin->weight && last.rows == tables.rows &&
                    last.width == tables.width && last.pairs == pairs;
  if (!same) last = {cos->weight, sin->weight, tables.rows, tables.width, pairs, fit_rope(tables, pairs)};
  auto fit = last.fit;
  if (!fit) return {};
  fit->params.head_dim = shape.last().extent;
  fit->params.style = parts.style;
  // Heads that were brought before the positions are turned where they came from, a row of them at once.
  const std::uint32_t maker = r.producer(parts.x);
  const auto moved = r.params<ops::Transpose>(maker);
  const bool before = moved && moved->perm[moved->rank - 1u] == moved->rank - 1u &&
                      moved->perm[cos->axis] + 1u < moved->rank - 1u && cos->axis + 1u == moved->rank - 1u;
  const std::uint32_t x = before ? r.graph().node_inputs(r.graph().nodes[maker])[0] : parts.x;
  const auto turned = turn(r, node, x, before ? moved->perm[cos->axis] : cos->axis, *fit);
  if (!turned) return pass(turned);
  if (!turned->present()) return {};
  const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
  if (!before) return settle(r.replace<ops::Reshape>(node, {turned->index}, {}, {ShapeParams::of(shape)}));
  const auto split = r.insert<ops::Reshape>(node, {turned->index}, {}, {ShapeParams::of(r.type(x).shape)});
  if (!split) return pass(split);
  if (!split->present()) return {};
  return settle(r.replace<ops::Transpose>(node, {split->index}, {}, *moved));
}

/// The root joins the turned part of x to the rest of it: turns all of x, with n_rot dims of a head.
[[nodiscard]] inline Result<void> take_in_rest(Rewriter& r, std::uint32_t node) noexcept {
  Pattern p(r, node);
  std::uint32_t turned = 0;
  std::uint32_t rest = 0;
  std::uint32_t x = 0;
  std::uint32_t of = 0;
  std::uint32_t start = 0;
  Span<const std::uint32_t> in;
  if (!joined(p, p.result(), turned, rest) || !cut_of_last(p, rest, x, start)) return {};
  auto params = p.made_by<ops::Rope>(p.through(turned), in);
  if (!params || params->n_rot != params->head_dim || params->n_rot != start) return {};
  const std::uint32_t positions = in[1];
  const std::uint32_t rows = p.type(in[0]).shape[0].extent;
  const std::uint32_t factors = p.graph().node_weights(p.graph().nodes[r.producer(p.through(turned))])[0];
  std::uint32_t first = 0;
  const Shape shape = p.type(x).shape;
  if (!cut_of_last(p, p.through(in[0]), of, first) || of != x || first != 0 ||
      p.type(in[0]).shape.last() != Dim(start) || p.type(p.result()).shape != shape || !p.closed())
    return {};
  params->head_dim = shape.last().extent;
  const auto flat = r.insert<ops::Reshape>(node, {x}, {}, {ShapeParams::of(Shape{rows, shape.last()})});
  if (!flat) return pass(flat);
  if (!flat->present()) return {};
  const auto all = r.insert<ops::Rope>(node, {flat->index, positions}, {WeightId{factors}}, *params);
  if (!all) return pass(all);
  if (!all->present()) return {};
  const auto done = r.replace<ops::Reshape>(node, {all->index}, {}, {ShapeParams::of(shape)});
  return done ? Result<void>() : pass(done);
}

}  // namespace detail

/// Replaces rotary positions by rope: x · cos + turned(x) · sin with a half negated and changed over, the two halves
/// each turned and joined, or pairs that lie side by side; where the tables are constants that rotate by multiples of
/// one angle for each pair, from position 0 on. A part of a head that does not turn is taken in. Cosines and sines are
/// within 2e-6 of the tables'.
[[nodiscard]] inline Result<bool> fuse_rope(Graph& g, const PassContext& context) noexcept {
  detail::LastFit last;
  return rewrite_nodes(g, context, [&](Rewriter& r, std::uint32_t node) -> Result<void> {
    const Opcode opcode = r.graph().nodes[node].opcode;
    const bool joins = opcode == ops::Concat::opcode;
    if (!r.claims(ops::Rope::opcode) ||
        !(joins || opcode == ops::ElementwiseBinary::opcode || opcode == ops::Reshape::opcode))
      return {};
    Pattern p(r, node);
    detail::RopeParts parts;
    if (!p.is_f32(p.result())) return {};
    if (detail::rotated(p, parts) && p.closed()) return detail::replace_by_rope(r, node, p, parts, last);
    return joins ? detail::take_in_rest(r, node) : Result<void>();
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
