// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model.hpp: an open model on a backend that the command line names.
#pragma once

#include <zrt/engine/embedding.hpp>
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/model/family.hpp>
#include <zrt/plan/memory.hpp>
#include <zrt/plan/split.hpp>
#include <zrt/text/tokenizer.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/run_comparison.hpp>
#include <zrt/trace/timeline.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace program {

using TokenCallback = std::function<bool(zrt::RequestId, const zrt::Token&)>;
using Choose = std::function<std::int32_t(std::uint32_t position, std::span<const float> logits)>;

/// What --device-layers takes beside a number: as many as the device has memory for.
inline constexpr std::string_view kLayersThatFit = "auto";

/// A device of backend vulkan, or a card of backend pm4 and the way to its queues.
struct CardChoice {
  std::string device{};         ///< empty: the machine's own; pm4: emulated-<target>; vulkan: see vulkan_choice()
  std::string kernel = "6.16";  ///< of a modelled card
  std::string tier{};           ///< one of tiers(), or empty for the first that works
  std::string layers{};      ///< of vulkan: a number or kLayersThatFit; empty: all, or those that fit where not all do
  bool finds_races = false;  ///< a modelled card refuses workgroups of one grid that race
};

/// What the subcommands have in common.
struct ModelOptions {
  std::string path;
  std::string backend = "cpu";
  CardChoice card{};
  std::uint32_t threads = 1;
  std::string draft_model{};             ///< a file of a smaller model that guesses tokens; empty: none
  bool cache = false;                    ///< packed weights are kept beside the file
  std::optional<std::uint32_t> draft{};  ///< guesses of a step; none said: 8 with a draft model, else 0
};

/// What the commands that sample text have in common.
struct SampledOptions {
  ModelOptions model;
  std::uint32_t context = 0;
  std::string kv = "f16";
  zrt::Sampling sampling{.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f};
};

/// A piece of memory that an engine asked its device for.
struct MemoryPart {
  std::string_view heap;
  std::string_view what;
  std::uint64_t bytes = 0;
};

/// The heap of a device that computes in the process's own memory.
inline constexpr std::string_view kHostHeap = "host memory";

/// Memory that an open engine holds, from the engine itself.
struct EngineMemory {
  std::uint64_t state_bytes = 0;       ///< all states together
  std::vector<std::uint32_t> pages{};  ///< of each kv_paged state, by its cache group
  std::uint32_t slots = 0;
  bool uploaded = false;  ///< weights, states and arenas lie in a card's memory, which the hook does not see
  const zrt::plan::PhysicalMapping* prefill = nullptr;
  const zrt::plan::PhysicalMapping* decode = nullptr;
  std::uint64_t allocated_bytes = 0;  ///< everything that went through the allocator hook and still lives
  std::uint32_t prefill_tokens = 0;   ///< of a step that reads prompts
  std::vector<MemoryPart> parts{};    ///< each piece of the device's memory
};

/// An engine with its backend hidden, so that each subcommand is compiled once.
///
/// The virtual calls lie above the engine, once per step; below it nothing is virtual.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  [[nodiscard]] virtual std::string_view backend() const = 0;
  [[nodiscard]] virtual std::string_view isa() = 0;
  [[nodiscard]] virtual const zrt::model::GgufFile& file() const = 0;
  [[nodiscard]] virtual const zrt::model::Config& config() const = 0;
  [[nodiscard]] virtual const zrt::plan::CompiledPlan& plan() const = 0;
  /// Where the plan is cut; null on one backend.
  [[nodiscard]] virtual const zrt::plan::PlanSplit* split() = 0;
  [[nodiscard]] virtual const zrt::text::Tokenizer* tokenizer() const = 0;
  [[nodiscard]] virtual std::uint32_t context() const = 0;
  /// For a model in memory.
  [[nodiscard]] virtual EngineMemory memory_parts() = 0;

  // What zrt::ModelSet asks of an engine.
  [[nodiscard]] virtual zrt::HeldMemory memory() = 0;
  [[nodiscard]] virtual zrt::Result<void> evict() = 0;
  [[nodiscard]] virtual zrt::Result<void> reopen() = 0;
  [[nodiscard]] virtual bool is_resident() const = 0;
  [[nodiscard]] virtual zrt::Result<void> hold(bool on) = 0;
  [[nodiscard]] virtual std::size_t running() = 0;
  [[nodiscard]] virtual zrt::TenantUse use(zrt::TenantId tenant) = 0;
  [[nodiscard]] virtual std::uint64_t rate_wait_ns() = 0;
  virtual void charge(zrt::TenantId tenant, const zrt::TenantUse& elsewhere) = 0;

  [[nodiscard]] virtual zrt::Result<zrt::RequestId> submit(const zrt::Request& request) = 0;
  virtual void cancel(zrt::RequestId id) = 0;
  [[nodiscard]] virtual zrt::Result<void> pause(zrt::RequestId id, bool on) = 0;
  [[nodiscard]] virtual zrt::Result<zrt::AdapterId> load_adapter(const std::string& path, float scale) = 0;
  /// See Engine::workers.
  [[nodiscard]] virtual zrt::ThreadHook workers() const = 0;
  /// Takes a model of the same backend that guesses for this one; see Engine::draft_with.
  [[nodiscard]] virtual zrt::Result<void> draft_with(std::unique_ptr<Model> drafter) = 0;
  [[nodiscard]] virtual std::uint32_t processed(zrt::RequestId id) = 0;
  /// See Engine::idle_ns.
  [[nodiscard]] virtual std::uint64_t idle_ns() = 0;
  /// See Engine::expect_tenants.
  [[nodiscard]] virtual zrt::Result<void> expect_tenants() = 0;
  [[nodiscard]] virtual zrt::Result<zrt::TenantId> create_tenant(const zrt::TenantQuota& quota) = 0;
  [[nodiscard]] virtual zrt::Result<void> change_tenant(zrt::TenantId tenant, const zrt::TenantQuota& quota) = 0;
  [[nodiscard]] virtual zrt::Result<void> remove_tenant(zrt::TenantId tenant) = 0;
  [[nodiscard]] virtual zrt::Result<zrt::TenantLedger> usage(zrt::TenantId tenant) const = 0;
  [[nodiscard]] virtual const zrt::PageTimes& page_times() const = 0;
  [[nodiscard]] virtual zrt::Result<std::size_t> step(const TokenCallback& on_token) = 0;
  /// See Engine::hear.
  [[nodiscard]] virtual zrt::Result<std::size_t> hear(const TokenCallback& on_token) = 0;
  [[nodiscard]] virtual zrt::Result<void> evaluate_steps(std::span<const std::int32_t> tokens, std::size_t steps,
                                                         const Choose& choose) = 0;
  [[nodiscard]] virtual zrt::Result<double> perplexity(std::string_view text) = 0;
  [[nodiscard]] virtual zrt::Result<zrt::Embeddings> embed(std::span<const zrt::EmbedInput> inputs,
                                                           const zrt::EmbedOptions& options) = 0;
  [[nodiscard]] virtual zrt::Result<zrt::trace::RunHeader> run_header() const = 0;
  /// For an engine that keeps values; it views this model.
  [[nodiscard]] virtual zrt::trace::ValidatedExecutor validated() = 0;
};

/// Who watches an engine: at most one of them.
struct Watchers {
  zrt::trace::Timeline* timeline = nullptr;
  zrt::trace::RunObserver run{};
};

using Opened = zrt::Result<std::unique_ptr<Model>>;

// Each is watched by whom `watchers` names.
[[nodiscard]] Opened open_cpu(const std::string& path, const zrt::EngineOptions& options, const Watchers& watchers);
[[nodiscard]] Opened open_reference(const std::string& path, const zrt::EngineOptions& options,
                                    const Watchers& watchers);
[[nodiscard]] Opened open_pm4(const std::string& path, const zrt::EngineOptions& options, const CardChoice& card,
                              const Watchers& watchers);
[[nodiscard]] Opened open_vulkan(const std::string& path, const zrt::EngineOptions& options, const CardChoice& device,
                                 const Watchers& watchers);
/// The first layers on the processor, the last on a Vulkan device; nobody watches.
[[nodiscard]] Opened open_vulkan_split(const std::string& path, const zrt::EngineOptions& options,
                                       const CardChoice& device);

/// Names no backend, but the first that works.
inline constexpr std::string_view kAutoBackend = "auto";

/// The backends of this program, by name.
[[nodiscard]] std::vector<std::string> backends();
/// What --backend takes: a backend, or kAutoBackend.
[[nodiscard]] std::vector<std::string> backend_choices();

/// Whether the backend of that name takes a --device.
[[nodiscard]] bool has_devices(std::string_view name);
/// Whether it takes --device-layers.
[[nodiscard]] bool has_layers(std::string_view name);
/// Whether it takes a --tier, too.
[[nodiscard]] bool has_tiers(std::string_view name);

/// The ways to a card's queues, as the command line spells them.
[[nodiscard]] std::vector<std::string> tiers();
/// The kernels that a modelled card can have: 6.12 and the like.
[[nodiscard]] std::vector<std::string> modelled_kernels();

/// Opens `model.path` on `model.backend` with `model.threads` and its guesses; the rest as `options` says. A model that
/// writes no text gets no draft model. Watched by whom `watchers` names.
[[nodiscard]] Opened open_model(const ModelOptions& model, zrt::EngineOptions options, const Watchers& watchers = {});
/// What requests of a command bring beside tokens.
struct PromptParts {
  std::uint32_t adapter_rank = 0;  ///< of the largest adapter; 0: none
  bool given_embeddings = false;   ///< rows of embeddings in prompts
  bool turns = false;              ///< a prompt begins as the one before it and its answer
};

/// Opens the model of a command that samples text.
[[nodiscard]] Opened open_model(const SampledOptions& options, const PromptParts& parts = {});

/// Opens a file as an engine that runs it does: that reads every key and has a place for each tensor.
[[nodiscard]] zrt::Result<void> expect_runs(const std::string& path);

/// Whether an engine with the usual number of positions computes what the file's metadata asks for.
[[nodiscard]] zrt::Result<void> expect_usual_context(const zrt::model::GgufFile& file);

/// The catalog by number: names, roles and parameter fields of the ops in a plan.
[[nodiscard]] const zrt::OpTable& op_table();

}  // namespace program
