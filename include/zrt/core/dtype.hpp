// SPDX-License-Identifier: Apache-2.0
// zrt/core/dtype.hpp: every element and block type by name, size and kind, from one table.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Element types of tensors, then the block types that weights are stored in.
///
/// The numbers stand in plan files and never change.
enum class DType : std::uint8_t {
  i1 = 0,
  si4,
  ui4,
  si8,
  ui8,
  si16,
  ui16,
  si32,
  ui32,
  si64,
  ui64,
  fp8_e4m3,
  fp8_e5m2,
  bf16,
  f16,
  f32,
  f64,
  cf32,
  cf64,
  q4_0 = 32,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq1_s,
  iq1_m,
  iq4_nl,
  iq4_xs,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
  q1_0,
};

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating, complex, block };

/// What is known of a DType without computing with it.
struct DTypeInfo {
  DType dtype;
  std::string_view name;
  DTypeKind kind;
  std::uint16_t block_elems;  ///< elements per block: 1 for plain types, 2 for the 4-bit integers
  std::uint16_t block_bytes;  ///< bytes per block
};

inline constexpr auto kDTypes = std::to_array({
    DTypeInfo{DType::i1, "i1", DTypeKind::boolean, 1, 1},
    DTypeInfo{DType::si4, "si4", DTypeKind::signed_integer, 2, 1},
    DTypeInfo{DType::ui4, "ui4", DTypeKind::unsigned_integer, 2, 1},
    DTypeInfo{DType::si8, "si8", DTypeKind::signed_integer, 1, 1},
    DTypeInfo{DType::ui8, "ui8", DTypeKind::unsigned_integer, 1, 1},
    DTypeInfo{DType::si16, "si16", DTypeKind::signed_integer, 1, 2},
    DTypeInfo{DType::ui16, "ui16", DTypeKind::unsigned_integer, 1, 2},
    DTypeInfo{DType::si32, "si32", DTypeKind::signed_integer, 1, 4},
    DTypeInfo{DType::ui32, "ui32", DTypeKind::unsigned_integer, 1, 4},
    DTypeInfo{DType::si64, "si64", DTypeKind::signed_integer, 1, 8},
    DTypeInfo{DType::ui64, "ui64", DTypeKind::unsigned_integer, 1, 8},
    DTypeInfo{DType::fp8_e4m3, "fp8_e4m3", DTypeKind::floating, 1, 1},
    DTypeInfo{DType::fp8_e5m2, "fp8_e5m2", DTypeKind::floating, 1, 1},
    DTypeInfo{DType::bf16, "bf16", DTypeKind::floating, 1, 2},
    DTypeInfo{DType::f16, "f16", DTypeKind::floating, 1, 2},
    DTypeInfo{DType::f32, "f32", DTypeKind::floating, 1, 4},
    DTypeInfo{DType::f64, "f64", DTypeKind::floating, 1, 8},
    DTypeInfo{DType::cf32, "cf32", DTypeKind::complex, 1, 8},
    DTypeInfo{DType::cf64, "cf64", DTypeKind::complex, 1, 16},
    DTypeInfo{DType::q4_0, "q4_0", DTypeKind::block, 32, 18},
    DTypeInfo{DType::q4_1, "q4_1", DTypeKind::block, 32, 20},
    DTypeInfo{DType::q5_0, "q5_0", DTypeKind::block, 32, 22},
    DTypeInfo{DType::q5_1, "q5_1", DTypeKind::block, 32, 24},
    DTypeInfo{DType::q8_0, "q8_0", DTypeKind::block, 32, 34},
    DTypeInfo{DType::q8_1, "q8_1", DTypeKind::block, 32, 36},
    DTypeInfo{DType::q2_k, "q2_k", DTypeKind::block, 256, 84},
    DTypeInfo{DType::q3_k, "q3_k", DTypeKind::block, 256, 110},
    DTypeInfo{DType::q4_k, "q4_k", DTypeKind::block, 256, 144},
    DTypeInfo{DType::q5_k, "q5_k", DTypeKind::block, 256, 176},
    DTypeInfo{DType::q6_k, "q6_k", DTypeKind::block, 256, 210},
    DTypeInfo{DType::q8_k, "q8_k", DTypeKind::block, 256, 292},
    DTypeInfo{DType::iq2_xxs, "iq2_xxs", DTypeKind::block, 256, 66},
    DTypeInfo{DType::iq2_xs, "iq2_xs", DTypeKind::block, 256, 74},
    DTypeInfo{DType::iq2_s, "iq2_s", DTypeKind::block, 256, 82},
    DTypeInfo{DType::iq3_xxs, "iq3_xxs", DTypeKind::block, 256, 98},
    DTypeInfo{DType::iq3_s, "iq3_s", DTypeKind::block, 256, 110},
    DTypeInfo{DType::iq1_s, "iq1_s", DTypeKind::block, 256, 50},
    DTypeInfo{DType::iq1_m, "iq1_m", DTypeKind::block, 256, 56},
    DTypeInfo{DType::iq4_nl, "iq4_nl", DTypeKind::block, 32, 18},
    DTypeInfo{DType::iq4_xs, "iq4_xs", DTypeKind::block, 256, 136},
    DTypeInfo{DType::tq1_0, "tq1_0", DTypeKind::block, 256, 54},
    DTypeInfo{DType::tq2_0, "tq2_0", DTypeKind::block, 256, 66},
    DTypeInfo{DType::mxfp4, "mxfp4", DTypeKind::block, 32, 17},
    DTypeInfo{DType::nvfp4, "nvfp4", DTypeKind::block, 64, 36},
    DTypeInfo{DType::q1_0, "q1_0", DTypeKind::block, 128, 18},
});

namespace detail {
inline constexpr std::array<std::int8_t, 256> kDTypeRow = [] {
  std::array<std::int8_t, 256> rows{};
  for (auto& row : rows) row = -1;
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    rows[static_cast<std::size_t>(kDTypes[i].dtype)] = static_cast<std::int8_t>(i);
  return rows;
}();
}  // namespace detail

/// True when `number` is the number of a DType.
[[nodiscard]] constexpr bool is_dtype(std::uint8_t number) noexcept { return detail::kDTypeRow[number] >= 0; }

/// Returns the row of `dtype` in the table; `dtype` must be a listed enumerator.
[[nodiscard]] constexpr const DTypeInfo& info(DType dtype) noexcept {
  return kDTypes[static_cast<std::size_t>(detail::kDTypeRow[static_cast<std::size_t>(dtype)])];
}

[[nodiscard]] constexpr std::string_view name(DType dtype) noexcept { return info(dtype).name; }
[[nodiscard]] constexpr bool is_block(DType dtype) noexcept { return info(dtype).kind == DTypeKind::block; }
[[nodiscard]] constexpr bool is_float(DType dtype) noexcept { return info(dtype).kind == DTypeKind::floating; }
[[nodiscard]] constexpr bool is_complex(DType dtype) noexcept { return info(dtype).kind == DTypeKind::complex; }
[[nodiscard]] constexpr bool is_boolean(DType dtype) noexcept { return info(dtype).kind == DTypeKind::boolean; }
[[nodiscard]] constexpr bool is_integer(DType dtype) noexcept {
  return info(dtype).kind == DTypeKind::signed_integer || info(dtype).kind == DTypeKind::unsigned_integer;
}
/// The types that operands of indices have.
[[nodiscard]] constexpr bool is_index(DType dtype) noexcept { return dtype == DType::si32 || dtype == DType::si64; }
/// A cast is defined for every pair but from complex to real.
[[nodiscard]] constexpr bool is_castable(DType from, DType to) noexcept { return !is_complex(from) || is_complex(to); }

/// Bytes of `elems` elements of `dtype`, a multiple of its block; the caller has bounded the product.
[[nodiscard]] constexpr std::uint64_t bytes_of(DType dtype, std::uint64_t elems) noexcept {
  const DTypeInfo& row = info(dtype);
  return elems / row.block_elems * row.block_bytes + (elems % row.block_elems != 0 ? row.block_bytes : 0u);
}

static_assert(info(DType::q8_0).block_bytes == 34);
static_assert(name(DType::nvfp4) == "nvfp4");

}  // namespace zrt::inline ZRT_ABI
