// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/json_body.hpp: the body of a request as JSON, within limits.
#pragma once

#include "api_error.hpp"

#include <string_view>

namespace program::server {

inline constexpr std::size_t kMostJsonDepth = 64;
/// Of one object.
inline constexpr std::size_t kMostJsonMembers = 2048;
/// Of all objects: the parser looks for a member among those of its object that came before. The largest object takes half
/// of them.
inline constexpr std::size_t kMostJsonSearches = kMostJsonMembers * (kMostJsonMembers + 1);

/// Reads an object. Of equal keys the last counts.
///
/// Throws ApiError with the byte for a text that is none, for a whole number beyond 64 bits within one of its values, and
/// for one that passes a limit.
[[nodiscard]] Json read_body(std::string_view text);

}  // namespace program::server
