// SPDX-License-Identifier: Apache-2.0
// zrt/core/version.hpp: the version of these headers.
#pragma once

#include <zrt/core/config.hpp>

#include <string_view>

#define ZRT_TEXT_OF_TOKENS(tokens) #tokens
#define ZRT_TEXT_OF(macro) ZRT_TEXT_OF_TOKENS(macro)

namespace zrt::inline ZRT_ABI {

/// Returns the version of these headers as `major.minor.patch`; ZRT_VERSION_MAJOR, _MINOR and _PATCH are its numbers.
[[nodiscard]] constexpr std::string_view version() noexcept {
  return ZRT_TEXT_OF(ZRT_VERSION_MAJOR) "." ZRT_TEXT_OF(ZRT_VERSION_MINOR) "." ZRT_TEXT_OF(ZRT_VERSION_PATCH);
}

}  // namespace zrt::inline ZRT_ABI
