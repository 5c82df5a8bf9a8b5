// SPDX-License-Identifier: Apache-2.0
// zrt/ir/train/optimizer.hpp: SGD, Adam and AdamW as steps that take state in and give it out.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ir/fused/graft.hpp>

#include <concepts>
#include <initializer_list>
#include <limits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::train {

using ptir::Tensor;

/// A feed that an optimizer added for its state. It is zeros before the first step.
struct Slot {
  fused::ValueId id = 0;
  ptir::TensorType type{};
};

/// What an optimizer builds with: one parameter at a time, and slots that it makes itself. All are f64 where the
/// parameters are, else f32: in a narrower type an epsilon of 1e-8 is 0, and a share of 0.999 may be 1.
class UpdateCall {
 public:
  UpdateCall(fused::Graft& graft, Vector<Slot>& slots, const Tensor& rate) noexcept
      : graft_(graft), slots_(slots), rate_(rate) {}

  [[nodiscard]] ptir::Builder& builder() noexcept { return graft_.builder(); }
  /// The learning rate, a scalar.
  [[nodiscard]] const Tensor& rate() const noexcept { return rate_; }
  /// A new slot.
  [[nodiscard]] Tensor slot(const ptir::TensorType& type) noexcept {
    const Tensor made = graft_.feed(type);
    if (auto r = slots_.push_back({graft_.id_of(made), type}); !r) builder().set(r.error());
    return made;
  }
  /// What a slot is after the step.
  void update(const Tensor& slot, const Tensor& next) noexcept { graft_.update(slot, next); }
  /// x moved towards `to` by (1 - keep).
  [[nodiscard]] static Tensor decayed(const Tensor& x, double keep, const Tensor& to) noexcept {
    return x * keep + to * (1.0 - keep);
  }

 private:
  fused::Graft& graft_;
  Vector<Slot>& slots_;
  Tensor rate_;
};

namespace detail {

/// A number of an optimizer as its user wrote it.
struct Hyper {
  std::string_view name;
  double value;
};
/// Errors: Errc::invalid_argument for a number below 0, NaN or infinite, naming it.
[[nodiscard]] inline Result<void> check_hyper(std::initializer_list<Hyper> numbers) noexcept {
  for (const Hyper& number : numbers)
    if (!(number.value >= 0 && number.value <= std::numeric_limits<double>::max()))
      return fail(Errc::invalid_argument, number.name, " is ", number.value < 0 ? "below 0" : "no finite number",
                  ", expected one of 0 or more");
  return {};
}
/// Errors: also for a share that an average keeps of 1 or more, with which it has no correction.
[[nodiscard]] inline Result<void> check_shares(std::initializer_list<Hyper> shares) noexcept {
  if (auto r = check_hyper(shares); !r) return r;
  for (const Hyper& share : shares)
    if (share.value >= 1) return fail(Errc::invalid_argument, share.name, " is 1 or more, expected less");
  return {};
}

}  // namespace detail

/// Stochastic gradient descent: g += weight_decay · p, v = momentum · v + g, p -= rate · v, and with
/// `nesterov` p -= rate · (g + momentum · v). Without momentum v is g and has no slot.
struct Sgd {
  double rate = 1e-2;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;

  struct Shared {};
  [[nodiscard]] Result<void> check() const noexcept {
    return detail::check_hyper({{"rate", rate}, {"momentum", momentum}, {"weight_decay", weight_decay}});
  }
  [[nodiscard]] Shared begin(UpdateCall&, DType) const noexcept { return {}; }
  [[nodiscard]] Tensor step(UpdateCall& c, const Shared&, const Tensor& p, const Tensor& gradient) const noexcept {
    const Tensor g = weight_decay != 0 ? gradient + p * weight_decay : gradient;
    if (momentum == 0) return p - g * c.rate();
    const Tensor velocity = c.slot(p.type());
    const Tensor next = velocity * momentum + g;
    c.update(velocity, next);
    return p - (nesterov ? g + next * momentum : next) * c.rate();
  }
};

namespace detail {

/// The moments of the gradient that Adam keeps, without the bias of their beginning at zero: p leaves as
/// p - rate · (m / c1) / (sqrt(v / c2) + epsilon), where c = 1 - beta^t is the same average of ones.
struct Moments {
  double beta1, beta2, epsilon;

  struct Shared {
    Tensor c1, c2;
  };
  [[nodiscard]] Result<void> check(double rate, double weight_decay) const noexcept {
    if (auto r = check_shares({{"beta1", beta1}, {"beta2", beta2}}); !r) return r;
    return check_hyper({{"rate", rate}, {"epsilon", epsilon}, {"weight_decay", weight_decay}});
  }
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept {
    const auto correction = [&](double beta) {
      const Tensor slot = c.slot({dtype, {}}), next = slot * beta + (1.0 - beta);
      c.update(slot, next);
      return next;
    };
    const Tensor c1 = correction(beta1);
    return {c1, correction(beta2)};
  }
  [[nodiscard]] Tensor step(UpdateCall& c, const Shared& shared, const Tensor& decayed,
                            const Tensor& g) const noexcept {
    ptir::Builder& b = c.builder();
    const Tensor first = c.slot(g.type()), second = c.slot(g.type());
    const Tensor m = c.decayed(first, beta1, g), v = c.decayed(second, beta2, g * g);
    c.update(first, m);
    c.update(second, v);
    // Through rsqrt, whose reciprocal is 0 at 0.
    const Tensor root = b.reciprocal(b.rsqrt(v / shared.c2));
    return decayed - m / shared.c1 / (root + epsilon) * c.rate();
  }
};

}  // namespace detail

/// Adam (Kingma, Ba 2015) with weight decay as a part of the gradient.
struct Adam {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;

  using Shared = detail::Moments::Shared;
  [[nodiscard]] Result<void> check() const noexcept { return moments().check(rate, weight_decay); }
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept { return moments().begin(c, dtype); }
  [[nodiscard]] Tensor step(UpdateCall& c, const Shared& shared, const Tensor& p, const Tensor& g) const noexcept {
    return moments().step(c, shared, p, weight_decay != 0 ? g + p * weight_decay : g);
  }
  [[nodiscard]] constexpr detail::Moments moments() const noexcept { return {beta1, beta2, epsilon}; }
};

/// Adam with decoupled weight decay (Loshchilov, Hutter 2019): p first shrinks by rate · weight_decay.
struct AdamW {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;

  using Shared = detail::Moments::Shared;
  [[nodiscard]] Result<void> check() const noexcept { return moments().check(rate, weight_decay); }
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept { return moments().begin(c, dtype); }
  [[nodiscard]] Tensor step(UpdateCall& c, const Shared& shared, const Tensor& p, const Tensor& g) const noexcept {
    const Tensor kept = c.builder().scalar(p.dtype(), 1) - c.rate() * weight_decay;
    return moments().step(c, shared, p * kept, g);
  }
  [[nodiscard]] constexpr detail::Moments moments() const noexcept { return {beta1, beta2, epsilon}; }
};

/// A rule that moves parameters by their gradients: `step` gives what a parameter is after it.
template <class O>
concept Optimizer = requires(const O& o, UpdateCall& c, const Tensor& x) {
  { o.rate } -> std::convertible_to<double>;
  { o.check() } noexcept -> std::same_as<Result<void>>;
  { o.begin(c, DType::f32) } noexcept -> std::same_as<typename O::Shared>;
  { o.step(c, o.begin(c, DType::f32), x, x) } noexcept -> std::same_as<Tensor>;
};
static_assert(Optimizer<Sgd> && Optimizer<Adam> && Optimizer<AdamW>);

namespace detail {

[[nodiscard]] inline Result<void> expect_type(const ptir::Builder& b, const Name& what, const ptir::TensorType& found,
                                              const ptir::TensorType& expected) noexcept {
  if (found == expected) return {};
  Error error =
      Error::of(found.dtype == expected.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, what.view(), " is ");
  ptir::append_type(error, b.program(), found).append(", expected ");
  return std::unexpected<Error>(ptir::append_type(error, b.program(), expected));
}

/// Parameter `i` is a feed of `dtype`, a float, that stands in the list once, and `gradient` is of its type.
[[nodiscard]] inline Result<void> check_parameter(fused::Graft& graft, Span<const fused::ValueId> parameters,
                                                  std::size_t i, const Tensor& gradient, DType dtype) noexcept {
  const fused::ValueId id = parameters[i];
  const ptir::TensorType type = graft.type_of(id);
  const ptir::Builder& b = graft.builder();
  if (b.failed()) return std::unexpected<Error>(b.error());
  if (!is_float(type.dtype))
    return fail(Errc::dtype_mismatch, "parameter ", id, " is ", name(type.dtype), ", expected a float");
  if (type.dtype != dtype)
    return fail(Errc::dtype_mismatch, "parameter ", id, " is ", name(type.dtype), ", the first is ", name(dtype));
  if (!graft.is_feed(id)) return fail(Errc::invalid_argument, "parameter ", id, " is no feed");
  for (std::size_t before = 0; before < i; ++before)
    if (parameters[before] == id) return fail(Errc::invalid_argument, "parameter ", id, " is given twice");
  return expect_type(b, Name::of("the gradient of parameter ", id), gradient.type(), type);
}

}  // namespace detail

/// Adds the steps that a run in training updates `parameters` by, feeds all of one dtype, from their
/// `gradients` in the same order. The steps and their slots are f64 where the parameters are, else f32. `rate`, a scalar of
/// that dtype, takes the place of the optimizer's own, so that a feed can make a schedule. Gives the slots.
///
/// Errors: those of the graft; Errc::invalid_argument for lists of unequal length, numbers of the optimizer that its
/// rule does not have, and a parameter that is no feed or is given twice; Errc::dtype_mismatch and shape_mismatch for a
/// parameter that is no float, parameters of several dtypes, a gradient that is not of its parameter's type, and a rate
/// that is not one number of the steps' dtype.
template <Optimizer O>
[[nodiscard]] Result<Vector<Slot>> update(fused::Graft& graft, const O& optimizer,
                                          Span<const fused::ValueId> parameters, Span<const Tensor> gradients,
                                          const std::optional<Tensor>& rate = {}) noexcept {
  if (parameters.size() != gradients.size())
    return fail(Errc::invalid_argument, parameters.size(), " parameters have ", gradients.size(), " gradients");
  ptir::Builder& b = graft.builder();
  Vector<Slot> slots(b.allocator());
  if (b.failed()) return std::unexpected<Error>(b.error());
  if (auto r = optimizer.check(); !r) return pass(r);
  if (parameters.empty()) return slots;
  const DType dtype = graft.type_of(parameters[0]).dtype;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (auto r = detail::check_parameter(graft, parameters, i, gradients[i], dtype); !r) return pass(r);
  const DType wide = default_accumulator(dtype);
  if (rate)
    if (auto r = detail::expect_type(b, "the rate", rate->type(), {wide, {}}); !r) return pass(r);
  const auto cast = [&](const Tensor& x, DType to) { return x.dtype() == to ? x : b.cast(x, to); };
  UpdateCall call(graft, slots, rate ? *rate : b.scalar(wide, optimizer.rate));
  const auto shared = optimizer.begin(call, wide);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor p = graft.value(parameters[i]);
    graft.update(p, cast(optimizer.step(call, shared, cast(p, wide), cast(gradients[i], wide)), dtype));
  }
  if (b.failed()) return std::unexpected<Error>(b.error());
  return slots;
}

}  // namespace zrt::inline ZRT_ABI::ir::train

ZRT_LOAD_TIME_END
