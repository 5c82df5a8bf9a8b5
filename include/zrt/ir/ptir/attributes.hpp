// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/attributes.hpp: the operations of the portable tensor IR with their operands and attributes.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/program.hpp>

#include <array>
#include <initializer_list>
#include <string_view>

namespace zrt::inline ZRT_ABI::ir::ptir {

/// One attribute of an operation: its name in text and JSON, and what it holds.
struct AttributeField {
  std::string_view name{};
  AttributeKind kind = AttributeKind::none;
  bool optional = false;
  Span<const std::string_view> choices{};  ///< the names of a choice, by index
};

/// One operation: its number and name, its operands by name, its attributes in order.
struct OpInfo {
  static constexpr std::size_t kMaxNames = 5;
  static constexpr std::size_t kMaxFields = 9;

  Opcode opcode{};
  std::string_view name{};
  std::uint8_t operand_names = 0;
  std::uint8_t field_count = 0;
  bool repeats = false;    ///< the last operand name stands for any number of operands
  std::uint8_t least = 0;  ///< the operands that may not be left out; those that may are the last ones
  std::array<std::string_view, kMaxNames> operands{};
  std::array<AttributeField, kMaxFields> fields_{};

  [[nodiscard]] constexpr Span<const AttributeField> fields() const noexcept {
    return Span(fields_).first(field_count);
  }
  /// The name of operand `index`.
  [[nodiscard]] constexpr std::string_view operand(std::size_t index) const noexcept {
    if (operand_names == 0) return {};
    return operands[index < operand_names ? index : operand_names - 1u];
  }
  /// How many operands an error calls for: "at least ", "at most " or "", and the number.
  [[nodiscard]] constexpr std::string_view bound() const noexcept {
    return repeats ? "at least " : least != operand_names ? "at most " : "";
  }
  [[nodiscard]] constexpr std::uint8_t bounded() const noexcept { return repeats ? least : operand_names; }
  [[nodiscard]] constexpr bool takes(std::size_t count) const noexcept {
    return count >= least && (repeats || count <= operand_names);
  }
};

namespace detail {

// Choices stand in the order of the enumerations of the ops of the same number, where those exist.
inline constexpr auto kUnaryNames =
    std::to_array<std::string_view>({"neg", "abs", "exp", "log", "tanh", "erf", "rsqrt", "reciprocal"});
inline constexpr auto kBinaryNames =
    std::to_array<std::string_view>({"add", "sub", "mul", "div", "maximum", "minimum"});
inline constexpr auto kCompareNames = std::to_array<std::string_view>({"lt", "le", "eq", "ge", "gt", "ne"});
inline constexpr auto kReduceNames = std::to_array<std::string_view>({"sum", "max", "min"});
inline constexpr auto kScatterNames = std::to_array<std::string_view>({"add", "max", "min", "replace"});

inline constexpr bool kOptional = true;

struct OperandNames {
  std::initializer_list<std::string_view> names;
  bool repeats = false;
  std::uint8_t least = 0;     ///< of operands that repeat
  std::uint8_t optional = 0;  ///< how many of the last names may be left out
};

consteval OpInfo op(std::uint8_t number, std::string_view name, OperandNames operands,
                    std::initializer_list<AttributeField> fields = {}) {
  OpInfo row;
  row.opcode = Opcode{number};
  row.name = name;
  row.repeats = operands.repeats;
  for (const std::string_view operand : operands.names) row.operands[row.operand_names++] = operand;
  row.least = operands.repeats ? operands.least : static_cast<std::uint8_t>(row.operand_names - operands.optional);
  for (const AttributeField& field : fields) row.fields_[row.field_count++] = field;
  return row;
}

}  // namespace detail

/// Every operation, by number: what text, JSON, builder, type rules and verifier know of it.
///
/// Axes may be negative and then count from the rank. `accum_dtype` left out is f32 for the floats
/// narrower than f32 and the operand's dtype otherwise; `out_dtype` left out is the operand's dtype. Attribute lists
/// that the specification leaves to the backend:
///
/// - scatter_add adds slices of `updates` into `x` at the places that `indices` name, with XLA's
///   dimension numbers: `index_vector_dim` is the axis of `indices` that holds a place (its rank, or
///   left out: each index is a place of one number); entry i of a place counts along axis
///   `scatter_dims_to_operand_dims[i]` of x; the axes of `updates` in `update_window_dims` run over the
///   window, that is over the axes of x without `inserted_window_dims`, whose window extent is 1; the
///   other axes of `updates` run over the places. A window that leaves x is a spec violation.
/// - reduce_window and extract_patches state window, strides and padding per axis. A window of w
///   elements with dilation d spans (w - 1) * d + 1; base dilation b puts b - 1 holes between elements,
///   which count as padding: the identity of the reduction. out = (padded - span) / stride + 1, or 0
///   when the window does not fit. extract_patches lists the spatial axes alone and fills padding with
///   `pad_value`, a scalar of x's dtype (left out: zero); a patch is ordered window first, channel last.
/// - rng_uniform gives [0, 1), rng_normal mean 0 and variance 1. Element i is a function of `seed`,
///   `stream` and i alone (Philox4x32-10, key `seed`, counter words i and `stream`), so two instructions
///   with the same pair give the same numbers; left out, both are 0. The seed is an attribute, or, where a
///   run chooses it, the operand: a scalar of si64; it is never both.
/// - segment_reduce folds the rows of `x` whose segment id is s into row s of the result; rows with an
///   id outside [0, num_segments) are a spec violation; a segment without rows holds the identity.
///   `indices_are_sorted` and `unique` are promises about the data that allow faster kernels.
/// - quantize: q = saturate(round_to_even(x / scale) + zero_point); dequantize: x = (q - zero_point) *
///   scale; requantize: from one scale and zero point to another. Scales are f32, zero points si32;
///   both are scalars, or vectors over `axis`.
/// - while_loop's condition gives the predicate and the carry that the body then receives or, when
///   the predicate is false, that the loop returns.
inline constexpr auto kOps = [] {
  using enum AttributeKind;
  using detail::kOptional;
  using detail::op;
  return std::to_array<OpInfo>({
      op(64, "constant", {{}}, {{"value", literal}}),
      op(65, "elementwise_unary", {{"x"}}, {{"op", choice, false, detail::kUnaryNames}}),
      op(66, "elementwise_binary", {{"lhs", "rhs"}}, {{"op", choice, false, detail::kBinaryNames}}),
      op(67, "compare", {{"lhs", "rhs"}}, {{"op", choice, false, detail::kCompareNames}}),
      op(68, "select", {{"pred", "on_true", "on_false"}}),
      op(69, "cast", {{"x"}}, {{"dtype", dtype}}),
      op(70, "stop_gradient", {{"x"}}),
      op(71, "reduce", {{"x"}},
         {{"kind", choice, false, detail::kReduceNames},
          {"axes", integers},
          {"keepdims", boolean},
          {"accum_dtype", dtype, kOptional},
          {"out_dtype", dtype, kOptional}}),
      op(72, "arg_max", {{"x"}}, {{"axis", integer}, {"keepdims", boolean}, {"output_dtype", dtype}}),
      op(73, "dot_general", {{"lhs", "rhs"}},
         {{"batch_lhs", integers},
          {"batch_rhs", integers},
          {"contract_lhs", integers},
          {"contract_rhs", integers},
          {"accum_dtype", dtype, kOptional},
          {"out_dtype", dtype, kOptional}}),
      op(74, "reshape", {{"x"}}, {{"new_shape", shape}}),
      op(75, "transpose", {{"x"}}, {{"perm", integers}}),
      op(76, "broadcast_to", {{"x"}}, {{"result_shape", shape}}),
      op(77, "slice", {{"x"}}, {{"starts", integers}, {"sizes", shape}}),
      op(78, "concat", {{"x"}, true, 1}, {{"axis", integer}}),
      op(79, "pad", {{"x"}}, {{"low", integers}, {"high", integers}, {"interior", integers}, {"pad_value", literal}}),
      op(80, "tile", {{"x"}}, {{"repeats", integers}}),
      op(81, "iota", {{}}, {{"shape", shape}, {"dtype", dtype}, {"axis", integer}}),
      op(82, "take", {{"x", "indices"}}),
      op(83, "gather", {{"x", "indices"}}, {{"axis", integer}}),
      op(84, "scatter_add", {{"x", "indices", "updates"}},
         {{"update_window_dims", integers},
          {"inserted_window_dims", integers},
          {"scatter_dims_to_operand_dims", integers},
          {"index_vector_dim", integer, kOptional}}),
      op(85, "scatter_reduce", {{"x", "indices", "updates"}},
         {{"axis", integer}, {"reduce", choice, false, detail::kScatterNames}}),
      op(86, "dynamic_slice", {{"x", "start"}}, {{"sizes", shape}}),
      op(87, "dynamic_update_slice", {{"x", "update", "start"}}, {{"sizes", shape}}),
      op(88, "layer_norm", {{"x", "gamma", "beta"}}, {{"epsilon", real}, {"feature_axis", integer}}),
      op(89, "clamp", {{"x", "lo", "hi"}}),
      op(90, "cond", {{"pred", "argument"}, true, 1}, {{"true_region", region}, {"false_region", region}}),
      op(91, "while_loop", {{"carry"}, true, 1}, {{"cond_region", region}, {"body_region", region}}),
      op(92, "scan", {{"operand"}, true, 1},
         {{"body_region", region}, {"carry_count", integer}, {"scan_output_count", integer}}),
      op(93, "reduce_window", {{"x"}},
         {{"kind", choice, false, detail::kReduceNames},
          {"window", integers},
          {"strides", integers},
          {"pad_low", integers},
          {"pad_high", integers},
          {"base_dilation", integers},
          {"window_dilation", integers},
          {"accum_dtype", dtype, kOptional},
          {"out_dtype", dtype, kOptional}}),
      op(94, "extract_patches", {{"x"}},
         {{"window", integers},
          {"strides", integers},
          {"pad_low", integers},
          {"pad_high", integers},
          {"dilation", integers},
          {"pad_value", literal, kOptional}}),
      op(95, "custom_call", {{"operand"}, true, 0}, {{"target", string}, {"attrs", map}}),
      op(96, "rng_uniform", {{"seed"}, false, 0, 1},
         {{"shape", shape}, {"dtype", dtype}, {"seed", integer, kOptional}, {"stream", integer, kOptional}}),
      op(97, "rng_normal", {{"seed"}, false, 0, 1},
         {{"shape", shape}, {"dtype", dtype}, {"seed", integer, kOptional}, {"stream", integer, kOptional}}),
      op(98, "top_k", {{"x"}}, {{"k", integer}, {"axis", integer}, {"largest", boolean}, {"indices_dtype", dtype}}),
      op(99, "segment_reduce", {{"x", "segment_ids"}},
         {{"kind", choice, false, detail::kReduceNames},
          {"num_segments", integer},
          {"accum_dtype", dtype, kOptional},
          {"indices_are_sorted", boolean},
          {"unique", boolean}}),
      op(100, "quantize", {{"x", "scale", "zero_point"}}, {{"output_dtype", dtype}, {"axis", integer, kOptional}}),
      op(101, "dequantize", {{"x", "scale", "zero_point"}}, {{"output_dtype", dtype}, {"axis", integer, kOptional}}),
      op(102, "requantize", {{"x", "from_scale", "from_zero_point", "to_scale", "to_zero_point"}},
         {{"output_dtype", dtype}, {"axis", integer, kOptional}}),
  });
}();

inline constexpr std::uint8_t kFirstOp = 64;
inline constexpr std::uint8_t kLastOp = 102;

namespace detail {
consteval bool lists_every_op() {
  if (kOps.size() != kLastOp - kFirstOp + 1u) return false;
  for (std::size_t i = 0; i < kOps.size(); ++i)
    if (number(kOps[i].opcode) != kFirstOp + i) return false;
  return true;
}
}  // namespace detail
static_assert(detail::lists_every_op(), "the operations are opcodes 64 to 102, in order");

/// The row of an opcode, or null when it is no operation of the portable tensor IR.
[[nodiscard]] constexpr const OpInfo* find_op(Opcode opcode) noexcept {
  const std::uint8_t n = number(opcode);
  return n >= kFirstOp && n <= kLastOp ? &kOps[static_cast<std::size_t>(n - kFirstOp)] : nullptr;
}

/// The row of a name, or null.
[[nodiscard]] constexpr const OpInfo* find_op(std::string_view name) noexcept {
  for (const OpInfo& row : kOps)
    if (row.name == name) return &row;
  return nullptr;
}

/// The opcode of a name that is known while compiling; any other name does not compile.
[[nodiscard]] consteval Opcode op_named(std::string_view name) { return find_op(name)->opcode; }

/// Where attribute `field` stands among those of op `name`; any other name does not compile.
[[nodiscard]] consteval std::size_t field_index(std::string_view name, std::string_view field) {
  const auto fields = find_op(name)->fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return i;
  return *static_cast<const std::size_t*>(nullptr);
}

/// Where `name` stands among the choices of an attribute; any other name does not compile.
[[nodiscard]] consteval std::uint64_t choice_index(std::string_view op, std::string_view field, std::string_view name) {
  const auto choices = find_op(op)->fields()[field_index(op, field)].choices;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == name) return i;
  return *static_cast<const std::uint64_t*>(nullptr);
}

/// The dtype of a name, or null; block types of weights are none of the IR's.
[[nodiscard]] constexpr const DTypeInfo* find_dtype(std::string_view name) noexcept {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.kind == DTypeKind::block ? nullptr : &row;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir
