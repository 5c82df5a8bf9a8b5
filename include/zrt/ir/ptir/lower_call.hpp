// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lower_call.hpp: one instruction on its way into a graph: its operands, and its attributes in
// the terms of the op that it becomes.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ir/ptir/extents.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/shape_params.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// The first `count` entries of a list of axes.
struct LoweredAxes {
  std::array<std::uint8_t, kMaxRank> axes{};
  std::uint8_t count = 0;
};

/// Lowers a region for a call of it; see lower.hpp.
struct RegionLowerer {
  void* context = nullptr;
  Result<ir::RegionId> (*lower)(void* context, ir::Builder& into, ptir::RegionId region,
                                Span<const zrt::TensorType> arguments) noexcept = nullptr;
};

/// What a lowering works on. The program is verified, so attributes have the kinds of the table, axes are in
/// range and lists have their lengths; extents are those of this set of input shapes.
class LowerCall {
 public:
  LowerCall(const Program& program, const OpInfo& op, const Instruction& instruction, const SymbolExtents& extents,
            ir::Builder& builder, Span<const ir::ValueId> in, const RegionLowerer& regions,
            std::uint64_t trip_limit) noexcept
      : program_(program),
        op_(op),
        instruction_(instruction),
        attributes_(program.attributes_of(instruction)),
        extents_(extents),
        builder_(builder),
        in_(in),
        regions_(regions),
        trip_limit_(trip_limit) {}

  [[nodiscard]] const Program& program() const noexcept { return program_; }
  [[nodiscard]] ir::Builder& builder() const noexcept { return builder_; }
  [[nodiscard]] Span<const ir::ValueId> in() const noexcept { return in_; }
  [[nodiscard]] zrt::TensorType type(std::size_t operand) const noexcept { return builder_.type_of(in_[operand]); }
  [[nodiscard]] std::uint8_t rank(std::size_t operand) const noexcept { return type(operand).shape.rank; }
  [[nodiscard]] DType dtype_of(std::size_t operand) const noexcept { return type(operand).dtype; }
  [[nodiscard]] std::uint64_t trip_limit() const noexcept { return trip_limit_; }
  /// The types that the instruction declares for its results.
  [[nodiscard]] Span<const TensorType> declared() const noexcept { return program_.types_of(instruction_.output); }

  [[nodiscard]] const Attribute& attribute(std::size_t f) const noexcept { return attributes_[f]; }
  [[nodiscard]] bool has(std::size_t f) const noexcept { return attributes_[f].present(); }
  [[nodiscard]] std::uint8_t boolean(std::size_t f) const noexcept { return attributes_[f].bits != 0 ? 1 : 0; }
  [[nodiscard]] DType dtype(std::size_t f) const noexcept { return static_cast<DType>(attributes_[f].bits); }
  [[nodiscard]] DType dtype_or(std::size_t f, DType absent) const noexcept { return has(f) ? dtype(f) : absent; }
  /// The bits of an integer, 0 for one left out.
  [[nodiscard]] std::uint64_t bits(std::size_t f) const noexcept { return attributes_[f].bits; }
  /// An axis of a tensor of `rank` axes, counted from 0.
  [[nodiscard]] std::uint8_t axis(std::size_t f, std::uint8_t rank) const noexcept {
    return from_first(attributes_[f].as_integer(), rank);
  }
  [[nodiscard]] LoweredAxes axes(std::size_t f, std::uint8_t rank) const noexcept {
    LoweredAxes list;
    for (const std::int64_t word : program_.words_of(attributes_[f])) list.axes[list.count++] = from_first(word, rank);
    return list;
  }
  /// A number that parameter blocks hold in 32 bits.
  ///
  /// Errors: Errc::size_overflow naming the attribute.
  [[nodiscard]] Result<std::uint32_t> number(std::size_t f) const noexcept {
    return fits(f, attributes_[f].as_integer());
  }
  /// Reads a list of such numbers into the first entries of `to`.
  template <std::size_t N>
  [[nodiscard]] Result<void> numbers(std::size_t f, std::array<std::uint32_t, N>& to) const noexcept {
    std::size_t next = 0;
    for (const std::int64_t word : program_.words_of(attributes_[f])) {
      if (next == N) break;
      const auto value = fits(f, word);
      if (!value) return pass(value);
      to[next++] = *value;
    }
    return {};
  }
  [[nodiscard]] std::size_t length(std::size_t f) const noexcept { return program_.words_of(attributes_[f]).size(); }
  /// A scalar literal; zero for one left out.
  [[nodiscard]] ElementValue element(std::size_t f) const noexcept {
    ElementValue value{};
    if (!has(f)) return value;
    const auto data = program_.bytes_of(*program_.literal(attributes_[f].bits));
    for (std::size_t i = 0; i < data.size() && i < value.size(); ++i) value[i] = std::to_integer<std::uint8_t>(data[i]);
    return value;
  }

  /// The extent of `dim` when it is known.
  [[nodiscard]] std::optional<std::uint32_t> extent(Dim dim) const noexcept { return extents_.find(dim); }
  /// The extent that the one result declares on an axis, when that is known.
  [[nodiscard]] std::optional<std::uint32_t> declared_extent(std::size_t axis) const noexcept {
    const auto results = declared();
    return results.size() == 1 && axis < results[0].shape.size() ? extent(results[0].shape[axis]) : std::nullopt;
  }
  /// A shape attribute with every extent known: its own, else the one that `infer(axis)` finds.
  ///
  /// Errors: Errc::size_overflow for an extent above 32 bits, Errc::invalid_argument for one that nothing
  /// determines.
  template <class F> [[nodiscard]] Result<ShapeParams> shape(std::size_t f, const F& infer) const noexcept {
    const Shape written = program_.shape_of(attributes_[f]);
    zrt::Shape known;
    for (std::size_t axis = 0; axis < written.size(); ++axis) {
      const Dim dim = written[axis];
      std::optional<std::uint32_t> found = extent(dim);
      if (!found && dim.is_constant())
        return fail(Errc::size_overflow, op_.name, ": ", op_.fields_[f].name, " holds ", dim.code(),
                    ", which does not fit 32 bits");
      if (!found) found = infer(axis);
      if (!found)
        return fail(Errc::invalid_argument, op_.name, ": axis ", axis, " of ", op_.fields_[f].name, " is ?",
                    program_.symbol_name(dim), ", which the shapes of the inputs do not determine");
      known = known.appended(*found);
    }
    return ShapeParams::of(known);
  }
  /// The shape of the result, as an attribute writes it.
  [[nodiscard]] Result<ShapeParams> result_shape(std::size_t f) const noexcept {
    return shape(f, [this](std::size_t axis) { return declared_extent(axis); });
  }

  /// Lowers the region that an attribute names, for arguments of these types.
  [[nodiscard]] Result<ir::RegionId> region(std::size_t f, Span<const zrt::TensorType> arguments) const noexcept {
    return regions_.lower(regions_.context, builder_, static_cast<ptir::RegionId>(attributes_[f].bits), arguments);
  }

 private:
  [[nodiscard]] static std::uint8_t from_first(std::int64_t axis, std::uint8_t rank) noexcept {
    return static_cast<std::uint8_t>(axis < 0 ? axis + rank : axis);
  }
  [[nodiscard]] Result<std::uint32_t> fits(std::size_t f, std::int64_t value) const noexcept {
    if (value < 0 || value > std::int64_t{0xffffffff})
      return fail(Errc::size_overflow, op_.name, ": ", op_.fields_[f].name, " holds ", value,
                  ", which does not fit 32 bits");
    return static_cast<std::uint32_t>(value);
  }

  const Program& program_;
  const OpInfo& op_;
  const Instruction& instruction_;
  Span<const Attribute> attributes_;
  const SymbolExtents& extents_;
  ir::Builder& builder_;
  Span<const ir::ValueId> in_;
  RegionLowerer regions_;
  std::uint64_t trip_limit_;
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
