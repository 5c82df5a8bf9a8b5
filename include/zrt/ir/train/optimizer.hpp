// SPDX-License-Identifier: Apache-2.0
// zrt/ir/train/optimizer.hpp: SGD, Adam and AdamW as steps that take state in and give it out.
#pragma once

#include <zrt/ir/fused/graft.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::ir::train {

using ptir::Tensor;

/// A feed that an optimizer added for its state. It is zeros before the first step.
struct Slot {
  fused::ValueId id = 0;
  ptir::TensorType type{};
};

/// What an optimizer builds with: one parameter at a time, and slots that it makes itself.
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
  /// What a slot or a parameter is after the step.
  void update(const Tensor& state, const Tensor& next) noexcept { graft_.update(state, next); }
  /// x moved towards `to` by (1 - keep).
  [[nodiscard]] static Tensor decayed(const Tensor& x, double keep, const Tensor& to) noexcept {
    return x * keep + to * (1.0 - keep);
  }

 private:
  fused::Graft& graft_;
  Vector<Slot>& slots_;
  Tensor rate_;
};

/// Stochastic gradient descent: g += weight_decay · p, v = momentum · v + g, p -= rate · v, and with
/// `nesterov` p -= rate · (g + momentum · v). Without momentum v is g and has no slot.
struct Sgd {
  double rate = 1e-2;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;

  struct Shared {};
  [[nodiscard]] Shared begin(UpdateCall&, DType) const noexcept { return {}; }
  void step(UpdateCall& c, const Shared&, const Tensor& p, const Tensor& gradient) const noexcept {
    const Tensor g = weight_decay != 0 ? gradient + p * weight_decay : gradient;
    if (momentum == 0) return c.update(p, p - g * c.rate());
    const Tensor velocity = c.slot(p.type());
    const Tensor next = velocity * momentum + g;
    c.update(velocity, next);
    c.update(p, p - (nesterov ? g + next * momentum : next) * c.rate());
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
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept {
    const auto correction = [&](double beta) {
      const Tensor slot = c.slot({dtype, {}}), next = slot * beta + (1.0 - beta);
      c.update(slot, next);
      return next;
    };
    const Tensor c1 = correction(beta1);
    return {c1, correction(beta2)};
  }
  void step(UpdateCall& c, const Shared& shared, const Tensor& p, const Tensor& decayed,
            const Tensor& g) const noexcept {
    ptir::Builder& b = c.builder();
    const Tensor first = c.slot(p.type()), second = c.slot(p.type());
    const Tensor m = c.decayed(first, beta1, g), v = c.decayed(second, beta2, g * g);
    c.update(first, m);
    c.update(second, v);
    // Through rsqrt, whose reciprocal is 0 at 0.
    const Tensor root = b.reciprocal(b.rsqrt(v / shared.c2));
    c.update(p, decayed - m / shared.c1 / (root + epsilon) * c.rate());
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
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept { return moments().begin(c, dtype); }
  void step(UpdateCall& c, const Shared& shared, const Tensor& p, const Tensor& g) const noexcept {
    moments().step(c, shared, p, p, weight_decay != 0 ? g + p * weight_decay : g);
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
  [[nodiscard]] Shared begin(UpdateCall& c, DType dtype) const noexcept { return moments().begin(c, dtype); }
  void step(UpdateCall& c, const Shared& shared, const Tensor& p, const Tensor& g) const noexcept {
    const Tensor kept = c.builder().scalar(p.dtype(), 1) - c.rate() * weight_decay;
    moments().step(c, shared, p, p * kept, g);
  }
  [[nodiscard]] constexpr detail::Moments moments() const noexcept { return {beta1, beta2, epsilon}; }
};

/// A rule that moves parameters by their gradients.
template <class O>
concept Optimizer = requires(const O& o, UpdateCall& c, const Tensor& x) {
  { o.rate } -> std::convertible_to<double>;
  { o.begin(c, DType::f32) } noexcept -> std::same_as<typename O::Shared>;
  { o.step(c, o.begin(c, DType::f32), x, x) } noexcept -> std::same_as<void>;
};
static_assert(Optimizer<Sgd> && Optimizer<Adam> && Optimizer<AdamW>);

/// Adds the steps that a run in training updates `parameters` by, feeds all of one dtype, from their
/// `gradients` in the same order. `rate`, a scalar of that dtype, takes the place of the optimizer's own, so
/// that a feed can make a schedule. Gives the slots.
///
/// Errors: those of the graft; Errc::invalid_argument for lists of unequal length, Errc::dtype_mismatch for
/// parameters of several dtypes.
template <Optimizer O>
[[nodiscard]] Result<Vector<Slot>> update(fused::Graft& graft, const O& optimizer,
                                          Span<const fused::ValueId> parameters, Span<const Tensor> gradients,
                                          const std::optional<Tensor>& rate = {}) noexcept {
  if (parameters.size() != gradients.size())
    return fail(Errc::invalid_argument, parameters.size(), " parameters have ", gradients.size(), " gradients");
  ptir::Builder& b = graft.builder();
  Vector<Slot> slots(b.allocator());
  if (b.failed()) return std::unexpected<Error>(b.error());
  if (parameters.empty()) return slots;
  const DType dtype = graft.type_of(parameters[0]).dtype;
  UpdateCall call(graft, slots, rate ? *rate : b.scalar(dtype, optimizer.rate));
  const auto shared = optimizer.begin(call, dtype);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor p = graft.value(parameters[i]);
    if (!b.failed() && p.dtype() != dtype)
      return fail(Errc::dtype_mismatch, "parameter ", parameters[i], " is ", name(p.dtype()), ", the first is ",
                  name(dtype));
    optimizer.step(call, shared, p, gradients[i]);
  }
  if (b.failed()) return std::unexpected<Error>(b.error());
  return slots;
}

}  // namespace zrt::inline ZRT_ABI::ir::train
