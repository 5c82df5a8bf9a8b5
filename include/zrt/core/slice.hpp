// SPDX-License-Identifier: Apache-2.0
// zrt/core/slice.hpp: a part of a text.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Bytes [at, at + length) of `text`, as far as it has them. std::string_view::substr would refer to a function that
/// throws.
[[nodiscard]] constexpr std::string_view slice(std::string_view text, std::size_t at,
                                               std::size_t length = std::string_view::npos) noexcept {
  if (at > text.size()) return {};
  return {text.data() + at, length < text.size() - at ? length : text.size() - at};
}

}  // namespace zrt::inline ZRT_ABI
