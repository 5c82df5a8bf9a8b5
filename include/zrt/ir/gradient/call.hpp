// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/call.hpp: what a gradient rule works on: one step, its values, and what came back for its results.
#pragma once

#include <zrt/ir/fused/graft.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::ir::gradient {

using ptir::Tensor;

/// One step on the way back. A rule reads `in`, `out` and `cotangent`, builds with `builder()`, and gives each
/// wanted input its share. Programs are verified and typed, so attributes have the kinds of the table, and
/// every extent is a constant.
class GradientCall {
 public:
  GradientCall(fused::Graft& graft, std::size_t step, std::span<const std::optional<Tensor>> cotangents,
               std::span<const std::uint8_t> wanted, Vector<std::optional<Tensor>>& given) noexcept
      : graft_(graft), index_(step), cotangents_(cotangents), wanted_(wanted), given_(given) {}

  [[nodiscard]] fused::Graft& graft() const noexcept { return graft_; }
  [[nodiscard]] ptir::Builder& builder() const noexcept { return graft_.builder(); }
  [[nodiscard]] const fused::Step& step() const noexcept { return program().steps[index_]; }

  [[nodiscard]] std::size_t inputs() const noexcept { return ids().size(); }
  [[nodiscard]] Tensor in(std::size_t i) const noexcept { return graft_.value(ids()[i]); }
  [[nodiscard]] ptir::TensorType in_type(std::size_t i) const noexcept { return graft_.type_of(ids()[i]); }
  [[nodiscard]] Tensor out(std::size_t i = 0) const noexcept { return graft_.value(results()[i]); }
  [[nodiscard]] ptir::TensorType out_type(std::size_t i = 0) const noexcept { return graft_.type_of(results()[i]); }
  /// What came back for a result; zeros where nothing did.
  [[nodiscard]] Tensor cotangent(std::size_t i = 0) const noexcept {
    if (cotangents_[i]) return *cotangents_[i];
    const ptir::TensorType type = out_type(i);
    return builder().broadcast_to(builder().scalar(type.dtype, 0), type.shape);
  }
  [[nodiscard]] bool has_cotangent(std::size_t i) const noexcept { return cotangents_[i].has_value(); }
  /// True when the gradient of input `i` is asked for.
  [[nodiscard]] bool wants(std::size_t i) const noexcept { return wanted_[i] != 0; }
  /// The gradient of input `i`, of its type.
  void give(std::size_t i, const Tensor& gradient) noexcept { given_[i] = gradient; }

  [[nodiscard]] std::span<const ptir::Attribute> attributes() const noexcept { return program().attributes_of(step()); }
  [[nodiscard]] std::int64_t integer(std::size_t f) const noexcept { return attributes()[f].as_integer(); }
  [[nodiscard]] std::span<const std::int64_t> words(std::size_t f) const noexcept {
    return program().store.words_of(attributes()[f]);
  }
  [[nodiscard]] std::string_view choice(std::size_t f) const noexcept {
    return fused::find_op(step().op.view())->fields()[f].choices[static_cast<std::size_t>(attributes()[f].bits)];
  }
  /// An axis of a tensor of `rank` axes, counted from 0.
  [[nodiscard]] static std::int64_t from_first(std::int64_t axis, std::int64_t rank) noexcept {
    return axis < 0 ? axis + rank : axis;
  }

  /// Records that the rule does not cover this call.
  void unimplemented(std::string_view what) const noexcept {
    graft_.builder().set(Error::of(Errc::unimplemented, step().op.view(), " has no gradient ", what));
  }

 private:
  [[nodiscard]] const fused::FusedProgram& program() const noexcept { return graft_.program(); }
  [[nodiscard]] std::span<const fused::ValueId> ids() const noexcept { return program().inputs_of(step()); }
  [[nodiscard]] std::span<const fused::ValueId> results() const noexcept { return program().results_of(step()); }

  fused::Graft& graft_;
  std::size_t index_;
  std::span<const std::optional<Tensor>> cotangents_;
  std::span<const std::uint8_t> wanted_;
  Vector<std::optional<Tensor>>& given_;
};

}  // namespace zrt::inline ZRT_ABI::ir::gradient
