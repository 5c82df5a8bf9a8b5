// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/api_error.cpp: statuses, types and codes of errors.
#include "api_error.hpp"

namespace program::server {
namespace {

constexpr const char* kInvalid = "invalid_request_error";
constexpr const char* kServer = "server_error";

/// Null for an empty text.
Json optional_text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

ApiError bad_field(std::string param, std::string message) {
  return {400, kInvalid, "invalid_value", std::move(param), std::move(message), 0};
}
ApiError bad_request(std::string message) { return {400, kInvalid, {}, {}, std::move(message), 0}; }
ApiError not_found(std::string message, std::string code) {
  return {404, kInvalid, std::move(code), {}, std::move(message), 0};
}
ApiError tenant_full(int retry_after_s) {
  return {429,
          "requests",
          "rate_limit_exceeded",
          {},
          "as many requests wait as the tenant may have; try again later",
          retry_after_s};
}
ApiError no_model(const std::string& name) {
  return not_found("the model '" + name + "' does not exist", "model_not_found");
}
ApiError unavailable(std::string message, std::string code) {
  return {503, kServer, std::move(code), {}, std::move(message), 1};
}

ApiError api_error(const zrt::Error& error, std::string param) {
  const std::string text(error.text());
  switch (error.code()) {
    case zrt::Errc::invalid_argument:
    case zrt::Errc::limit_exceeded:
    case zrt::Errc::size_overflow:
    case zrt::Errc::unsupported_tokenizer:
      return bad_field(std::move(param), text);
    case zrt::Errc::capacity_exceeded:
      return {400, kInvalid, "context_length_exceeded", std::move(param), text, 0};
    case zrt::Errc::not_found:  // the tenant left while its request was read
      return {401, kInvalid, "invalid_api_key", {}, text, 0};
    case zrt::Errc::cancelled:
      return unavailable(text, "cancelled");
    case zrt::Errc::out_of_memory:
      return unavailable(text, "out_of_memory");
    default:
      return {500, kServer, std::string(zrt::name(error.code())), {}, text, 0};
  }
}

Json error_json(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", optional_text(error.param)},
            {"code", optional_text(error.code)}}}};
}

std::string refusal_body(int status, std::string_view reason) {
  // Who asks for a version or a coding that is not spoken is wrong, whatever the first digit says.
  const bool is_the_clients = status < 500 || status == 501 || status == 505;
  return text_of(error_json({status, is_the_clients ? kInvalid : kServer, {}, {}, std::string(reason), 0}));
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace program::server
