// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/http_server.hpp: sockets to exchanges: one thread waits for all connections.
#pragma once

#include "exchange.hpp"
#include "http_reader.hpp"
#include "tls.hpp"
#include <zrt/core/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace program::server {

/// Times and sizes of connections.
struct HttpServerOptions {
  std::string host = "127.0.0.1";     ///< a name, an address, or unix:PATH
  std::uint16_t port = 8080;          ///< 0: any free one
  std::shared_ptr<TlsContext> tls{};  ///< in plain without
  HttpLimits limits{};
  std::size_t connections = 4096;  ///< more are refused with 503; by TLS, closed
  std::chrono::milliseconds head_time{10'000};
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds idle_time{75'000};
  std::chrono::milliseconds stalled_time{15'000};  ///< without the client reading a byte
  std::chrono::milliseconds heartbeat_time{10'000};
  std::size_t bodies_bytes = std::size_t{64} << 20;  ///< of all requests that are not understood yet
  std::size_t full_bytes = std::size_t{64} << 10;    ///< that wait for a client before no more should be made for it
  std::size_t unread_bytes = std::size_t{1} << 20;   ///< that wait for a client before it counts as too slow
};

/// What a server asks of whoever answers, in its own thread: nothing of it may wait.
struct HttpHost {
  using Answer = std::function<void(const std::shared_ptr<Exchange>&)>;

  Answer answer;
  /// What answers a request of this head without its body, and the connection ends; empty where the body is to be read.
  std::function<Answer(const HttpRequest&)> answer_unread;
  /// Headers of every answer to a request, whose head may have come in part or not at all.
  std::function<Headers(const HttpRequest&)> headers;
  /// The body, JSON, of an answer that the server gives itself.
  std::function<std::string(int status, std::string_view reason)> refusal;
};

class Connections;

/// Listens, reads requests and hands each to its host.
class HttpServer {
 public:
  /// Errors: Errc::io_error naming the address.
  [[nodiscard]] static zrt::Result<std::unique_ptr<HttpServer>> open(const HttpServerOptions& options, HttpHost host);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Connections that are open.
  [[nodiscard]] std::size_t open_connections() const;
  /// Closes each connection when its answer is sent, and those that wait for a request. Probes are still answered.
  void drain();
  /// Waits until no exchange is left, at most this long; tells those that are left that the server goes, and closes
  /// everything.
  void stop(std::chrono::milliseconds grace);

 private:
  HttpServer(const HttpServerOptions& options, HttpHost host);

  std::shared_ptr<Connections> connections_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace program::server
