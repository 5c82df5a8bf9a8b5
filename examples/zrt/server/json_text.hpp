// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/json_text.hpp: a text as a string of JSON, without a tree.
#pragma once

#include <string>
#include <string_view>

namespace program::server {

/// Appends a text in quotes, with the bytes that text_of(Json(text)) has: what is no UTF-8 becomes U+FFFD.
void append_quoted(std::string& out, std::string_view text);

}  // namespace program::server
