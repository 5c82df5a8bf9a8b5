// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/front.hpp: what stands between the server and the API: answers while models load, headers of all answers.
#pragma once

#include "api.hpp"

namespace program::server {

/// Answers probes until there is an API, which then answers. Any thread.
class Front {
 public:
  /// Pages of these origins may read answers.
  Front(std::vector<std::string> origins, Metrics& metrics) : origins_(std::move(origins)), metrics_(metrics) {}
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  /// Good as long as this lives.
  [[nodiscard]] HttpHost host();
  /// Has this one answer from now on.
  void open(Api& api) { api_ = &api; }

 private:
  void answer_early(const std::shared_ptr<Exchange>& exchange) const;
  [[nodiscard]] Headers headers(const HttpRequest& request) const;

  std::vector<std::string> origins_;
  Metrics& metrics_;
  std::atomic<Api*> api_{nullptr};
};

}  // namespace program::server
