// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/field.hpp: bit fields of packets and registers, described once for whoever writes, checks or prints.
#pragma once

#include <zrt/backend/pm4/target.hpp>
#include <zrt/core/span.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A value of a field that has a name.
struct NamedValue {
  std::uint64_t value = 0;
  std::string_view name;
};

/// A field of a packet or of a register.
struct BitField {
  std::string_view name;
  /// Of a packet the dword after its header, from 1; of a register 0.
  std::uint8_t dword = 0;
  std::uint8_t low = 0;
  /// At most 64; what is above bit 31 lies in the next dword.
  std::uint8_t bits = 1;
  /// Where not empty, the only values that the field may have.
  Span<const NamedValue> values{};
  /// What the value is a multiple of.
  std::uint8_t alignment = 1;
  /// Where the field is defined; elsewhere its bits are reserved.
  Generations defined = kEveryGeneration;
  /// Where it does something; elsewhere it is accepted, and zrt writes 0.
  Generations acts = kEveryGeneration;

  /// The largest value that fits.
  [[nodiscard]] constexpr std::uint64_t most() const noexcept { return ~std::uint64_t{0} >> (64 - bits); }
  /// The dwords it touches.
  [[nodiscard]] constexpr std::size_t dwords() const noexcept { return low + bits > 32 ? 2 : 1; }
  /// Its bits in that dword of the packet.
  [[nodiscard]] constexpr std::uint32_t mask(std::size_t at) const noexcept {
    const std::uint64_t all = most() << low;
    if (at == dword) return static_cast<std::uint32_t>(all);
    return at == dword + std::size_t{1} ? static_cast<std::uint32_t>(all >> 32) : 0;
  }
  /// Reads it; `words` begin at the dword numbered `first` and reach as far as the field.
  [[nodiscard]] constexpr std::uint64_t get(Span<const std::uint32_t> words, std::size_t first) const noexcept {
    std::uint64_t raw = 0;
    for (std::size_t i = 0; i < dwords(); ++i)
      if (const std::size_t at = dword - first + i; at < words.size()) raw |= std::uint64_t{words[at]} << 32 * i;
    return raw >> low & most();
  }
  /// Writes a value that fits.
  constexpr void set(Span<std::uint32_t> words, std::size_t first, std::uint64_t value) const noexcept {
    for (std::size_t i = 0; i < dwords(); ++i) {
      std::uint32_t& word = words[dword - first + i];
      const std::uint32_t bits_here = mask(dword + i);
      word = (word & ~bits_here) | (static_cast<std::uint32_t>(value << low >> 32 * i) & bits_here);
    }
  }
  /// The name of a value, or an empty one.
  [[nodiscard]] constexpr std::string_view name_of(std::uint64_t value) const noexcept {
    for (const NamedValue& named : values)
      if (named.value == value) return named.name;
    return {};
  }
};

/// The bits of that dword that no field of the generation holds.
[[nodiscard]] constexpr std::uint32_t reserved_bits(Span<const BitField> fields, std::size_t dword,
                                                    Generation generation) noexcept {
  std::uint32_t known = 0;
  for (const BitField& field : fields)
    if (holds(field.defined, generation)) known |= field.mask(dword);
  return ~known;
}

/// True where no two fields of a generation share a bit and all values fit: what every list of fields is held to.
[[nodiscard]] constexpr bool well_formed(Span<const BitField> fields) noexcept {
  for (const Generation generation : {Generation::gfx11, Generation::gfx12})
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const BitField& a = fields[i];
      if (a.name.empty() || a.bits == 0 || a.bits > 64 || a.low > 31 || a.low + a.bits > 64) return false;
      for (const NamedValue& named : a.values)
        if (named.value > a.most()) return false;
      for (std::size_t j = 0; j < i; ++j) {
        const BitField& b = fields[j];
        if (!holds(a.defined, generation) || !holds(b.defined, generation)) continue;
        if (a.name == b.name) return false;
        for (std::size_t dword = a.dword; dword < a.dword + a.dwords(); ++dword)
          if ((a.mask(dword) & b.mask(dword)) != 0) return false;
      }
    }
  return true;
}

namespace detail {
/// Not constexpr: a constant expression that gets here does not compile.
inline void no_field_of_this_name() noexcept {}
}  // namespace detail

/// The field of that name in that generation; a name that the list lacks does not compile.
[[nodiscard]] consteval const BitField& named_field(Span<const BitField> fields, std::string_view name,
                                                    Generation generation) noexcept {
  for (const BitField& field : fields)
    if (field.name == name && holds(field.defined, generation)) return field;
  detail::no_field_of_this_name();
  return fields.front();
}

/// A number as 0x and at least eight hexadecimal digits.
struct Hex {
  constexpr explicit Hex(std::uint64_t value) noexcept {
    std::size_t digits = 8;
    while (digits < 16 && value >> 4 * digits != 0) ++digits;
    text[0] = '0';
    text[1] = 'x';
    length = static_cast<std::uint8_t>(2 + digits);
    for (std::size_t i = 0; i < digits; ++i) text[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 15];
  }
  constexpr operator std::string_view() const noexcept { return {text, length}; }  // NOLINT: it is a piece of text

  char text[18]{};
  std::uint8_t length = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4
