// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/engine_loop.hpp: the one thread that steps an engine, and the way in and out of it.
#pragma once

#include "../model.hpp"
#include "asked.hpp"
#include "tenant_table.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace program::server {

/// Names what a request asked for, all of its choices.
enum class Ticket : std::uint64_t {};

/// Takes choices and texts to embed from any thread, runs them, and tells what came. A bounded queue stands in front.
class EngineLoop {
 public:
  /// Hears what the engine says, in the engine's thread: it must not wait.
  using Hear = std::function<void(Said&&)>;
  using HearEmbeddings = std::function<void(zrt::Result<zrt::Embeddings>)>;

  /// `slots` choices run at once, and `queue` more wait at most.
  EngineLoop(Model& model, Metrics& metrics, std::uint32_t slots, std::uint32_t queue);
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;
  ~EngineLoop();

  /// Serves these tenants from the next step on, or anyone where there are none; waits for it. Errors: those of TenantTable::set.
  [[nodiscard]] zrt::Result<void> set_tenants(std::vector<Tenant> tenants);

  /// Queues the choices of a request; none where they do not all fit in the queue.
  [[nodiscard]] std::optional<Ticket> submit(std::vector<Asked> choices, Hear hear);
  /// Ends a request's choices within a step. `hear` may still be called until the last of them has ended.
  void cancel(Ticket ticket);
  /// Choices that it takes at most.
  [[nodiscard]] std::size_t most() const { return most_; }
  /// Queues texts of one request, which are dropped where the client has `gone`. False when too many wait.
  [[nodiscard]] bool embed(std::vector<std::vector<std::int32_t>> texts, zrt::Pooling pooling, HearEmbeddings hear,
                           std::function<bool()> gone);

  /// Waits until nothing is left, at most this long.
  [[nodiscard]] bool drain(std::chrono::milliseconds deadline);
  /// Ends all that runs and waits with an error.
  void abort();
  /// Ends the thread; what still runs ends with an error. Nothing is heard behind it.
  void stop();
  /// Whether the loop turns: it steps, or has nothing to do.
  [[nodiscard]] bool turns() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A choice on its way through the engine.
  struct Choice;
  struct Job {
    Ticket ticket{};
    std::vector<Asked> choices;
    Hear hear;
    Clock::time_point arrived{};
  };
  struct EmbedJob {
    std::vector<std::vector<std::int32_t>> texts;
    zrt::Pooling pooling;
    HearEmbeddings hear;
    std::function<bool()> gone;
  };

  /// Tenants on their way to the engine.
  struct Change {
    std::vector<Tenant> tenants;
    std::optional<zrt::Result<void>> done{};
  };

  void run();
  bool collect();
  void cancel_ended();
  void change_tenants();
  void start_jobs();
  void start(const Job& job, std::uint32_t index);
  void run_embeddings();
  bool turns_on();
  void step();
  bool hear_token(zrt::RequestId id, const zrt::Token& token);
  void tell_taken();
  void tell_taken(Choice& choice);
  void end(zrt::RequestId id, Choice& choice, zrt::FinishReason reason, const zrt::Token* last = nullptr,
           const zrt::Error* error = nullptr);
  void end_all(const zrt::Error& error);
  void show_load();

  Model& model_;
  Metrics& metrics_;
  std::uint32_t slots_;
  std::uint32_t most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable emptied_;
  std::deque<Job> arrived_;
  std::deque<EmbedJob> embeds_;
  std::vector<Ticket> cancelled_;
  Change* change_ = nullptr;
  std::uint64_t next_ticket_ = 1;
  std::size_t open_ = 0;  ///< choices and texts that have not ended
  bool ends_ = false;
  bool aborts_ = false;
  std::atomic<std::int64_t> stepped_at_{0};

  // Of the engine's thread alone.
  TenantTable tenants_;
  std::size_t left_ = 0;  ///< requests of the engine, those included that nobody hears any more
  Clock::time_point shown_{};
  std::vector<zrt::RequestId> submitted_;  ///< in this turn
  std::deque<Job> started_;
  std::vector<EmbedJob> embedding_;
  std::vector<Ticket> ending_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Choice>> running_;
  std::thread thread_;
};

}  // namespace program::server
