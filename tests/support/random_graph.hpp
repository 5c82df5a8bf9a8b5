// SPDX-License-Identifier: Apache-2.0
// tests/support/random_graph.hpp: graphs of a few ops over several shapes, with symbols, weights and dead ends.
#pragma once

#include <zrt/ops/concat.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/softmax.hpp>

#include <support/run_plan.hpp>

namespace zrt::test {

/// Symbol 1 is `tokens`, symbol 2 `rows`.
struct RandomGraph {
  Weights weights;
  ir::Graph graph;
};

inline constexpr SymbolId kTokens = 1;
inline constexpr SymbolId kRows = 2;

[[nodiscard]] inline Extents extents(std::uint_fast32_t tokens, std::uint_fast32_t rows) noexcept {
  Extents e;
  e.value[kTokens] = static_cast<std::uint32_t>(tokens);
  e.value[kRows] = static_cast<std::uint32_t>(rows);
  return e;
}

/// Builds a graph of about `nodes` ops; the same seed gives the same graph.
[[nodiscard]] inline Result<RandomGraph> random_graph(std::uint32_t seed, std::size_t nodes) {
  std::mt19937 random(seed);
  auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  RandomGraph result;
  // Every weight that the graph may name exists before it is built.
  for (std::uint32_t cols : {32u, 64u, 96u, 128u}) {
    for (std::uint32_t rows : {32u, 64u})
      for (DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0})
        result.weights.add_random(
            "w." + std::to_string(rows) + "." + std::to_string(cols) + "." + std::string(name(dtype)), dtype, rows,
            cols, random);
    result.weights.add_random("norm." + std::to_string(cols), DType::f32, 0, cols, random);
  }
  ir::Builder g(*catalog_ops().table, system_allocator(), result.weights.lookup());
  const SymbolId tokens = g.symbol("tokens", 64);
  const SymbolId rows = g.symbol("rows", 8);
  std::vector<ir::ValueId> values;
  const Dim lead[] = {Dim(1, tokens), Dim(1, rows), Dim(2, tokens), Dim(3)};
  const std::uint32_t widths[] = {32, 64, 96};
  const std::size_t inputs = 1 + pick(3);
  for (std::size_t i = 0; i < inputs; ++i)
    values.push_back(
        g.input(Name::of("in.", static_cast<unsigned>(i)), {DType::f32, {lead[pick(4)], widths[pick(3)]}}));
  auto some = [&] {
    // Recent values more often, so that chains form and die.
    return pick(3) == 0 ? values[pick(values.size())]
                        : values[values.size() - 1 - pick(std::min<std::size_t>(4, values.size()))];
  };
  auto shape_of = [&](ir::ValueId v) { return g.type_of(v).shape; };
  auto like = [&](ir::ValueId v) {
    for (std::size_t tries = 0; tries < 12; ++tries)
      if (const ir::ValueId other = values[pick(values.size())]; shape_of(other) == shape_of(v)) return other;
    return v;
  };
  for (std::size_t n = 0; n < nodes && !g.failed(); ++n) {
    const ir::ValueId x = some();
    const Shape shape = shape_of(x);
    const std::uint32_t cols = shape.last().extent;
    switch (pick(12)) {
      case 0: {
        constexpr ops::UnaryKind kinds[] = {ops::UnaryKind::neg, ops::UnaryKind::abs, ops::UnaryKind::tanh,
                                            ops::UnaryKind::sin};
        values.push_back(g.emit<ops::ElementwiseUnary>({.in = {x}, .params = {kinds[pick(4)]}})[0]);
        break;
      }
      case 1:
        values.push_back(
            g.emit<ops::ElementwiseBinary>({.in = {x, like(x)}, .params = {static_cast<ops::BinaryKind>(pick(3))}})[0]);
        break;
      case 2: {
        Shape to = shape;
        if (shape.rank == 2 && cols % 2 == 0)
          to = {shape[0], 2, cols / 2};
        else if (shape.rank == 3)
          to = {shape[0], Dim(shape[1].extent * cols)};
        values.push_back(g.emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of(to)}})[0]);
        break;
      }
      case 3: {
        const ir::ValueId y = some();
        if (!(shape_of(y).with_last(1) == shape.with_last(1)) || cols + shape_of(y).last().extent > 128) break;
        values.push_back(g.emit<ops::Concat>({.in = {x, y}, .params = ops::ConcatParams::of_last(shape)})[0]);
        break;
      }
      case 4:
      case 5: {
        if (cols != 32 && cols != 64 && cols != 96 && cols != 128) break;
        constexpr DType types[] = {DType::f32, DType::f16, DType::q8_0, DType::q4_0};
        const std::uint32_t out = widths[pick(2)];
        const std::string weight =
            "w." + std::to_string(out) + "." + std::to_string(cols) + "." + std::string(name(types[pick(4)]));
        ir::WeightId bias;
        if (pick(2) == 0) {
          const Bytes data = random_floats(out, random);
          bias = g.constant(data, DType::f32, {out});
        }
        const ir::WeightId w = g.weight(Name(weight), {out, cols});
        values.push_back(g.emit<ops::Linear>({.in = {x}, .w = {w, bias}})[0]);
        break;
      }
      case 6: {
        if (cols < 2) break;
        ir::WeightId norm;
        if (pick(2) == 0) norm = g.optional_weight(Name::of("norm.", cols), {cols});
        values.push_back(g.emit<ops::RmsNorm>({.in = {x}, .w = {norm}, .params = {.dim = cols}})[0]);
        break;
      }
      case 7: {
        const auto both = g.emit<ops::ResidualRmsNorm>({.in = {x, like(x)}, .params = {.norm = {.dim = cols}}});
        values.push_back(both[0]);
        if (pick(4) != 0) values.push_back(both[1]);
        break;
      }
      case 8:
        values.push_back(g.emit<ops::Softmax>({.in = {x}})[0]);
        break;
      case 9:
        if (shape[0].symbol == 0 && shape[0].extent > 1 && pick(2) == 0) {
          // Rows of a tensor: a view of it where they begin at whole 64 bytes.
          ops::SliceParams rows_of;
          Shape sizes = shape;
          sizes.dims[0] = 1 + static_cast<std::uint32_t>(pick(shape[0].extent));
          rows_of.sizes = ShapeParams::of(sizes);
          rows_of.starts[0] = static_cast<std::uint32_t>(pick(shape[0].extent - sizes[0].extent + 1));
          values.push_back(g.emit<ops::Slice>({.in = {x}, .params = rows_of})[0]);
          break;
        }
        if (cols < 32) break;
        values.push_back(g.emit<ops::Slice>(
            {.in = {x},
             .params = ops::SliceParams::of_last(shape, static_cast<std::uint32_t>(pick(cols - 31)), 32)})[0]);
        break;
      case 10:
        values.push_back(g.emit<ops::GatedAct>({.in = {x, pick(2) == 0 ? like(x) : ir::ValueId{}}})[0]);
        break;
      default:
        if (pick(3) == 0)
          values.push_back(g.emit<ops::Reduce>(
              {.in = {x},
               .params = ops::ReduceParams::last_axis(ops::ReduceKind::maximum, g.type_of(x).shape.rank)})[0]);
        else
          values.push_back(g.emit<ops::ResidualAdd>({.in = {x, like(x)}})[0]);
    }
  }
  const std::size_t outputs = 1 + pick(3);
  for (std::size_t i = 0; i < outputs; ++i) g.output(Name::of("out.", static_cast<unsigned>(i)), some());
  auto graph = g.finish();
  if (!graph) return pass(graph);
  result.graph = std::move(*graph);
  return result;
}

}  // namespace zrt::test
