// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/transport.cpp: calls of the system that move bytes.
#include "transport.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace program::server {
namespace {

/// What a call of the system came to, which is repeated where a signal came in between.
template <class F> BytesMoved moved_by(F call) {
  for (;;) {
    const ssize_t n = call();
    if (n > 0) return {BytesMoved::State::moved, static_cast<std::size_t>(n)};
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {BytesMoved::State::waits};
    return {BytesMoved::State::over};
  }
}

/// The first byte of a handshake's record (RFC 8446, section 5.1).
constexpr char kHandshake = 22;

}  // namespace

BytesMoved SocketTransport::receive(std::span<char> into) {
  if (tls_ == nullptr) return discard(into);
  if (!tls_->begun()) {
    char first = 0;
    const BytesMoved seen = moved_by([&] { return ::recv(socket_, &first, 1, MSG_PEEK); });
    if (seen.state != BytesMoved::State::moved) return seen;
    if (first != kHandshake) return {BytesMoved::State::foreign};
  }
  return tls_->receive(into);
}

BytesMoved SocketTransport::send(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->send(bytes);
  return moved_by([&] { return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
}

BytesMoved SocketTransport::discard(std::span<char> into) const {
  return moved_by([&] { return ::recv(socket_, into.data(), into.size(), 0); });
}

void SocketTransport::end_sending() {
  if (tls_ != nullptr) tls_->end_sending();
  (void)::shutdown(socket_, SHUT_WR);
}

void SocketTransport::close() {
  tls_ = nullptr;
  if (const int socket = std::exchange(socket_, -1); socket >= 0) (void)::close(socket);
}

}  // namespace program::server
