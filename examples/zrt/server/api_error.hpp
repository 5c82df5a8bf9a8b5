// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/api_error.hpp: what is wrong with a request, as clients of the OpenAI API read it.
#pragma once

#include <zrt/core/error.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace program::server {

using Json = nlohmann::ordered_json;

/// How a client is to bring a key. A browser asks its user only for the second one, so only the page has that.
inline constexpr const char* kBearer = "Bearer";
inline constexpr const char* kBasic = R"(Basic realm="zrt: any name, and a key as the password", charset="UTF-8")";

/// Why a request ends that nobody finishes.
inline constexpr const char* kShuttingDown = "the server is shutting down";

/// Thrown where a request is read, and caught where it is answered. A fault of the client's is 4xx, always.
struct ApiError {
  int status = 500;
  std::string type;
  std::string code;
  std::string param;
  std::string message;
  int retry_after = 0;              ///< seconds; 0: none
  const char* challenge = kBearer;  ///< of status 401
  std::string methods{};            ///< of status 405: those that the route has
};

/// A field that cannot be what it is.
[[nodiscard]] ApiError bad_field(std::string param, std::string message);
[[nodiscard]] ApiError bad_request(std::string message);
[[nodiscard]] ApiError not_found(std::string message, std::string code = {});
/// 429: as many requests of the tenant wait as it may have.
[[nodiscard]] ApiError tenant_full(int retry_after_s);
[[nodiscard]] ApiError no_model(const std::string& name);
[[nodiscard]] ApiError unavailable(std::string message, std::string code = "overloaded");

/// An error of the library's about what `param` asked for. What a request cannot cause is 500.
[[nodiscard]] ApiError api_error(const zrt::Error& error, std::string param = {});

/// The object `error` of a body or of an event.
[[nodiscard]] Json error_json(const ApiError& error);

/// A body for a status that no handler gave.
[[nodiscard]] std::string refusal_body(int status, std::string_view reason);

/// JSON as a text. What a client sent is repaired where it is no UTF-8.
[[nodiscard]] std::string text_of(const Json& json);

}  // namespace program::server
