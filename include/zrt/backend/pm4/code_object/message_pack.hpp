// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/code_object/message_pack.hpp: reads MessagePack, in which compilers write what a code object holds.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// Walks one MessagePack value after the other. Reads nothing outside its bytes.
///
/// Errors: Errc::invalid_file with the offset in the bytes.
class MessagePackReader {
 public:
  enum class Kind : std::uint8_t { nil, boolean, unsigned_integer, signed_integer, text, bytes, real, array, map };
  /// A value. Of an array or a map `number` says how many elements or pairs follow it.
  struct Value {
    Kind kind = Kind::nil;
    std::uint64_t number = 0;  ///< of a signed integer its two's complement
    std::string_view text{};
  };

  explicit MessagePackReader(Span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] std::size_t offset() const noexcept { return at_; }

  /// The next value; an array or map without what it holds.
  [[nodiscard]] Result<Value> next() noexcept {
    std::uint64_t first = 0;
    if (!take(1, first)) return ends();
    if (first < 0x80) return Value{Kind::unsigned_integer, first};
    if (first < 0x90) return Value{Kind::map, first & 15};
    if (first < 0xa0) return Value{Kind::array, first & 15};
    if (first < 0xc0) return run(Kind::text, first & 31);
    if (first >= 0xe0) return Value{Kind::signed_integer, first - 0x100};
    return next_of_tag(static_cast<std::uint8_t>(first));
  }

  /// Passes over the next value with all that it holds.
  [[nodiscard]] Result<void> skip() noexcept {
    // An element has a byte at least, so the count of what is left never grows beyond the bytes that are left.
    for (std::uint64_t left = 1; left > 0; --left) {
      const auto value = next();
      if (!value) return pass(value);
      const std::uint64_t elements = value->kind == Kind::array ? value->number
                                     : value->kind == Kind::map ? value->number * 2
                                                                : 0;
      left += elements;
      if (left - 1 > bytes_.size() - at_) return ends();
    }
    return {};
  }

 private:
  [[nodiscard]] std::unexpected<Error> ends() const noexcept {
    Error error = Error::of(Errc::invalid_file, "MessagePack ends inside a value, after ", bytes_.size(), " bytes");
    return std::unexpected<Error>(error.at_offset(at_));
  }

  /// Takes `count` bytes, at most 8, as one big-endian number.
  bool take(std::size_t count, std::uint64_t& number) noexcept {
    if (count > bytes_.size() - at_) return false;
    number = 0;
    for (std::size_t i = 0; i < count; ++i) number = number << 8 | std::to_integer<std::uint64_t>(bytes_[at_++]);
    return true;
  }

  Result<Value> run(Kind kind, std::uint64_t size) noexcept {
    if (size > bytes_.size() - at_) return ends();
    const auto* first = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += size;
    return Value{kind, size, {first, size}};
  }

  Result<Value> next_of_tag(std::uint8_t tag) noexcept {
    struct Tag {
      std::uint8_t tag;
      Kind kind;
      std::uint8_t size;  ///< bytes of the number that follows
    };
    static constexpr auto kTags = std::to_array<Tag>({
        {0xc0, Kind::nil, 0},
        {0xc2, Kind::boolean, 0},
        {0xc3, Kind::boolean, 0},
        {0xc4, Kind::bytes, 1},
        {0xc5, Kind::bytes, 2},
        {0xc6, Kind::bytes, 4},
        {0xca, Kind::real, 4},
        {0xcb, Kind::real, 8},
        {0xcc, Kind::unsigned_integer, 1},
        {0xcd, Kind::unsigned_integer, 2},
        {0xce, Kind::unsigned_integer, 4},
        {0xcf, Kind::unsigned_integer, 8},
        {0xd0, Kind::signed_integer, 1},
        {0xd1, Kind::signed_integer, 2},
        {0xd2, Kind::signed_integer, 4},
        {0xd3, Kind::signed_integer, 8},
        {0xd9, Kind::text, 1},
        {0xda, Kind::text, 2},
        {0xdb, Kind::text, 4},
        {0xdc, Kind::array, 2},
        {0xdd, Kind::array, 4},
        {0xde, Kind::map, 2},
        {0xdf, Kind::map, 4},
    });
    for (const Tag& known : kTags) {
      if (known.tag != tag) continue;
      std::uint64_t number = 0;
      if (!take(known.size, number)) return ends();
      if (known.kind == Kind::text || known.kind == Kind::bytes) return run(known.kind, number);
      if (known.kind == Kind::boolean) number = tag == 0xc3 ? 1 : 0;
      if (known.kind == Kind::signed_integer && known.size < 8 && (number >> (8 * known.size - 1)) != 0)
        number |= ~std::uint64_t{0} << 8 * known.size;
      return Value{known.kind, number};
    }
    Error error = Error::of(Errc::invalid_file, "MessagePack has a value with tag ", unsigned{tag});
    return std::unexpected<Error>(error.at_offset(at_ - 1));
  }

  Span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
