// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tls.hpp: the server's side of TLS, by OpenSSL where CMake finds it.
#pragma once

#include <zrt/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace program::server {

/// What came of moving bytes through a socket that does not block.
struct BytesMoved {
  enum class State : std::uint8_t {
    moved,    ///< some
    waits,    ///< none yet
    foreign,  ///< none, for the client does not speak TLS
    over,     ///< none any more
  };
  State state = State::over;
  std::size_t bytes = 0;
};

/// PEM files: a chain of certificates, the server's own first, and its key without a passphrase.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct FreeTls {
  void operator()(ssl_st* session) const;
  void operator()(ssl_ctx_st* context) const;
};

/// TLS of one connection. One thread at a time, in a process that ignores SIGPIPE.
class TlsSession {
 public:
  explicit TlsSession(std::unique_ptr<ssl_st, FreeTls> session) : session_(std::move(session)) {}

  /// Goes on with the handshake, and behind it receives.
  [[nodiscard]] BytesMoved receive(std::span<char> into);
  /// Sends, behind the handshake. What waits is sent again with the same bytes first.
  [[nodiscard]] BytesMoved send(std::string_view bytes);
  /// Tells the client that what it has is all, so that nobody in between can cut an answer off unseen.
  void end_sending();

  /// Whether anything was received.
  [[nodiscard]] bool begun() const { return begun_; }
  /// Whether the handshake is over.
  [[nodiscard]] bool agreed() const { return agreed_; }
  /// Whether `receive` must send first and the socket takes nothing.
  [[nodiscard]] bool waits_for_room() const { return waits_for_room_; }

 private:
  std::unique_ptr<ssl_st, FreeTls> session_;
  bool begun_ = false;
  bool agreed_ = false;
  bool waits_for_room_ = false;
};

/// A certificate and its key, which may be read again. Any thread.
class TlsContext {
 public:
  /// Errors: Errc::io_error naming the file that cannot be read or is not what it should be; Errc::unimplemented where
  /// the build found no OpenSSL.
  [[nodiscard]] static zrt::Result<std::shared_ptr<TlsContext>> open(TlsFiles files);

  /// Reads the files again, for connections that come from now on. An error changes nothing. Errors: those of `open`.
  [[nodiscard]] zrt::Result<void> reload();
  /// TLS of a socket; null where there is no memory.
  [[nodiscard]] std::unique_ptr<TlsSession> session(int socket) const;

 private:
  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}

  TlsFiles files_;
  mutable std::mutex mutex_;
  std::unique_ptr<ssl_ctx_st, FreeTls> context_;
};

}  // namespace program::server
