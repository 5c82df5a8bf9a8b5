// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/engine_loop.hpp: the one thread that steps an engine, and the way in and out of it.
#pragma once

#include "../model.hpp"
#include "asked.hpp"
#include "embed_queue.hpp"
#include "tenant_table.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace program::server {

/// Names what a request asked for, all of its choices.
enum class Ticket : std::uint64_t {};

struct EngineLoopLimits {
  std::uint32_t slots = 0;  ///< choices of each model that run at once
  std::uint32_t queue = 0;  ///< more of all models that wait
  /// That a step may take before the loop counts as stuck.
  std::chrono::milliseconds longest_step{};
};

/// Takes choices and texts to embed from any thread, runs them on the models of a set, and tells what came. A bounded
/// queue stands in front.
class EngineLoop {
 public:
  /// Hears what the engine says, in the engine's thread: it must not wait.
  using Hear = std::function<void(Said&&)>;

  /// `told` is called in the engine's thread when all that a step gave has been heard.
  EngineLoop(zrt::ModelSet<Model>& models, Metrics& metrics, EngineLoopLimits limits, std::function<void()> told);
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;
  ~EngineLoop();

  /// Serves these tenants from the next step on, or anyone where there are none; waits for it. Errors: those of
  /// TenantTable::set; Errc::cancelled where the loop ends first.
  [[nodiscard]] zrt::Result<void> set_tenants(std::vector<Tenant> tenants);

  /// Queues the choices of a request; none where they do not all fit in the queue.
  [[nodiscard]] std::optional<Ticket> submit(std::vector<Asked> choices, Hear hear);
  /// Ends a request's choices within a step. `hear` may still be called until the last of them has ended.
  void cancel(Ticket ticket);
  /// Says that the client of a request does not read, or reads again: see zrt::Engine::pause.
  void pause(Ticket ticket, bool on);
  /// Choices that it takes at most.
  [[nodiscard]] std::size_t most() const { return most_; }
  enum class Refusal : std::uint8_t { none, queue_full, tenant_full };
  /// Queues texts of one request, which are dropped where the client has `gone`. Its tenant may have `most_open` of them;
  /// one more is counted as refused.
  [[nodiscard]] Refusal embed(std::unique_ptr<EmbedJob> job, std::optional<std::uint64_t> most_open);

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

  /// A request of a model.
  struct Place {
    zrt::ModelId model{};
    zrt::RequestId id{};

    auto operator<=>(const Place&) const = default;
  };
  /// A choice on its way through the engine.
  struct Choice;
  struct Job {
    Ticket ticket{};
    std::vector<Asked> choices;
    Hear hear;
    Clock::time_point arrived{};
  };
  /// Tenants on their way to the engine.
  struct Change {
    std::vector<Tenant> tenants;
    std::optional<zrt::Result<void>> done{};
  };

  /// A choice whose prompt the first one of its request computes. It begins behind that one's first token, or its end,
  /// and finds the prompt among the prefixes.
  struct Follower {
    std::shared_ptr<const Job> job;
    std::uint32_t index = 0;
    zrt::TenantId tenant{};  ///< which stays until it has begun
    bool paused = false;
  };

  void run();
  bool collect();
  void cancel_ended();
  void pause_changed();
  void change_tenants();
  void start_jobs();
  void start_job(const std::shared_ptr<const Job>& job);
  std::optional<Place> start(const Job& job, std::uint32_t index, const Follower* held = nullptr);
  [[nodiscard]] bool waits_for_prompt(const Asked& asked) const;
  void release_followers(Place place);
  void drop_followers(Ticket ticket);
  void end_follower(const Follower& follower, zrt::FinishReason reason, const zrt::Error* error = nullptr);
  template <class F> void each_follower(F visit);
  void run_embeddings();
  void end_embedding(const EmbedJob& job, const zrt::Error* error);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void step();
  bool hear_token(Place place, const zrt::Token& token);
  void tell_taken();
  void tell_taken(Choice& choice);
  void end(Place place, Choice& choice, zrt::FinishReason reason, const zrt::Token* last = nullptr,
           const zrt::Error* error = nullptr);
  void note_begin(Place place, Choice& choice);
  void show_end(Place place, const Choice& choice, std::string_view reason);
  void end_all(const zrt::Error& error);
  void show_load();
  void show_slots();

  zrt::ModelSet<Model>& models_;
  Metrics& metrics_;
  std::uint32_t slots_;
  std::uint32_t most_;
  std::chrono::milliseconds longest_step_;
  std::function<void()> told_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable emptied_;
  std::deque<Job> arrived_;
  std::vector<std::unique_ptr<EmbedJob>> embeds_;
  std::vector<std::pair<std::string, zrt::ModelId>> refused_;  ///< texts beyond their tenant's quota
  std::map<std::string, std::uint64_t> embeds_open_;           ///< of each tenant, those that run included
  std::vector<Ticket> cancelled_;
  std::vector<std::pair<Ticket, bool>> paused_;
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
  Clock::time_point step_began_{};
  /// A choice that its model has not read yet.
  struct Submitted {
    Place place;
    std::uint64_t reads;  ///< of its model, when it was submitted
  };
  std::vector<Submitted> submitted_;
  std::size_t started_now_ = 0;  ///< choices in this turn
  std::deque<Job> started_;
  EmbedQueue embedding_;
  std::vector<Ticket> ending_;
  std::vector<std::pair<Ticket, bool>> pausing_;
  std::map<Place, std::unique_ptr<Choice>> running_;
  std::map<Place, std::vector<Follower>> followers_;  ///< by the choice that they wait for
  std::vector<Follower> ready_;                       ///< followers that wait no longer
  std::vector<std::uint64_t> step_tokens_;            ///< of this step, by model: prompts that it ended, and answers
  std::uint32_t failed_steps_ = 0;                    ///< in a row
  std::thread thread_;
};

}  // namespace program::server
