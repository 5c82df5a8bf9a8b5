// SPDX-License-Identifier: Apache-2.0
// zrt/core/name.hpp: a short name held inline, built from pieces, also at compile time.
#pragma once

#include <zrt/core/error.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// At most kCapacity characters; a longer name is cut and `fits` is false.
class Name {
 public:
  static constexpr std::size_t kCapacity = 94;

  constexpr Name() = default;
  constexpr Name(std::string_view text) noexcept { append(text); }               // NOLINT: a literal is a name
  constexpr Name(const char* text) noexcept { append(std::string_view(text)); }  // NOLINT: a literal is a name

  /// Joins strings and unsigned integers: Name::of("blk.", 3u, ".attn_q.weight").
  template <class... Pieces> [[nodiscard]] static constexpr Name of(const Pieces&... pieces) noexcept {
    Name name;
    (name.add(pieces), ...);
    return name;
  }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_.data(), length_}; }
  [[nodiscard]] constexpr bool fits() const noexcept { return fits_; }
  friend constexpr bool operator==(const Name& a, const Name& b) noexcept { return a.view() == b.view(); }

 private:
  constexpr void append(std::string_view text) noexcept {
    for (char c : text) {
      if (length_ == kCapacity) {
        fits_ = false;
        return;
      }
      text_[length_++] = c;
    }
  }
  constexpr void add(std::string_view text) noexcept { append(text); }
  constexpr void add(unsigned value) noexcept {
    char digits[10]{};
    std::size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (n > 0) append(std::string_view(&digits[--n], 1));
  }

  std::array<char, kCapacity> text_{};
  std::uint8_t length_ = 0;
  bool fits_ = true;
};
static_assert(Name::of("blk.", 12u, ".ffn").view() == "blk.12.ffn");

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
