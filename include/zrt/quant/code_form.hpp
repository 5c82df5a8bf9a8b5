// SPDX-License-Identifier: Apache-2.0
// zrt/quant/code_form.hpp: in how many bits a type's integers and scales can be stored, whatever its file looks like.
#pragma once

#include <zrt/quant/forms.hpp>

#include <array>
#include <bit>
#include <concepts>

namespace zrt::inline ZRT_ABI::quant {

/// Integers as codes of a few bits, and scales as the file has them.
struct CodeForm {
  const std::int8_t* levels = nullptr;  ///< [16] what a code stands for; null: for itself plus `lowest`
  std::int32_t lowest = 0;
  std::uint32_t bits = 8;
  DType scale = DType::f32;  ///< of scales and offsets: f16, bf16 or f32
};

/// How scales and offsets can be stored: as the file has them, or as f32.
template <class L> [[nodiscard]] consteval DType scale_type() noexcept {
  using Form = BlockForm<L::kDType>;
  if constexpr (requires { L::kScaleType; }) return L::kScaleType;
  if (&L::scale != &Form::scale || L::kScaleUnit != 1.0f || L::kRun == 256) return DType::f32;
  if constexpr (L::kHasOffset) {
    if constexpr (!std::derived_from<L, BlockWithOffset<L::kDType>>)
      return DType::f32;
    else if (&L::offset != &BlockWithOffset<L::kDType>::offset)
      return DType::f32;
  }
  return DType::f16;
}

/// The codes of a type that says which `Integers` its blocks hold; those of others are the integers themselves.
template <class L> [[nodiscard]] consteval CodeForm code_form() noexcept {
  CodeForm form;
  form.scale = scale_type<L>();
  if constexpr (requires { L::Integers::kCodes; }) {
    form.levels = L::Integers::kCodes.data();
    form.bits = static_cast<std::uint32_t>(std::bit_width((L::Integers::kCodeCount - 1) | 1));
  } else if constexpr (requires { L::Integers::kLow; }) {
    const auto bits =
        static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(L::Integers::kHigh - L::Integers::kLow)));
    if (bits > 0 && bits < 7) {  // seven bits would take four planes and save little
      form.bits = bits;
      form.lowest = L::Integers::kLow;
    }
  }
  return form;
}

/// The same, and codes of four bits for the integers of a type that lists them as kLevels: sixteen at most.
template <class L> [[nodiscard]] consteval CodeForm level_form() noexcept {
  CodeForm form = code_form<L>();
  if constexpr (requires { L::kLevels; }) {
    form.levels = L::kLevels.data();
    form.bits = 4;
  }
  return form;
}

/// The code of each integer, by its byte; of equal levels the first.
[[nodiscard]] consteval std::array<std::uint8_t, 256> codes_of(const CodeForm& form) noexcept {
  std::array<std::uint8_t, 256> codes{};
  for (int q = -128; q < 128; ++q) {
    auto& code = codes[static_cast<std::uint8_t>(q)];
    if (form.levels == nullptr) {
      code = static_cast<std::uint8_t>(q - form.lowest);
      continue;
    }
    for (std::uint8_t at = 16; at-- > 0;)
      if (form.levels[at] == q) code = at;
  }
  return codes;
}

}  // namespace zrt::inline ZRT_ABI::quant
