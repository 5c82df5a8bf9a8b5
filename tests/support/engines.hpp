// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.hpp: the engines of both host backends behind one interface, each compiled once.
#pragma once

#include <zrt/engine/embedding.hpp>
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/exec/counters.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/text/tokenizer.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/run_comparison.hpp>
#include <zrt/trace/timeline.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

namespace zrt::test {

/// What an engine runs on.
enum class On : std::uint8_t { cpu, reference };

using OnToken = std::function<bool(const Token&)>;
using OnRequestToken = std::function<bool(RequestId, const Token&)>;
using OnLogits = std::function<void(std::uint32_t position, std::span<const float> logits)>;

/// A stop token, or a question that counts how often it is asked.
struct Stop {
  Stop() = default;
  Stop(std::stop_token t) : token(std::move(t)) {}
  Stop(std::function<bool()> question) : ask(std::move(question)) {}

  [[nodiscard]] bool stop_requested() const noexcept { return token.stop_requested() || (ask && ask()); }

  std::stop_token token;
  std::function<bool()> ask;
};

/// Memory of an engine that its plan decides.
struct EngineBytes {
  std::uint64_t prefill_arena = 0;
  std::uint64_t decode_arena = 0;
  std::uint64_t states = 0;
};

/// Calls of zrt::Engine. A test that includes this compiles neither an engine nor a backend.
class HostEngine {
 public:
  HostEngine() = default;
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;
  virtual ~HostEngine() = default;

  virtual Result<Completion> generate(const Request& request, const OnToken& on_token, const Stop& stop = {}) = 0;
  virtual Result<RequestId> submit(const Request& request) = 0;
  virtual void cancel(RequestId id) = 0;
  virtual Result<void> pause(RequestId id, bool on = true) = 0;
  virtual Result<TenantId> create_tenant(const TenantQuota& quota) = 0;
  virtual Result<void> change_tenant(TenantId tenant, const TenantQuota& quota) = 0;
  virtual Result<void> remove_tenant(TenantId tenant) = 0;
  virtual Result<SessionId> open_session(TenantId tenant = {}) = 0;
  virtual Result<void> close_session(SessionId session) = 0;
  [[nodiscard]] virtual Result<TenantLedger> usage(TenantId tenant) const = 0;
  virtual std::uint32_t processed(RequestId id) = 0;
  virtual std::uint64_t idle_ns() = 0;
  virtual Result<std::size_t> step(const OnRequestToken& on_token) = 0;
  virtual Result<std::size_t> hear(const OnRequestToken& on_token) = 0;
  virtual HeldMemory memory() = 0;
  virtual Result<void> evict() = 0;
  virtual Result<void> reopen() = 0;
  [[nodiscard]] virtual bool is_resident() const = 0;
  virtual Result<void> expect_tenants() = 0;
  virtual Result<void> hold(bool on) = 0;
  virtual std::size_t running() = 0;
  virtual TenantUse use(TenantId tenant) = 0;
  virtual std::uint64_t rate_wait_ns() = 0;
  virtual void charge(TenantId tenant, const TenantUse& elsewhere) = 0;
  virtual Result<AdapterId> load_adapter(std::span<const std::byte> file, float scale = 1.0f) = 0;
  virtual Result<void> unload_adapter(AdapterId adapter) = 0;
  [[nodiscard]] virtual ThreadHook workers() const = 0;
  /// `drafter` is an engine of the same backend; it is spent where it is taken.
  virtual Result<void> draft_with(HostEngine& drafter) = 0;
  virtual Result<void> evaluate(std::span<const std::int32_t> tokens, std::span<const std::int32_t> decode,
                                const OnLogits& on_logits, AdapterId adapter = {}) = 0;
  virtual Result<double> perplexity(std::string_view text) = 0;
  virtual Result<Embeddings> embed(std::span<const EmbedInput> inputs, const EmbedOptions& options = {},
                                   const Stop& stop = {}) = 0;
  virtual Result<Vector<std::byte>> save(RequestId id) = 0;
  virtual Result<RequestId> restore(std::span<const std::byte> snapshot, const Request& request) = 0;
  [[nodiscard]] virtual const text::Tokenizer* tokenizer() const = 0;
  [[nodiscard]] virtual const plan::CompiledPlan& plan() const = 0;
  [[nodiscard]] virtual exec::DispatchCounters counters() const = 0;
  [[nodiscard]] virtual std::uint32_t context() const = 0;
  [[nodiscard]] virtual EngineBytes bytes() const = 0;
  [[nodiscard]] virtual Result<trace::RunHeader> run_header() const = 0;
  /// For an engine that keeps values.
  [[nodiscard]] virtual trace::ValidatedExecutor validated() = 0;
};

using AnyEngine = Result<std::unique_ptr<HostEngine>>;

/// Engine<B>::open on the backend that `on` names.
[[nodiscard]] AnyEngine open_engine(On on, std::string_view path, const EngineOptions& options = {});
[[nodiscard]] AnyEngine open_engine(On on, std::span<const std::byte> file, const EngineOptions& options = {});
[[nodiscard]] AnyEngine open_engine(On on, const model::GgufReader& reader, const EngineOptions& options = {});

/// The same under an observer of times.
[[nodiscard]] AnyEngine open_watched_engine(On on, std::span<const std::byte> file, const EngineOptions& options,
                                            trace::Timeline& timeline);

/// The same under an observer that records a run or holds it to a recording.
[[nodiscard]] AnyEngine open_recorded_engine(On on, std::span<const std::byte> file, const EngineOptions& options,
                                             const trace::RunObserver& run);

}  // namespace zrt::test
