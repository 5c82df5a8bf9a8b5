// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/request_id.hpp: names that answers carry, so that logs of both sides can be brought together.
#pragma once

#include "http_message.hpp"

namespace program::server {

/// A random name behind a prefix.
[[nodiscard]] std::string random_id(std::string_view prefix);

/// Whether a text may stand in a header as it is: at most 128 letters, digits, `_`, `-` and `.`.
[[nodiscard]] bool is_safe_id(std::string_view id);

/// The request's own X-Request-Id where it is safe, else a random one. The head need not be whole.
[[nodiscard]] std::string request_id_of(const HttpRequest& request);

}  // namespace program::server
