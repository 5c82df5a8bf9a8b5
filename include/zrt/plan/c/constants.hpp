// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/constants.hpp: data of generated code, as arrays in exact numbers.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/hash.hpp>
#include <zrt/plan/c/literal.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Arrays that generated functions read; the same data is one array. Those of `apart_from` bytes or more stand in a file
/// of their own.
class Constants {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit Constants(const Allocator& allocator, std::size_t apart_from = kNone) noexcept
      : rows_(allocator), bytes_(allocator), apart_(allocator), apart_from_(apart_from) {}

  /// The number of an array of these elements; `bytes` is not empty.
  [[nodiscard]] Result<std::uint32_t> add(DType dtype, Span<const std::byte> bytes) noexcept {
    const std::uint64_t hash = hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (row.hash == hash && row.dtype == dtype && row.count == bytes.size() &&
          std::memcmp(bytes_.data() + row.first, bytes.data(), bytes.size()) == 0)
        return static_cast<std::uint32_t>(i);
    }
    if (auto r = rows_.push_back({dtype, bytes_.size(), bytes.size(), hash, kNone}); !r) return pass(r);
    if (auto r = bytes_.append(bytes); !r) return pass(r);
    if (bytes.size() >= apart_from_) {
      rows_.back().apart = align_up(apart_.size(), kAlign);
      if (auto r = apart_.resize(rows_.back().apart); !r) return pass(r);
      if (auto r = apart_.append(bytes); !r) return pass(r);
    }
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  /// Writes the arrays that `code` names and that stand in no file of their own.
  [[nodiscard]] Result<void> write(Source& w, std::string_view code) const noexcept {
    return each_named(code, [&](std::size_t i) {
      if (rows_[i].apart == kNone) write(w, rows_[i], i);
    });
  }
  /// Declares, in a function that has them as `weights`, the arrays that `code` names of those in a file of their own.
  [[nodiscard]] Result<void> declare(Source& w, std::string_view code) const noexcept {
    return each_named(code, [&](std::size_t i) {
      if (rows_[i].apart == kNone) return;
      w.line({"const unsigned char *const ", kName, i, " = (const unsigned char *)weights + ", rows_[i].apart, ";"});
    });
  }
  /// The file of the arrays that stand apart, little-endian, each at a multiple of 64 bytes.
  [[nodiscard]] Span<const std::byte> apart() const noexcept { return apart_.span(); }
  [[nodiscard]] Vector<std::byte> take_apart() noexcept { return std::move(apart_); }

  /// What an array's number stands behind.
  static constexpr std::string_view kName = "zrt_constant_";

 private:
  struct Row {
    DType dtype;
    std::size_t first;
    std::size_t count;
    std::uint64_t hash;
    std::size_t apart = kNone;  ///< where it lies in the file of its own
  };
  static constexpr std::size_t kAlign = 64;

  /// Calls `visit` with the number of each array that `code` names, once.
  template <class Visit> [[nodiscard]] Result<void> each_named(std::string_view code, Visit&& visit) const noexcept {
    Vector<std::uint8_t> named(rows_.allocator());
    if (auto r = named.resize(rows_.size()); !r) return r;
    for (std::size_t at = code.find(kName); at != std::string_view::npos; at = code.find(kName, at)) {
      at += kName.size();
      std::size_t number = 0;
      for (; at < code.size() && code[at] >= '0' && code[at] <= '9'; ++at)
        number = 10 * number + static_cast<std::size_t>(code[at] - '0');
      if (number < named.size()) named[number] = 1;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (named[i] != 0) visit(i);
    return {};
  }

  template <class T> [[nodiscard]] T word(std::size_t at) const noexcept { return read_little<T>(bytes_.data() + at); }

  /// What an array's words are: of so many bytes, printed so.
  struct Words {
    std::string_view type;
    std::size_t bytes;
    DTypeKind kind;
  };
  [[nodiscard]] Words words_of(const Row& row) const noexcept {
    constexpr std::array<std::string_view, 4> kSigned{"int8_t", "int16_t", "int32_t", "int64_t"};
    constexpr std::array<std::string_view, 4> kUnsigned{"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
    const DTypeInfo& type = info(row.dtype);
    const std::size_t bytes = type.kind == DTypeKind::complex ? type.block_bytes / 2u : type.block_bytes;
    const auto log = static_cast<std::size_t>(std::countr_zero(bytes));
    if (type.kind == DTypeKind::signed_integer && type.block_elems == 1)
      return {kSigned[log], bytes, DTypeKind::signed_integer};
    const bool wide = bytes >= sizeof(float) && (type.kind == DTypeKind::floating || type.kind == DTypeKind::complex);
    // The payload of a NaN has no spelling, so its array is one of bits.
    if (wide && !holds_nan(row, bytes))
      return {bytes == sizeof(float) ? "float" : "double", bytes, DTypeKind::floating};
    return {kUnsigned[log], bytes, DTypeKind::unsigned_integer};
  }
  [[nodiscard]] bool holds_nan(const Row& row, std::size_t bytes) const noexcept {
    for (std::size_t at = row.first; at < row.first + row.count; at += bytes) {
      const bool nan = bytes == sizeof(float)
                           ? (word<std::uint32_t>(at) & 0x7fffffffu) > 0x7f800000u
                           : (word<std::uint64_t>(at) & ~std::uint64_t{0} >> 1) > 0x7ff0000000000000u;
      if (nan) return true;
    }
    return false;
  }
  [[nodiscard]] Expr spelled(const Words& words, std::size_t at) const noexcept {
    const std::uint64_t bits = words.bytes == 1   ? word<std::uint8_t>(at)
                               : words.bytes == 2 ? word<std::uint16_t>(at)
                               : words.bytes == 4 ? word<std::uint32_t>(at)
                                                  : word<std::uint64_t>(at);
    if (words.kind == DTypeKind::floating)
      return words.bytes == sizeof(float) ? literal(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                          : literal(std::bit_cast<double>(bits));
    if (words.kind != DTypeKind::signed_integer) return literal(bits);
    const std::size_t unused = 64 - 8 * words.bytes;
    return literal(static_cast<std::int64_t>(bits << unused) >> unused);
  }

  void write(Source& w, const Row& row, std::size_t number) const noexcept {
    const Words words = words_of(row);
    w.put("static const ");
    w.put(words.type);
    w.line({" ", kName, number, "[", row.count / words.bytes, "] = {"});
    for (std::size_t at = 0; at < row.count; at += words.bytes) {
      constexpr std::size_t kPerLine = 8;
      const std::size_t in_line = at / words.bytes % kPerLine;
      const bool last = at + words.bytes == row.count;
      w.put(in_line == 0 ? "  " : " ");
      w.put(spelled(words, row.first + at).view());
      w.put(last ? "};\n" : in_line + 1 == kPerLine ? ",\n" : ",");
    }
  }

  Vector<Row> rows_;
  Vector<std::byte> bytes_;
  Vector<std::byte> apart_;
  std::size_t apart_from_;
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
