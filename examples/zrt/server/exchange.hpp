// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/exchange.hpp: one request with the way to answer it, from any thread.
#pragma once

#include "http_message.hpp"

#include <functional>
#include <memory>

namespace program::server {

/// A request and its answer: one `reply`, or `begin`, any number of `write` and then `end` or `cut`.
///
/// Any thread may answer, one at a time. An exchange that is dropped without an answer gets status 500.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const HttpRequest& request() const = 0;
  /// Frees the body, once it is understood, for the bodies of others.
  virtual void drop_body() = 0;
  /// Headers that the answer has beside those of its kind.
  virtual void add_header(std::string name, std::string value) = 0;
  virtual void reply(int status, std::string_view content_type, std::string_view body) = 0;

  /// Begins a stream. `heartbeat` is written whenever nothing else was for a while, `farewell` where the server ends before
  /// the stream does.
  virtual void begin(std::string_view content_type, std::string_view heartbeat, std::string_view farewell) = 0;
  /// False when the client has left, or reads too slowly for what waits for it.
  [[nodiscard]] virtual bool write(std::string_view bytes) = 0;
  /// Whether so much waits for the client that no more should be made. If so, `hear` is called once, from the server's
  /// thread, when the client has read most of it.
  [[nodiscard]] virtual bool full(std::function<void()> hear) = 0;
  virtual void end() = 0;
  /// Ends the connection once the client has what was written, or has had the time for it.
  virtual void cut(std::string_view last_bytes) = 0;
  /// Whether the client left before the answer's end.
  [[nodiscard]] virtual bool gone() const = 0;
  /// Calls `hear`, from the server's thread, when the client leaves; at once if it has.
  virtual void when_gone(std::function<void()> hear) = 0;
};

}  // namespace program::server
