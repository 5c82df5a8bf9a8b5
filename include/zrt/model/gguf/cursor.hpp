// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/cursor.hpp: a bounds-checked walk over a file's index whose errors say where it stood.
#pragma once

#include <zrt/model/gguf/source.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::detail {

// Reads a little-endian unsigned number from memory of any alignment.
template <std::unsigned_integral T> [[nodiscard]] inline T load_little(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<std::uint64_t>(std::to_integer<std::uint8_t>(from[i])) << (8 * i);
  return static_cast<T>(value);
}

// Text from a file, made fit for an error message: short and printable.
class Quoted {
 public:
  Quoted() = default;
  explicit Quoted(std::string_view text) noexcept {
    for (char c : text) {
      if (length_ == sizeof(chars_)) {
        for (std::size_t i = sizeof(chars_) - 3; i < sizeof(chars_); ++i) chars_[i] = '.';
        break;
      }
      chars_[length_++] = c >= 0x20 && c < 0x7f ? c : '?';
    }
  }
  [[nodiscard]] std::string_view view() const noexcept { return {chars_, length_}; }

 private:
  char chars_[72]{};
  std::size_t length_ = 0;
};

class GgufCursor {
 public:
  explicit GgufCursor(GgufBytes& bytes, std::uint64_t offset = 0) noexcept : bytes_(bytes), offset_(offset) {}

  // Names what is being read: `item` and its number, until its own name is known.
  void enter(std::string_view item, std::uint64_t number) noexcept {
    item_ = item;
    number_ = number;
    name_ = Quoted();
  }
  void enter_named(std::string_view item, std::string_view name) noexcept {
    item_ = item;
    name_ = Quoted(name);
  }

  [[nodiscard]] bool is_named(std::string_view name) const noexcept { return name_.view() == name; }

  // The same walk from another place.
  [[nodiscard]] GgufCursor from(std::uint64_t offset) const noexcept {
    GgufCursor other = *this;
    other.offset_ = offset;
    return other;
  }

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return bytes_.end() - offset_; }

  // An error at file offset `offset`, whose text begins with what is being read.
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> fault(Errc code, std::uint64_t offset, const Pieces&... pieces) const noexcept {
    Error error(code);
    error.append(item_);
    if (!name_.view().empty()) {
      error.append(" '").append(name_.view()).append("'");
    } else if (number_ != kNoNumber) {
      error.append(" ").append(number_);
    }
    error.append(": ");
    (error.append(pieces), ...);
    return std::unexpected<Error>(error.at_offset(offset));
  }

  // Passes over `count` bytes and returns where they lie.
  [[nodiscard]] Result<const std::byte*> take(std::uint64_t count, std::string_view part) noexcept {
    if (count > remaining()) {
      return fault(Errc::truncated_file, offset_, "the file ends inside the ", part, ": ", count, " bytes expected, ",
                   remaining(), " left");
    }
    auto bytes = bytes_.at(offset_, count);
    if (bytes) offset_ += count;
    return bytes;
  }

  template <std::unsigned_integral T> [[nodiscard]] Result<T> number(std::string_view part) noexcept {
    const auto bytes = take(sizeof(T), part);
    if (!bytes) return pass(bytes);
    return load_little<T>(*bytes);
  }

  // A length of 64 bits and as many characters.
  [[nodiscard]] Result<std::string_view> string(std::string_view part) noexcept {
    const auto length = number<std::uint64_t>(part);
    if (!length) return pass(length);
    const auto chars = take(*length, part);
    if (!chars) return pass(chars);
    return std::string_view(reinterpret_cast<const char*>(*chars), static_cast<std::size_t>(*length));
  }

 private:
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

  GgufBytes& bytes_;
  std::uint64_t offset_;
  std::string_view item_ = "header";
  std::uint64_t number_ = kNoNumber;
  Quoted name_;
};

}  // namespace zrt::inline ZRT_ABI::model::detail

ZRT_LOAD_TIME_END
