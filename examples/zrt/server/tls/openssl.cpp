// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tls/openssl.cpp: sessions and certificates of OpenSSL.
#include "../tls.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace program::server {
namespace {

int whole_number(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

/// What OpenSSL says of a file: its first complaint, as those behind it follow from it.
zrt::Error file_error(const std::string& path, const char* what) {
  const unsigned long code = ERR_peek_error();
  const char* reason = ERR_SYSTEM_ERROR(code) ? std::strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
  zrt::Error error = zrt::Error::of(zrt::Errc::io_error, std::string_view(path), ": ", what, ": ",
                                    std::string_view(reason == nullptr ? "it cannot be used" : reason));
  ERR_clear_error();
  return error;
}

/// There is nobody to ask for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

/// Of what a client speaks inside of TLS, HTTP/1.1; a client that speaks only other things is refused (RFC 7301).
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char kOurs[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kOurs, sizeof kOurs, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

using SslContext = std::unique_ptr<ssl_ctx_st, FreeTls>;

zrt::Result<SslContext> make_context(const TlsFiles& files) {
  ERR_clear_error();
  SslContext made(SSL_CTX_new(TLS_server_method()));
  if (made == nullptr) return zrt::fail(zrt::Errc::out_of_memory, "no memory for TLS");
  SSL_CTX* const context = made.get();
  (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  // Clients resume by tickets, of which the server keeps nothing.
  (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // What waits to be sent grows and moves meanwhile. An idle connection keeps no buffers.
  (void)SSL_CTX_set_mode(
      context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, &no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return std::unexpected(file_error(files.certificate, "no certificate for TLS"));
  // It also asks whether the key is the certificate's.
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return std::unexpected(file_error(files.key, "no key for TLS"));
  return made;
}

}  // namespace

void FreeTls::operator()(ssl_st* session) const { SSL_free(session); }
void FreeTls::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

BytesMoved TlsSession::receive(std::span<char> into) {
  begun_ = true;
  // The reason of a failure is looked for in what this thread's earlier ones left.
  ERR_clear_error();
  const int n = SSL_read(session_.get(), into.data(), whole_number(into.size()));
  agreed_ = SSL_is_init_finished(session_.get()) == 1;
  waits_for_room_ = false;
  if (n > 0) return {BytesMoved::State::moved, static_cast<std::size_t>(n)};
  const int reason = SSL_get_error(session_.get(), n);
  waits_for_room_ = reason == SSL_ERROR_WANT_WRITE;
  return {waits_for_room_ || reason == SSL_ERROR_WANT_READ ? BytesMoved::State::waits : BytesMoved::State::over};
}

BytesMoved TlsSession::send(std::string_view bytes) {
  ERR_clear_error();
  const int n = SSL_write(session_.get(), bytes.data(), whole_number(bytes.size()));
  if (n > 0) return {BytesMoved::State::moved, static_cast<std::size_t>(n)};
  return {SSL_get_error(session_.get(), n) == SSL_ERROR_WANT_WRITE ? BytesMoved::State::waits
                                                                   : BytesMoved::State::over};
}

void TlsSession::end_sending() {
  ERR_clear_error();
  (void)SSL_shutdown(session_.get());
}

zrt::Result<std::shared_ptr<TlsContext>> TlsContext::open(TlsFiles files) {
  std::shared_ptr<TlsContext> context(new TlsContext(std::move(files)));
  if (auto read = context->reload(); !read) return zrt::pass(read);
  return context;
}

zrt::Result<void> TlsContext::reload() {
  auto made = make_context(files_);
  if (!made) return zrt::pass(made);
  const std::lock_guard lock(mutex_);
  context_ = std::move(*made);
  return {};
}

std::unique_ptr<TlsSession> TlsContext::session(int socket) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ssl_st, FreeTls> session(SSL_new(context_.get()));
  if (session == nullptr || SSL_set_fd(session.get(), socket) != 1) return nullptr;
  SSL_set_accept_state(session.get());
  return std::make_unique<TlsSession>(std::move(session));
}

}  // namespace program::server
