// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/answer.hpp: what the engine says to an answer over HTTP, whole or as a stream of events.
#pragma once

#include "engine_loop.hpp"
#include "exchange.hpp"
#include "generation_request.hpp"
#include "request_id.hpp"
#include "work_pool.hpp"

namespace program::server {

/// What the server's parts share.
struct Services {
  const ServedModel& served;  ///< whose answer it is
  Metrics& metrics;
  EngineLoop& engine;
  WorkPool& work;
};

/// An answer under way. The engine's thread leaves what it says; one thread of the pool at a time writes it on.
///
/// The engine waits for a client that reads slowly; one that leaves, or reads nothing for long, ends the request. An error before the first byte is a status; after it an
/// event, and the stream ends without [DONE].
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  Answer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  virtual ~Answer() = default;

  /// Submits the request. Throws ApiError when it must wait for too many others.
  void start();

 protected:
  /// What a choice has given.
  struct Choice {
    std::uint32_t tokens = 0;
    std::uint32_t cached_tokens = 0;  ///< of its prompt
    bool counts_prompt = false;       ///< the first of its prompt
  };

  [[nodiscard]] const GenerationRequest& request() const { return request_; }
  [[nodiscard]] const ServedModel& served() const { return services_.served; }
  /// Puts out a chunk of a stream with one choice.
  void send_choice(const Json& choice);
  /// As `send_choice` of a choice that has only a text: `field` and `end` are what stands in front of it and behind it.
  /// Nearly all chunks are of this kind.
  void send_text(std::uint32_t choice, std::string_view field, std::string_view text, std::string_view end);
  /// The bytes of a token, and what the API shows of them: repaired where they are no UTF-8.
  [[nodiscard]] std::string token_bytes(std::int32_t id) const;

  [[nodiscard]] virtual const char* id_prefix() const = 0;
  [[nodiscard]] virtual const char* object(bool chunk) const = 0;
  virtual void begin_choice(std::uint32_t choice) = 0;
  /// Takes a token of a prompt that is told.
  virtual void take_prompt(std::uint32_t, const Said&) {}
  virtual void take_token(std::uint32_t choice, const Said& said) = 0;
  /// Takes the last text and the end of a choice.
  virtual void end_choice(std::uint32_t choice, const Said& said) = 0;
  /// A choice of a whole answer.
  [[nodiscard]] virtual Json whole_choice(std::uint32_t choice) = 0;
  /// Details of usage beside the sums.
  virtual void add_details(Json&) const {}

 private:
  void hear(Said&& said);
  void work();
  void take(Said& said);
  void take_end(const Said& said);
  void take_taken(const Said& said);
  void show_quota();
  [[nodiscard]] ApiError over_quota(std::uint64_t retry_after_ns);
  void begin_stream();
  void finish();
  void fail(const ApiError& error);
  [[nodiscard]] std::string event_head() const;
  void begin_event();
  void end_event();
  void send_events();
  void give_up();
  /// Lets the engine wait for a client for whom much is written.
  void keep_pace();
  void resume();
  /// The client did not take what was written.
  void unread();
  [[nodiscard]] Json frame(bool chunk) const;
  [[nodiscard]] Json usage() const;

  Services services_;
  std::shared_ptr<Exchange> exchange_;
  GenerationRequest request_;
  std::string id_;
  std::string event_head_;
  std::string events_;  ///< that are not written yet
  std::int64_t created_ = 0;
  std::optional<Ticket> ticket_{};
  std::vector<Choice> choices_;
  std::size_t open_ = 0;
  std::uint64_t tenant_open_ = 0;
  bool streaming_ = false;
  bool over_ = false;
  std::vector<Said> heard_;  ///< what is written on

  std::mutex mutex_;
  std::vector<Said> said_;
  bool scheduled_ = false;
  bool gone_ = false;
  bool paused_ = false;  ///< the client does not read
};

/// Answers with an error.
void reply_error(Exchange& exchange, const ApiError& error, Metrics& metrics);

/// Tells a tenant how many choices, or requests for vectors, it may have open, and how many more.
void show_quota(Exchange& exchange, std::uint64_t most_open, std::uint64_t open);

}  // namespace program::server
