// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/front.cpp: probes before there are models, names of requests, and pages of other origins.
#include "front.hpp"

#include <algorithm>

namespace program::server {

HttpHost Front::host() {
  const auto early = [this](const std::shared_ptr<Exchange>& exchange) { answer_early(exchange); };
  return {.answer =
              [this, early](const std::shared_ptr<Exchange>& exchange) {
                if (Api* api = api_) return api->handle(exchange);
                early(exchange);
              },
          .answer_unread =
              [this, early](const HttpRequest& head) {
                Api* api = api_;
                return api != nullptr ? api->answer_unread(head) : HttpHost::Answer(early);
              },
          .headers = [this](const HttpRequest& head) { return headers(head); },
          .refusal =
              [this](int status, std::string_view reason) {
                metrics_.answered(status);
                return refusal_body(status, reason);
              }};
}

void Front::answer_early(const std::shared_ptr<Exchange>& exchange) const {
  const HttpRequest& request = exchange->request();
  const bool probes = request.path == "/livez" && (request.method == "GET" || request.method == "HEAD");
  // Else a browser would tell its page of no answer at all.
  if (!probes && request.method != "OPTIONS")
    return reply_error(*exchange, unavailable("the models are loading", "loading"), metrics_);
  metrics_.answered(probes ? 200 : 204);
  if (!probes) return exchange->reply(204, {}, {});
  exchange->reply(200, "application/json", text_of({{"status", "live"}}));
}

Headers Front::headers(const HttpRequest& request) const {
  Headers out{{"X-Request-Id", request_id_of(request)}};
  const std::string_view origin = request.header("origin");
  if (origin.empty() || std::ranges::find(origins_, origin) == origins_.end()) return out;
  out.emplace_back("Access-Control-Allow-Origin", origin);
  out.emplace_back("Vary", "Origin");
  // A browser hides other headers from the page, and the official client waits as long as Retry-After says.
  if (request.method != "OPTIONS") {
    out.emplace_back("Access-Control-Expose-Headers",
                     "X-Request-Id, Retry-After, X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, "
                     "X-Zrt-Ignored-Fields");
    return out;
  }
  out.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  // Those that the official client sends differ by release, so what a browser asks about is granted.
  const std::string_view headers = request.header("access-control-request-headers");
  out.emplace_back("Access-Control-Allow-Headers", headers.empty() ? "authorization, content-type" : headers);
  out.emplace_back("Access-Control-Max-Age", "600");
  return out;
}

}  // namespace program::server
