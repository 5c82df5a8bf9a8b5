// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/type.hpp: the tensor types of a GGUF file by number, each tied to one DType.
#pragma once

#include <zrt/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// One tensor type as ggml numbers and names it; its sizes are those of its DType.
struct GgmlType {
  std::uint32_t id = 0;
  DType dtype = DType::f32;
  char letters[8]{};
  std::uint8_t length = 0;

  /// Returns ggml's own name, such as "Q4_K" or "I32".
  [[nodiscard]] constexpr std::string_view name() const noexcept { return {letters, length}; }
  [[nodiscard]] constexpr std::uint32_t block_elems() const noexcept { return info(dtype).block_elems; }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const noexcept { return info(dtype).block_bytes; }
};

namespace detail {

struct GgmlId {
  std::uint32_t id;
  DType dtype;
};

inline constexpr auto kGgmlIds = std::to_array({
    GgmlId{0, DType::f32},      GgmlId{1, DType::f16},     GgmlId{2, DType::q4_0},     GgmlId{3, DType::q4_1},
    GgmlId{6, DType::q5_0},     GgmlId{7, DType::q5_1},    GgmlId{8, DType::q8_0},     GgmlId{9, DType::q8_1},
    GgmlId{10, DType::q2_k},    GgmlId{11, DType::q3_k},   GgmlId{12, DType::q4_k},    GgmlId{13, DType::q5_k},
    GgmlId{14, DType::q6_k},    GgmlId{15, DType::q8_k},   GgmlId{16, DType::iq2_xxs}, GgmlId{17, DType::iq2_xs},
    GgmlId{18, DType::iq3_xxs}, GgmlId{19, DType::iq1_s},  GgmlId{20, DType::iq4_nl},  GgmlId{21, DType::iq3_s},
    GgmlId{22, DType::iq2_s},   GgmlId{23, DType::iq4_xs}, GgmlId{24, DType::si8},     GgmlId{25, DType::si16},
    GgmlId{26, DType::si32},    GgmlId{27, DType::si64},   GgmlId{28, DType::f64},     GgmlId{29, DType::iq1_m},
    GgmlId{30, DType::bf16},    GgmlId{34, DType::tq1_0},  GgmlId{35, DType::tq2_0},   GgmlId{39, DType::mxfp4},
    GgmlId{40, DType::nvfp4},   GgmlId{41, DType::q1_0},
});

// ggml writes our names in capitals, and its signed integers without the leading s.
[[nodiscard]] constexpr GgmlType make_ggml_type(GgmlId row) noexcept {
  GgmlType type;
  type.id = row.id;
  type.dtype = row.dtype;
  std::string_view lower = name(row.dtype);
  if (info(row.dtype).kind == DTypeKind::signed_integer) lower.remove_prefix(1);
  for (char c : lower) type.letters[type.length++] = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return type;
}

struct RemovedGgmlId {
  std::uint32_t id;
  std::string_view name;
};

inline constexpr auto kRemovedGgmlIds = std::to_array({
    RemovedGgmlId{4, "Q4_2"},
    RemovedGgmlId{5, "Q4_3"},
    RemovedGgmlId{31, "Q4_0_4_4"},
    RemovedGgmlId{32, "Q4_0_4_8"},
    RemovedGgmlId{33, "Q4_0_8_8"},
    RemovedGgmlId{36, "IQ4_NL_4_4"},
    RemovedGgmlId{37, "IQ4_NL_4_8"},
    RemovedGgmlId{38, "IQ4_NL_8_8"},
});

}  // namespace detail

/// All tensor types that a GGUF file may use, by ascending number.
inline constexpr auto kGgmlTypes = [] {
  std::array<GgmlType, detail::kGgmlIds.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = detail::make_ggml_type(detail::kGgmlIds[i]);
  return types;
}();

/// Returns the type numbered `id`, or null when no such type exists (any more).
[[nodiscard]] constexpr const GgmlType* find_ggml_type(std::uint32_t id) noexcept {
  for (const GgmlType& type : kGgmlTypes)
    if (type.id == id) return &type;
  return nullptr;
}

/// Returns the type whose elements are of `dtype`, or null when GGUF has none.
[[nodiscard]] constexpr const GgmlType* find_ggml_type(DType dtype) noexcept {
  for (const GgmlType& type : kGgmlTypes)
    if (type.dtype == dtype) return &type;
  return nullptr;
}

/// Returns the former name of a number that ggml took out of use, or an empty view.
[[nodiscard]] constexpr std::string_view removed_ggml_type(std::uint32_t id) noexcept {
  for (const detail::RemovedGgmlId& row : detail::kRemovedGgmlIds)
    if (row.id == id) return row.name;
  return {};
}

static_assert(find_ggml_type(std::uint32_t{12})->name() == "Q4_K");
static_assert(find_ggml_type(DType::si32)->name() == "I32");
static_assert(find_ggml_type(std::uint32_t{4}) == nullptr && removed_ggml_type(4) == "Q4_2");

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
