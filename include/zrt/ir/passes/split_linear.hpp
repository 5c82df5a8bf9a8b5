// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/split_linear.hpp: a projection of which each reader takes some columns becomes one projection for each.
#pragma once

#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/transpose.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Elements [start, start + size) of one axis of a tensor, with all of every other axis.
struct AxisWindow {
  std::size_t axis = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};

/// Elements behind each index of `axis`; all extents are constants.
[[nodiscard]] inline std::uint64_t elements_behind(const Shape& shape, std::size_t axis) noexcept {
  CheckedSize count = 1;
  for (std::size_t i = axis + 1; i < shape.rank; ++i) count *= shape[i].extent;
  return count.raw();
}

/// The window of a tensor of shape `from` that `window` of the same elements under shape `to` is; nothing where it is no
/// window of one axis.
[[nodiscard]] inline std::optional<AxisWindow> before_reshape(const Shape& from, const Shape& to,
                                                              const AxisWindow& window) noexcept {
  for (const Shape* shape : {&from, &to})
    for (std::size_t axis = 0; axis < shape->rank; ++axis)
      if ((*shape)[axis].symbol != 0) return std::nullopt;
  const std::uint64_t step = elements_behind(to, window.axis);
  for (std::size_t axis = from.rank; axis-- > 0;) {
    const std::uint64_t inner = elements_behind(from, axis);
    // Both axes end at the same places, so that the window repeats with each.
    if (inner == 0 || inner * from[axis].extent != step * to[window.axis].extent) continue;
    if (window.start * step % inner != 0 || window.size * step % inner != 0) continue;
    return AxisWindow{axis, window.start * step / inner, window.size * step / inner};
  }
  return std::nullopt;
}

/// Splits the projections of one graph.
class LinearParts {
 public:
  LinearParts(Graph& g, const PassContext& context, Rewriter& rewriter) noexcept
      : g_(g), context_(context), r_(rewriter), linear_of_(g.allocator), columns_(g.allocator), parts_(g.allocator) {}

  [[nodiscard]] Result<void> run() noexcept {
    if (auto r = linear_of_.resize(g_.values.size()); !r) return r;
    if (auto r = columns_.resize(g_.nodes.size()); !r) return r;
    for (std::uint32_t& linear : linear_of_) linear = kNone;
    for (std::uint32_t i = 0; i < g_.nodes.size(); ++i)
      if (auto r = visit(i); !r) return r;
    for (const Port& port : g_.outputs) keep(port.value.index);
    for (const Part& part : parts_)
      if (columns_[part.linear] <= g_.weights[g_.node_weights(g_.nodes[part.linear])[0]].shape[0].extent)
        if (auto r = split(part); !r) return r;
    return {};
  }

 private:
  /// Fewer columns are not worth a pass over x of their own.
  static constexpr std::uint64_t kLeastColumns = 16;

  struct Part {
    std::uint32_t slice = 0;   ///< node
    std::uint32_t linear = 0;  ///< node
    std::uint64_t first = 0;   ///< column
    std::uint64_t count = 0;
  };

  /// Notes what node `i` makes of a projection: the same elements in another form, some of its columns, or anything else,
  /// which keeps the projection whole.
  [[nodiscard]] Result<void> visit(std::uint32_t i) noexcept {
    const Node n = g_.nodes[i];
    if (n.opcode == ops::Linear::opcode && can_split(n)) linear_of_[g_.node_outputs(n)[0]] = i;
    for (std::uint32_t v : g_.node_inputs(n)) {
      if (v == kNone || linear_of_[v] == kNone) continue;
      const bool pure = is_pure(g_, *context_.ops.table, n);
      if (pure && (n.opcode == ops::Reshape::opcode || n.opcode == ops::Transpose::opcode)) {
        linear_of_[g_.node_outputs(n)[0]] = linear_of_[v];
        continue;
      }
      Vector<Step> way(g_.allocator);
      const auto part = pure ? part_of(i, way) : Result<std::optional<Part>>(std::nullopt);
      if (!part) return pass(part);
      if (!part->has_value()) {
        keep(v);
        continue;
      }
      if (columns_[(*part)->linear] < kWhole) columns_[(*part)->linear] += (*part)->count;
      if (auto r = parts_.push_back(**part); !r) return r;
    }
    return {};
  }
  void keep(std::uint32_t value) noexcept {
    if (linear_of_[value] != kNone) columns_[linear_of_[value]] = kWhole;
  }

  [[nodiscard]] bool can_split(const Node& n) const noexcept {
    for (std::uint32_t w : g_.node_weights(n))
      if (w != kNone && (!g_.weights[w].inline_data() || g_.weights[w].dtype != DType::f32)) return false;
    return true;
  }

  /// True when the result is no view, whose elements are where they were.
  [[nodiscard]] bool is_copy(const Node& n) const noexcept {
    OperandStorage storage;
    return !context_.ops.row(n.opcode)->view(g_.operand_info(n, storage));
  }

  /// A value on the way from a projection to a slice, with the elements that the slice takes alone.
  struct Step {
    std::uint32_t node = 0;
    Shape shape{};
  };

  /// The columns that slice `node` takes of the projection behind its input; nothing where it is no slice, takes them by
  /// parts, or has nothing to do. `way` takes what lies between, from the slice up.
  [[nodiscard]] Result<std::optional<Part>> part_of(std::uint32_t node, Vector<Step>& way) const noexcept {
    const auto params = r_.params<ops::Slice>(node);
    if (!params) return std::nullopt;
    const Node& slice = g_.nodes[node];
    bool copied = is_copy(slice);
    std::uint32_t v = g_.node_inputs(slice)[0];
    const std::uint32_t linear = linear_of_[v];
    const Shape& x = g_.values[v].type.shape;
    const Shape sizes = params->sizes.shape();
    AxisWindow window{kMaxRank, 0, 0};
    for (std::size_t axis = 0; axis < x.rank; ++axis) {
      if (params->starts[axis] == 0 && sizes[axis] == x[axis]) continue;
      if (window.axis != kMaxRank || x[axis].symbol != 0 || sizes[axis].symbol != 0) return std::nullopt;
      window = {axis, params->starts[axis], sizes[axis].extent};
    }
    if (window.axis == kMaxRank) return std::nullopt;
    while (r_.producer(v) != linear) {
      const std::uint32_t maker = r_.producer(v);
      const std::uint32_t from = g_.node_inputs(g_.nodes[maker])[0];
      Shape shape = g_.values[v].type.shape;
      if (const auto order = r_.params<ops::Transpose>(maker)) {
        copied = copied || is_copy(g_.nodes[maker]);
        shape.dims[window.axis] = static_cast<std::uint32_t>(window.size);
        window.axis = order->perm[window.axis];
      } else {
        const auto before = before_reshape(g_.values[from].type.shape, shape, window);
        if (!before) return std::nullopt;
        shape.dims[window.axis] = static_cast<std::uint32_t>(window.size);
        window = *before;
      }
      if (auto r = way.push_back({maker, shape}); !r) return pass(r);
      v = from;
    }
    const Shape& y = g_.values[v].type.shape;
    if (!copied || window.axis + 1u != y.rank || window.size < kLeastColumns || window.size >= y.last().extent)
      return std::nullopt;
    return Part{node, linear, window.start, window.size};
  }

  /// Lets the slice be what its way makes of a projection to its columns.
  [[nodiscard]] Result<void> split(const Part& part) noexcept {
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    const auto params = r_.params<ops::Linear>(part.linear);
    const Node linear = g_.nodes[part.linear];
    const std::uint32_t x = g_.node_inputs(linear)[0];
    std::array<WeightId, 2> w;
    for (std::size_t k = 0; k < w.size(); ++k) {
      const std::uint32_t whole = g_.node_weights(linear)[k];
      if (whole == kNone) continue;
      const auto rows = r_.rows(whole, part.first, part.count);
      if (!rows) return pass(rows);
      w[k] = *rows;
    }
    Vector<Step> way(g_.allocator);
    if (const auto again = part_of(part.slice, way); !again) return pass(again);
    if (way.empty()) return settle(r_.replace<ops::Linear>(part.slice, {x}, {w[0], w[1]}, *params));
    auto value = r_.insert<ops::Linear>(part.slice, {x}, {w[0], w[1]}, *params);
    for (std::size_t i = way.size(); i-- > 0;) {
      if (!value) return pass(value);
      if (!value->present()) return {};
      const std::uint32_t from = value->index;
      const ops::ReshapeParams to{ShapeParams::of(way[i].shape)};
      const auto order = r_.params<ops::Transpose>(way[i].node);
      if (i == 0)
        return settle(order ? r_.replace<ops::Transpose>(part.slice, {from}, {}, *order)
                            : r_.replace<ops::Reshape>(part.slice, {from}, {}, to));
      value = order ? r_.insert<ops::Transpose>(part.slice, {from}, {}, *order)
                    : r_.insert<ops::Reshape>(part.slice, {from}, {}, to);
    }
    return {};
  }

  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 63;

  Graph& g_;
  const PassContext& context_;
  Rewriter& r_;
  Vector<std::uint32_t> linear_of_;  ///< by value: the projection whose elements it has, in whatever order; else kNone
  Vector<std::uint64_t> columns_;    ///< by node: what its readers take of a projection; kWhole and more where it stays
  Vector<Part> parts_;
};

}  // namespace detail

/// Replaces slices that each take some columns of a projection, straight or behind reshapes and transposes, by
/// projections to those columns: rows of the weights where they lie. Made where nothing else reads the projection, the
/// parts have no more columns than it, each part has at least 16 columns, and the elements would have to be copied on their way. The same bits:
/// each column is a sum of its own. A fused projection of queries, keys and values then takes no more memory at once than
/// three.
[[nodiscard]] inline Result<bool> split_linear(Graph& g, const PassContext& context) noexcept {
  auto rewriter = Rewriter::of(g, context);
  if (!rewriter) return pass(rewriter);
  if (auto r = detail::LinearParts(g, context, *rewriter).run(); !r) return pass(r);
  return rewriter->finish();
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
