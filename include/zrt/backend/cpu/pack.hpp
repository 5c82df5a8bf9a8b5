// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/pack.hpp: packs the rows of any weight type that is integers under scales.
#pragma once

#include <zrt/backend/cpu/packed_weight.hpp>
#include <zrt/core/atomic.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/ops/host.hpp>
#include <zrt/quant/code_form.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

namespace detail {

/// Whether a layout has a form and its products: one that says `dot` or `offset_sum` anew means something else by them.
template <class L> [[nodiscard]] consteval bool has_products_of_form() noexcept {
  if constexpr (!std::derived_from<L, quant::BlockForm<L::kDType>>)
    return false;
  else
    return &L::dot == &quant::BlockForm<L::kDType>::dot && &L::offset_sum == &quant::BlockForm<L::kDType>::offset_sum;
}

template <class L> [[nodiscard]] consteval bool has_packed_sizes() noexcept {
  if constexpr (L::kAct == quant::Act::q8_256)
    return L::kElems == 256 && L::kRun == 256 && L::kPart % 16 == 0;
  else
    return L::kElems % kPackedElems == 0 && (L::kRun == 16 || L::kRun == 32) && L::kPart == L::kRun;
}

/// How scales are packed: of runs of 256 with an offset as the file has them, which fills a block's lines.
template <class L> [[nodiscard]] consteval DType packed_scale() noexcept {
  using Parts = quant::BlockOfOffsetParts<L::kDType, L::kPart>;
  if constexpr (std::derived_from<L, Parts>)
    if (&L::scale == &Parts::scale && &L::offset == &Parts::offset && L::kScaleUnit == 1.0f) return DType::f16;
  return quant::level_form<L>().scale;
}

template <class L> [[nodiscard]] consteval PackedForm packed_form() noexcept {
  PackedForm form;
  form.run = L::kRun;
  form.has_offset = L::kHasOffset;
  if (L::kRun == 256) form.part = L::kPart < 32 ? 16 : 32;
  constexpr quant::CodeForm kCodes = quant::level_form<L>();
  form.levels = kCodes.levels;
  form.lowest = kCodes.lowest;
  form.bits = kCodes.bits;
  form.scale = packed_scale<L>();
  // The loops of few rows look for half factors beside codes of two bits alone.
  if constexpr (L::kHasOffset && requires { L::kMostFactor; })
    form.half_factors = form.bits == 2 && L::kLeastFactor >= 0 && L::kMostFactor < 16;
  return form;
}

/// Stores 32-bit words where vectors want them: word c of row r at [c][r].
inline void store_word(std::byte* vectors, std::size_t c, std::size_t r, std::uint32_t word) noexcept {
  write_little(vectors + c * 64 + r * 4, word);
}

/// Writes the codes of 32 elements of row `r`.
inline void put_codes(std::uint32_t bits, const std::uint8_t* codes, std::size_t r, std::byte* to) noexcept {
  std::uint32_t words[8];
  for (std::size_t c = 0; c < 8; ++c)
    words[c] = read_little<std::uint32_t>(reinterpret_cast<const std::byte*>(codes + 4 * c));
  if (bits == 8) {
    for (std::size_t c = 0; c < 8; ++c) store_word(to, c, r, words[c]);
    return;
  }
  for (std::uint32_t plane = 4; plane != 0; plane /= 2) {
    if ((bits & plane) == 0) continue;
    const std::uint32_t mask = 0x01010101u * ((1u << plane) - 1);
    for (std::size_t i = 0; i < plane; ++i) {
      std::uint32_t word = 0;
      for (std::size_t k = 0; k < 8 / plane; ++k) word |= (words[i + k * plane] & mask) << k * plane;
      store_word(to, i, r, word);
    }
    for (std::uint32_t& word : words) word = word >> plane & 0x01010101u * ((1u << (8 - plane)) - 1);
    to += 64 * plane;
  }
}

inline void put_scale(DType type, std::byte* scales, std::size_t r, float d) noexcept {
  if (type == DType::f32)
    write_little(scales + 4 * r, std::bit_cast<std::uint32_t>(d));
  else
    write_little<std::uint16_t>(scales + 2 * r, type == DType::f16 ? to_f16(d).bits : to_bf16(d).bits);
}

/// Writes the codes of a block of row `r`.
template <class L> void put_block(const std::byte* block, std::size_t r, std::byte* to) noexcept {
  constexpr PackedForm kForm = packed_form<L>();
  constexpr std::uint32_t kStep = kForm.elems() == 256 ? kForm.code_bytes() : kForm.block_bytes();
  std::int8_t q[L::kElems];
  std::uint8_t codes[L::kElems];
  L::unpack(block, q);
  if constexpr (kForm.levels != nullptr) {
    static constexpr std::array<std::uint8_t, 256> kCodes = quant::codes_of(quant::level_form<L>());
    for (std::uint32_t i = 0; i < L::kElems; ++i) codes[i] = kCodes[static_cast<std::uint8_t>(q[i])];
  } else {
    for (std::uint32_t i = 0; i < L::kElems; ++i) codes[i] = static_cast<std::uint8_t>(q[i] - kForm.lowest);
  }
  for (std::uint32_t i = 0; i < L::kElems / kPackedElems; ++i)
    put_codes(kForm.bits, codes + i * kPackedElems, r, to + i * kStep);
}

template <class L> void pack_rows(const std::byte* const* rows, std::uint32_t cols, std::byte* to) noexcept {
  constexpr PackedForm kForm = packed_form<L>();
  constexpr std::uint32_t kBlocks = L::kElems / kForm.elems();  // packed ones of a file's block
  for (std::uint32_t at = 0; at < cols / L::kElems; ++at, to += kBlocks * kForm.block_bytes()) {
    for (std::size_t r = 0; r < kPackedRows; ++r) {
      const std::byte* block = rows[r] + std::uint64_t{at} * L::kBytes;
      put_block<L>(block, r, to);
      for (std::uint32_t run = 0; run < L::kElems / kForm.run; ++run) {
        const std::uint32_t each = kForm.elems() / kForm.run;  // runs of a packed block
        std::byte* const packed = to + run / each * kForm.block_bytes();
        const std::uint32_t place = run % each * kForm.scale_bytes();
        put_scale(kForm.scale, packed + kForm.scales_at() + place, r, L::scale(block, run));
        if constexpr (L::kHasOffset)
          put_scale(kForm.scale, packed + kForm.offsets_at() + place, r, L::offset(block, run));
      }
      if constexpr (kForm.part != 0) {
        const quant::Factors f = quant::BlockForm<L::kDType>::factors_of(block);
        for (std::uint32_t j = 0; j < 256 / kForm.part; ++j) {
          const std::uint32_t part = j * kForm.part / L::kPart;
          const std::size_t place = j * kPackedRows + r;
          to[kForm.factors_at() + place] = static_cast<std::byte>(f.scale[part]);
          if constexpr (kForm.half_factors)
            to[kForm.factors_at() + place] |= static_cast<std::byte>(f.offset[part] << 4);
          else if constexpr (L::kHasOffset)
            to[kForm.offset_factors_at() + place] = static_cast<std::byte>(f.offset[part]);
        }
      }
    }
  }
}

}  // namespace detail

/// A block type that can be packed: one of quant/forms.hpp that means by its integers and scales what the form does.
template <class L>
concept Packable = quant::BlockLayout<L> && detail::has_products_of_form<L>() && detail::has_packed_sizes<L>();

/// How type `kType` is packed.
template <DType kType>
inline constexpr PackedType kPackedType{detail::packed_form<quant::Layout<kType>>(),
                                        &detail::pack_rows<quant::Layout<kType>>};

namespace detail {

template <DType kType> consteval void add_form(PackedForms& forms) noexcept {
  if constexpr (Packable<quant::Layout<kType>>) forms.add(packed_form<quant::Layout<kType>>());
}

}  // namespace detail

/// The forms that these types are packed in.
template <DType... kTypes> [[nodiscard]] consteval PackedForms packed_forms() noexcept {
  PackedForms forms;
  (detail::add_form<kTypes>(forms), ...);
  return forms;
}

/// A weight on its way into packed form.
struct PackJob {
  const HostWeight& w;
  const PackedType& type;
  std::uint32_t matrix_rows;
  std::uint64_t group_bytes;
  std::byte* to;
  Atomic<std::uint64_t> next{0};

  [[nodiscard]] std::uint64_t groups() const noexcept {
    return w.rows / matrix_rows * PackedWeight::groups(matrix_rows);
  }
  /// Packs groups until there are none.
  void run(std::uint32_t /*worker*/) noexcept {
    const std::uint64_t each = PackedWeight::groups(matrix_rows);
    for (std::uint64_t g = next.fetch_add(1, MemoryOrder::relaxed); g < groups();
         g = next.fetch_add(1, MemoryOrder::relaxed)) {
      const std::uint64_t matrix = g / each * matrix_rows;
      const std::uint64_t n = g % each * kPackedRows;
      const std::byte* rows[kPackedRows];
      // Lanes beyond the last row repeat it; nothing reads what they give.
      for (std::uint32_t r = 0; r < kPackedRows; ++r)
        rows[r] = w.row(matrix + (n + r < matrix_rows ? n + r : matrix_rows - 1));
      type.pack(rows, w.cols, to + g * group_bytes);
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
