// SPDX-License-Identifier: Apache-2.0
// zrt/ops/layer_norm.hpp: mean and variance of an axis taken out, then scale and shift.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reshape.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct LayerNormParams {
  double epsilon = 1e-5;
  std::uint32_t feature_axis = 0;
  std::uint32_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LayerNormParams::epsilon, "epsilon"}, Member{&LayerNormParams::feature_axis, "feature_axis"},
                 Member{&LayerNormParams::reserved, "reserved"});
};

/// y = (x - mean) / sqrt(variance + epsilon) · gamma + beta along an axis of floats (PTIR `LayerNorm`).
///
/// The mean and the variance, the mean of (x - mean)^2, are sums divided by the extent. Every step is
/// rounded to f32, or to f64 for f64, and the result once more to x's type. Sums: dot16 with ones. The
/// expansion computes the same steps in the same order, so it gives the same bits.
struct LayerNorm {
  using Params = LayerNormParams;
  static constexpr Opcode opcode{88};
  static constexpr std::string_view name = "layer_norm";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"gamma"}, Role{"beta"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to =
      boost::mp11::mp_list<Cast, Constant, BroadcastTo, Reshape, Reduce, ElementwiseUnary, ElementwiseBinary>;

  static constexpr auto attributes = attribute_list(attribute::real("epsilon", &Params::epsilon),
                                                    attribute::axis("feature_axis", &Params::feature_axis));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& shape = c.in[0].shape;
    const auto axis = c.axis(at<LayerNorm>("feature_axis"), shape.rank);
    if (!axis) return pass(axis);
    if (!is_float(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a float dtype");
    // Written so that NaN is refused too.
    if (!(c.real(at<LayerNorm>("epsilon")) >= 0))
      return c.no(Errc::invalid_params, "epsilon is negative or NaN, expected 0 or more");
    for (std::size_t i = 1; i < 3; ++i) {
      if (c.in[i].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, i, 0);
      D both;
      if (c.in[i].shape.rank != 1 || !unify(c.in[i].shape[0], shape[*axis], both))
        return c.wrong(Errc::shape_mismatch, i, "one entry for each feature on axis ", *axis, " of x");
    }
    return c.give(c.in[0]);
  }

  /// The type that x is computed in.
  [[nodiscard]] static constexpr DType wide(DType dtype) noexcept {
    return dtype == DType::f64 ? DType::f64 : DType::f32;
  }

  static void reference(const HostCall<LayerNorm>& c, const ExecutionContext& step, const Worker&) noexcept {
    const AxisSplit split(c.in[0], c.params.feature_axis, step);
    IndexSpace<1> line;
    line.add(split.extent, {split.inner});
    const DType dtype = c.in[0].type.dtype;
    const auto normalise = [&]<std::floating_point T>(std::type_identity<T>, T features, T epsilon) {
      const auto each_run = [&](std::uint64_t base, auto&& use) {
        T x[kFoldRun];
        for (std::uint64_t first = 0; first < split.extent; first += kFoldRun) {
          const std::uint64_t count = std::min(split.extent - first, kFoldRun);
          line.read(0, dtype, c.in[0].data, base, first, count, dtype, x);
          use(x, first, count);
        }
      };
      for (std::uint64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::uint64_t base = i / split.inner * split.extent * split.inner + i % split.inner;
        Fold<T> sum(ReduceKind::sum, wide(dtype));
        each_run(base, [&](T* x, std::uint64_t, std::uint64_t count) { sum.take(x, count); });
        const T mean = sum.result() / features;
        Fold<T> squares(ReduceKind::sum, wide(dtype));
        each_run(base, [&](T* x, std::uint64_t, std::uint64_t count) {
          for (std::uint64_t k = 0; k < count; ++k) x[k] = (x[k] - mean) * (x[k] - mean);
          squares.take(x, count);
        });
        const T scale = ElementwiseUnary::apply(UnaryKind::rsqrt, squares.result() / features + epsilon);
        each_run(base, [&](T* x, std::uint64_t first, std::uint64_t count) {
          T gamma[kFoldRun];
          T beta[kFoldRun];
          unpack_as(dtype, c.in[1].data, first, count, dtype, gamma);
          unpack_as(dtype, c.in[2].data, first, count, dtype, beta);
          for (std::uint64_t k = 0; k < count; ++k) {
            const T normed = (x[k] - mean) * scale;
            const T y = math::sealed(normed * gamma[k]) + beta[k];
            element_functions<T>(dtype).pack(&y, base + (first + k) * split.inner, 1, c.out[0].data);
          }
        });
      }
    };
    if (dtype == DType::f64)
      normalise(std::type_identity<double>{}, integer_to_f64(split.extent), c.params.epsilon);
    else
      normalise(std::type_identity<float>{}, integer_to_f32(split.extent), narrow_to_f32(c.params.epsilon));
  }

  template <class G> static constexpr Result<Outputs<G, LayerNorm>> expand(G& g, const Call<G, LayerNorm>& c) {
    const TensorType type = g.type_of(c.in[0]);
    const DType in = wide(type.dtype);
    const std::size_t axis = c.params.feature_axis;
    auto cast = [&](auto value, DType from, DType to) {
      return from == to ? value : g.template emit<Cast>({.in = {value}, .params = {to}})[0];
    };
    auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    auto spread = [&](auto value, const Shape& to) {
      return g.template emit<BroadcastTo>({.in = {value}, .params = {ShapeParams::of(to)}})[0];
    };
    auto scalar = [&](double value) {
      const float narrow = narrow_to_f32(value);
      return in == DType::f64
                 ? g.template emit<Constant>({.in = {}, .w = {g.constant(as_bytes(Span(&value, 1)), in, Shape{1})}})[0]
                 : g.template emit<Constant>({.in = {}, .w = {g.constant({&narrow, 1})}})[0];
    };
    auto sum = [&](auto value, std::size_t over) {
      const ReduceParams params{ReduceKind::sum, 1, static_cast<std::uint8_t>(1u << over), in, in};
      return g.template emit<Reduce>({.in = {value}, .params = params})[0];
    };
    Shape one = type.shape;
    one.dims[axis] = 1;
    const Dim extent = type.shape[axis];
    // An extent that only the step knows is counted.
    const auto features =
        spread(extent.symbol == 0 ? scalar(extent.extent) : sum(spread(scalar(1.0), Shape{extent}), 0), one);
    const auto x = cast(c.in[0], type.dtype, in);
    const auto mean = binary(BinaryKind::div, sum(x, axis), features);
    const auto centred = binary(BinaryKind::sub, x, spread(mean, type.shape));
    const auto variance = binary(BinaryKind::div, sum(binary(BinaryKind::mul, centred, centred), axis), features);
    const auto shifted = binary(BinaryKind::add, variance, spread(scalar(c.params.epsilon), one));
    const auto scale = g.template emit<ElementwiseUnary>({.in = {shifted}, .params = {UnaryKind::rsqrt}})[0];
    auto along_axis = [&](auto vector) {
      Shape shape = type.shape;
      for (std::size_t a = 0; a < shape.rank; ++a) shape.dims[a] = a == axis ? extent : Dim(1);
      const auto wider = cast(vector, type.dtype, in);
      const auto shaped = g.template emit<Reshape>({.in = {wider}, .params = {ShapeParams::of(shape)}})[0];
      return spread(shaped, type.shape);
    };
    const auto normed = binary(BinaryKind::mul, centred, spread(scale, type.shape));
    const auto scaled = binary(BinaryKind::mul, normed, along_axis(c.in[1]));
    return Outputs<G, LayerNorm>{cast(binary(BinaryKind::add, scaled, along_axis(c.in[2])), in, type.dtype)};
  }

  /// With n = (x - mean) / sqrt(variance + epsilon) and h = g · gamma:
  /// dx = (h - mean(h) - n · mean(h · n)) / sqrt(variance + epsilon), dgamma = sum(g · n), dbeta = sum(g), all in f32
  /// where the type is narrower, as layer_norm itself: sums of squares of f16 leave its range.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const DType type = c.in_type(0).dtype, wide = default_accumulator(type);
    const auto widened = [&](const auto& v) { return v.dtype() == wide ? v : b.cast(v, wide); };
    const auto give = [&](std::size_t i, const auto& v) { c.give(i, type == wide ? v : b.cast(v, type)); };
    const auto g = widened(c.cotangent()), x = widened(c.in(0));
    const auto axis = c.from_first(c.integer("feature_axis"), x.rank());
    const auto at = static_cast<std::size_t>(axis);
    typename G::Numbers feature, others;
    for (std::int64_t a = 0; a < x.rank(); ++a) (a == axis ? feature : others).append(a);
    const auto n = static_cast<double>(x.shape()[at].constant());
    const auto mean = [&](const auto& v) { return c.sum(v, feature, true) / n; };
    const auto centred = x - mean(x);
    const auto scale = b.rsqrt(mean(centred * centred) + c.attribute("epsilon").as_real());
    const auto normal = centred * scale;
    if (c.wants(0)) {
      const auto h = g * c.along(widened(c.in(1)), at, x.shape());
      give(0, (h - mean(h) - normal * mean(h * normal)) * scale);
    }
    if (c.wants(1)) give(1, c.sum(g * normal, others, false));
    if (c.wants(2)) give(2, c.sum(g, others, false));
  }
};
static_assert(Op<LayerNorm> && HasReference<LayerNorm> && HasExpansion<LayerNorm>);

}  // namespace zrt::inline ZRT_ABI::ops
