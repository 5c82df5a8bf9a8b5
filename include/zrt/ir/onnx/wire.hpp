// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/wire.hpp: fields of a protocol buffers message, read within their bytes.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/slice.hpp>

#include <bit>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// How a field's value lies in a message; groups are not read.
enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// One field: a number in `value`, or a run of bytes.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;
  std::string_view bytes;

  [[nodiscard]] std::int64_t integer() const noexcept { return static_cast<std::int64_t>(value); }
  [[nodiscard]] float real() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
};

/// Takes the fields of a message one after the other.
class WireReader {
 public:
  /// Refers to `message`.
  explicit WireReader(std::string_view message) noexcept : rest_(message) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  /// The next field; not to be asked at the end.
  ///
  /// Errors: Errc::truncated_file for a field that leaves the message, Errc::invalid_file for one that breaks
  /// the encoding.
  [[nodiscard]] Result<WireField> next() noexcept {
    const auto key = varint();
    if (!key) return pass(key);
    WireField field;
    if (*key >> 3 == 0 || *key >> 3 > 0x1fffffff)
      return fail(Errc::invalid_file, "a protocol buffers field has number ", *key >> 3);
    field.number = static_cast<std::uint32_t>(*key >> 3);
    switch (*key & 7u) {
      case 0: {
        const auto value = varint();
        if (!value) return pass(value);
        field.value = *value;
        return field;
      }
      case 1:
        return fixed(field, WireType::fixed64, 8);
      case 5:
        return fixed(field, WireType::fixed32, 4);
      case 2: {
        const auto size = varint();
        if (!size) return pass(size);
        field.type = WireType::bytes;
        if (*size > rest_.size())
          return fail(Errc::truncated_file, "a protocol buffers field has ", *size, " bytes, ", rest_.size(),
                      " are left");
        field.bytes = zrt::slice(rest_, 0, static_cast<std::size_t>(*size));
        rest_.remove_prefix(static_cast<std::size_t>(*size));
        return field;
      }
      default:
        return fail(Errc::invalid_file, "a protocol buffers field has wire type ", *key & 7u,
                    ", expected 0, 1, 2 or 5");
    }
  }

  /// The next number of a packed list.
  [[nodiscard]] Result<std::uint64_t> varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail(Errc::truncated_file, "a protocol buffers number ends before its last byte");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return fail(Errc::invalid_file, "a protocol buffers number has more than 10 bytes");
  }
  /// The next word of a packed list, little-endian.
  [[nodiscard]] Result<std::uint64_t> word(std::size_t size) noexcept {
    if (rest_.size() < size)
      return fail(Errc::truncated_file, "a protocol buffers word has ", size, " bytes, ", rest_.size(), " are left");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << 8 * i;
    rest_.remove_prefix(size);
    return value;
  }

 private:
  [[nodiscard]] Result<WireField> fixed(WireField field, WireType type, std::size_t size) noexcept {
    const auto value = word(size);
    if (!value) return pass(value);
    field.type = type;
    field.value = *value;
    return field;
  }

  std::string_view rest_;
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
