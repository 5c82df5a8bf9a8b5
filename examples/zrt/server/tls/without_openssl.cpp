// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tls/without_openssl.cpp: in place of openssl.cpp in a build without OpenSSL: no session is made.
#include "../tls.hpp"

namespace program::server {

void FreeTls::operator()(ssl_st*) const {}
void FreeTls::operator()(ssl_ctx_st*) const {}

BytesMoved TlsSession::receive(std::span<char>) { return {}; }
BytesMoved TlsSession::send(std::string_view) { return {}; }
void TlsSession::end_sending() {}

zrt::Result<std::shared_ptr<TlsContext>> TlsContext::open(TlsFiles) {
  return zrt::fail(zrt::Errc::unimplemented,
                   "--tls-cert and --tls-key need OpenSSL, and this build found none: put a proxy that speaks TLS in "
                   "front of the server");
}
zrt::Result<void> TlsContext::reload() { return {}; }
std::unique_ptr<TlsSession> TlsContext::session(int) const { return nullptr; }

}  // namespace program::server
