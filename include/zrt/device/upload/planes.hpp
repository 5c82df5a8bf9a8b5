// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/planes.hpp: any type of integers under scales as planes of code bits, scales and factors.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/device/upload/part.hpp>
#include <zrt/quant/code_form.hpp>
#include <zrt/quant/grid_entries.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Elements whose codes lie together.
inline constexpr std::uint32_t kChunkElems = 32;

/// The integers that entries of a grid hold, with both signs, as codes.
template <class L> struct GridCodes {
 private:
  struct Found {
    std::array<std::int8_t, 16> levels{};
    std::uint32_t count = 0;
  };
  static constexpr Found kFound = [] {
    std::array<bool, 256> holds{};
    for (const std::uint64_t entry : L::kGrid)
      for (std::uint32_t i = 0; i < L::kEach; ++i) {
        const int level = static_cast<std::int8_t>(entry >> 8 * i & 255u);
        const int other = L::kSigns == quant::GridSigns::moved ? level - 2 : -level;
        holds[static_cast<std::uint8_t>(level)] = holds[static_cast<std::uint8_t>(other)] = true;
      }
    Found found;
    for (int level = -128; level < 128; ++level)
      if (holds[static_cast<std::uint8_t>(level)]) found.levels[found.count++] = static_cast<std::int8_t>(level);
    return found;
  }();

 public:
  static constexpr std::array<std::int8_t, 16> kLevels = kFound.levels;
  static constexpr std::uint32_t kBits = static_cast<std::uint32_t>(std::bit_width(kFound.count - 1));
};

/// How the blocks of a type lie, and what kernels compute with them.
///
/// A unit is the elements under one scale of activations. Codes of 32 elements are eight words of four; they lie in planes
/// of four bits, of two, of one: as many as the binary form of `bits` has ones. A plane of b bits has b words; word i holds
/// words i, i + b, i + 2b, ... from the lowest bits up.
struct PlaneForm {
  quant::CodeForm codes{};
  std::uint32_t unit = 0;
  std::uint32_t run = 0;          ///< elements under one scale of weights and one of activations
  std::uint32_t part = 0;         ///< elements under an integer factor, 16 or 32; 0: there are no factors
  std::uint32_t under_scale = 0;  ///< elements under one stored scale
  bool has_offset = false;

  /// Scales that a unit meets: two runs have one each, or a run has an offset.
  [[nodiscard]] constexpr std::uint32_t scales() const noexcept { return has_offset || run < unit ? 2 : 1; }
  /// Neighbouring units that share them.
  [[nodiscard]] constexpr std::uint32_t sharing() const noexcept { return under_scale < unit ? 1 : under_scale / unit; }
  [[nodiscard]] constexpr std::uint32_t scale_bytes() const noexcept { return codes.scale == DType::f32 ? 4 : 2; }
  /// Words of a unit's factors; as many of its offsets' factors follow.
  [[nodiscard]] constexpr std::uint32_t factor_words() const noexcept { return part == 0 ? 0 : unit / part / 4; }
};

/// A type that can lie in planes: one of quant/forms.hpp.
template <class L>
concept HasPlanes = quant::BlockLayout<L> && std::derived_from<L, quant::BlockForm<L::kDType>>;

template <HasPlanes L> [[nodiscard]] consteval PlaneForm plane_form() noexcept {
  PlaneForm form;
  form.codes = quant::code_form<L>();
  if constexpr (requires { L::kGrid; }) {
    form.codes.levels = GridCodes<L>::kLevels.data();
    form.codes.bits = GridCodes<L>::kBits;
  }
  form.unit = group_elems(L::kAct);
  form.run = L::kRun;
  form.part = L::kPart < L::kRun ? L::kPart : 0;
  form.under_scale = L::kUnderScale < L::kRun ? L::kRun : L::kUnderScale;
  form.has_offset = L::kHasOffset;
  return form;
}

/// The planes, from the highest, then the scales, each with its offset behind it, then the factors of parts.
template <HasPlanes L> struct PlaneUpload {
  static constexpr DType kDType = L::kDType;
  static constexpr PlaneForm kForm = plane_form<L>();
  static_assert(kForm.codes.bits < 8);
  static_assert(kForm.unit == 32 || (kForm.unit == 256 && kForm.run == 256));
  static_assert(kForm.scales() == 1 || kForm.has_offset || (kForm.run == 16 && kForm.under_scale == 16));

 private:
  static constexpr std::uint32_t kChunks = L::kElems / kChunkElems, kUnits = L::kElems / kForm.unit;
  static constexpr std::uint32_t kScales = kUnits / kForm.sharing() * kForm.scales();
  static constexpr std::uint32_t kFactorWords = kUnits * kForm.factor_words() * (kForm.has_offset ? 2 : 1);
  static constexpr std::size_t kPlanes = static_cast<std::size_t>(std::popcount(kForm.codes.bits));
  using Parts = std::array<UploadPart, kPlanes + 1 + (kFactorWords == 0 ? 0 : 1)>;

 public:
  static constexpr Parts kParts = [] {
    Parts parts{};
    std::size_t at = 0;
    constexpr std::string_view kNames[] = {"", "ones", "twos", "", "fours"};
    for (std::uint32_t plane = 4; plane != 0; plane /= 2)
      if ((kForm.codes.bits & plane) != 0) parts[at++] = {kNames[plane], kChunks * 4 * plane, 1, kChunks};
    parts[at++] = {"d", kScales * kForm.scale_bytes(), 1, kScales};
    if (kFactorWords != 0) parts[at] = {"factors", kFactorWords * 4, 1, kFactorWords};
    return parts;
  }();

  static void split(const std::byte* block, std::byte* const* to) noexcept {
    std::int8_t q[L::kElems]{};
    L::unpack(block, q);
    for (std::uint32_t i = 0; i < L::kElems; ++i)
      q[i] = static_cast<std::int8_t>(kCodes[static_cast<std::uint8_t>(q[i])]);
    std::uint32_t below = 0;
    std::size_t part = 0;
    for (std::uint32_t plane = 4; plane != 0; plane /= 2) {
      if ((kForm.codes.bits & plane) == 0) continue;
      for (std::uint32_t c = 0; c < kChunks; ++c)
        put_plane(q + c * kChunkElems, plane, below, to[part] + std::size_t{c} * 4 * plane);
      below += plane;
      ++part;
    }
    put_scales(block, to[part]);
    if constexpr (kFactorWords != 0) put_factors(block, to[part + 1]);
  }

 private:
  static constexpr std::array<std::uint8_t, 256> kCodes = quant::codes_of(kForm.codes);

  /// One plane of 32 codes, whose bits below it lie in others.
  static void put_plane(const std::int8_t* codes, std::uint32_t plane, std::uint32_t below, std::byte* to) noexcept {
    for (std::uint32_t i = 0; i < plane; ++i) {
      std::uint32_t word = 0;
      for (std::uint32_t k = 0; k < 8 / plane; ++k)
        for (std::uint32_t m = 0; m < 4; ++m) {
          const auto code = static_cast<std::uint32_t>(codes[4 * (i + k * plane) + m]);
          word |= (code >> below & ((1u << plane) - 1)) << (8 * m + k * plane);
        }
      write_little(to + std::size_t{4} * i, word);
    }
  }
  static void put_scale(float d, std::byte* to) noexcept {
    if (kForm.codes.scale == DType::f32)
      write_little(to, std::bit_cast<std::uint32_t>(d));
    else
      write_little<std::uint16_t>(to, kForm.codes.scale == DType::f16 ? to_f16(d).bits : to_bf16(d).bits);
  }
  static void put_scales(const std::byte* block, std::byte* to) noexcept {
    for (std::uint32_t at = 0; at < L::kElems; at += kForm.under_scale) {
      put_scale(L::scale(block, at / L::kRun), to);
      to += kForm.scale_bytes();
      if constexpr (L::kHasOffset) {
        put_scale(L::offset(block, at / L::kRun), to);
        to += kForm.scale_bytes();
      }
    }
  }
  static void put_factors(const std::byte* block, std::byte* to) noexcept {
    const quant::Factors f = L::factors_of(block);
    for (std::uint32_t j = 0; j < L::kElems / L::kPart; ++j) {
      to[j] = static_cast<std::byte>(f.scale[j]);
      if constexpr (L::kHasOffset) to[L::kElems / L::kPart + j] = static_cast<std::byte>(f.offset[j]);
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::device
