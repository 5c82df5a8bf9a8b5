// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/differentiate.hpp: reverse-mode differentiation of fused programs, as more steps.
#pragma once

#include <zrt/ir/gradient/table.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

namespace detail {

/// One way back through the steps of a program.
class WayBack {
 public:
  explicit WayBack(fused::Graft& graft) noexcept
      : graft_(graft), program_(graft.program()), rows_(program_.store.allocator) {}

  [[nodiscard]] Result<Vector<Tensor>> run(fused::ValueId loss, Span<const fused::ValueId> of) noexcept {
    ptir::Builder& b = graft_.builder();
    const ptir::TensorType type = graft_.type_of(loss);
    for (const fused::ValueId id : of)
      if (const DType dtype = graft_.type_of(id).dtype; !b.failed() && !is_float(dtype))
        return fail(Errc::dtype_mismatch, "value ", id, " is ", name(dtype), ", which has no gradient");
    if (b.failed()) return std::unexpected<Error>(b.error());
    if (!is_float(type.dtype) || type.shape.rank != 0)
      return fail(Errc::shape_mismatch, "the loss, value ", loss, ", is not one float");
    if (auto r = rows_of_values(); !r) return pass(r);
    for (const fused::ValueId id : of) row(id).active = 1;
    for (const fused::Step& step : program_.steps)
      if (passage(step) != Passage::stops && reads_active(step))
        for (const fused::ValueId id : program_.results_of(step))
          if (is_float(graft_.type_of(id).dtype)) row(id).active = 1;
    row(loss).cotangent = b.broadcast_to(b.scalar(type.dtype, 1), type.shape);
    for (std::size_t s = program_.steps.size(); s-- > 0;)
      if (auto r = back(s); !r) return pass(r);
    Vector<Tensor> gradients(program_.store.allocator);
    for (const fused::ValueId id : of)
      if (auto r =
              gradients.push_back(row(id).cotangent ? *row(id).cotangent : Expressions::zeros(b, graft_.type_of(id)));
          !r)
        return pass(r);
    if (b.failed()) return std::unexpected<Error>(b.error());
    return gradients;
  }

 private:
  struct Row {
    fused::ValueId id = 0;
    std::uint8_t active = 0;  ///< depends on what the gradient is asked of
    std::optional<Tensor> cotangent{};
  };

  [[nodiscard]] Result<void> rows_of_values() noexcept {
    for (const fused::ValueId id : program_.feeds)
      if (auto r = rows_.push_back({id}); !r) return r;
    for (const fused::Step& step : program_.steps)
      for (const fused::ValueId id : program_.results_of(step))
        if (auto r = rows_.push_back({id}); !r) return r;
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
    return {};
  }
  [[nodiscard]] Row& row(fused::ValueId id) noexcept {
    return *std::lower_bound(rows_.begin(), rows_.end(), id,
                             [](const Row& r, fused::ValueId wanted) { return r.id < wanted; });
  }
  [[nodiscard]] static Passage passage(const fused::Step& step) noexcept {
    return find_gradient(step.op.view())->passage;
  }
  [[nodiscard]] bool reads_active(const fused::Step& step) noexcept {
    for (const fused::ValueId id : program_.inputs_of(step))
      if (row(id).active != 0) return true;
    return false;
  }

  [[nodiscard]] Result<void> back(std::size_t s) noexcept {
    const fused::Step& step = program_.steps[s];
    const auto inputs = program_.inputs_of(step);
    const Allocator& allocator = program_.store.allocator;
    Vector<std::optional<Tensor>> cotangents(allocator), given(allocator);
    Vector<std::uint8_t> wanted(allocator);
    bool came = false;
    // What has no elements brings nothing back, and nothing comes back to it.
    for (const fused::ValueId id : program_.results_of(step)) {
      came = came || (row(id).cotangent && !Expressions::is_empty(graft_.type_of(id).shape));
      if (auto r = cotangents.push_back(row(id).cotangent); !r) return r;
    }
    if (!came || passage(step) == Passage::stops || !reads_active(step)) return {};
    if (passage(step) == Passage::unimplemented)
      return fail(Errc::unimplemented, "step ", step.step_id, " (", step.op.view(),
                  "): it has no gradient: ", find_gradient(step.op.view())->why);
    bool any = false;
    for (const fused::ValueId id : inputs) {
      const bool wants = row(id).active != 0 && !Expressions::is_empty(graft_.type_of(id).shape);
      any = any || wants;
      if (auto r = wanted.push_back(std::uint8_t{wants}); !r) return r;
    }
    if (!any) return {};
    if (auto r = given.resize(inputs.size()); !r) return r;
    GradientCall call(&find_gradient, graft_, s, cotangents.span(), wanted.span(), given);
    find_gradient(step.op.view())->apply(call);
    ptir::Builder& b = graft_.builder();
    if (b.failed()) {
      const Error& why = b.error();
      return fail(why.code(), "step ", step.step_id, " (", step.op.view(), "): ", why.text());
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Row& to = row(inputs[i]);
      if (given[i] && wanted[i] != 0) to.cotangent = to.cotangent ? *to.cotangent + *given[i] : *given[i];
    }
    return {};
  }

  fused::Graft& graft_;
  const fused::FusedProgram& program_;
  Vector<Row> rows_;
};

}  // namespace detail

/// Adds the steps that compute the gradients of `loss`, a float without axes, with respect to each value of
/// `of`, and gives these gradients as tensors of the graft. A value that the loss does not depend on has zeros.
///
/// Reverse mode, as a transform: the steps of the program stay, others follow, and nothing is recorded when
/// the program runs. In evaluation the gradients are those of the program in evaluation.
///
/// Errors: those of the graft; Errc::shape_mismatch and Errc::dtype_mismatch for a loss or a value that cannot
/// have a gradient; Errc::unimplemented, naming the step, for one whose gradient is not built.
[[nodiscard]] inline Result<Vector<Tensor>> differentiate(fused::Graft& graft, fused::ValueId loss,
                                                          Span<const fused::ValueId> of) noexcept {
  return detail::WayBack(graft).run(loss, of);
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
