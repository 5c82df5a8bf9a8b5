// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/http_reader.cpp: heads, bodies of a stated length and chunks of HTTP/1.1.
#include "http_reader.hpp"

#include <algorithm>
#include <charconv>

namespace program::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMostChunkLine = 256;
constexpr std::size_t kMostBlankBytes = 64;

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != std::string_view::npos;
  });
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The name, in lower case, and the value of a header; none of another line.
std::optional<std::pair<std::string, std::string_view>> header_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return {};
  return std::pair(lower_case(line.substr(0, colon)), without_spaces(line.substr(colon + 1)));
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

/// A number without sign or space; false for one that does not fit.
bool read_number(std::string_view text, int base, std::size_t& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return !text.empty() && text[0] != '-' && code == std::errc() && end == text.data() + text.size();
}

}  // namespace

HttpReader::State HttpReader::feed(std::string_view bytes) {
  // What was read goes when it is most of the input: to move the rest forward for each part of a request would take the
  // square of its bytes.
  if (read_ > input_.size() / 2) {
    input_.erase(0, read_);
    read_ = 0;
  }
  input_ += bytes;
  return advance();
}

HttpReader::State HttpReader::advance() {
  bool goes_on = state_ != State::complete && state_ != State::refused;
  while (goes_on) {
    switch (part_) {
      case Part::head:
        goes_on = read_head();
        break;
      case Part::sized:
        goes_on = read_sized();
        break;
      case Part::chunk_size:
        goes_on = read_chunk_size();
        break;
      case Part::chunk:
        goes_on = read_chunk();
        break;
      case Part::chunk_end:
        goes_on = read_chunk_end();
        break;
      case Part::trailers:
        goes_on = read_trailers();
        break;
    }
  }
  return state_;
}

HttpRequest HttpReader::known_head() const {
  if (part_ != Part::head || waiting() == 0) return request_;
  HttpRequest known = request_;
  known.headers.clear();
  std::string_view head = rest().substr(0, limits_.head_bytes);
  // The first line is the request's, the empty one the head's end, and the last one may have come in part.
  for (std::size_t end = head.find(kLineEnd); end != 0 && end != std::string_view::npos; end = head.find(kLineEnd)) {
    const auto header = header_of(head.substr(0, end));
    if (header && !has_control(header->second)) known.headers.emplace_back(header->first, header->second);
    head.remove_prefix(end + kLineEnd.size());
  }
  return known;
}

bool HttpReader::take_expectation() { return std::exchange(expects_, false); }

HttpRequest HttpReader::take() {
  HttpRequest taken = std::move(request_);
  request_ = {};
  state_ = State::idle;
  part_ = Part::head;
  searched_ = blank_ = 0;
  return taken;
}

HttpRequest HttpReader::take_unread() {
  HttpRequest taken = std::move(request_);
  taken.body = {};
  request_ = {};
  input_ = {};
  read_ = 0;
  state_ = State::refused;
  keeps_alive_ = expects_ = false;
  return taken;
}

bool HttpReader::refuse(int status, std::string reason) {
  state_ = State::refused;
  keeps_alive_ = false;
  refusal_ = {status, std::move(reason)};
  return false;
}

bool HttpReader::complete() {
  state_ = State::complete;
  return false;
}

// --- the head -------------------------------------------------------------------------------------------

bool HttpReader::read_head() {
  // An empty line in front of a request is passed over, as RFC 9112 asks.
  std::size_t blank = 0;
  while (rest().substr(blank).starts_with(kLineEnd)) blank += kLineEnd.size();
  drop(blank);
  if ((blank_ += blank) > kMostBlankBytes) return refuse(400, "expected a request, found empty lines");
  if (rest().empty()) return false;
  state_ = State::head;
  const std::size_t end = rest().find(kHeadEnd, searched_ > 3 ? searched_ - 3 : 0);
  searched_ = waiting();
  if (end == std::string::npos ? waiting() > limits_.head_bytes : end > limits_.head_bytes) {
    const bool long_target = rest().find('\r') > limits_.target_bytes;
    return refuse(long_target ? 414 : 431, "the head has more than " + std::to_string(limits_.head_bytes) + " bytes");
  }
  if (end == std::string::npos) return false;
  if (!read_head_lines(rest().substr(0, end))) return false;
  drop(end + kHeadEnd.size());
  return true;
}

bool HttpReader::read_head_lines(std::string_view head) {
  for (bool first = true; first || !head.empty(); first = false) {
    const std::size_t end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    if (!(first ? read_request_line(line) : read_header(line))) return false;
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
  }
  return choose_body();
}

bool HttpReader::read_request_line(std::string_view line) {
  const std::size_t method = line.find(' ');
  const std::size_t version = line.rfind(' ');
  if (method == std::string_view::npos || version <= method || !is_token(line.substr(0, method)))
    return refuse(400, "expected a method, a target and a version");
  const std::string_view target = line.substr(method + 1, version - method - 1);
  const std::string_view name = line.substr(version + 1);
  if (target.size() > limits_.target_bytes) return refuse(414, "the target is too long");
  if (target.empty() || has_control(target) || target.find(' ') != std::string_view::npos)
    return refuse(400, "expected a target without spaces");
  // RFC 9110 has 505 for it, and 501 for a coding, but here a fault of the client's is always 4xx.
  if (name != "HTTP/1.1" && name != "HTTP/1.0") return refuse(400, "expected the version HTTP/1.1 or HTTP/1.0");
  request_.method = line.substr(0, method);
  request_.minor = name.back() - '0';
  return read_target(target);
}

/// A path, or a whole address as proxies send it (RFC 9112, section 3.2.2).
bool HttpReader::read_target(std::string_view target) {
  constexpr std::string_view kSchemeEnd = "://";
  authority_.clear();
  const std::string scheme = lower_case(target.substr(0, std::min(target.find(kSchemeEnd), target.size())));
  if (scheme == "http" || scheme == "https") {
    target.remove_prefix(std::min(scheme.size() + kSchemeEnd.size(), target.size()));
    authority_ = target.substr(0, target.find_first_of("/?"));
    if (authority_.empty() || authority_.find('@') != std::string::npos)
      return refuse(400, "expected a target with a host and without a user");
    target.remove_prefix(authority_.size());
  }
  const std::size_t query = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, query);
  if (request_.path.empty()) request_.path = "/";
  request_.query = target.substr(std::min(query + 1, target.size()));
  return true;
}

bool HttpReader::read_header(std::string_view line) {
  const auto header = header_of(line);
  if (!header) return refuse(400, "expected headers of a name, a colon and a value");
  if (request_.headers.size() >= limits_.headers)
    return refuse(431, "expected at most " + std::to_string(limits_.headers) + " headers");
  if (has_control(header->second)) return refuse(400, "a header holds a control character");
  request_.headers.emplace_back(header->first, header->second);
  return true;
}

bool HttpReader::choose_body() {
  std::size_t lengths = 0, codings = 0, hosts = 0;
  std::string_view length, coding;
  for (const auto& [name, value] : request_.headers) {
    if (name == "content-length") ++lengths, length = value;
    if (name == "transfer-encoding") ++codings, coding = value;
    if (name == "host") ++hosts;
  }
  const std::string connection = lower_case(request_.header("connection"));
  keeps_alive_ = request_.minor == 1 ? connection.find("close") == std::string::npos
                                     : connection.find("keep-alive") != std::string::npos;
  if (hosts > 1 || (hosts == 0 && request_.minor == 1)) return refuse(400, "expected one Host header");
  if (lengths > 1 || codings > 1 || (lengths != 0 && codings != 0))
    return refuse(400, "expected one Content-Length or one Transfer-Encoding");
  if (codings != 0 && (request_.minor == 0 || lower_case(coding) != "chunked"))
    return refuse(400, "expected the transfer coding chunked, of HTTP/1.1");
  if (lengths != 0 && !read_number(length, 10, left_)) return refuse(400, "expected a number as Content-Length");
  if (lengths == 0) left_ = 0;
  if (left_ > limits_.body_bytes)
    return refuse(413, "the body has " + std::to_string(left_) + " bytes, expected at most " +
                           std::to_string(limits_.body_bytes));
  // The address counts where both name a host.
  if (!authority_.empty()) {
    std::erase_if(request_.headers, [](const auto& header) { return header.first == "host"; });
    request_.headers.emplace_back("host", authority_);
  }
  expects_ = lower_case(request_.header("expect")) == "100-continue" && (codings != 0 || left_ != 0);
  state_ = State::body;
  part_ = codings != 0 ? Part::chunk_size : Part::sized;
  return true;
}

// --- the body -------------------------------------------------------------------------------------------

bool HttpReader::read_sized() {
  const std::size_t taken = std::min(left_, waiting());
  request_.body.append(rest().substr(0, taken));
  drop(taken);
  left_ -= taken;
  return left_ == 0 ? complete() : false;
}

bool HttpReader::read_chunk_size() {
  const std::size_t end = rest().find(kLineEnd);
  if (end == std::string::npos) return waiting() > kMostChunkLine ? refuse(400, "expected the size of a chunk") : false;
  const std::string_view line = rest().substr(0, end);
  if (end > kMostChunkLine || has_control(line) ||
      !read_number(without_spaces(line.substr(0, line.find(';'))), 16, left_))
    return refuse(400, "expected the size of a chunk");
  drop(end + kLineEnd.size());
  if (left_ > limits_.body_bytes - std::min(limits_.body_bytes, request_.body.size()))
    return refuse(413, "the body has more than " + std::to_string(limits_.body_bytes) + " bytes");
  part_ = left_ == 0 ? Part::trailers : Part::chunk;
  return true;
}

bool HttpReader::read_chunk() {
  const std::size_t taken = std::min(left_, waiting());
  request_.body.append(rest().substr(0, taken));
  drop(taken);
  left_ -= taken;
  if (left_ != 0) return false;
  part_ = Part::chunk_end;
  return true;
}

bool HttpReader::read_chunk_end() {
  if (waiting() < kLineEnd.size()) return false;
  if (!rest().starts_with(kLineEnd)) return refuse(400, "expected the end of a chunk");
  drop(kLineEnd.size());
  part_ = Part::chunk_size;
  return true;
}

/// Trailers are read and dropped: nothing here has a use for one.
bool HttpReader::read_trailers() {
  const std::size_t end = rest().find(kLineEnd);
  if (end == std::string::npos)
    return waiting() > limits_.head_bytes ? refuse(431, "the trailers are too long") : false;
  if (end > limits_.head_bytes) return refuse(431, "the trailers are too long");
  if (has_control(rest().substr(0, end))) return refuse(400, "a trailer holds a control character");
  if (left_ += end; left_ > limits_.head_bytes) return refuse(431, "the trailers are too long");
  drop(end + kLineEnd.size());
  return end == 0 ? complete() : true;
}

}  // namespace program::server
