// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/http_reader.hpp: bytes of a connection to requests, one after the other, within limits.
#pragma once

#include "http_message.hpp"

#include <cstdint>

namespace program::server {

/// Why a request is refused.
struct HttpRefusal {
  int status = 0;
  std::string reason;
};

/// Reads the requests of one connection. It owns no socket; time is the caller's.
///
/// Strict where leniency lets two readers of one stream disagree: lines end with CR LF, a length is stated once and not
/// beside chunks, a header is not folded.
class HttpReader {
 public:
  enum class State : std::uint8_t { idle, head, body, complete, refused };

  explicit HttpReader(const HttpLimits& limits) : limits_(limits) {}

  /// Takes more bytes. What lies behind a complete request waits for `next`.
  State feed(std::string_view bytes);
  [[nodiscard]] State state() const { return state_; }
  /// Of state refused.
  [[nodiscard]] const HttpRefusal& refusal() const { return refusal_; }
  /// Whether the client waits for a word before it sends the body; says so once.
  [[nodiscard]] bool take_expectation();
  /// Bytes that wait.
  [[nodiscard]] std::size_t waiting() const { return input_.size() - read_; }
  /// Bytes of the body that is read, with those that wait.
  [[nodiscard]] std::size_t held() const { return request_.body.size() + waiting(); }
  /// The request as far as it is read: of state body all but its body.
  [[nodiscard]] const HttpRequest& head() const { return request_; }
  /// As `head`, of a head that broke off or was refused with what came of its headers: its answer is for somebody.
  [[nodiscard]] HttpRequest known_head() const;
  /// Takes the request of state body out without its body; the connection carries no other one.
  [[nodiscard]] HttpRequest take_unread();

  /// Whether the connection may carry another request.
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  /// Takes the complete request out; the reader goes on with what lies behind it.
  [[nodiscard]] HttpRequest take();
  /// Reads what waits.
  State advance();

 private:
  enum class Part : std::uint8_t { head, sized, chunk_size, chunk, chunk_end, trailers };

  [[nodiscard]] std::string_view rest() const { return std::string_view(input_).substr(read_); }
  void drop(std::size_t bytes) { read_ += bytes; }
  bool read_head();
  bool read_head_lines(std::string_view head);
  bool read_request_line(std::string_view line);
  bool read_target(std::string_view target);
  bool read_header(std::string_view line);
  bool choose_body();
  bool read_sized();
  bool read_chunk_size();
  bool read_chunk();
  bool read_chunk_end();
  bool read_trailers();
  bool refuse(int status, std::string reason);
  bool complete();

  HttpLimits limits_;
  std::string input_;
  std::size_t read_ = 0;      ///< of the input
  std::size_t searched_ = 0;  ///< of the input, without an end of the head
  std::size_t blank_ = 0;     ///< bytes of empty lines in front of the request
  HttpRequest request_;
  std::string authority_;  ///< of a target that is a whole address
  HttpRefusal refusal_;
  State state_ = State::idle;
  Part part_ = Part::head;
  std::size_t left_ = 0;  ///< bytes of the body or of the chunk
  bool keeps_alive_ = true;
  bool expects_ = false;
};

}  // namespace program::server
