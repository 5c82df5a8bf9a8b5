// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/request_id.cpp: a client's name for its request, or a random one.
#include "request_id.hpp"

#include <algorithm>
#include <random>

namespace program::server {

std::string random_id(std::string_view prefix) {
  constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  std::string out(prefix);
  for (int i = 0; i < 24; ++i) out += digits[generator() % digits.size()];
  return out;
}

bool is_safe_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

std::string request_id_of(const HttpRequest& request) {
  const std::string_view given = request.header("x-request-id");
  return is_safe_id(given) ? std::string(given) : random_id("req_");
}

}  // namespace program::server
