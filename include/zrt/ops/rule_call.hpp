// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rule_call.hpp: the argument of a type rule, which serves graphs and programs, and the checks that rules share.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/name.hpp>
#include <zrt/ops/op_info.hpp>

#include <bit>
#include <concepts>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// The value of one attribute, as a rule reads it: of a graph's parameter block, or of a program's instruction.
template <Dimension D> struct AttributeValue {
  /// A list of axes that has one entry more than a tensor has axes names one twice.
  static constexpr std::size_t kListed = kMaxRank + 1;

  bool present = false;
  std::int64_t number = 0;  ///< an integer; a DType, choice or boolean as its number; the bits of a real
  std::uint64_t count = 0;  ///< of a list
  std::array<std::int64_t, kListed> list{};  ///< its first entries
  BasicShape<D> shape{};                     ///< a shape; the shape of a literal, whose dtype is `number`
};

/// An operand that a rule refuses, and what it must be: a type, or words where several are right.
template <Dimension D> struct RuleMismatch {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t operand = kNone;
  std::optional<BasicTensorType<D>> expected{};
  Name wanted{};
};

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

/// Writes one extent into an error's text; `names` is the caller's, and knows the names of symbols.
template <Dimension D> using AppendExtent = void (*)(Error& error, D dim, const void* names) noexcept;

/// The argument of a type rule: one call of an op over operands of well formed types, with the attributes that its
/// list names, each of its kind. A rule gives one type for each result.
///
/// D is the extent of a graph (zrt::Dim) or of a program (ir::ptir::Dim).
template <Dimension D> struct RuleCall {
  using Shape = BasicShape<D>;
  using Type = BasicTensorType<D>;
  /// Results of an op that has a rule.
  static constexpr std::size_t kMaxResults = 2;
  /// A graph is run; a program may also say what is not computed.
  static constexpr bool kRuns = std::same_as<D, zrt::Dim>;

  const OpInfo& op;
  Span<const Type> in;  ///< without the last ones where they are left out
  Span<const AttributeValue<D>> attributes;
  AppendExtent<D> append_extent;
  const void* names = nullptr;
  RuleMismatch<D>* mismatch = nullptr;  ///< where given, takes what the rule refuses
  std::array<Type, kMaxResults> out{};
  std::size_t results = 0;

  // --- attributes, by their place in the op's list ---

  [[nodiscard]] constexpr bool has(std::size_t field) const noexcept { return attributes[field].present; }
  [[nodiscard]] constexpr std::int64_t integer(std::size_t field) const noexcept { return attributes[field].number; }
  [[nodiscard]] constexpr bool boolean(std::size_t field) const noexcept { return attributes[field].number != 0; }
  [[nodiscard]] constexpr double real(std::size_t field) const noexcept {
    return std::bit_cast<double>(attributes[field].number);
  }
  [[nodiscard]] constexpr DType dtype(std::size_t field) const noexcept {
    return static_cast<DType>(attributes[field].number);
  }
  [[nodiscard]] constexpr DType dtype_or(std::size_t field, DType absent) const noexcept {
    return has(field) ? dtype(field) : absent;
  }
  template <class Kind> [[nodiscard]] constexpr Kind choice(std::size_t field) const noexcept {
    return static_cast<Kind>(attributes[field].number);
  }
  /// The name of a choice; a choice of graphs alone has none.
  [[nodiscard]] constexpr std::string_view chosen(std::size_t field) const noexcept {
    const auto choices = op.fields_[field].choices;
    const auto index = static_cast<std::size_t>(attributes[field].number);
    return index < choices.size() ? choices[index] : std::string_view("it");
  }
  [[nodiscard]] constexpr const Shape& shape(std::size_t field) const noexcept { return attributes[field].shape; }
  /// The type of a literal.
  [[nodiscard]] constexpr Type literal(std::size_t field) const noexcept { return {dtype(field), shape(field)}; }
  /// Entry `i` of a list that `per_axis` has checked.
  [[nodiscard]] constexpr std::uint64_t number(std::size_t field, std::size_t i) const noexcept {
    return static_cast<std::uint64_t>(attributes[field].list[i]);
  }

  // --- results and refusals ---

  [[nodiscard]] constexpr Result<void> give(const Type& type) noexcept {
    out[results++] = type;
    return {};
  }
  [[nodiscard]] constexpr Result<void> give(DType dtype, const Shape& of) noexcept { return give(Type{dtype, of}); }

  /// "reduce: " and the pieces.
  template <class... Pieces>
  [[nodiscard]] constexpr std::unexpected<Error> no(Errc code, Pieces... pieces) const noexcept {
    Error error = Error::of(code, op.name, ": ");
    (append(error, pieces), ...);
    return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, zrt::number(op.opcode)));
  }
  /// "reduce: operand x is f32[2], expected " and the pieces.
  template <class... Pieces>
  [[nodiscard]] constexpr std::unexpected<Error> wrong(Errc code, std::size_t operand,
                                                       Pieces... expected) const noexcept {
    Error error = Error::of(code, op.name, ": operand");
    if (op.operand(operand) != "operand") error.append(' ').append(op.operand(operand));
    if (op.repeats && operand + 1 >= op.operand_names) error.append(' ').append(operand);
    error.append(" is ");
    append(error, in[operand]);
    error.append(", expected ");
    (append(error, expected), ...);
    if (mismatch != nullptr) {
      Error words;
      (append(words, expected), ...);
      *mismatch = {operand, {}, words.text()};
    }
    return std::unexpected<Error>(error.at_instruction(Error::kNoIndex, zrt::number(op.opcode)));
  }
  /// The same, expecting the type of another operand.
  [[nodiscard]] constexpr std::unexpected<Error> differs(Errc code, std::size_t operand,
                                                         std::size_t from) const noexcept {
    const auto refused = wrong(code, operand, in[from]);
    if (mismatch != nullptr) {
      mismatch->expected = in[from];
      mismatch->wanted = {};
    }
    return refused;
  }
  /// Appends a word, a number, an extent or a type to an error's text.
  template <class Piece> constexpr void append(Error& error, const Piece& piece) const noexcept {
    if constexpr (std::same_as<Piece, D>) {
      append_extent(error, piece, names);
    } else if constexpr (std::same_as<Piece, Type>) {
      // A region's types are those of the file until the region itself is verified.
      error.append(is_dtype(static_cast<std::uint8_t>(piece.dtype)) ? zrt::name(piece.dtype) : "?dtype");
      append_shape(error, piece.shape, [this](Error& to, D dim) { append_extent(to, dim, names); });
    } else {
      error.append(piece);
    }
  }

  // --- checks ---

  /// Errors: Errc::unimplemented for a complex operand of what a graph computes.
  [[nodiscard]] constexpr Result<void> computed(std::size_t operand) const noexcept {
    if (!kRuns || !is_complex(in[operand].dtype)) return {};
    return no(Errc::unimplemented, "operand ", op.operand(operand), " is ", zrt::name(in[operand].dtype),
              ", and complex numbers are not computed");
  }
  [[nodiscard]] constexpr Result<void> computed(DType dtype, std::string_view attribute) const noexcept {
    if (!kRuns || !is_complex(dtype)) return {};
    return no(Errc::unimplemented, attribute, " is ", zrt::name(dtype), ", and complex numbers are not computed");
  }

  /// Operands `first` and `second` have the same dtype and shapes that may agree; gives the shape.
  [[nodiscard]] constexpr Result<Shape> same_type(std::size_t first, std::size_t second) const noexcept {
    if (in[first].dtype != in[second].dtype) return differs(Errc::dtype_mismatch, second, first);
    Shape both;
    if (!unify(in[first].shape, in[second].shape, both)) return differs(Errc::shape_mismatch, second, first);
    return both;
  }

  [[nodiscard]] constexpr Result<void> indices(std::size_t operand) const noexcept {
    if (!is_index(in[operand].dtype)) return wrong(Errc::dtype_mismatch, operand, "si32 or si64");
    return {};
  }

  /// The axis that an attribute names among `rank`, counted from 0; negative ones count from `rank`.
  [[nodiscard]] constexpr Result<std::size_t> axis(std::size_t field, std::size_t rank) const noexcept {
    return axis(op.fields_[field].name, attributes[field].number, rank);
  }
  [[nodiscard]] constexpr Result<std::size_t> axis(std::string_view what, std::int64_t axis,
                                                   std::size_t rank) const noexcept {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (axis < -signed_rank || axis >= signed_rank)
      return no(Errc::invalid_params, what, " is ", axis, ", expected an axis of ", rank, " axes");
    return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
  }

  [[nodiscard]] constexpr Result<AxisList> axes(std::size_t field, std::size_t rank) const noexcept {
    const AttributeValue<D>& value = attributes[field];
    const std::string_view name = op.fields_[field].name;
    AxisList found;
    for (std::size_t i = 0; i < value.count && i < value.list.size(); ++i) {
      const auto one = axis(name, value.list[i], rank);
      if (!one) return pass(one);
      if (found.has(*one)) return no(Errc::invalid_params, name, " names axis ", *one, " twice");
      found.axes[found.count++] = *one;
    }
    return found;
  }

  /// A list with one number for each of `count` axes, each at least `least`.
  [[nodiscard]] constexpr Result<void> per_axis(std::size_t field, std::size_t count,
                                                std::int64_t least) const noexcept {
    const AttributeValue<D>& value = attributes[field];
    const std::string_view name = op.fields_[field].name;
    if (value.count != count) return no(Errc::invalid_params, name, " has ", value.count, " entries, expected ", count);
    for (std::size_t i = 0; i < count; ++i)
      if (value.list[i] < least)
        return no(Errc::invalid_params, name, " holds ", value.list[i], ", expected ", least, " or more");
    return {};
  }

  /// A constant extent from checked arithmetic.
  [[nodiscard]] constexpr Result<D> extent(CheckedSize size) const noexcept {
    if (!size.ok() || size.raw() > D::largest) return too_large();
    return D::of(size.raw());
  }
  [[nodiscard]] constexpr std::unexpected<Error> too_large() const noexcept {
    return no(Errc::size_overflow, "an extent of the result does not fit ", std::bit_width(D::largest), " bits");
  }

  /// `shape` without the axes of `without`, or with extent 1 there.
  [[nodiscard]] static constexpr Shape reduced(const Shape& shape, const AxisList& without, bool keep) noexcept {
    Shape left;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!without.has(axis))
        left.append(shape[axis]);
      else if (keep)
        left.append(D(1));
    }
    return left;
  }
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
