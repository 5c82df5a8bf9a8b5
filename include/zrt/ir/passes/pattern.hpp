// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/pattern.hpp: reads a graph backwards from one node, as fusions do, and remembers what it has passed.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/stop_gradient.hpp>
#include <zrt/ops/transpose.hpp>

#include <limits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// How far a constant of a pattern may lie from the number that the pattern wants, relative to it: what the
/// rounding of a constant and of its reciprocal to f32 can do.
inline constexpr double kConstantTolerance = 5e-7;

[[nodiscard]] constexpr bool is_near(double found, double wanted) noexcept {
  const double off = found < wanted ? wanted - found : found - wanted;
  return off <= kConstantTolerance * (wanted < 0 ? -wanted : wanted);
}

/// The nodes between a root and the operands of the op that is to replace it.
///
/// Each function that looks at a value says whether the value is made as it wants, and if so gives what it
/// is made from; the node that makes it then belongs to the pattern. Constants, also spread ones, do not:
/// other patterns may share them.
class Pattern {
 public:
  Pattern(const Rewriter& rewriter, std::uint32_t root) noexcept : r_(rewriter), root_(root) { take(root); }

  [[nodiscard]] const Rewriter& rewriter() const noexcept { return r_; }
  [[nodiscard]] const Graph& graph() const noexcept { return r_.graph(); }
  [[nodiscard]] std::uint32_t root() const noexcept { return root_; }
  /// The root's result.
  [[nodiscard]] std::uint32_t result() const noexcept { return graph().node_outputs(graph().nodes[root_])[0]; }
  [[nodiscard]] const TensorType& type(std::uint32_t value) const noexcept { return r_.type(value); }
  [[nodiscard]] bool is_f32(std::uint32_t value) const noexcept { return type(value).dtype == DType::f32; }

  /// Where the pattern stands; `back` forgets what was passed since, for another attempt.
  [[nodiscard]] std::uint32_t mark() const noexcept { return count_; }
  void back(std::uint32_t mark) noexcept { count_ = mark; }
  /// Tries one way to read on, and forgets what it passed if that fails.
  template <class F> [[nodiscard]] bool attempt(F&& f) noexcept {
    const std::uint32_t at = mark();
    if (f()) return true;
    back(at);
    return false;
  }

  /// The parameters of the node of O that makes `v`, and its inputs in `in`.
  template <class O>
  [[nodiscard]] std::optional<typename O::Params> made_by(std::uint32_t v, Span<const std::uint32_t>& in) noexcept {
    const std::uint32_t node = r_.producer(v);
    const auto params = r_.params<O>(node);
    if (!params) return std::nullopt;
    take(node);
    in = graph().node_inputs(graph().nodes[node]);
    return params;
  }

  [[nodiscard]] bool unary(std::uint32_t v, ops::UnaryKind kind, std::uint32_t& x) noexcept {
    return attempt([&] {
      Span<const std::uint32_t> in;
      const auto params = made_by<ops::ElementwiseUnary>(v, in);
      if (!params || params->kind != kind) return false;
      x = in[0];
      return true;
    });
  }
  [[nodiscard]] bool binary(std::uint32_t v, ops::BinaryKind kind, std::uint32_t& a, std::uint32_t& b) noexcept {
    return attempt([&] {
      Span<const std::uint32_t> in;
      const auto params = made_by<ops::ElementwiseBinary>(v, in);
      if (!params || params->kind != kind) return false;
      a = in[0];
      b = in[1];
      return true;
    });
  }
  /// `v` = a ∘ b for an operation whose operands may change places: `f(a, b)` is tried both ways.
  template <class F> [[nodiscard]] bool commutes(std::uint32_t v, ops::BinaryKind kind, F&& f) noexcept {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    return attempt([&] {
      return binary(v, kind, a, b) && (attempt([&] { return f(a, b); }) || attempt([&] { return f(b, a); }));
    });
  }

  /// The number that every element of `v` is, a constant of f32.
  [[nodiscard]] std::optional<double> splat(std::uint32_t v) const noexcept {
    const std::uint32_t weight = constant(v, /*spread=*/true);
    if (weight == kNone || graph().weights[weight].dtype != DType::f32) return std::nullopt;
    const Span<const std::byte> data = data_of(weight);
    if (data.size() < sizeof(float)) return std::nullopt;
    for (std::size_t i = sizeof(float); i < data.size(); ++i)
      if (data[i] != data[i - sizeof(float)]) return std::nullopt;
    float value = 0;
    std::memcpy(&value, data.data(), sizeof(float));
    return value;
  }
  [[nodiscard]] bool is_splat(std::uint32_t v, double wanted) const noexcept {
    const auto found = splat(v);
    return found && (*found == wanted || is_near(*found, wanted));
  }

  /// The weight that holds the elements of `v` in their order: a constant of the graph, reshaped or not;
  /// kNone when there is none. `spread` looks through repetition too.
  [[nodiscard]] std::uint32_t constant(std::uint32_t v, bool spread = false) const noexcept {
    for (int hops = 0; hops < 64; ++hops) {
      const std::uint32_t node = r_.producer(v);
      if (node == kNone) return kNone;
      const Node& n = graph().nodes[node];
      if (const auto params = r_.params<ops::Constant>(node)) {
        const std::uint32_t weight = graph().node_weights(n)[0];
        return graph().weights[weight].inline_data() && graph().weights[weight].dtype == type(v).dtype ? weight : kNone;
      }
      const bool keeps = n.opcode == ops::Reshape::opcode || n.opcode == ops::StopGradient::opcode;
      if (!keeps && !(spread && (n.opcode == ops::BroadcastTo::opcode || n.opcode == ops::Transpose::opcode)))
        return kNone;
      v = graph().node_inputs(n)[0];
    }
    return kNone;
  }
  [[nodiscard]] Span<const std::byte> data_of(std::uint32_t weight) const noexcept {
    const Weight& w = graph().weights[weight];
    return {graph().constants.data() + w.data_offset, w.data_bytes};
  }

  /// Steps from `v` through what changes neither elements nor their order.
  [[nodiscard]] std::uint32_t through(std::uint32_t v) noexcept {
    for (;;) {
      Span<const std::uint32_t> in;
      if (!made_by<ops::Reshape>(v, in) && !made_by<ops::StopGradient>(v, in)) return v;
      v = in[0];
    }
  }

  /// `v`[..., j] is the same for every j of the last axis: gives the value that has one element for each row.
  [[nodiscard]] bool spread_rows(std::uint32_t v, std::uint32_t& rows) noexcept {
    return attempt([&] {
      const Shape to = type(v).shape;
      if (to.rank == 0) return false;
      Span<const std::uint32_t> in;
      if (made_by<ops::BroadcastTo>(v, in)) {
        const Shape from = type(in[0]).shape;
        const std::size_t lead = to.rank - std::size_t{from.rank};
        for (std::size_t axis = 0; axis + 1 < to.rank; ++axis)
          if ((axis < lead ? Dim(1) : from[axis - lead]) != to[axis]) return false;
        if (from.last() != Dim(1)) return false;
        v = in[0];
      } else if (to.last() != Dim(1)) {
        return false;
      }
      rows = through(v);
      return true;
    });
  }

  /// `v`[..., j] is `columns`[j]: gives the value that has one element for each j of the last axis.
  [[nodiscard]] bool spread_columns(std::uint32_t v, std::uint32_t& columns) noexcept {
    return type(v).shape.rank != 0 && spread_along(v, type(v).shape.rank - std::size_t{1}, columns);
  }
  /// `v`[..., j, ...] is `line`[j], with j the index on `axis`: gives the value that has one element for each j.
  [[nodiscard]] bool spread_along(std::uint32_t v, std::size_t axis, std::uint32_t& line) noexcept {
    return attempt([&] {
      const Shape to = type(v).shape;
      Span<const std::uint32_t> in;
      while (made_by<ops::BroadcastTo>(v, in)) v = in[0];
      const Shape from = type(v).shape;
      const std::size_t lead = to.rank - std::size_t{from.rank};
      if (axis < lead || from[axis - lead] != to[axis]) return false;
      for (std::size_t a = 0; a < from.rank; ++a)
        if (a + lead != axis && from[a] != Dim(1)) return false;
      line = through(v);
      return true;
    });
  }

  /// `v` folds the last axis of `x` in f32, in row-major order, whatever its own shape.
  [[nodiscard]] bool fold_rows(std::uint32_t v, ops::ReduceKind kind, std::uint32_t& x) noexcept {
    return attempt([&] {
      Span<const std::uint32_t> in;
      const auto params = made_by<ops::Reduce>(through(v), in);
      if (!params || params->kind != kind) return false;
      const std::size_t rank = type(in[0]).shape.rank;
      if (rank == 0 || params->axes != 1u << (rank - 1)) return false;
      if (params->accum_dtype != DType::f32 || params->out_dtype != DType::f32 || !is_f32(in[0])) return false;
      x = in[0];
      return true;
    });
  }

  /// `v` is the mean of the last axis of `x`: its sum divided by the extent, or times the reciprocal of it.
  [[nodiscard]] bool mean_of_rows(std::uint32_t v, std::uint32_t& x) noexcept {
    std::uint32_t sum = 0;
    std::uint32_t by = 0;
    const auto extent = [&] {
      const Dim last = type(x).shape.last();
      return last.symbol == 0 ? static_cast<double>(last.extent) : 0.0;
    };
    v = through(v);
    return attempt([&] {
             return binary(v, ops::BinaryKind::div, sum, by) && fold_rows(sum, ops::ReduceKind::sum, x) &&
                    is_splat(by, extent());
           }) ||
           commutes(v, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
             return fold_rows(a, ops::ReduceKind::sum, x) && extent() > 0 && is_splat(b, 1.0 / extent());
           });
  }

  /// `v` = 1 / d, which exporters also write as 1 · (1 / d).
  [[nodiscard]] bool reciprocal(std::uint32_t v, std::uint32_t& d) noexcept {
    std::uint32_t one = 0;
    return unary(v, ops::UnaryKind::reciprocal, d) ||
           attempt([&] { return binary(v, ops::BinaryKind::div, one, d) && is_splat(one, 1.0); }) ||
           commutes(v, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
             return is_splat(b, 1.0) && unary(a, ops::UnaryKind::reciprocal, d);
           });
  }

  /// `v` = a / b, or a · (1 / b): `f(a, b)` decides.
  template <class F> [[nodiscard]] bool quotient(std::uint32_t v, F&& f) noexcept {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    return attempt([&] { return binary(v, ops::BinaryKind::div, a, b) && f(a, b); }) ||
           commutes(v, ops::BinaryKind::mul,
                    [&](std::uint32_t x, std::uint32_t inverse) { return reciprocal(inverse, b) && f(x, b); });
  }

  /// True when nothing outside the pattern reads what is made within it, the root's result apart: then the
  /// pattern can go as a whole.
  [[nodiscard]] bool closed() const noexcept {
    if (count_ > kMost) return false;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (nodes_[i] == root_) continue;
      for (std::uint32_t v : graph().node_outputs(graph().nodes[nodes_[i]])) {
        if (constant(v, /*spread=*/true) != kNone) continue;
        std::uint32_t within = 0;
        for (std::uint32_t k = 0; k < count_; ++k)
          for (std::uint32_t input : graph().node_inputs(graph().nodes[nodes_[k]])) within += input == v ? 1u : 0u;
        if (within != r_.uses(v)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kMost = 64;

  void take(std::uint32_t node) noexcept {
    for (std::uint32_t i = 0; i < count_ && i < kMost; ++i)
      if (nodes_[i] == node) return;
    if (count_ < kMost) nodes_[count_] = node;
    ++count_;
  }

  const Rewriter& r_;
  std::uint32_t root_;
  std::array<std::uint32_t, kMost> nodes_{};
  std::uint32_t count_ = 0;
};

namespace detail {

/// Whether f32 holds a factor with all its digits: it is not 0, nor infinite, nor below the least normal number.
[[nodiscard]] constexpr bool is_f32_factor(double number) noexcept {
  const double size = number < 0 ? -number : number;
  return size >= double{std::numeric_limits<float>::min()} && size <= double{std::numeric_limits<float>::max()};
}

/// Steps from `v` through at most 64 products with numbers, which multiply `scale`.
[[nodiscard]] inline std::uint32_t unscaled(Pattern& p, std::uint32_t v, double& scale) noexcept {
  for (int hops = 0; hops < 64; ++hops) {
    std::uint32_t x = 0;
    std::uint32_t by = 0;
    if (p.splat(v)) return v;
    if (p.commutes(v, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
          x = a;
          by = b;
          return p.splat(b).has_value();
        })) {
      scale *= *p.splat(by);
    } else if (p.attempt(
                   [&] { return p.binary(v, ops::BinaryKind::div, x, by) && p.splat(by) && *p.splat(by) != 0; })) {
      scale /= *p.splat(by);
    } else {
      return v;
    }
    v = x;
  }
  return v;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
