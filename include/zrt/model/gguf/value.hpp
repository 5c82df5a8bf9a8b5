// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/value.hpp: one metadata value of a GGUF file, read where it lies.
#pragma once

#include <zrt/model/gguf/cursor.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Types of metadata values; the numbers stand in the file.
enum class GgufValueType : std::uint8_t { u8 = 0, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

namespace detail {

struct GgufValueTypeInfo {
  std::string_view name;
  std::uint8_t bytes;  // of one value; 0 where the value says its own length
};

inline constexpr std::array<GgufValueTypeInfo, 13> kGgufValueTypes{{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

}  // namespace detail

/// Returns the short name of `type`, such as "u32".
[[nodiscard]] constexpr std::string_view name(GgufValueType type) noexcept {
  return detail::kGgufValueTypes[static_cast<std::size_t>(type)].name;
}

/// What a metadata value can be read as.
template <class T>
concept GgufReadable =
    std::integral<T> || std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::string_view>;

/// Arrays may lie in arrays down to this depth.
inline constexpr std::uint32_t kGgufMaxArrayDepth = 4;

namespace detail {
struct GgufValueAccess;
}

/// A view of one metadata value; valid as long as its GgufFile.
///
/// The payload was checked when the file was opened. It is walked with the same checks again, so that
/// a file that changes under its mapping costs an error.
class GgufValue {
 public:
  [[nodiscard]] GgufValueType type() const noexcept { return type_; }
  /// File offset of the payload.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

  /// Reads the value as a T: integers of any width into any width that holds them, f32 and f64 into
  /// float and double, bool and string as themselves.
  ///
  /// Fails with Errc::invalid_metadata, whose text names the value as `what`.
  template <GgufReadable T> [[nodiscard]] Result<T> as(std::string_view what = "value") const noexcept {
    if constexpr (std::same_as<T, bool>) {
      if (type_ != GgufValueType::boolean) return wrong_type(what, "bool");
      return load<std::uint8_t>() != 0;
    } else if constexpr (std::same_as<T, std::string_view>) {
      if (type_ != GgufValueType::string) return wrong_type(what, "string");
      return std::string_view(reinterpret_cast<const char*>(data_), static_cast<std::size_t>(count_));
    } else if constexpr (std::integral<T>) {
      switch (type_) {
        case GgufValueType::u8:
          return fit<T>(load<std::uint8_t>(), what);
        case GgufValueType::u16:
          return fit<T>(load<std::uint16_t>(), what);
        case GgufValueType::u32:
          return fit<T>(load<std::uint32_t>(), what);
        case GgufValueType::u64:
          return fit<T>(load<std::uint64_t>(), what);
        case GgufValueType::i8:
          return fit<T>(static_cast<std::int8_t>(load<std::uint8_t>()), what);
        case GgufValueType::i16:
          return fit<T>(static_cast<std::int16_t>(load<std::uint16_t>()), what);
        case GgufValueType::i32:
          return fit<T>(static_cast<std::int32_t>(load<std::uint32_t>()), what);
        case GgufValueType::i64:
          return fit<T>(static_cast<std::int64_t>(load<std::uint64_t>()), what);
        case GgufValueType::f32:
        case GgufValueType::f64:
        case GgufValueType::boolean:
        case GgufValueType::string:
        case GgufValueType::array:
          break;
      }
      return wrong_type(what, "integer");
    } else {
      if (type_ == GgufValueType::f32) return static_cast<T>(std::bit_cast<float>(load<std::uint32_t>()));
      if (type_ != GgufValueType::f64) return wrong_type(what, "floating-point number");
      const auto wide = std::bit_cast<double>(load<std::uint64_t>());
      constexpr double largest = static_cast<double>(std::numeric_limits<T>::max());
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if ((wide > largest && wide < infinity) || (wide < -largest && wide > -infinity))
        return misfit(what, "an f64 outside the range of f32 found");
      return static_cast<T>(wide);
    }
  }

  /// Type of an array's elements; meaningful only for arrays.
  [[nodiscard]] GgufValueType element_type() const noexcept { return element_type_; }
  /// Number of an array's elements, of a string's bytes, otherwise 1.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Returns element `i` of an array; strings and nested arrays before it are walked over.
  [[nodiscard]] Result<GgufValue> element(std::uint64_t i) const noexcept;

  /// Returns all elements of an array, each read by `as<T>` or, where T is GgufValue, as it is.
  template <class T>
    requires(GgufReadable<T> || std::same_as<T, GgufValue>)
  [[nodiscard]] Result<Vector<T>> list(const Allocator& allocator, std::string_view what = "value") const noexcept;

 private:
  friend struct detail::GgufValueAccess;

  template <std::unsigned_integral T> [[nodiscard]] T load() const noexcept { return detail::load_little<T>(data_); }

  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> misfit(std::string_view what, const Pieces&... pieces) const noexcept {
    auto error = Error::of(Errc::invalid_metadata, "metadata '", detail::Quoted(what).view(), "': ");
    (error.append(pieces), ...);
    return std::unexpected<Error>(error.at_offset(offset_));
  }

  [[nodiscard]] std::unexpected<Error> wrong_type(std::string_view what, std::string_view expected) const noexcept {
    return misfit(what, expected, " expected, ", name(type_), " found");
  }

  template <class T, std::integral From> [[nodiscard]] Result<T> fit(From value, std::string_view what) const noexcept {
    const bool below =
        value < From{} && (std::unsigned_integral<T> ||
                           static_cast<std::int64_t>(value) < static_cast<std::int64_t>(std::numeric_limits<T>::min()));
    const bool above =
        value > From{} && static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (below || above) {
      return misfit(what, value, " found, ", std::numeric_limits<T>::min() + 0, " to ",
                    std::numeric_limits<T>::max() + 0, " expected");
    }
    return static_cast<T>(value);
  }

  // Room for all elements is made once the first one has turned out to be a T.
  template <class T> [[nodiscard]] Result<void> append_to(Vector<T>& elements, T value) const noexcept {
    if (auto r = elements.reserve(static_cast<std::size_t>(count_)); !r) return r;
    return elements.push_back(value);
  }

  const std::byte* data_ = nullptr;
  std::uint64_t count_ = 1;
  std::uint64_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  GgufValueType type_ = GgufValueType::u8;
  GgufValueType element_type_ = GgufValueType::u8;
};

namespace detail {

[[nodiscard]] inline Result<GgufValueType> read_value_type(GgufCursor& cursor, std::string_view part) noexcept {
  const auto number = cursor.number<std::uint32_t>(part);
  if (!number) return pass(number);
  if (*number >= kGgufValueTypes.size()) {
    return cursor.fault(Errc::invalid_file, cursor.offset() - 4, "the ", part, " is ", *number, ", 0 to ",
                        kGgufValueTypes.size() - 1, " expected");
  }
  return static_cast<GgufValueType>(*number);
}

[[nodiscard]] inline std::uint64_t bytes_of(GgufValueType type) noexcept {
  return kGgufValueTypes[static_cast<std::size_t>(type)].bytes;
}

struct GgufValueAccess {
  // Reads the payload of a value of `type`, which lies in `depth` arrays.
  [[nodiscard]] static Result<GgufValue> read(GgufCursor& cursor, GgufValueType type, std::uint32_t depth) noexcept {
    GgufValue value;
    value.type_ = type;
    value.offset_ = cursor.offset();
    if (type == GgufValueType::array) {
      if (auto r = read_array(cursor, value, depth); !r) return pass(r);
      return value;
    }
    if (type == GgufValueType::string) {
      const auto text = cursor.string("string");
      if (!text) return pass(text);
      value.data_ = reinterpret_cast<const std::byte*>(text->data());
      value.count_ = text->size();
      value.bytes_ = text->size();
      value.offset_ += 8;
      return value;
    }
    value.bytes_ = bytes_of(type);
    const auto payload = cursor.take(value.bytes_, name(type));
    if (!payload) return pass(payload);
    value.data_ = *payload;
    if (type == GgufValueType::boolean) {
      if (auto r = check_bools(cursor, *payload, 1, value.offset_); !r) return pass(r);
    }
    return value;
  }

  [[nodiscard]] static Span<const std::byte> payload(const GgufValue& value) noexcept {
    return {value.data_, static_cast<std::size_t>(value.bytes_)};
  }

 private:
  [[nodiscard]] static Result<void> check_bools(const GgufCursor& cursor, const std::byte* bytes, std::uint64_t count,
                                                std::uint64_t offset) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto byte = std::to_integer<std::uint8_t>(bytes[i]);
      if (byte > 1) return cursor.fault(Errc::invalid_metadata, offset + i, "a bool is ", byte, ", 0 or 1 expected");
    }
    return {};
  }

  [[nodiscard]] static Result<void> read_array(GgufCursor& cursor, GgufValue& value, std::uint32_t depth) noexcept {
    if (depth == kGgufMaxArrayDepth) {
      return cursor.fault(Errc::limit_exceeded, cursor.offset(), "arrays lie in arrays more than ", kGgufMaxArrayDepth,
                          " deep");
    }
    const auto type = read_value_type(cursor, "array element type");
    if (!type) return pass(type);
    const auto count = cursor.number<std::uint64_t>("array length");
    if (!count) return pass(count);
    value.element_type_ = *type;
    value.count_ = *count;
    value.offset_ = cursor.offset();

    // A string takes at least its length, an array its type and length.
    const std::uint64_t each = *type == GgufValueType::string  ? 8
                               : *type == GgufValueType::array ? 12
                                                               : bytes_of(*type);
    if (*count > cursor.remaining() / each) {
      return cursor.fault(Errc::truncated_file, value.offset_ - 8, "an array of ", *count, " ", name(*type),
                          " needs at least ", each, " bytes each, ", cursor.remaining(), " bytes left");
    }
    if (bytes_of(*type) != 0) {
      value.bytes_ = *count * each;
      const auto payload = cursor.take(value.bytes_, "array");
      if (!payload) return pass(payload);
      value.data_ = *payload;
      if (*type == GgufValueType::boolean) return check_bools(cursor, *payload, *count, value.offset_);
      return {};
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
      if (auto element = read(cursor, *type, depth + 1); !element) return pass(element);
    }
    value.bytes_ = cursor.offset() - value.offset_;
    GgufCursor again = cursor.from(value.offset_);
    const auto payload = again.take(value.bytes_, "array");
    if (!payload) return pass(payload);
    value.data_ = *payload;
    return {};
  }
};

}  // namespace detail

inline Result<GgufValue> GgufValue::element(std::uint64_t i) const noexcept {
  if (type_ != GgufValueType::array || i >= count_) {
    return fail(Errc::invalid_argument, "element ", i, " of a metadata value with ",
                type_ == GgufValueType::array ? count_ : 0, " elements was asked for");
  }
  const std::uint64_t fixed = detail::bytes_of(element_type_);
  detail::GgufBytes bytes(detail::GgufValueAccess::payload(*this), offset_);
  detail::GgufCursor cursor(bytes, offset_ + i * fixed);
  cursor.enter("array element", i);
  for (std::uint64_t before = 0; fixed == 0 && before < i; ++before) {
    if (auto skipped = detail::GgufValueAccess::read(cursor, element_type_, 1); !skipped) return skipped;
  }
  return detail::GgufValueAccess::read(cursor, element_type_, 1);
}

template <class T>
  requires(GgufReadable<T> || std::same_as<T, GgufValue>)
Result<Vector<T>> GgufValue::list(const Allocator& allocator, std::string_view what) const noexcept {
  if (type_ != GgufValueType::array) return wrong_type(what, "array");
  Vector<T> elements(allocator);
  detail::GgufBytes bytes(detail::GgufValueAccess::payload(*this), offset_);
  detail::GgufCursor cursor(bytes, offset_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    cursor.enter("array element", i);
    const auto element = detail::GgufValueAccess::read(cursor, element_type_, 1);
    if (!element) return pass(element);
    Result<void> pushed;
    if constexpr (std::same_as<T, GgufValue>) {
      pushed = append_to(elements, *element);
    } else {
      const auto read = element->template as<T>(what);
      if (!read) return pass(read);
      pushed = append_to(elements, *read);
    }
    if (!pushed) return pass(pushed);
  }
  return elements;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
