// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model.cpp: the choice of a backend by name.
#include "model.hpp"
#include "output.hpp"

namespace program {
namespace {

struct BackendRow {
  std::string_view name;
  Opened (*open)(const std::string& path, const zrt::EngineOptions& options, const CardChoice& card,
                 const Watchers& watchers);
  bool has_devices = false;
  bool has_tiers = false;
  bool has_layers = false;
};

Opened open_best(const std::string& path, const zrt::EngineOptions& options, const CardChoice& card,
                 const Watchers& watchers);

constexpr BackendRow kBackendRows[] = {
    {"cpu",
     [](const auto& path, const auto& options, const auto&, const Watchers& w) { return open_cpu(path, options, w); }},
    {"reference", [](const auto& path, const auto& options, const auto&,
                     const Watchers& w) { return open_reference(path, options, w); }},
    {"vulkan", open_vulkan, true, false, true},
    {"pm4", open_pm4, true, true},
    {kAutoBackend, open_best},
};

/// A GPU by Vulkan, else the processor; says which, and why not the other. Packets for a card are taken by name alone.
Opened open_best(const std::string& path, const zrt::EngineOptions& options, const CardChoice& card,
                 const Watchers& watchers) {
  auto gpu = open_vulkan(path, options, card, watchers);
  if (gpu) {
    note("backend vulkan: " + std::string((*gpu)->isa()));
    return gpu;
  }
  auto model = open_cpu(path, options, watchers);
  if (model) note("backend cpu; not vulkan: " + std::string(gpu.error().text()));
  return model;
}

}  // namespace

std::vector<std::string> backend_choices() {
  std::vector<std::string> names;
  for (const BackendRow& backend : kBackendRows) names.emplace_back(backend.name);
  return names;
}

std::vector<std::string> backends() {
  std::vector<std::string> names = backend_choices();
  std::erase(names, kAutoBackend);
  return names;
}

namespace {

/// Null where no backend is called so.
const BackendRow* row_of(std::string_view name) {
  for (const BackendRow& backend : kBackendRows)
    if (backend.name == name) return &backend;
  return nullptr;
}

}  // namespace

bool has_devices(std::string_view name) {
  const BackendRow* const backend = row_of(name);
  return backend != nullptr && backend->has_devices;
}

bool has_layers(std::string_view name) {
  const BackendRow* const backend = row_of(name);
  return backend != nullptr && backend->has_layers;
}

bool has_tiers(std::string_view name) {
  const BackendRow* const backend = row_of(name);
  return backend != nullptr && backend->has_tiers;
}

namespace {

std::string packed_file(const ModelOptions& model, const std::string& path) {
  return model.cache ? path + ".packed" : std::string();
}

/// Of an engine that guesses for one that is open, with its workers.
zrt::EngineOptions draft_options(const zrt::EngineOptions& main, const Model& opened, std::string_view packed) {
  zrt::EngineOptions options = main;
  options.context = opened.context();
  options.thread_hook = opened.workers();
  options.packed_file = packed;
  options.draft_tokens = options.pages = options.kept_states = options.adapters = options.logit_rows = 0;
  options.prefix_pages = 0;
  options.prefix_cache = options.page_times = options.given_embeddings = options.embeddings = false;
  options.keep_values = false;
  return options;
}

}  // namespace

Opened open_model(const ModelOptions& model, zrt::EngineOptions options, const Watchers& watchers) {
  options.threads = model.threads;
  const std::string packed = packed_file(model, model.path), draft_packed = packed_file(model, model.draft_model);
  options.packed_file = packed;
  // What a user who names a model wants, where no number says otherwise.
  constexpr std::uint32_t kDrafts = 8;
  options.draft_tokens = model.draft.value_or(model.draft_model.empty() ? 0 : kDrafts);
  options.log = {nullptr, [](void*, zrt::LogLevel level, std::string_view text) noexcept {
                   if (level == zrt::LogLevel::warn) warn(text);
                 }};
  const BackendRow* const backend = row_of(model.backend);
  if (backend == nullptr)
    return zrt::fail(zrt::Errc::invalid_argument, "no backend is called ", std::string_view(model.backend));
  auto opened = backend->open(model.path, options, model.card, watchers);
  if (!opened) return std::unexpected(of_file(opened.error(), model.path));
  if (model.draft_model.empty() || options.draft_tokens == 0 || (*opened)->config().embeddings) return opened;
  // Of the model's own backend: a choice may fall otherwise for a smaller file.
  CardChoice card = model.card;
  card.layers = (*opened)->split() != nullptr ? kLayersThatFit : std::string_view();
  auto drafter = row_of((*opened)->backend())
                     ->open(model.draft_model, draft_options(options, **opened, draft_packed), card, watchers);
  if (!drafter) return std::unexpected(of_file(drafter.error(), model.draft_model));
  if (auto r = (*opened)->draft_with(std::move(*drafter)); !r)
    return std::unexpected(of_file(r.error(), model.draft_model));
  return opened;
}

Opened open_model(const SampledOptions& o, const PromptParts& parts) {
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.given_embeddings = parts.given_embeddings;
  options.prefix_cache = parts.turns;
  // The one from which a turn goes on stays until its first step, in which the next is kept.
  options.kept_states = parts.turns ? 2 : 0;
  options.penalty_window = o.sampling.penalty_window == 0 ? 1 : o.sampling.penalty_window;
  if (parts.adapter_rank != 0) {
    options.adapters = 1;
    options.adapter_rank = parts.adapter_rank;
  }
  return open_model(o.model, options);
}

zrt::Result<void> expect_runs(const std::string& path) {
  zrt::EngineOptions options;
  options.context = options.chunk = 16;
  const auto model = open_model({path, "reference", {}, 1}, options);
  if (!model) return zrt::pass(model);
  return {};
}

}  // namespace program
