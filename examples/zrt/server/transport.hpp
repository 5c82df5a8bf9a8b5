// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/transport.hpp: how the bytes of a connection go through its socket: as they are, or by TLS.
#pragma once

#include "tls.hpp"

#include <string_view>

namespace program::server {

/// A socket that does not block, closed with the transport. One thread at a time.
class SocketTransport {
 public:
  /// In plain without a session.
  SocketTransport(int socket, std::unique_ptr<TlsSession> tls) : socket_(socket), tls_(std::move(tls)) {}
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;
  ~SocketTransport() { close(); }

  [[nodiscard]] BytesMoved receive(std::span<char> into);
  [[nodiscard]] BytesMoved send(std::string_view bytes);
  /// Receives bytes that nobody reads: what they say in TLS is not asked for.
  [[nodiscard]] BytesMoved discard(std::span<char> into) const;
  /// Says that nothing more is sent.
  void end_sending();
  void close();

  /// Whether client and server have not agreed on keys yet.
  [[nodiscard]] bool handshakes() const { return tls_ != nullptr && !tls_->agreed(); }
  /// Whether `receive` goes on only once the socket takes bytes.
  [[nodiscard]] bool waits_for_room() const { return tls_ != nullptr && tls_->waits_for_room(); }
  /// Speaks in plain to a client that did not begin with TLS.
  void drop_tls() { tls_ = nullptr; }

 private:
  int socket_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace program::server
