// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/call.hpp: what a gradient rule works on: one step, its values, and what came back for its results.
#pragma once

#include <zrt/ir/fused/graft.hpp>
#include <zrt/ir/gradient/axes.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

using ptir::Tensor;

class GradientCall;

/// Whether gradients pass through an operation.
enum class Passage : std::uint8_t {
  rule,           ///< `apply` gives the inputs their shares
  stops,          ///< what it gives is no differentiable function of its inputs: they get nothing
  unimplemented,  ///< it has a gradient, which this library does not build
};

struct GradientRule {
  std::string_view op;
  Passage passage = Passage::unimplemented;
  void (*apply)(GradientCall&) noexcept = nullptr;
  std::string_view why{};  ///< of an unimplemented one
};
/// Gives the row of an op by its name; null for a name that is none.
using FindGradient = const GradientRule* (*)(std::string_view op) noexcept;

/// An instruction of a region that is emitted once more: what it reads and gives there.
struct EmittedAgain {
  std::string_view op;
  Span<const ptir::Attribute> attributes;
  ptir::Tensors in, out;
};

/// One step, or one instruction of a region, on the way back. A rule reads `in`, `out` and `cotangent`, builds with
/// `builder()`, and gives each wanted input its share. Programs are verified and typed, so attributes have the kinds
/// of the table, and every extent is a constant.
class GradientCall : public Expressions {
 public:
  GradientCall(FindGradient rules, fused::Graft& graft, std::size_t step, Span<const std::optional<Tensor>> cotangents,
               Span<const std::uint8_t> wanted, Vector<std::optional<Tensor>>& given) noexcept
      : find_(rules),
        graft_(graft),
        builder_(graft.builder()),
        index_(step),
        cotangents_(cotangents),
        wanted_(wanted),
        given_(given) {}
  /// `outer` is the call that the region belongs to.
  GradientCall(const GradientCall& outer, const EmittedAgain& instruction, Span<const std::optional<Tensor>> cotangents,
               Span<const std::uint8_t> wanted, Vector<std::optional<Tensor>>& given) noexcept
      : find_(outer.find_),
        graft_(outer.graft_),
        builder_(outer.builder_),
        instruction_(instruction),
        cotangents_(cotangents),
        wanted_(wanted),
        given_(given) {}

  [[nodiscard]] FindGradient find() const noexcept { return find_; }
  /// Only of a step.
  [[nodiscard]] fused::Graft& graft() const noexcept { return graft_; }
  [[nodiscard]] const fused::Step& step() const noexcept { return program().steps[index_]; }

  [[nodiscard]] ptir::Builder& builder() const noexcept { return builder_; }
  [[nodiscard]] std::string_view op() const noexcept { return instruction_ ? instruction_->op : step().op.view(); }
  [[nodiscard]] std::size_t inputs() const noexcept { return instruction_ ? instruction_->in.size() : ids().size(); }
  [[nodiscard]] std::size_t outputs() const noexcept {
    return instruction_ ? instruction_->out.size() : results().size();
  }
  [[nodiscard]] Tensor in(std::size_t i) const noexcept {
    return instruction_ ? instruction_->in[i] : graft_.value(ids()[i]);
  }
  [[nodiscard]] ptir::TensorType in_type(std::size_t i) const noexcept {
    return instruction_ ? instruction_->in[i].type() : graft_.type_of(ids()[i]);
  }
  [[nodiscard]] Tensor out(std::size_t i = 0) const noexcept {
    return instruction_ ? instruction_->out[i] : graft_.value(results()[i]);
  }
  [[nodiscard]] ptir::TensorType out_type(std::size_t i = 0) const noexcept {
    return instruction_ ? instruction_->out[i].type() : graft_.type_of(results()[i]);
  }
  /// What came back for a result; zeros where nothing did.
  [[nodiscard]] Tensor cotangent(std::size_t i = 0) const noexcept {
    if (cotangents_[i]) return *cotangents_[i];
    const ptir::TensorType type = out_type(i);
    return builder().broadcast_to(builder().scalar(type.dtype, 0), type.shape);
  }
  /// The cotangent of result 0 in the dtype of input 0.
  [[nodiscard]] Tensor cotangent_as_input() const noexcept {
    const Tensor g = cotangent();
    return g.dtype() == in_type(0).dtype ? g : builder().cast(g, in_type(0).dtype);
  }
  /// What a fold of one operand, or of rows and their ids, found as largest or smallest. Where its attributes name another
  /// type than input 0 has, it is found anew in that: of what was rounded, no element is the equal.
  [[nodiscard]] Tensor extreme_as_input() const noexcept {
    const auto fields = fused::find_op(op())->fields();
    std::array<ptir::Attribute, ptir::OpInfo::kMaxFields> exact{};
    bool rounds = false;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const ptir::Attribute given = attributes()[f];
      const bool names_type = fields[f].name == "accum_dtype" || fields[f].name == "out_dtype";
      if (!names_type) exact[f] = given;
      rounds = rounds || (names_type && given.kind == ptir::AttributeKind::dtype &&
                          static_cast<DType>(given.bits) != in_type(0).dtype);
    }
    if (!rounds) return out();
    const std::array<Tensor, 2> from{in(0), in(inputs() - 1)};
    return builder().apply(op(), {from.data(), inputs()}, {exact.data(), fields.size()})[0];
  }
  [[nodiscard]] bool has_cotangent(std::size_t i) const noexcept { return cotangents_[i].has_value(); }
  /// True when the gradient of input `i` is asked for.
  [[nodiscard]] bool wants(std::size_t i) const noexcept { return wanted_[i] != 0; }
  /// The gradient of input `i`, of its type.
  void give(std::size_t i, const Tensor& gradient) noexcept { given_[i] = gradient; }

  [[nodiscard]] Span<const ptir::Attribute> attributes() const noexcept {
    return instruction_ ? instruction_->attributes : program().attributes_of(step());
  }
  /// The program whose pools attributes and regions lie in.
  [[nodiscard]] const ptir::Program& store() const noexcept { return program().store; }
  [[nodiscard]] const ptir::Region& region(std::size_t f) const noexcept {
    return store().regions[static_cast<std::size_t>(attributes()[f].bits)];
  }
  [[nodiscard]] std::int64_t integer(std::size_t f) const noexcept { return attributes()[f].as_integer(); }
  [[nodiscard]] Span<const std::int64_t> words(std::size_t f) const noexcept {
    return program().store.words_of(attributes()[f]);
  }
  [[nodiscard]] std::string_view choice(std::size_t f) const noexcept {
    return fused::find_op(op())->fields()[f].choices[static_cast<std::size_t>(attributes()[f].bits)];
  }
  /// An axis of a tensor of `rank` axes, counted from 0.
  [[nodiscard]] static std::int64_t from_first(std::int64_t axis, std::int64_t rank) noexcept {
    return axis < 0 ? axis + rank : axis;
  }

  /// Records that the rule does not cover this call.
  void unimplemented(std::string_view what) const noexcept {
    builder_.set(Error::of(Errc::unimplemented, op(), " has no gradient ", what));
  }

 private:
  [[nodiscard]] const fused::FusedProgram& program() const noexcept { return graft_.program(); }
  [[nodiscard]] Span<const fused::ValueId> ids() const noexcept { return program().inputs_of(step()); }
  [[nodiscard]] Span<const fused::ValueId> results() const noexcept { return program().results_of(step()); }

  FindGradient find_;
  fused::Graft& graft_;
  ptir::Builder& builder_;
  std::size_t index_ = 0;
  std::optional<EmittedAgain> instruction_{};
  Span<const std::optional<Tensor>> cotangents_;
  Span<const std::uint8_t> wanted_;
  Vector<std::optional<Tensor>>& given_;
};

/// A call as the rule of op O takes it: attributes go by their names, which the compiler checks.
template <class O> class CallOf : public GradientCall {
 public:
  explicit CallOf(const GradientCall& call) noexcept : GradientCall(call) {}

  /// An attribute of O by its name.
  struct Field {
    std::size_t index;
    consteval Field(const char* name) noexcept
        : index(ptir::field_index(O::name, name)) {}  // NOLINT: a name is a field
  };
  [[nodiscard]] const ptir::Attribute& attribute(Field f) const noexcept { return attributes()[f.index]; }
  [[nodiscard]] const ptir::Region& region(Field f) const noexcept { return GradientCall::region(f.index); }
  [[nodiscard]] std::int64_t integer(Field f) const noexcept { return GradientCall::integer(f.index); }
  [[nodiscard]] Span<const std::int64_t> words(Field f) const noexcept { return GradientCall::words(f.index); }
  [[nodiscard]] std::string_view choice(Field f) const noexcept { return GradientCall::choice(f.index); }
  /// What builders take for a choice of an operation.
  [[nodiscard]] static consteval std::uint64_t choice_of(std::string_view op, std::string_view field,
                                                         std::string_view choice) {
    return ptir::choice_index(op, field, choice);
  }
};

/// The row of what op O says: a catalog op, or one of fused::ModeOps.
template <class O> [[nodiscard]] consteval GradientRule rule_of() {
  if constexpr (HasGradientRule<O>)
    return {O::name, Passage::rule, [](GradientCall& call) noexcept {
              CallOf<O> c(call);
              O::gradient(c);
            }};
  else
    return {O::name, O::gradient.is_stopped() ? Passage::stops : Passage::unimplemented, nullptr,
            O::gradient.because()};
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
