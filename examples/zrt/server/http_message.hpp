// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/http_message.hpp: a request of HTTP/1.1, and what a server takes of one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace program::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query
  std::string query;  ///< behind the question mark
  int minor = 1;      ///< of the version HTTP/1.x
  Headers headers;    ///< names in lower case
  std::string body;

  /// The value of the first header of that name, in lower case; empty where there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
};

/// Bounds of what a client may send. Passing one ends the connection with a status of 4xx.
struct HttpLimits {
  std::size_t target_bytes = std::size_t{8} << 10;
  std::size_t head_bytes = std::size_t{16} << 10;
  std::size_t headers = 100;
  std::size_t body_bytes = std::size_t{4} << 20;
};

/// The phrase of a status; empty for one that this server never sends.
[[nodiscard]] std::string_view reason_phrase(int status);

/// What a part of a path means: each %XX is the byte with that number. None where a % stands before anything else.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// A text in which all but letters, digits, `_`, `-` and `.` is written as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// ASCII alone, as names and schemes of HTTP are.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace program::server
