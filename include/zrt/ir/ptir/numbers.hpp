// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/numbers.hpp: numbers and literal elements as text from which the same bits come back.
#pragma once

#include <zrt/core/scalar.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/ir/ptir/types.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstring>
#include <optional>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

template <std::integral I> [[nodiscard]] Result<void> append_integer(String& out, I value) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return out.append({digits, static_cast<std::size_t>(end - digits)});
}

/// Appends 0x and the lowest `digits` hexadecimal digits of `bits`.
[[nodiscard]] inline Result<void> append_bits(String& out, std::uint64_t bits, std::size_t digits) noexcept {
  char text[18] = {'0', 'x'};
  for (std::size_t i = 0; i < digits; ++i) text[2 + i] = "0123456789abcdef"[bits >> (4 * (digits - 1 - i)) & 15u];
  return out.append({text, 2 + digits});
}

/// Appends the shortest decimal that reads as `value`, with a point or an exponent so that it differs
/// from an integer; inf, -inf; a NaN as its bits.
template <std::floating_point F> [[nodiscard]] Result<void> append_real(String& out, F value) noexcept {
  if (value != value) {
    using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
    return append_bits(out, std::bit_cast<Bits>(value), 2 * sizeof(F));
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  if (auto r = out.append(text); !r) return r;
  return text.find_first_of(".ein") == std::string_view::npos ? out.append(".0") : Result<void>{};
}

/// Reads all of `text` as a decimal integer.
template <std::integral I> [[nodiscard]] std::optional<I> parse_integer(std::string_view text) noexcept {
  I value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads all of `text` as "0x" and at most `digits` hexadecimal digits.
[[nodiscard]] inline std::optional<std::uint64_t> parse_bits(std::string_view text, std::size_t digits) noexcept {
  if (!text.starts_with("0x") || text.size() == 2 || text.size() - 2 > digits) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads all of `text` as append_real writes it; a finite number too large for F is none.
template <std::floating_point F> [[nodiscard]] std::optional<F> parse_real(std::string_view text) noexcept {
  using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  if (text.starts_with("0x")) {
    const auto bits = parse_bits(text, 2 * sizeof(F));
    if (!bits) return std::nullopt;
    return std::bit_cast<F>(static_cast<Bits>(*bits));
  }
  // from_chars also reads "nan", whose bits would be anyone's guess, and "infinity".
  const std::string_view magnitude = text.starts_with('-') ? slice(text, 1) : text;
  const bool starts_well = magnitude == "inf" || (!magnitude.empty() && magnitude[0] >= '0' && magnitude[0] <= '9');
  if (!starts_well) return std::nullopt;
  F value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// How the elements of a dtype are written: as how many numbers each, of which dtype.
struct ElementForm {
  DType part;            ///< f32 of cf32, f64 of cf64, else the dtype itself
  std::uint8_t parts;    ///< 2 for complex
  std::uint8_t nibbles;  ///< of one part: 1 for 4-bit integers
};

[[nodiscard]] constexpr ElementForm element_form(DType dtype) noexcept {
  const DTypeInfo& row = info(dtype);
  if (row.block_elems == 2) return {dtype, 1, 1};
  if (row.kind == DTypeKind::complex)
    return {dtype == DType::cf32 ? DType::f32 : DType::f64, 2, static_cast<std::uint8_t>(row.block_bytes)};
  return {dtype, 1, static_cast<std::uint8_t>(row.block_bytes * 2)};
}

/// The bits of part `index` of packed data.
[[nodiscard]] inline std::uint64_t read_part(Span<const std::byte> data, const ElementForm& form,
                                             std::size_t index) noexcept {
  if (form.nibbles == 1) return static_cast<std::uint64_t>(data[index / 2]) >> (index % 2 * 4) & 15u;
  std::uint64_t bits = 0;
  const std::size_t size = form.nibbles / 2u;
  for (std::size_t i = 0; i < size; ++i) bits |= static_cast<std::uint64_t>(data[index * size + i]) << (8 * i);
  return bits;
}

/// Sets part `index` of packed data that was zero there.
inline void write_part(Span<std::byte> data, const ElementForm& form, std::size_t index, std::uint64_t bits) noexcept {
  if (form.nibbles == 1) {
    data[index / 2] |= static_cast<std::byte>((bits & 15u) << (index % 2 * 4));
    return;
  }
  const std::size_t size = form.nibbles / 2u;
  for (std::size_t i = 0; i < size; ++i) data[index * size + i] = static_cast<std::byte>(bits >> (8 * i) & 0xffu);
}

/// The value of one part of a float dtype that is narrower than f32.
[[nodiscard]] inline float widen_part(DType dtype, std::uint64_t bits) noexcept {
  const std::array<std::byte, 2> stored{static_cast<std::byte>(bits & 0xffu), static_cast<std::byte>(bits >> 8)};
  float value = 0;
  element_functions<float>(dtype).unpack(stored.data(), 0, 1, &value);
  return value;
}

/// Appends one part as a number; NaN as its bits.
[[nodiscard]] inline Result<void> append_part(String& out, const ElementForm& form, std::uint64_t bits) noexcept {
  const unsigned width = 4u * form.nibbles;
  switch (info(form.part).kind) {
    case DTypeKind::signed_integer:
      return append_integer(out, static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
    case DTypeKind::boolean:
    case DTypeKind::unsigned_integer:
      return append_integer(out, bits);
    default:
      break;
  }
  if (form.part == DType::f64) return append_real(out, std::bit_cast<double>(bits));
  if (form.part == DType::f32) return append_real(out, std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const float value = widen_part(form.part, bits);
  if (value == value) return append_real(out, value);
  return append_bits(out, bits, form.nibbles);
}

/// Reads one part; nothing when `text` is no number of the dtype or outside its range. A decimal that
/// lies between two numbers of a float dtype becomes the nearest.
[[nodiscard]] inline std::optional<std::uint64_t> parse_part(const ElementForm& form, std::string_view text) noexcept {
  if (text.starts_with("0x")) return parse_bits(text, form.nibbles);
  const unsigned width = 4u * form.nibbles;
  switch (info(form.part).kind) {
    case DTypeKind::signed_integer: {
      const auto value = parse_integer<std::int64_t>(text);
      const std::int64_t most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - width));
      if (!value || *value > most || *value < -most - 1) return std::nullopt;
      return static_cast<std::uint64_t>(*value) & (~std::uint64_t{0} >> (64 - width));
    }
    case DTypeKind::boolean:
    case DTypeKind::unsigned_integer: {
      const auto value = parse_integer<std::uint64_t>(text);
      const std::uint64_t most = form.part == DType::i1 ? 1 : ~std::uint64_t{0} >> (64 - width);
      if (!value || *value > most) return std::nullopt;
      return *value;
    }
    default:
      break;
  }
  if (form.part == DType::f64) {
    const auto value = parse_real<double>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<std::uint64_t>(*value);
  }
  if (form.part == DType::f32) {
    const auto value = parse_real<float>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<std::uint32_t>(*value);
  }
  const auto value = parse_real<float>(text);
  if (!value) return std::nullopt;
  std::array<std::byte, 2> stored{};
  element_functions<float>(form.part).pack(&*value, 0, 1, stored.data());
  const std::uint64_t bits = read_part(stored, form, 0);
  // A number beyond the type's range is none; infinity is written as inf, where there is one.
  const float back = widen_part(form.part, bits);
  if (back != back || (back - back != 0 && *value - *value == 0)) return std::nullopt;
  return bits;
}

/// True when numbers say all that `data` holds: its size is that of `type`, an i1 is 0 or 1, unused
/// bits are zero.
[[nodiscard]] inline bool is_canonical(const TensorType& type, Span<const std::byte> data) noexcept {
  if (!is_ptir_dtype(type.dtype) || !type.shape.is_constant() || type.shape.rank > kMaxRank) return false;
  const CheckedSize size = literal_bytes(type);
  if (!size.ok() || size.raw() != data.size()) return false;
  if (type.dtype == DType::i1)
    for (const std::byte b : data)
      if (static_cast<unsigned>(b) > 1) return false;
  return info(type.dtype).block_elems == 1 || type.shape.constant_elements().raw() % 2 == 0 ||
         (data.back() & std::byte{0xf0}) == std::byte{0};
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
