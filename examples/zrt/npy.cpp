// SPDX-License-Identifier: Apache-2.0
// examples/zrt/npy.cpp: tensors as .npy files.
#include "npy.hpp"
#include <zrt/core/cast.hpp>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace program {
namespace {

using zrt::DType;

constexpr std::string_view kMagic("\x93NUMPY", 6);

/// What numpy calls the elements of a type; those of two bytes or more are little-endian.
struct NpyType {
  DType dtype;
  std::string_view name;
};
constexpr std::array kTypes{
    NpyType{DType::i1, "|b1"},       NpyType{DType::si4, "|i1"},  NpyType{DType::ui4, "|u1"},
    NpyType{DType::si8, "|i1"},      NpyType{DType::ui8, "|u1"},  NpyType{DType::si16, "<i2"},
    NpyType{DType::ui16, "<u2"},     NpyType{DType::si32, "<i4"}, NpyType{DType::ui32, "<u4"},
    NpyType{DType::si64, "<i8"},     NpyType{DType::ui64, "<u8"}, NpyType{DType::fp8_e4m3, "|u1"},
    NpyType{DType::fp8_e5m2, "|u1"}, NpyType{DType::bf16, "<u2"}, NpyType{DType::f16, "<f2"},
    NpyType{DType::f32, "<f4"},      NpyType{DType::f64, "<f8"},  NpyType{DType::cf32, "<c8"},
    NpyType{DType::cf64, "<c16"}};

std::string_view npy_name(DType dtype) {
  for (const NpyType& row : kTypes)
    if (row.dtype == dtype) return row.name;
  return {};
}

/// The type whose elements a file holds in place of 4-bit ones.
DType stored_type(DType dtype) { return dtype == DType::si4 ? DType::si8 : dtype == DType::ui4 ? DType::ui8 : dtype; }

std::vector<std::byte> converted(DType from, const std::byte* data, DType to, std::uint64_t elements) {
  std::vector<std::byte> out(zrt::bytes_of(to, elements));
  if (elements != 0) zrt::cast_elements(from, data, to, out.data(), 0, elements);
  return out;
}

zrt::Result<Array> broken(std::string_view what) {
  return zrt::fail(zrt::Errc::invalid_file, "not a .npy file that can be read: ", what);
}

/// Elements of `width` bytes that lie in Fortran's order, the first axis fastest, row by row.
std::vector<std::byte> by_rows(const std::byte* data, const zrt::Shape& shape, std::size_t width,
                               std::uint64_t elements) {
  std::vector<std::byte> out(elements * width);
  std::array<std::uint64_t, zrt::kMaxRank> strides{}, index{};
  std::uint64_t stride = 1;
  for (std::uint8_t axis = 0; axis < shape.rank; ++axis) {
    strides[axis] = stride;
    stride *= shape[axis].extent;
  }
  std::uint64_t from = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::memcpy(out.data() + i * width, data + from * width, width);
    for (std::uint8_t axis = shape.rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis].extent) break;
      from -= strides[axis] * shape[axis].extent;
      index[axis] = 0;
    }
  }
  return out;
}

/// What stands after a key of the header's dict.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::size_t first = header.find_first_not_of(' ', colon + 1);
  return first == std::string_view::npos ? std::string_view() : header.substr(first);
}

}  // namespace

zrt::Result<Array> read_npy(const std::string& bytes, DType dtype) {
  const std::string_view text(bytes);
  if (!text.starts_with(kMagic) || text.size() < 10) return broken("its first bytes are others");
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(text[i])}; };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3) return broken("its version is not 1, 2 or 3");
  const std::size_t head = major == 1 ? 10 : 12;
  if (text.size() < head) return broken("it ends in its header");
  const std::size_t length =
      major == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (text.size() - head < length) return broken("it ends in its header");
  const std::string_view header = text.substr(head, length);
  const std::string_view data = text.substr(head + length);

  std::string_view descr = value_of(header, "'descr'");
  if (descr.size() < 2 || (descr[0] != '\'' && descr[0] != '"')) return broken("it states no element type");
  descr = descr.substr(1, descr.find(descr[0], 1) - 1);
  const std::string_view wanted = npy_name(dtype);
  // One byte has no order.
  const bool same = descr == wanted || (wanted[0] == '|' && descr.size() == 3 && descr.substr(1) == wanted.substr(1));
  if (!same)
    return zrt::fail(zrt::Errc::dtype_mismatch, "the file holds ", descr, ", expected ", wanted, " for ", name(dtype));
  std::string_view shape = value_of(header, "'shape'");
  if (!shape.starts_with('(') || shape.find(')') == std::string_view::npos) return broken("it states no shape");
  shape = shape.substr(1, shape.find(')') - 1);
  Array array{{dtype, {}}, {}};
  while (!shape.empty()) {
    std::uint32_t extent = 0;
    const auto [stopped, code] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (code != std::errc()) return broken("an extent is no number of 32 bits");
    if (array.type.shape.rank == zrt::kMaxRank)
      return zrt::fail(zrt::Errc::unsupported_tensor_rank, "the file has more than 8 axes");
    array.type.shape = array.type.shape.appended(extent);
    shape.remove_prefix(static_cast<std::size_t>(stopped - shape.data()));
    shape.remove_prefix(std::min(shape.find_first_not_of(", "), shape.size()));
  }
  const DType stored = stored_type(dtype);
  const zrt::CheckedSize elements = array.type.shape.elements({});
  const zrt::CheckedSize size = elements * zrt::CheckedSize(zrt::info(stored).block_bytes);
  if (!size.ok() || data.size() != size.raw()) return broken("its data is not as long as its shape says");
  const auto* from = reinterpret_cast<const std::byte*>(data.data());
  std::vector<std::byte> rows;
  if (value_of(header, "'fortran_order'").starts_with("True")) {
    rows = by_rows(from, array.type.shape, zrt::info(stored).block_bytes, elements.raw());
    from = rows.data();
  }
  if (stored != dtype)
    array.data = converted(stored, from, dtype, elements.raw());
  else
    array.data.assign(from, from + data.size());
  return array;
}

zrt::Result<Array> read_any_npy(const std::string& bytes) {
  constexpr auto kAsNumpy =
      std::to_array({DType::f32, DType::f64, DType::si64, DType::si32, DType::i1, DType::f16, DType::si16, DType::si8,
                     DType::ui8, DType::ui16, DType::ui32, DType::ui64, DType::cf32, DType::cf64});
  auto array = read_npy(bytes, kAsNumpy[0]);
  for (const DType dtype : kAsNumpy)
    if (!array && array.error().code() == zrt::Errc::dtype_mismatch) array = read_npy(bytes, dtype);
  return array;
}

std::string write_npy(const Array& array) {
  std::string header =
      "{'descr': '" + std::string(npy_name(array.type.dtype)) + "', 'fortran_order': False, 'shape': (";
  const std::uint8_t rank = array.type.shape.rank;
  for (std::uint8_t axis = 0; axis < rank; ++axis)
    header += std::to_string(array.type.shape[axis].extent) + (axis + 1 < rank ? ", " : rank == 1 ? "," : "");
  header += "), }";
  constexpr std::size_t kHead = 10;
  header.append(63 - (kHead + header.size()) % 64, ' ').append(1, '\n');
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  const DType stored = stored_type(array.type.dtype);
  const auto data = stored == array.type.dtype
                        ? array.data
                        : converted(array.type.dtype, array.data.data(), stored, array.type.shape.elements({}).raw());
  return bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
}

}  // namespace program
