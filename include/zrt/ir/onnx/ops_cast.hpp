// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_cast.hpp: casts between numbers, and between numbers and strings, which must be known.
#pragma once

#include <zrt/ir/onnx/ops_elementwise.hpp>
#include <zrt/ir/onnx/ops_string.hpp>
#include <zrt/ir/ptir/numbers.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// True for `text` in any case; `lower` is what it is in lower case.
[[nodiscard]] constexpr bool is_word(std::string_view text, std::string_view lower) noexcept {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_case(text[i], CaseChange::lower) != lower[i]) return false;
  return true;
}
/// Reads all of `text` as a plain or scientific number, as INF or as NaN, in any case; none for what is no number, or
/// one too large or too small for F.
template <std::floating_point F> [[nodiscard]] std::optional<F> real_of(std::string_view text) noexcept {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  std::optional<F> value;
  if (is_word(text, "inf")) value = std::numeric_limits<F>::infinity();
  if (is_word(text, "nan")) value = std::numeric_limits<F>::quiet_NaN();
  const bool starts_well = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  F read{};
  const char* const last = text.data() + text.size();
  if (starts_well)
    if (const auto [end, code] = std::from_chars(text.data(), last, read); code == std::errc() && end == last)
      value = read;
  if (value && minus) *value = -*value;
  return value;
}
/// The bits of `text` as a number of `to`: of one with a fraction its whole part, where `to` is a whole number. None
/// where it is no number of the type.
[[nodiscard]] inline std::optional<std::uint64_t> bits_of_number(std::string_view text, DType to) noexcept {
  if (to == DType::f32) {
    const auto value = real_of<float>(text);
    return value ? std::optional<std::uint64_t>(std::bit_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  const std::string_view digits = zrt::slice(text, text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  if (!is_float(to) && !digits.starts_with("0x"))
    if (const auto whole = ptir::parse_part(ptir::element_form(to), digits)) return whole;
  const auto value = real_of<double>(text);
  if (!value) return std::nullopt;
  const auto width = static_cast<int>(8 * info(to).block_bytes);
  if (is_float(to)) {
    std::array<std::byte, 8> element{};
    cast_elements(DType::f64, reinterpret_cast<const std::byte*>(&*value), to, element.data(), 0, 1);
    return std::bit_cast<std::uint64_t>(element);
  }
  const bool is_signed = info(to).kind == DTypeKind::signed_integer;
  double beyond = is_signed ? 0.5 : 1;
  for (int i = 0; i < width; ++i) beyond *= 2;
  const double least = is_signed ? -beyond : 0;
  // The whole part of a number just below the least is that one.
  if (!(*value < beyond) || !(*value >= least || *value - least > -1)) return std::nullopt;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(*value)) : static_cast<std::uint64_t>(*value);
}
inline void strings_to_numbers(NodeCall& n, DType to) noexcept {
  if (!is_computed(to) || is_complex(to) || to == DType::i1 || info(to).block_elems != 1 || saturation_of(to) != 0)
    return n.unsupported("strings as ", name(to));
  const Vector<std::int64_t> texts = strings_in(n, 0, "x");
  const ptir::Shape shape = n.value(0).type.shape;
  const std::size_t width = info(to).block_bytes;
  Vector<std::byte> bytes(n.allocator());
  for (std::size_t i = 0; i < texts.size() && !n.failed(); ++i) {
    const std::string_view text = n.reader().string_at(texts[i]);
    const auto bits = bits_of_number(text, to);
    if (!bits)
      return n.fail(Errc::invalid_params, "string ", i, " is '", zrt::slice(text, 0, 40), "', expected a number of ",
                    name(to));
    for (std::size_t k = 0; k < width; ++k)
      if (auto r = bytes.push_back(static_cast<std::byte>(*bits >> 8 * k & 0xff)); !r) return n.fail(r.error());
  }
  if (!n.failed()) n.out_known(0, {to, shape}, bytes.span());
}

/// Appends the shortest plain decimal from which the same F is read.
template <std::floating_point F> [[nodiscard]] Result<void> append_plain(String& to, F value) noexcept {
  if (value != value) return to.append("NaN");
  if (value - value != 0) return to.append(value < 0 ? "-INF" : "INF");
  // The least f64 takes 326 characters.
  char digits[384];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr;
  return to.append({digits, static_cast<std::size_t>(end - digits)});
}
/// Appends an element that is at `at` as a plain decimal.
[[nodiscard]] inline Result<void> append_element(String& to, DType dtype, const std::byte* at) noexcept {
  const auto as = [&]<class T>(DType domain, T value) {
    cast_elements(dtype, at, domain, reinterpret_cast<std::byte*>(&value), 0, 1);
    return value;
  };
  if (dtype == DType::f64) return append_plain(to, as(DType::f64, 0.0));
  if (is_float(dtype)) return append_plain(to, as(DType::f32, 0.0f));
  if (info(dtype).kind == DTypeKind::signed_integer) return ptir::append_integer(to, as(DType::si64, std::int64_t{0}));
  return ptir::append_integer(to, as(DType::ui64, std::uint64_t{0}));
}
inline void numbers_to_strings(NodeCall& n) noexcept {
  if (auto r = n.reader().expect_strings_taken(); !r) return n.fail(r.error());
  const Value v = n.value(0);
  const DType from = v.type.dtype;
  if (!is_computed(from) || is_complex(from) || from == DType::i1 || info(from).block_elems != 1)
    return n.unsupported(name(from), " as strings");
  if (!n.need_known(v, 0, "what becomes strings")) return;
  const IntList shape = n.shape(0);
  const std::int64_t count = product(shape);
  if (!n.fits_table(count)) return;
  Vector<std::int64_t> numbers(n.allocator());
  for (std::int64_t i = 0; i < count && !n.failed(); ++i) {
    String text(n.allocator());
    const auto* at = v.data.data() + static_cast<std::size_t>(i) * info(from).block_bytes;
    if (auto r = append_element(text, from, at); !r) return n.fail(r.error());
    append_string(n, numbers, text.view());
  }
  out_strings(n, 0, shape, numbers);
}

inline void cast(NodeCall& n) noexcept {
  const std::int64_t number = n.integer("to", 0);
  const bool strings = n.value(0).strings;
  if (number == kStringType) return strings ? identity(n) : numbers_to_strings(n);
  const auto to = dtype_of(number);
  if (!to) return n.fail(to.error());
  strings ? strings_to_numbers(n, *to) : cast_as_said(n, *to);
}
inline void cast_like(NodeCall& n) noexcept {
  const bool strings = n.value(0).strings;
  if (n.value(1).strings) return strings ? identity(n) : numbers_to_strings(n);
  strings ? strings_to_numbers(n, n.dtype(1)) : cast_as_said(n, n.dtype(1));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
