// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/http_server.cpp: connections on epoll: reading, answering, deadlines.
#include "api_error.hpp"
#include "body_budget.hpp"
#include "http_server.hpp"
#include "transport.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <unordered_map>

namespace program::server {

using Clock = std::chrono::steady_clock;

/// Closes a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) (void)::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// A socket in the file system, which is taken away with this.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path) : path_(std::move(path)) { (void)::stat(path_.c_str(), &made_); }
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})), made_(other.made_) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(made_, other.made_);
    return *this;
  }
  ~SocketFile() {
    struct stat found{};
    // Whoever took it away may have put another one in its place.
    if (path_.empty() || ::stat(path_.c_str(), &found) != 0) return;
    if (found.st_dev == made_.st_dev && found.st_ino == made_.st_ino) (void)::unlink(path_.c_str());
  }

 private:
  std::string path_;
  struct stat made_{};
};

namespace {

zrt::Error address_error(const std::string& address, const char* reason) {
  return zrt::Error::of(zrt::Errc::io_error, "cannot listen on ", std::string_view(address), ": ",
                        std::string_view(reason));
}

/// Whether somebody listens on a socket in the file system. Only where nobody does is a connection refused: a queue may be
/// full, the socket of another type or another user's.
bool is_heard(const sockaddr_un& address) {
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno != ECONNREFUSED;
}

zrt::Result<Descriptor> listen_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::unexpected(address_error(path, "the path is too long"));
  std::memcpy(address.sun_path, path.data(), path.size());
  // What a server that was killed left is taken away; a file is not, nor a socket that is heard.
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
    if (is_heard(address)) return std::unexpected(address_error(path, "another server listens there"));
    (void)::unlink(path.c_str());
  }
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0)
    return std::unexpected(address_error(path, std::strerror(errno)));
  return fd;
}

zrt::Result<Descriptor> listen_tcp(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string where = host + ":" + std::to_string(port);
  if (const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); status != 0)
    return std::unexpected(address_error(where, ::gai_strerror(status)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int reason = 0;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    Descriptor fd(::socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
    reason = errno;
  }
  return std::unexpected(address_error(where, std::strerror(reason)));
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::size_t kMostLingeredBytes = std::size_t{8} << 20;
/// Of one connection before the others have their turn.
constexpr int kMostReads = 16;
constexpr std::chrono::milliseconds kLingerTime{1000};
constexpr std::chrono::milliseconds kTick{100};

}  // namespace

/// One socket. The server's thread reads; whoever answers writes, under the mutex.
struct Connection {
  enum class Mode : std::uint8_t {
    reading,    ///< a request, or nothing yet
    answering,  ///< an exchange is out
    lingering,  ///< the answer is out and the connection ends; what still comes is dropped
    closed,
  };

  Connection(int socket, std::unique_ptr<TlsSession> tls, const HttpLimits& limits,
             const std::shared_ptr<BodyBudget>& bodies)
      : fd(socket), transport(socket, std::move(tls)), reader(limits), claim(bodies) {}

  std::mutex mutex;
  const int fd;
  SocketTransport transport;
  HttpReader reader;
  BodyClaim claim;     ///< of what the reader holds
  bool asked = false;  ///< whether the body that comes is wanted
  std::string out;
  std::size_t sent = 0;
  Mode mode = Mode::reading;
  bool closes = false;    ///< once the answer is out
  bool finished = false;  ///< the answer is complete
  bool streams = false;
  bool left = false;   ///< the client has gone
  bool ended = false;  ///< the client sends no more; whether it reads is for what is sent to show
  bool empty = false;  ///< and all that it sent is read
  int minor = 1;       ///< of the version that the request came with
  Headers headers;     ///< of every answer to the request
  std::string heartbeat;
  std::string farewell;  ///< that ends a stream which the answer does not end
  std::function<void()> hear;
  std::function<void()> hear_read;  ///< that most of what waited is read
  std::size_t dropped = 0;
  Clock::time_point since = Clock::now();     ///< of the mode, or of the request's first byte
  Clock::time_point written = Clock::now();   ///< the last time that anything was put out
  Clock::time_point progress = Clock::now();  ///< the last time that the client took bytes

  [[nodiscard]] std::size_t unsent() const { return out.size() - sent; }

  /// Sends what the socket takes. Under the mutex.
  void flush() {
    while (mode != Mode::closed && unsent() != 0) {
      const BytesMoved moved = transport.send(std::string_view(out).substr(sent));
      if (moved.state == BytesMoved::State::over) left = true, sent = out.size();
      if (moved.state != BytesMoved::State::moved) break;
      sent += moved.bytes;
      progress = Clock::now();
    }
    if (unsent() == 0) out.clear(), sent = 0;
  }
};

/// All connections and the thread that waits for them.
class Connections : public std::enable_shared_from_this<Connections> {
 public:
  Connections(const HttpServerOptions& options, HttpHost host)
      : options_(options), host_(std::move(host)), bodies_(std::make_shared<BodyBudget>(options.bodies_bytes)) {}

  zrt::Result<void> open();
  void run();
  void stop(std::chrono::milliseconds grace);
  void drain() {
    drains_ = true;
    wake();
  }
  [[nodiscard]] int listener() const { return listener_.get(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const HttpServerOptions& options() const { return options_; }
  [[nodiscard]] bool drains() const { return drains_; }
  [[nodiscard]] std::string refusal(int status, std::string_view reason) const { return host_.refusal(status, reason); }

  /// The answer of this connection is complete, or more waits than the socket takes.
  void attend(const std::shared_ptr<Connection>& connection) {
    {
      const std::lock_guard lock(mutex_);
      attended_.push_back(connection);
    }
    wake();
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wakes_.get(), &one, sizeof one);
  }
  void accept_all();
  void admit(int fd);
  void hear_wake();
  [[nodiscard]] BytesMoved receive(Connection& c, std::span<char> into) const;
  void read(const std::shared_ptr<Connection>& c);
  void take_requests(const std::shared_ptr<Connection>& c);
  [[nodiscard]] HttpHost::Answer answer_unread(Connection& c) const;
  void hand_over(const std::shared_ptr<Connection>& c, HttpRequest request, const HttpHost::Answer& answer);
  [[nodiscard]] std::string refusal_text(int status, std::string_view reason, Headers headers) const;
  void refuse(Connection& c, int status, std::string_view reason) { refuse(c, status, reason, c.reader.known_head()); }
  void refuse(Connection& c, int status, std::string_view reason, const HttpRequest& head);
  void refuse_plain(const std::shared_ptr<Connection>& c);
  void refuse_begun();
  void part(const std::shared_ptr<Connection>& c);
  void tell_read(Connection& c) const;
  void settle(const std::shared_ptr<Connection>& c);
  void linger(Connection& c);
  void hear_end(const std::shared_ptr<Connection>& c);
  void lose(const std::shared_ptr<Connection>& c);
  void close(const std::shared_ptr<Connection>& c);
  void watch(Connection& c, bool writes) const;
  void tick();
  void tick(const std::shared_ptr<Connection>& c, Clock::time_point now);

  HttpServerOptions options_;
  HttpHost host_;
  std::shared_ptr<BodyBudget> bodies_;
  Descriptor listener_, poll_, wakes_;
  SocketFile file_{};  ///< goes before the listener, so that it is known for what it is
  std::unordered_map<int, std::shared_ptr<Connection>> by_fd_;
  std::mutex mutex_;
  std::condition_variable emptied_;
  std::vector<std::shared_ptr<Connection>> attended_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> answering_{0};
  std::atomic<bool> drains_{false};
  std::atomic<bool> refused_begun_{false};
  std::atomic<bool> ends_{false};
};

namespace {

/// The time as HTTP writes it (RFC 9110, section 5.6.7).
std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[32];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc))};
}

/// The head of an answer.
std::string head_of(int status, std::string_view content_type, const Headers& headers, bool closes) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += reason_phrase(status);
  out.append("\r\nDate: ").append(date()).append("\r\n");
  if (!content_type.empty()) out.append("Content-Type: ").append(content_type).append("\r\n");
  for (const auto& [name, value] : headers) out.append(name).append(": ").append(value).append("\r\n");
  if (closes) out += "Connection: close\r\n";
  return out;
}

/// Appends a chunk. One without bytes would end the stream.
void append_chunk(std::string& out, std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  if (bytes.empty()) return;
  for (auto left = (std::bit_width(bytes.size()) + 3) / 4; left-- != 0;) out += digits[bytes.size() >> 4 * left & 15u];
  out.append("\r\n").append(bytes).append("\r\n");
}

/// The exchange of a request that came through a socket.
class SocketExchange final : public Exchange {
 public:
  SocketExchange(std::shared_ptr<Connections> all, std::shared_ptr<Connection> connection, HttpRequest request,
                 BodyClaim claim)
      : all_(std::move(all)),
        connection_(std::move(connection)),
        claim_(std::move(claim)),
        request_(std::move(request)),
        headers_(connection_->headers) {}
  ~SocketExchange() override {
    if (!answered_ && !gone()) reply(500, kJsonType, all_->refusal(500, "the request got no answer"));
    if (streams_) cut({});
  }

  const HttpRequest& request() const override { return request_; }
  void drop_body() override {
    request_.body = {};
    claim_.release();
  }
  void add_header(std::string name, std::string value) override {
    headers_.emplace_back(std::move(name), std::move(value));
  }

  void reply(int status, std::string_view content_type, std::string_view body) override {
    if (std::exchange(answered_, true)) return;
    const std::lock_guard lock(connection_->mutex);
    connection_->closes |= all_->drains();
    std::string out = head_of(status, content_type, headers_, connection_->closes);
    if (status != 204) out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    out += "\r\n";
    if (request_.method != "HEAD") out += body;
    finish(out);
  }

  void begin(std::string_view content_type, std::string_view heartbeat, std::string_view farewell) override {
    if (std::exchange(answered_, true)) return;
    streams_ = true;
    const std::lock_guard lock(connection_->mutex);
    // A stream to a client of HTTP/1.0 ends with its connection.
    chunked_ = request_.minor == 1;
    connection_->closes |= all_->drains() || !chunked_;
    connection_->streams = true;
    connection_->heartbeat.clear();
    frame(connection_->heartbeat, heartbeat);
    connection_->farewell.clear();
    frame(connection_->farewell, farewell);
    if (chunked_) connection_->farewell += kLastChunk;
    put(head_of(200, content_type, headers_, connection_->closes) +
        (chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"));
  }
  bool write(std::string_view bytes) override {
    const std::lock_guard lock(connection_->mutex);
    if (connection_->left) return false;
    if (connection_->unsent() + bytes.size() > all_->options().unread_bytes) return false;
    put_by([&](std::string& out) { frame(out, bytes); });
    return !connection_->left;
  }
  bool full(std::function<void()> hear) override {
    const std::lock_guard lock(connection_->mutex);
    if (connection_->left || connection_->unsent() <= all_->options().full_bytes) return false;
    connection_->hear_read = std::move(hear);
    return true;
  }
  void end() override {
    if (!std::exchange(streams_, false)) return;
    const std::lock_guard lock(connection_->mutex);
    finish(chunked_ ? kLastChunk : "");
  }
  void cut(std::string_view last_bytes) override {
    if (!std::exchange(streams_, false)) return;
    const std::lock_guard lock(connection_->mutex);
    connection_->closes = true;
    std::string out;
    frame(out, last_bytes);
    if (chunked_ && !last_bytes.empty()) out += kLastChunk;
    finish(out);
  }

  bool gone() const override {
    const std::lock_guard lock(connection_->mutex);
    return connection_->left;
  }
  void when_gone(std::function<void()> hear) override {
    {
      const std::lock_guard lock(connection_->mutex);
      if (!connection_->left) {
        connection_->hear = std::move(hear);
        return;
      }
    }
    hear();
  }

 private:
  void frame(std::string& out, std::string_view bytes) const {
    if (chunked_)
      append_chunk(out, bytes);
    else
      out += bytes;
  }
  void put(std::string_view bytes) {
    put_by([&](std::string& out) { out += bytes; });
  }
  /// Sends what `add` appends.
  template <class F> void put_by(F add) {
    if (connection_->left) return;
    const bool waited = connection_->unsent() != 0;
    add(connection_->out);
    connection_->written = Clock::now();
    if (!waited) connection_->progress = connection_->written;
    connection_->flush();
    if (!waited && connection_->unsent() != 0) all_->attend(connection_);
  }
  void finish(std::string_view bytes) {
    put(bytes);
    connection_->finished = true;
    connection_->streams = false;
    all_->attend(connection_);
  }

  std::shared_ptr<Connections> all_;
  std::shared_ptr<Connection> connection_;
  BodyClaim claim_;
  HttpRequest request_;
  Headers headers_;
  bool answered_ = false;
  bool streams_ = false;
  bool chunked_ = false;
};

}  // namespace

zrt::Result<void> Connections::open() {
  constexpr std::string_view kUnix = "unix:";
  auto listener = options_.host.starts_with(kUnix) ? listen_unix(options_.host.substr(kUnix.size()))
                                                   : listen_tcp(options_.host, options_.port);
  if (!listener) return zrt::pass(listener);
  listener_ = std::move(*listener);
  if (options_.host.starts_with(kUnix)) file_ = SocketFile(options_.host.substr(kUnix.size()));
  poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  wakes_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (poll_.get() < 0 || wakes_.get() < 0) return std::unexpected(address_error(options_.host, std::strerror(errno)));
  for (const int fd : {listener_.get(), wakes_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    (void)::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  return {};
}

void Connections::run() {
  std::vector<epoll_event> events(256);
  Clock::time_point ticked = Clock::now();
  while (!ends_) {
    const int ready = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), int{kTick.count()});
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == listener_.get())
        accept_all();
      else if (event.data.fd == wakes_.get())
        hear_wake();
      else if (const auto found = by_fd_.find(event.data.fd); found != by_fd_.end()) {
        const std::shared_ptr<Connection> c = found->second;
        if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) {
          lose(c);
          continue;
        }
        if ((event.events & EPOLLRDHUP) != 0 && c->mode == Connection::Mode::answering) hear_end(c);
        if ((event.events & EPOLLOUT) != 0) settle(c);
        if ((event.events & (EPOLLIN | EPOLLRDHUP)) != 0 || c->transport.waits_for_room()) read(c);
      }
    }
    if (drains_ && !refused_begun_) refuse_begun();
    if (const auto now = Clock::now(); now - ticked >= kTick) ticked = now, tick();
  }
  while (!by_fd_.empty()) part(std::shared_ptr(by_fd_.begin()->second));
  // Whoever makes an answer that is late may keep this for longer than the process lives.
  file_ = {};
}

void Connections::stop(std::chrono::milliseconds grace) {
  drain();
  {
    std::unique_lock lock(mutex_);
    (void)emptied_.wait_for(lock, grace, [this] { return refused_begun_ && answering_ == 0; });
  }
  ends_ = true;
  wake();
}

void Connections::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    admit(fd);
  }
}

void Connections::admit(int fd) {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // What a slow client has not read lies here, not in a buffer of the system's that grows.
  const int bytes = 256 << 10;
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  const bool secure = options_.tls != nullptr;
  auto tls = secure ? options_.tls->session(fd) : nullptr;
  const bool refused = secure && tls == nullptr;
  auto c = std::make_shared<Connection>(fd, std::move(tls), options_.limits, bodies_);
  by_fd_.emplace(fd, c);
  ++count_;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  (void)::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
  if (by_fd_.size() <= options_.connections && !refused) return;
  // A word to the client would take a handshake first.
  if (secure) return lose(c);
  refuse(*c, 503, "too many connections");
  settle(c);
}

void Connections::hear_wake() {
  std::uint64_t count = 0;
  (void)!::read(wakes_.get(), &count, sizeof count);
  std::vector<std::shared_ptr<Connection>> attended;
  {
    const std::lock_guard lock(mutex_);
    attended.swap(attended_);
  }
  for (const auto& c : attended) settle(c);
}

/// Under the mutex: TLS has one state for both directions.
BytesMoved Connections::receive(Connection& c, std::span<char> into) const {
  const std::lock_guard lock(c.mutex);
  if (c.mode == Connection::Mode::lingering) return c.transport.discard(into);
  const bool handshook = c.transport.handshakes();
  const BytesMoved moved = c.transport.receive(into);
  // An idle connection has its time from the handshake on.
  if (handshook && !c.transport.handshakes()) c.since = Clock::now();
  if (c.transport.waits_for_room()) watch(c, c.unsent() != 0);
  return moved;
}

void Connections::read(const std::shared_ptr<Connection>& c) {
  char buffer[16384];
  for (int reads = 0; reads < kMostReads; ++reads) {
    // While an answer is under way, the next requests wait in the socket but for a few.
    if (c->mode == Connection::Mode::answering && c->reader.waiting() > options_.limits.head_bytes) {
      const std::lock_guard lock(c->mutex);
      return watch(*c, c->unsent() != 0);
    }
    const BytesMoved moved = receive(*c, buffer);
    if (moved.state == BytesMoved::State::waits) return;
    if (moved.state == BytesMoved::State::over) {
      if (c->mode != Connection::Mode::answering) return lose(c);
      c->empty = true;
      return hear_end(c);
    }
    if (moved.state == BytesMoved::State::foreign) return refuse_plain(c);
    if (c->mode == Connection::Mode::lingering) {
      if (c->dropped += moved.bytes; c->dropped > kMostLingeredBytes) return lose(c);
      continue;
    }
    const bool idle = c->reader.state() == HttpReader::State::idle;
    const auto before = c->reader.state();
    const auto after = c->reader.feed({buffer, moved.bytes});
    if (idle || (before == HttpReader::State::head && after == HttpReader::State::body)) c->since = Clock::now();
    take_requests(c);
    if (c->mode == Connection::Mode::closed) return;
  }
}

void Connections::take_requests(const std::shared_ptr<Connection>& c) {
  if (c->mode != Connection::Mode::reading) return;
  if (const auto answer = answer_unread(*c)) return hand_over(c, c->reader.take_unread(), answer);
  if (!c->claim.cover(c->reader.held())) {
    const HttpRequest unread = c->reader.take_unread();
    c->claim.release();
    refuse(*c, 503, "the bodies of other requests take all the memory there is for bodies", unread);
    return settle(c);
  }
  if (c->reader.take_expectation()) {
    const std::lock_guard lock(c->mutex);
    c->out += "HTTP/1.1 100 Continue\r\n\r\n";
    c->flush();
  }
  if (c->reader.state() == HttpReader::State::refused) {
    refuse(*c, c->reader.refusal().status, c->reader.refusal().reason);
    return settle(c);
  }
  if (c->reader.state() == HttpReader::State::complete) hand_over(c, c->reader.take(), host_.answer);
}

/// Asks once for each body of which not all came with its head.
HttpHost::Answer Connections::answer_unread(Connection& c) const {
  if (c.reader.state() != HttpReader::State::body || std::exchange(c.asked, true)) return {};
  return host_.answer_unread(c.reader.head());
}

void Connections::hand_over(const std::shared_ptr<Connection>& c, HttpRequest request, const HttpHost::Answer& answer) {
  {
    const std::lock_guard lock(c->mutex);
    c->mode = Connection::Mode::answering;
    c->closes = !c->reader.keeps_alive();
    c->minor = request.minor;
    c->headers = host_.headers(request);
    c->finished = c->streams = false;
    c->since = c->progress = c->written = Clock::now();
    c->asked = false;
  }
  ++answering_;
  answer(std::make_shared<SocketExchange>(shared_from_this(), c, std::move(request), std::move(c->claim)));
}

/// An answer that ends the connection.
std::string Connections::refusal_text(int status, std::string_view reason, Headers headers) const {
  const std::string body = refusal(status, reason);
  if (status == 503) headers.emplace_back("Retry-After", "1");
  return head_of(status, kJsonType, headers, true) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Answers what never became an exchange, and ends the connection.
void Connections::refuse(Connection& c, int status, std::string_view reason, const HttpRequest& head) {
  const std::lock_guard lock(c.mutex);
  c.out += refusal_text(status, reason, host_.headers(head));
  c.closes = c.finished = true;
  if (c.mode == Connection::Mode::reading) {
    c.mode = Connection::Mode::answering;
    ++answering_;
  }
  c.flush();
}

/// Tells a client in plain that it should have come with TLS.
void Connections::refuse_plain(const std::shared_ptr<Connection>& c) {
  {
    const std::lock_guard lock(c->mutex);
    c->transport.drop_tls();
  }
  refuse(*c, 400, "this port speaks TLS: the address begins with https");
  settle(c);
}

/// Tells who is in the middle of a request that the server goes.
void Connections::refuse_begun() {
  std::vector<std::shared_ptr<Connection>> begun;
  for (const auto& [fd, c] : by_fd_)
    if (c->mode == Connection::Mode::reading && c->reader.state() != HttpReader::State::idle) begun.push_back(c);
  for (const auto& c : begun) {
    refuse(*c, 503, kShuttingDown);
    settle(c);
  }
  {
    const std::lock_guard lock(mutex_);
    refused_begun_ = true;
  }
  emptied_.notify_all();
}

/// Closes a connection, and tells who still waits for an answer that none comes. Whoever makes it may be behind a step that
/// takes longer than the server has.
void Connections::part(const std::shared_ptr<Connection>& c) {
  {
    const std::lock_guard lock(c->mutex);
    if (c->mode == Connection::Mode::answering && !c->finished) {
      c->out += c->streams ? c->farewell : refusal_text(503, kShuttingDown, c->headers);
      c->finished = true;
      c->flush();
      c->transport.end_sending();
    }
  }
  lose(c);
}

/// Tells whoever makes the answer that the client has read most of what waited for it.
void Connections::tell_read(Connection& c) const {
  std::function<void()> hear;
  {
    const std::lock_guard lock(c.mutex);
    if (c.mode == Connection::Mode::closed || !c.hear_read) return;
    c.flush();
    if (c.unsent() > options_.full_bytes / 2) return;
    hear = std::exchange(c.hear_read, nullptr);
  }
  hear();
}

/// Moves a connection on whose answer may be out.
void Connections::settle(const std::shared_ptr<Connection>& c) {
  tell_read(*c);
  bool next = false;
  {
    const std::lock_guard lock(c->mutex);
    if (c->mode == Connection::Mode::closed) return;
    c->flush();
    if (c->mode != Connection::Mode::answering || !c->finished || c->unsent() != 0) return watch(*c, c->unsent() != 0);
    c->hear = c->hear_read = nullptr;
    --answering_;
    c->since = Clock::now();
    c->mode = c->closes ? Connection::Mode::lingering : Connection::Mode::reading;
    if (c->closes) linger(*c);
    next = !c->closes;
    if (next) c->reader.advance();
    // What waits is read now, so the socket is read again.
    watch(*c, false);
  }
  emptied_.notify_all();
  if (next) take_requests(c);
}

/// A socket that is closed with bytes unread takes the answer with it, so they are read for a while.
void Connections::linger(Connection& c) { c.transport.end_sending(); }

/// A client that ends its side while it waits for an answer may still read it, or may have left: the system says so only
/// once something is sent. What is sent means nothing to a client: a comment of the stream, or an interim answer.
void Connections::hear_end(const std::shared_ptr<Connection>& c) {
  {
    const std::lock_guard lock(c->mutex);
    if (c->mode != Connection::Mode::answering) return;
    const bool asks = !std::exchange(c->ended, true) && !c->finished;
    if (asks && c->streams)
      c->out += c->heartbeat;
    else if (asks && c->minor == 1)
      c->out += "HTTP/1.1 100 Continue\r\n\r\n";
    c->flush();
    if (!c->left) return watch(*c, c->unsent() != 0);
  }
  lose(c);
}

void Connections::lose(const std::shared_ptr<Connection>& c) {
  std::function<void()> hear;
  {
    const std::lock_guard lock(c->mutex);
    if (c->mode == Connection::Mode::closed) return;
    if (c->mode == Connection::Mode::answering) --answering_;
    c->left = true;
    hear = std::move(c->hear);
    c->hear = c->hear_read = nullptr;
  }
  if (hear) hear();
  close(c);
  emptied_.notify_all();
}

void Connections::close(const std::shared_ptr<Connection>& c) {
  const std::lock_guard lock(c->mutex);
  c->mode = Connection::Mode::closed;
  c->out.clear();
  c->sent = 0;
  by_fd_.erase(c->fd);
  --count_;
  c->transport.close();
}

void Connections::watch(Connection& c, bool writes) const {
  const bool answering = c.mode == Connection::Mode::answering;
  const bool reads = !answering || (!c.empty && c.reader.waiting() <= options_.limits.head_bytes);
  epoll_event event{};
  // An end that is known would be told without end.
  event.events = (answering && c.ended ? 0u : std::uint32_t{EPOLLRDHUP}) | (reads ? std::uint32_t{EPOLLIN} : 0u) |
                 (writes || c.transport.waits_for_room() ? std::uint32_t{EPOLLOUT} : 0u);
  event.data.fd = c.fd;
  (void)::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, c.fd, &event);
}

void Connections::tick() {
  const Clock::time_point now = Clock::now();
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(by_fd_.size());
  for (const auto& [fd, c] : by_fd_) all.push_back(c);
  for (const auto& c : all) tick(c, now);
}

void Connections::tick(const std::shared_ptr<Connection>& c, Clock::time_point now) {
  using State = HttpReader::State;
  if (c->mode == Connection::Mode::lingering && now - c->since > kLingerTime) return lose(c);
  if (c->mode == Connection::Mode::reading) {
    const State state = c->reader.state();
    if (state == State::idle) {
      // A handshake is one with the head behind it.
      if (now - c->since > (c->transport.handshakes() ? options_.head_time : options_.idle_time) || drains_) lose(c);
      return;
    }
    if (now - c->since <= (state == State::head ? options_.head_time : options_.body_time)) return;
    refuse(*c, 408, state == State::head ? "the head took too long" : "the body took too long");
    return settle(c);
  }
  if (c->mode != Connection::Mode::answering) return;
  bool stalled = false;
  {
    const std::lock_guard lock(c->mutex);
    stalled = c->left || (c->unsent() != 0 && now - c->progress > options_.stalled_time);
    if (!stalled && c->streams && c->unsent() == 0 && now - c->written > options_.heartbeat_time) {
      c->out += c->heartbeat;
      c->written = c->progress = now;
      c->flush();
    }
  }
  if (stalled) lose(c);
}

HttpServer::HttpServer(const HttpServerOptions& options, HttpHost host)
    : connections_(std::make_shared<Connections>(options, std::move(host))) {}

zrt::Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpServerOptions& options, HttpHost host) {
  std::unique_ptr<HttpServer> server(new HttpServer(options, std::move(host)));
  if (auto opened = server->connections_->open(); !opened) return zrt::pass(opened);
  server->port_ = port_of(server->connections_->listener());
  server->thread_ = std::thread([all = server->connections_] { all->run(); });
  return server;
}

HttpServer::~HttpServer() { stop(std::chrono::milliseconds(0)); }

std::size_t HttpServer::open_connections() const { return connections_->count(); }
void HttpServer::drain() { connections_->drain(); }
void HttpServer::stop(std::chrono::milliseconds grace) {
  connections_->stop(grace);
  if (thread_.joinable()) thread_.join();
}

}  // namespace program::server
