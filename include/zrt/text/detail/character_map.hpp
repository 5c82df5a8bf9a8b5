// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/character_map.hpp: the characters of a text as a vocabulary normalises them, from a file's map.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// What a map makes of the beginning of a text.
struct MappedCharacters {
  std::string_view text;
  std::size_t read = 0;  ///< bytes of the text that it stands for; 0: the map has none
};

/// A map from strings to their replacements, as SentencePiece compiles it: a double array of u32, then the replacements,
/// each ended by a zero.
///
/// A unit holds what must lead to it in its low byte, the way to its children in bits 10 to 30 (times 256 where bit 9 is
/// set), and in bit 8 whether a string ends there; its replacement's place is then in the unit at the byte 0. Broken maps
/// lead nowhere, and never outside.
class CharacterMap {
 public:
  /// Views `bytes`, which must outlive this; without any it maps nothing. Errors: Errc::invalid_metadata for a size that
  /// the bytes do not have.
  [[nodiscard]] Result<void> open(Span<const std::uint8_t> bytes) noexcept {
    if (bytes.empty()) return {};
    const std::uint64_t size = bytes.size() < 4 ? ~std::uint64_t{0} : word(bytes, 0);
    if (size > bytes.size() - 4 || size % 4 != 0)
      return fail(Errc::invalid_metadata, "precompiled_charsmap has ", bytes.size(),
                  " bytes, which is not the size that it says of itself");
    units_ = bytes.subspan(4, static_cast<std::size_t>(size));
    const Span<const std::uint8_t> rest = bytes.subspan(4 + static_cast<std::size_t>(size), bytes.size() - 4 - size);
    replacements_ = {reinterpret_cast<const char*>(rest.data()), rest.size()};
    return {};
  }

  /// The longest string of the map that `text` has at `at`.
  [[nodiscard]] MappedCharacters find(std::string_view text, std::size_t at) const noexcept {
    MappedCharacters longest;
    if (units_.empty()) return longest;
    std::uint32_t place = way(unit(0));
    for (std::size_t i = at; i < text.size() && text[i] != '\0'; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      place ^= byte;
      const std::uint32_t found = unit(place);
      if ((found & 0x800000ffu) != byte) break;
      place ^= way(found);
      if ((found >> 8 & 1u) == 0) continue;
      const std::uint32_t from = unit(place) & 0x7fffffffu;
      if (from >= replacements_.size()) continue;
      const std::size_t end = std::min(replacements_.find('\0', from), replacements_.size());
      longest = {slice(replacements_, from, end - from), i + 1 - at};
    }
    return longest;
  }

 private:
  [[nodiscard]] static std::uint32_t word(Span<const std::uint8_t> bytes, std::size_t at) noexcept {
    return static_cast<std::uint32_t>(bytes[at]) | static_cast<std::uint32_t>(bytes[at + 1]) << 8 |
           static_cast<std::uint32_t>(bytes[at + 2]) << 16 | static_cast<std::uint32_t>(bytes[at + 3]) << 24;
  }
  /// A unit; outside of the array one that nothing leads to.
  [[nodiscard]] std::uint32_t unit(std::uint32_t place) const noexcept {
    return place < units_.size() / 4 ? word(units_, std::size_t{place} * 4) : 0x80000000u;
  }
  [[nodiscard]] static std::uint32_t way(std::uint32_t unit) noexcept { return unit >> 10 << ((unit & 1u << 9) >> 6); }

  Span<const std::uint8_t> units_;
  std::string_view replacements_;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
