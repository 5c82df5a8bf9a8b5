// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/plain.hpp: f32, f16 and bf16: one part, of pieces of 16 bytes.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A block is one element. Each lane has a row, and loads a piece of 16 bytes of it.
template <DType T> struct PlainUpload {
  static constexpr DType kDType = T;
  static constexpr std::array<UploadPart, 1> kParts{{{"w", info(T).block_bytes, 16 / info(T).block_bytes}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::uint32_t i = 0; i < kParts[0].block_bytes; ++i) to[0][i] = block[i];
  }
};
template <> struct Upload<DType::f32> : PlainUpload<DType::f32> {};
template <> struct Upload<DType::f16> : PlainUpload<DType::f16> {};
template <> struct Upload<DType::bf16> : PlainUpload<DType::bf16> {};

static_assert(UploadLayout<Upload<DType::f32>> && UploadLayout<Upload<DType::f16>> &&
              UploadLayout<Upload<DType::bf16>>);

}  // namespace zrt::inline ZRT_ABI::device
