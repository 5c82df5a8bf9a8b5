// SPDX-License-Identifier: Apache-2.0
// zrt/ops/custom_attributes.hpp: the named values of a custom call as bytes of a plan, written and read.
//
//   attributes = entry*            one after the other, without padding; numbers little-endian
//   entry      = kind u8, 0 u8, key bytes u16, values u32, key, value*
//   value      = 8 bytes of an integer or a real | 1 byte 0 or 1 | bytes u32, text
//
// A kind of its own says whether one value stands alone or in a list.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace zrt::inline ZRT_ABI::ops {

/// What an attribute of a custom call holds.
enum class CustomKind : std::uint8_t { integer, real, boolean, text, integers, reals, booleans, texts };

/// One attribute; its values lie in the bytes that it was read from.
class CustomAttribute {
 public:
  [[nodiscard]] CustomKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::string_view key() const noexcept { return key_; }
  /// How many values: one unless it is a list.
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] std::int64_t integer(std::uint32_t i = 0) const noexcept {
    return static_cast<std::int64_t>(word<std::uint64_t>(std::size_t{i} * 8));
  }
  [[nodiscard]] double real(std::uint32_t i = 0) const noexcept {
    return std::bit_cast<double>(word<std::uint64_t>(std::size_t{i} * 8));
  }
  [[nodiscard]] bool boolean(std::uint32_t i = 0) const noexcept { return i < values_.size() && values_[i] != '\0'; }
  [[nodiscard]] std::string_view text(std::uint32_t i = 0) const noexcept {
    std::string_view rest = values_;
    for (std::uint32_t before = 0; before < i; ++before) (void)take_text(rest);
    return take_text(rest);
  }

 private:
  friend class CustomAttributes;

  template <class T> [[nodiscard]] T word(std::size_t at) const noexcept {
    T value = 0;
    for (std::size_t b = 0; b < sizeof(T) && at + b < values_.size(); ++b)
      value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(values_[at + b])) << 8 * b);
    return value;
  }
  /// The length that stands before a text.
  [[nodiscard]] static std::size_t text_bytes(std::string_view from) noexcept {
    std::size_t size = 0;
    for (std::size_t b = 0; b < 4 && b < from.size(); ++b)
      size |= std::size_t{static_cast<unsigned char>(from[b])} << 8 * b;
    return size;
  }
  [[nodiscard]] static std::string_view take_text(std::string_view& from) noexcept {
    if (from.size() < 4) return {};
    const std::size_t size = text_bytes(from);
    from.remove_prefix(4);
    const std::string_view text(from.data(), size < from.size() ? size : from.size());
    from.remove_prefix(text.size());
    return text;
  }

  CustomKind kind_ = CustomKind::integer;
  std::uint32_t count_ = 0;
  std::string_view key_;
  std::string_view values_;
};

/// The attributes of one call. Whatever the bytes are, reading stays within them.
class CustomAttributes {
 public:
  constexpr CustomAttributes() = default;
  explicit CustomAttributes(Span<const std::byte> bytes) noexcept
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  /// Takes the next attribute; false at the end, or where the bytes break the form.
  [[nodiscard]] bool next(CustomAttribute& attribute) noexcept {
    constexpr std::size_t kHead = 8;
    if (rest_.size() < kHead) return false;
    const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(rest_[at])}; };
    const std::uint32_t kind = byte(0);
    const std::uint32_t key = byte(2) | byte(3) << 8;
    const std::uint32_t count = byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24;
    if (kind > static_cast<std::uint32_t>(CustomKind::texts) || byte(1) != 0 || rest_.size() - kHead < key)
      return false;
    attribute.kind_ = static_cast<CustomKind>(kind);
    attribute.count_ = count;
    if (attribute.kind_ < CustomKind::integers && count != 1) return false;
    attribute.key_ = {rest_.data() + kHead, key};
    std::string_view after = rest_;
    after.remove_prefix(kHead + key);
    std::size_t bytes = 0;
    switch (attribute.kind_) {
      case CustomKind::integer:
      case CustomKind::real:
      case CustomKind::integers:
      case CustomKind::reals:
        if (after.size() / 8 < count) return false;
        bytes = std::size_t{count} * 8;
        break;
      case CustomKind::boolean:
      case CustomKind::booleans:
        bytes = count;
        break;
      case CustomKind::text:
      case CustomKind::texts: {
        std::string_view values = after;
        for (std::uint32_t i = 0; i < count; ++i) {
          const std::size_t before = values.size();
          const std::size_t text = CustomAttribute::text_bytes(values);
          if (before < 4 || before - 4 < text) return false;
          (void)CustomAttribute::take_text(values);
        }
        bytes = after.size() - values.size();
        break;
      }
    }
    if (bytes > after.size()) return false;
    attribute.values_ = {after.data(), bytes};
    after.remove_prefix(bytes);
    rest_ = after;
    return true;
  }
  /// True when nothing is left to take.
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  /// The attribute of that name, if there is one.
  [[nodiscard]] std::optional<CustomAttribute> find(std::string_view key) const noexcept {
    CustomAttributes all = *this;
    CustomAttribute attribute;
    while (all.next(attribute))
      if (attribute.key() == key) return attribute;
    return std::nullopt;
  }
  /// True when the bytes are attributes from the first to the last.
  [[nodiscard]] bool well_formed() const noexcept {
    CustomAttributes all = *this;
    CustomAttribute attribute;
    while (all.next(attribute)) {
    }
    return all.at_end();
  }

 private:
  std::string_view rest_;
};

/// Writes attributes one after the other.
class CustomAttributesWriter {
 public:
  explicit CustomAttributesWriter(Allocator a) noexcept : bytes_(a) {}

  /// Begins an attribute of `count` values, which follow.
  ///
  /// Errors: Errc::limit_exceeded for a key of more than 65535 bytes, Errc::out_of_memory.
  [[nodiscard]] Result<void> begin(std::string_view key, CustomKind kind, std::uint32_t count) noexcept {
    if (key.size() > 0xffff) return fail(Errc::limit_exceeded, "an attribute's name has ", key.size(), " bytes");
    if (auto r = put(static_cast<std::uint64_t>(kind), 2); !r) return r;
    if (auto r = put(key.size(), 2); !r) return r;
    if (auto r = put(count, 4); !r) return r;
    return chars(key);
  }
  [[nodiscard]] Result<void> word(std::uint64_t bits) noexcept { return put(bits, 8); }
  [[nodiscard]] Result<void> boolean(bool value) noexcept { return put(value ? 1 : 0, 1); }
  [[nodiscard]] Result<void> text(std::string_view value) noexcept {
    if (auto r = put(value.size(), 4); !r) return r;
    return chars(value);
  }
  [[nodiscard]] Span<const std::byte> bytes() const noexcept { return bytes_.span(); }

 private:
  [[nodiscard]] Result<void> put(std::uint64_t value, std::size_t size) noexcept {
    for (std::size_t b = 0; b < size; ++b)
      if (auto r = bytes_.push_back(static_cast<std::byte>(value >> 8 * b & 0xff)); !r) return r;
    return {};
  }
  [[nodiscard]] Result<void> chars(std::string_view value) noexcept {
    return bytes_.append(as_bytes(Span(value.data(), value.size())));
  }

  Vector<std::byte> bytes_;
};

}  // namespace zrt::inline ZRT_ABI::ops
