// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/base64.hpp: bytes as text (RFC 4648, section 4), and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace program::server {

[[nodiscard]] std::string base64_of(std::string_view bytes);
/// None where the text is not what `base64_of` gives for any bytes.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace program::server
