// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rule.hpp: what the type rules of the portable tensor IR share: their argument and their checks.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/attributes.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Appends "f32[2, ?N]" to an error's text.
inline Error& append_type(Error& error, const Program& program, const TensorType& type) noexcept {
  error.append(is_ptir_dtype(type.dtype) ? zrt::name(type.dtype) : "?dtype");
  return append_shape(error, type.shape, [&program](Error& to, Dim dim) {
    if (dim.is_dynamic())
      to.append('?').append(program.symbol_name(dim));
    else
      to.append(dim.code());
  });
}

/// An operand that a type rule refuses, and what it must be: a type, or words where several are right.
struct Mismatch {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t operand = kNone;
  std::optional<TensorType> expected{};
  Name wanted{};
};

/// The argument of a type rule: one instruction whose attributes are those of its op, over operands
/// whose types are well formed. A rule fills `out`, and `tuple` where several values leave.
struct RuleCall {
  const Program& program;
  const OpInfo& op;
  Span<const TensorType> in;
  Span<const Attribute> attributes;
  const ValueType& declared;
  Vector<TensorType>& out;
  bool tuple = false;
  Mismatch* mismatch = nullptr;  ///< where given, takes what the rule refuses

  [[nodiscard]] bool has(std::size_t field) const noexcept { return attributes[field].present(); }
  [[nodiscard]] std::int64_t integer(std::size_t field) const noexcept { return attributes[field].as_integer(); }
  [[nodiscard]] bool boolean(std::size_t field) const noexcept { return attributes[field].bits != 0; }
  [[nodiscard]] std::size_t choice(std::size_t field) const noexcept {
    return static_cast<std::size_t>(attributes[field].bits);
  }
  [[nodiscard]] DType dtype(std::size_t field) const noexcept { return static_cast<DType>(attributes[field].bits); }
  [[nodiscard]] DType dtype_or(std::size_t field, DType absent) const noexcept {
    return has(field) ? dtype(field) : absent;
  }
  [[nodiscard]] Span<const std::int64_t> words(std::size_t field) const noexcept {
    return program.words_of(attributes[field]);
  }
  [[nodiscard]] Shape shape(std::size_t field) const noexcept { return program.shape_of(attributes[field]); }
  [[nodiscard]] const Region& region(std::size_t field) const noexcept {
    return program.regions[static_cast<std::size_t>(attributes[field].bits)];
  }

  [[nodiscard]] Result<void> give(const TensorType& type) noexcept { return out.push_back(type); }
  [[nodiscard]] Result<void> give(DType type, const Shape& of) noexcept { return out.push_back({type, of}); }

  /// "reduce: " and the pieces.
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> no(Errc code, const Pieces&... pieces) const noexcept {
    return fail(code, op.name, ": ", pieces...);
  }
  /// "reduce: operand x is f32[2], expected " and the pieces.
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> wrong(Errc code, std::size_t operand, const Pieces&... expected) const noexcept {
    Error error = Error::of(code, op.name, ": operand");
    if (op.operand(operand) != "operand") error.append(' ').append(op.operand(operand));
    if (op.repeats && operand + 1 >= op.operand_names) error.append(' ').append(operand);
    append_type(error.append(" is "), program, in[operand]).append(", expected ");
    (error.append(expected), ...);
    if (mismatch != nullptr) {
      Error words;
      (words.append(expected), ...);
      *mismatch = {operand, {}, words.text()};
    }
    return std::unexpected<Error>(error);
  }
  /// The same, expecting the type of another operand.
  [[nodiscard]] std::unexpected<Error> differs(Errc code, std::size_t operand, std::size_t from) const noexcept {
    Error error = wrong(code, operand).error();
    if (mismatch != nullptr) mismatch->expected = in[from];
    return std::unexpected<Error>(append_type(error, program, in[from]));
  }
};

/// Operands `first` and `second` have the same dtype and shapes that may agree; gives the shape.
[[nodiscard]] inline Result<Shape> same_type(const RuleCall& c, std::size_t first, std::size_t second) noexcept {
  if (c.in[first].dtype != c.in[second].dtype) return c.differs(Errc::dtype_mismatch, second, first);
  Shape both;
  if (!unify(c.in[first].shape, c.in[second].shape, both)) return c.differs(Errc::shape_mismatch, second, first);
  return both;
}

/// `axis` counted from 0, negative ones from `rank`.
[[nodiscard]] inline Result<std::size_t> axis_of(const RuleCall& c, std::string_view what, std::int64_t axis,
                                                 std::size_t rank) noexcept {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return c.no(Errc::invalid_params, what, " is ", axis, ", expected an axis of ", rank, " axes");
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// A list of distinct axes, counted from 0.
struct AxisList {
  std::size_t count = 0;
  std::array<std::size_t, kMaxRank> axes{};

  [[nodiscard]] constexpr bool has(std::size_t axis) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (axes[i] == axis) return true;
    return false;
  }
};

[[nodiscard]] inline Result<AxisList> axes_of(const RuleCall& c, std::size_t field, std::size_t rank) noexcept {
  const std::string_view name = c.op.fields_[field].name;
  AxisList list;
  for (const std::int64_t word : c.words(field)) {
    const auto axis = axis_of(c, name, word, rank);
    if (!axis) return pass(axis);
    if (list.has(*axis)) return c.no(Errc::invalid_params, name, " names axis ", *axis, " twice");
    list.axes[list.count++] = *axis;
  }
  return list;
}

/// A list with one number per axis, each at least `least`.
[[nodiscard]] inline Result<void> per_axis(const RuleCall& c, std::size_t field, std::size_t axes,
                                           std::int64_t least) noexcept {
  const auto words = c.words(field);
  const std::string_view name = c.op.fields_[field].name;
  if (words.size() != axes) return c.no(Errc::invalid_params, name, " has ", words.size(), " entries, expected ", axes);
  for (const std::int64_t word : words)
    if (word < least) return c.no(Errc::invalid_params, name, " holds ", word, ", expected ", least, " or more");
  return {};
}

/// A constant extent from checked arithmetic.
[[nodiscard]] inline Result<Dim> extent_of(const RuleCall& c, CheckedSize size) noexcept {
  if (!size.ok() || size.raw() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return c.no(Errc::size_overflow, "an extent of the result does not fit 63 bits");
  return Dim(static_cast<std::int64_t>(size.raw()));
}

[[nodiscard]] inline Result<void> index_operand(const RuleCall& c, std::size_t operand) noexcept {
  if (!is_index(c.in[operand].dtype)) return c.wrong(Errc::dtype_mismatch, operand, "si32 or si64");
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir
