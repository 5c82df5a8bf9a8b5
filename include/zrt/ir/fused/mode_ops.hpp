// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/mode_ops.hpp: the steps that differ in training: dropout and batch_norm, by primitives.
#pragma once

#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ops/statement.hpp>

#include <boost/mp11/list.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

/// The seed that a run brings for the steps without one of their own: a parameter of the program, once a
/// step asks for it.
struct RunSeed {
  std::optional<ptir::Tensor> parameter{};

  [[nodiscard]] const ptir::Tensor& of(ptir::Builder& b) noexcept {
    if (!parameter) parameter = b.parameter({DType::si64, {}}, "seed");
    return *parameter;
  }
};

/// One step of such an op on its way into PTIR. `out` takes its results.
struct ModeCall {
  ptir::Builder& builder;
  Span<const ptir::Tensor> in;
  Span<const ptir::Attribute> attributes;
  std::uint32_t step_id;
  bool training;
  RunSeed& seed;
  Vector<ptir::Tensor>& out;
  ptir::Mismatch mismatch{};  ///< the operand that the op refuses, if it does

  void give(const ptir::Tensor& x) noexcept {
    if (auto r = out.push_back(x); !r) builder.set(r.error());
  }
};

/// An op whose meaning depends on `training`.
struct ModeOp {
  ptir::OpInfo info{};
  std::size_t results = 1;
  void (*expand)(ModeCall&) noexcept = nullptr;
};

namespace detail {

/// Training: y = x / (1 - rate) where u >= rate, else 0. u[i] in [0, 1) is element i of rng_uniform in f32
/// under the key `seed` (left out: the run's) and the stream `stream` (left out: the step_id), whatever the
/// dtype of x. A rate of 1 drops everything. Evaluation: y = x.
inline void dropout(ModeCall& c) noexcept {
  ptir::Builder& b = c.builder;
  const ptir::Tensor& x = c.in[0];
  const double rate = c.attributes[0].as_real();
  if (!is_float(x.dtype())) {
    c.mismatch = {0, {}, "a float"};
    return b.set(Error::of(Errc::dtype_mismatch, "dropout: x is ", name(x.dtype()), ", expected a float"));
  }
  if (!(rate >= 0 && rate <= 1)) return b.set(Error::of(Errc::invalid_params, "dropout: rate is not in [0, 1]"));
  if (!c.training) return c.give(x);
  const std::int64_t stream = c.attributes[2].present() ? c.attributes[2].as_integer() : std::int64_t{c.step_id};
  const ptir::Tensor u = c.attributes[1].present()
                             ? b.rng_uniform(x.shape(), DType::f32, c.attributes[1].as_integer(), stream)
                             : b.rng_uniform(x.shape(), DType::f32, c.seed.of(b), stream);
  const ptir::Tensor kept = b.ge(u, b.scalar(DType::f32, rate));
  c.give(b.select(kept, x * (rate < 1 ? 1.0 / (1.0 - rate) : 0.0), b.scalar(x.dtype(), 0)));
}

/// x along its feature axis: what batch_norm and its gradient share.
struct Features {
  ptir::Builder& b;
  ptir::Tensor x;
  ptir::Shape along{};                         ///< of a vector of features that stretches over x
  Vector<std::int64_t> others{b.allocator()};  ///< axes

  /// Errors, in the builder: x is neither f32 nor f64, the axis is none of it, or a later operand is not a
  /// vector of its dtype over the axis. `name` is the op's.
  Features(ModeCall& c, std::string_view name, std::size_t operand) noexcept : b(c.builder), x(c.in[operand]) {
    if (auto r = read(c, name, operand); !r) b.set(r.error());
  }
  [[nodiscard]] ptir::Tensor spread(const ptir::Tensor& v) const noexcept { return b.reshape(v, along); }
  [[nodiscard]] ptir::Tensor sum(const ptir::Tensor& v) const noexcept {
    return b.emit("reduce", {&v, 1},
                  {ptir::Attribute::choice(ptir::choice_index("reduce", "kind", "sum")),
                   b.ints(others.span()),
                   ptir::Attribute::boolean(false),
                   {},
                   {}})[0];
  }
  /// Elements for each feature, as a scalar stretched to a vector.
  [[nodiscard]] ptir::Tensor count() const noexcept { return sum(b.broadcast_to(b.scalar(x.dtype(), 1), x.shape())); }
  /// Zeros for each element of `v`.
  [[nodiscard]] ptir::Tensor none(const ptir::Tensor& v) const noexcept {
    return b.broadcast_to(b.scalar(v.dtype(), 0), v.shape());
  }

 private:
  [[nodiscard]] Result<void> read(ModeCall& c, std::string_view name, std::size_t operand) noexcept {
    const DType type = x.dtype();
    if (type != DType::f32 && type != DType::f64) {
      c.mismatch = {operand, {}, "f32 or f64"};
      return fail(Errc::dtype_mismatch, name, ": x is ", zrt::name(type), ", expected f32 or f64");
    }
    std::int64_t axis = c.attributes[0].as_integer();
    if (axis < -x.rank() || axis >= x.rank())
      return fail(Errc::invalid_params, name, ": feature_axis is ", axis, ", expected an axis of ", x.rank(), " axes");
    if (axis < 0) axis += x.rank();
    const ptir::Shape features{x.shape()[static_cast<std::size_t>(axis)]};
    for (std::int64_t a = 0; a < x.rank(); ++a) {
      along.append(a == axis ? ptir::Dim::inferred() : ptir::Dim(1));
      if (a == axis) continue;
      if (auto r = others.push_back(a); !r) return r;
    }
    for (std::size_t i = operand + 1; i < c.in.size(); ++i) {
      ptir::Shape both;
      if (c.in[i].dtype() == type && unify(c.in[i].shape(), features, both)) continue;
      c.mismatch = {i, ptir::TensorType{type, features}, {}};
      return fail(c.in[i].dtype() == type ? Errc::shape_mismatch : Errc::dtype_mismatch, name, ": operand ", i,
                  " is not a vector of x's dtype over feature_axis");
    }
    return {};
  }
};

/// y = (x - m) * rsqrt(v + epsilon) * gamma + beta over every axis but `feature_axis`.
///
/// Evaluation: m and v are the operands mean and variance, which leave as they came. Training: m and v are
/// the batch's (v divides by n), and mean and variance leave moved towards them by `momentum`, the variance
/// towards the unbiased one (divided by n - 1, and by 1 where n is 1).
inline void batch_norm(ModeCall& c) noexcept {
  ptir::Builder& b = c.builder;
  const Features f(c, "batch_norm", 0);
  if (b.failed()) return;
  const double epsilon = c.attributes[1].as_real(), momentum = c.attributes[2].as_real();
  ptir::Tensor mean = c.in[3], variance = c.in[4], next_mean = mean, next_variance = variance;
  ptir::Tensor centred = f.x;
  if (c.training) {
    const ptir::Tensor one = b.scalar(f.x.dtype(), 1), n = f.count();
    mean = f.sum(f.x) / n;
    centred = f.x - f.spread(mean);
    const ptir::Tensor squares = f.sum(centred * centred);
    variance = squares / n;
    const auto move = [&](const ptir::Tensor& from, const ptir::Tensor& to) {
      return from * (1.0 - momentum) + to * momentum;
    };
    next_mean = move(c.in[3], mean);
    next_variance = move(c.in[4], squares / b.maximum(n - 1.0, one));
  } else {
    centred = f.x - f.spread(mean);
  }
  c.give(centred * f.spread(b.rsqrt(variance + epsilon)) * f.spread(c.in[1]) + f.spread(c.in[2]));
  c.give(next_mean);
  c.give(next_variance);
}

/// What comes back through batch_norm's y to each operand. With s = rsqrt(v + epsilon), n = (x - m) * s:
/// dbeta = sum(dy), dgamma = sum(dy * n). Evaluation: dx = gamma * s * dy, dmean = -gamma * s * dbeta,
/// dvariance = -gamma * s^2 * dgamma / 2. Training, where m and v are functions of x:
/// dx = gamma * s * (dy - (dbeta + n * dgamma) / count), and y is no function of mean and variance.
inline void batch_norm_gradient(ModeCall& c) noexcept {
  ptir::Builder& b = c.builder;
  const Features f(c, "batch_norm_gradient", 1);
  if (b.failed()) return;
  if (!(c.in[0].type() == f.x.type())) {
    c.mismatch = {0, f.x.type(), {}};
    return b.set(Error::of(Errc::shape_mismatch, "batch_norm_gradient: dy is not of x's type"));
  }
  ptir::Tensor dy = c.in[0], mean = c.in[3], variance = c.in[4], centred = f.x;
  if (c.training) {
    mean = f.sum(f.x) / f.count();
    centred = f.x - f.spread(mean);
    variance = f.sum(centred * centred) / f.count();
  } else {
    centred = f.x - f.spread(mean);
  }
  const ptir::Tensor scale = b.rsqrt(variance + c.attributes[1].as_real());
  const ptir::Tensor normal = centred * f.spread(scale);
  const ptir::Tensor dbeta = f.sum(dy), dgamma = f.sum(dy * normal);
  if (c.training) dy = dy - f.spread(dbeta / f.count()) - normal * f.spread(dgamma / f.count());
  const ptir::Tensor slope = scale * c.in[2];
  c.give(dy * f.spread(slope));
  c.give(dgamma);
  c.give(dbeta);
  c.give(c.training ? f.none(mean) : slope * dbeta * -1.0);
  c.give(c.training ? f.none(mean) : slope * scale * dgamma * -0.5);
}

/// What comes back through batch_norm's next mean and next variance to x, mean and variance. Evaluation, where
/// both leave as they came: dmean and dvariance come back whole. Training: 1 - momentum of them, and with c = x - m
/// dx = momentum * (dmean / n + 2 * c * dvariance / max(n - 1, 1)).
inline void batch_norm_statistics_gradient(ModeCall& c) noexcept {
  ptir::Builder& b = c.builder;
  const Features f(c, "batch_norm_statistics_gradient", 0);
  if (b.failed()) return;
  const ptir::Tensor &dmean = c.in[1], &dvariance = c.in[2];
  if (!c.training) {
    c.give(f.none(f.x));
    c.give(dmean);
    return c.give(dvariance);
  }
  const double momentum = c.attributes[1].as_real();
  const ptir::Tensor n = f.count(), centred = f.x - f.spread(f.sum(f.x) / n);
  const ptir::Tensor unbiased = b.maximum(n - 1.0, b.scalar(f.x.dtype(), 1));
  c.give(centred * f.spread(dvariance * (2.0 * momentum) / unbiased) + f.spread(dmean * momentum / n));
  c.give(dmean * (1.0 - momentum));
  c.give(dvariance * (1.0 - momentum));
}

}  // namespace detail

// Each op says its row, and its gradient as a catalog op does (ops/statement.hpp).

struct Dropout {
  static constexpr std::string_view name = "dropout";
  static constexpr ModeOp row{ptir::OpInfo::of(name, {"x"},
                                               {{"rate", ptir::AttributeKind::real},
                                                {"seed", ptir::AttributeKind::integer, true},
                                                {"stream", ptir::AttributeKind::integer, true}}),
                              1, &detail::dropout};

  /// Drops the same elements of the cotangent: a dropout on the stream of the first.
  template <class G> static void gradient(G& c) noexcept {
    const std::array attributes{c.attributes()[0], c.attributes()[1], dropout_stream(c.step(), c.attributes()[2])};
    const ptir::Tensor g = c.cotangent();
    Vector<ptir::Tensor> given(c.builder().allocator());
    c.graft().mode_step(name, {&g, 1}, attributes, {&g.type(), 1}, given);
    if (given.size() == 1) c.give(0, given[0]);
  }
};

struct BatchNormGradient {
  static constexpr std::string_view name = "batch_norm_gradient";
  static constexpr ModeOp row{
      ptir::OpInfo::of(name, {"dy", "x", "gamma", "mean", "variance"},
                       {{"feature_axis", ptir::AttributeKind::integer}, {"epsilon", ptir::AttributeKind::real}}),
      5, &detail::batch_norm_gradient};
  static constexpr Gradient gradient = Gradient::none("its gradient is not built");
};

struct BatchNormStatisticsGradient {
  static constexpr std::string_view name = "batch_norm_statistics_gradient";
  static constexpr ModeOp row{
      ptir::OpInfo::of(name, {"x", "dmean", "dvariance"},
                       {{"feature_axis", ptir::AttributeKind::integer}, {"momentum", ptir::AttributeKind::real}}),
      3, &detail::batch_norm_statistics_gradient};
  static constexpr Gradient gradient = Gradient::none("its gradient is not built");
};

struct BatchNorm {
  static constexpr std::string_view name = "batch_norm";
  static constexpr ModeOp row{ptir::OpInfo::of(name, {"x", "gamma", "beta", "mean", "variance"},
                                               {{"feature_axis", ptir::AttributeKind::integer},
                                                {"epsilon", ptir::AttributeKind::real},
                                                {"momentum", ptir::AttributeKind::real}}),
                              3, &detail::batch_norm};

  /// What came back for y goes to every operand, what came back for the next mean and variance to x and to those.
  template <class G> static void gradient(G& c) noexcept {
    const auto feature_axis = c.attributes()[0], epsilon = c.attributes()[1], momentum = c.attributes()[2];
    Vector<ptir::Tensor> given(c.builder().allocator());
    if (c.has_cotangent(0)) {
      const std::array in{c.cotangent(), c.in(0), c.in(1), c.in(3), c.in(4)};
      const std::array attributes{feature_axis, epsilon};
      const std::array types{c.in_type(0), c.in_type(1), c.in_type(2), c.in_type(3), c.in_type(4)};
      c.graft().mode_step(BatchNormGradient::name, in, attributes, types, given);
    }
    Vector<ptir::Tensor> moved(c.builder().allocator());
    if (c.has_cotangent(1) || c.has_cotangent(2)) {
      const std::array in{c.in(0), c.cotangent(1), c.cotangent(2)};
      const std::array attributes{feature_axis, momentum};
      const std::array types{c.in_type(0), c.in_type(3), c.in_type(4)};
      c.graft().mode_step(BatchNormStatisticsGradient::name, in, attributes, types, moved);
    }
    for (std::size_t i = 0; i < given.size(); ++i)
      if (c.wants(i)) c.give(i, given[i]);
    constexpr std::array<std::size_t, 3> kMoved{0, 3, 4};
    for (std::size_t i = 0; i < moved.size(); ++i)
      if (const std::size_t to = kMoved[i]; c.wants(to)) c.give(to, given.empty() ? moved[i] : given[to] + moved[i]);
  }
};

/// Every op whose meaning depends on `training`. All others are operations of the portable tensor IR.
using ModeOps = boost::mp11::mp_list<Dropout, BatchNorm, BatchNormGradient, BatchNormStatisticsGradient>;

/// Their rows.
inline constexpr auto kModeOps = []<class... O>(boost::mp11::mp_list<O...>) {
  static_assert((SaysItsGradient<O> && ...));
  return std::to_array<ModeOp>({O::row...});
}(ModeOps{});

/// The row of an op whose meaning depends on `training`, or null.
[[nodiscard]] constexpr const ModeOp* find_mode_op(std::string_view name) noexcept {
  for (const ModeOp& row : kModeOps)
    if (row.info.name == name) return &row;
  return nullptr;
}

/// The operands and attributes of a step's op, or null when there is no such op.
[[nodiscard]] constexpr const ptir::OpInfo* find_op(std::string_view name) noexcept {
  const ModeOp* mode = find_mode_op(name);
  return mode != nullptr ? &mode->info : ptir::find_op(name);
}

/// A name that other frameworks give to an attribute.
struct AttributeAlias {
  std::string_view alias, name;
};

inline constexpr auto kAttributeAliases = std::to_array<AttributeAlias>({
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"dims", "perm"},
    {"axis", "axes"},
    {"axes", "perm"},
    {"axis", "feature_axis"},
    {"permutation", "perm"},
    {"keepdim", "keepdims"},
    {"keep_dims", "keepdims"},
    {"eps", "epsilon"},
    {"p", "rate"},
    {"shape", "new_shape"},
    {"shape", "result_shape"},
    {"to", "dtype"},
});

/// The field of `op` that `written` means: the field itself, or the one that it is an alias of. Empty when
/// the op has neither.
[[nodiscard]] constexpr std::string_view field_name(const ptir::OpInfo& op, std::string_view written) noexcept {
  for (const ptir::AttributeField& field : op.fields())
    if (field.name == written) return field.name;
  for (const AttributeAlias& row : kAttributeAliases)
    if (row.alias == written)
      for (const ptir::AttributeField& field : op.fields())
        if (field.name == row.name) return field.name;
  return {};
}
static_assert(field_name(*find_op("dropout"), "p") == "rate" && field_name(*find_op("reduce"), "dim") == "axes" &&
              field_name(*find_op("dropout"), "axis").empty());

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
