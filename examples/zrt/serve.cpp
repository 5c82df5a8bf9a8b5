// SPDX-License-Identifier: Apache-2.0
// examples/zrt/serve.cpp: a server of the OpenAI API: opens, waits for signals, drains.
#include "chat_template_source.hpp"
#include "commands.hpp"
#include "image/read_image.hpp"
#include "image_prompt.hpp"
#include "model_choice.hpp"
#include "output.hpp"
#include "server/front.hpp"
#include "vision_model.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <pthread.h>
#include <random>
#include <sys/resource.h>
#include <thread>

namespace program {
namespace {

using namespace server;

/// For the last answers to leave: this share of the time of a drain, within these bounds. Behind them the engine has the
/// most of it to end its step.
constexpr int kLastAnswersShare = 8;
constexpr std::chrono::milliseconds kLeastLastAnswers{100}, kMostLastAnswers{1000};
/// From one look at the signals to the next while models load.
constexpr std::chrono::milliseconds kLook{50};
/// That the tenants of an old and a new file of keys are both served.
constexpr std::chrono::milliseconds kBothFiles{100};
constexpr std::size_t kMostWork = 1024;
/// Tokens of echoed prompts whose log-probabilities a step computes, beside one of each.
constexpr std::uint32_t kToldRows = 16;
/// Of the largest size, that are read or wait at one time.
constexpr std::size_t kMostBodies = 16;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// These wait for the thread that asks for them; all other threads block them too.
void block_signals() {
  const sigset_t set = set_of({SIGTERM, SIGINT, SIGHUP});
  (void)pthread_sigmask(SIG_BLOCK, &set, nullptr);
  (void)std::signal(SIGPIPE, SIG_IGN);
}

/// Waits for a signal that ends the server.
void wait_for_end() {
  const sigset_t set = set_of({SIGTERM, SIGINT});
  for (int signal = 0; sigwait(&set, &signal) != 0;) continue;
}

/// Whether such a signal came, or comes within this time, of less than a second.
bool is_ended(std::chrono::nanoseconds time) {
  const sigset_t set = set_of({SIGTERM, SIGINT});
  const timespec wait{0, time.count()};
  return sigtimedwait(&set, nullptr, &wait) > 0;
}

zrt::Result<std::vector<Tenant>> tenants_of(const std::string& path) {
  if (path.empty()) return std::vector<Tenant>{};
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  return read_tenants(*text);
}

/// As many connections as descriptors are left for.
std::size_t most_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t kOwn = 64, kMost = 16384;
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur, kOwn * 2, kMost) - kOwn);
}

/// A model with what the server shows of it.
struct OpenedModel {
  std::unique_ptr<Model> model;
  std::unique_ptr<VisionModel> vision;  ///< null of one that reads text alone
  std::unique_ptr<ServedModel> served;
};

/// Clients must not find prompts whose hashes collide.
zrt::SipKey random_key() {
  std::random_device device;
  const auto word = [&device] { return (std::uint64_t{device()} << 32) | device(); };
  return {word(), word()};
}

zrt::Result<std::unique_ptr<Model>> open_engine(const ServeOptions& o, const NamedModel& named, std::size_t number) {
  const auto rank = adapter_rank(named.adapters);
  if (!rank) return zrt::pass(rank);
  zrt::EngineOptions options;
  if (!named.adapters.empty()) {
    options.adapters = static_cast<std::uint32_t>(named.adapters.size());
    options.adapter_rank = *rank;
  }
  options.model = static_cast<std::uint32_t>(number);
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.slots = o.slots;
  options.embeddings = o.embeddings;
  // The server's own queue is full before the engine's, so what the engine refuses is a tenant's.
  options.queue = static_cast<std::uint32_t>(o.models.size()) * o.slots + o.queue;
  options.prefix_cache = options.page_times = !o.embeddings;
  options.prefix_key = random_key();
  // Before the connection is given up for lack of progress, so that the client may still hear why.
  options.slow_client_ns = 10'000'000'000;
  options.step_latency_ns = std::uint64_t{o.step_ms} * 1'000'000;
  // While each slot loads its own, one more may be written.
  options.kept_states = o.embeddings ? 0 : o.slots + 1;
  options.penalty_window = kPenaltyWindow;
  options.bias_entries = static_cast<std::uint32_t>(kMostBiases);
  options.given_embeddings = !named.mmproj.empty();
  if (!o.embeddings) options.logit_rows = o.slots + kToldRows;
  ModelOptions model = o.model;
  model.path = named.path;
  if (o.embeddings) model.draft = 0;
  return open_model(model, options);
}

/// How a model takes images by its encoder.
zrt::Result<ServedImages> served_images(VisionModel& vision, const Model& model, const ServeOptions& o) {
  const auto tokens = ImageTokens::of(*model.tokenizer());
  if (!tokens) return zrt::pass(tokens);
  const auto encode = [&vision, limits = o.image_limits](std::string_view file) -> zrt::Result<zrt::ImageRows> {
    const auto image = image::read_image(file, kMostRequestPixels);
    if (!image) return zrt::pass(image);
    return vision.encode(*image, limits);
  };
  return ServedImages{vision.config(), o.image_limits, tokens->row, model.config().given_width(), encode};
}

/// Opens the encoder of a model that has one.
zrt::Result<std::unique_ptr<VisionModel>> open_vision(const ServeOptions& o, const NamedModel& named,
                                                      const Model& model) {
  if (named.mmproj.empty()) return std::unique_ptr<VisionModel>();
  return VisionModel::open(named.mmproj, o.model.threads, model.config().given_width());
}

/// Opens a model with its adapters and its encoder of images, and reads its template.
zrt::Result<OpenedModel> open_served(const ServeOptions& o, const NamedModel& named, std::size_t number) {
  auto model = open_engine(o, named, number);
  if (!model) return zrt::pass(model);
  const auto source = chat_template_source(o.chat_template, **model);
  if (!source) return zrt::pass(source);
  auto served = served_model(**model, named.name, *source);
  if (!served) return zrt::pass(served);
  for (const NamedAdapter& adapter : named.adapters) {
    const auto id = (*model)->load_adapter(adapter.choice.path, adapter.choice.scale);
    if (!id) return std::unexpected(of_file(id.error(), adapter.choice.path));
    (*served)->adapters.push_back({adapter.name, *id});
  }
  auto vision = open_vision(o, named, **model);
  if (!vision) return zrt::pass(vision);
  if (*vision != nullptr) {
    auto images = served_images(**vision, **model, o);
    if (!images) return zrt::pass(images);
    (*served)->images = std::move(*images);
  }
  return OpenedModel{std::move(*model), std::move(*vision), std::move(*served)};
}

/// The models of a server, which views them from one address.
struct Box {
  std::vector<std::unique_ptr<Model>> engines;
  std::vector<std::unique_ptr<VisionModel>> visions;
  ServedModels served;
  std::optional<zrt::ModelSet<Model>> set;

  /// Opens one after the other; with a bound on memory, each leaves before the next one comes.
  [[nodiscard]] zrt::Result<void> open(const ServeOptions& o, const std::vector<NamedModel>& models) {
    auto made = zrt::ModelSet<Model>::make({.memory = o.memory_mib << 20});
    if (!made) return zrt::pass(made);
    set.emplace(std::move(*made));
    for (const NamedModel& named : models) {
      if (o.memory_mib != 0)
        for (const auto& engine : engines)
          if (auto r = engine->evict(); !r) return r;
      auto opened = open_served(o, named, engines.size());
      if (!opened) return zrt::pass(opened);
      const auto place = set->add(*opened->model);
      if (!place) return std::unexpected(of_file(place.error(), named.path));
      opened->served->place = *place;
      engines.push_back(std::move(opened->model));
      visions.push_back(std::move(opened->vision));
      served.push_back(std::move(opened->served));
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& model : served) out.push_back(model->id);
    return out;
  }
  [[nodiscard]] std::string listed() const {
    std::string out;
    for (const auto& model : served) out += (out.empty() ? "" : ", ") + model->id;
    return out;
  }
};

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "::1" || host == "localhost" || host.starts_with("unix:");
}

/// Errors: Errc::invalid_argument where a tenant may use a model that is not served: misspelt, it would be left without.
/// By its place, since what stands there may be a key.
zrt::Result<void> check_models(const std::vector<Tenant>& tenants, const ServedModels& models) {
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    if (!tenants[t].models) continue;
    const auto none = std::ranges::find_if_not(
        *tenants[t].models, [&](const std::string& id) { return find_model(models, id) != nullptr; });
    if (none == tenants[t].models->end()) continue;
    return zrt::fail(zrt::Errc::invalid_argument, "keys: 'tenants[", t, "].models[",
                     static_cast<std::size_t>(none - tenants[t].models->begin()), "]' is no model that is served");
  }
  return {};
}

/// Reads the keys again. A file that cannot be read changes nothing.
void reload_keys(const ServeOptions& o, TenantKeys& keys, EngineLoop& engine, const ServedModels& models) {
  auto tenants = tenants_of(o.keys);
  if (tenants)
    if (auto sound = check_models(*tenants, models); !sound) tenants = std::unexpected(sound.error());
  if (!tenants) return warn("the keys stay as they were: " + describe(tenants.error()));
  // A key that moves to a tenant of another name is one of a tenant that is served at any moment: while the keys change,
  // and requests that were read with the old ones reach the engine, it serves the tenants of both files, if it has room.
  const std::vector<Tenant> before = keys.all();
  const bool both = engine.set_tenants(with_those_of(*tenants, before)).has_value();
  if (both) {
    keys.replace(*tenants);
    std::this_thread::sleep_for(kBothFiles);
  }
  if (auto set = engine.set_tenants(*tenants); !set) {
    if (both) keys.replace(before);
    return warn("the keys stay as they were: " + describe(set.error()));
  }
  if (!both) keys.replace(std::move(*tenants));
  note("the keys were read again");
}

void reload_certificate(TlsContext& tls) {
  if (auto read = tls.reload(); !read) return warn("the certificate stays as it was: " + describe(read.error()));
  note("the certificate was read again");
}

/// What SIGHUP asks for.
void reload(const ServeOptions& o, TenantKeys& keys, EngineLoop& engine, const ServedModels& models, TlsContext* tls) {
  if (!keys.open()) reload_keys(o, keys, engine, models);
  if (tls != nullptr) reload_certificate(*tls);
  if (keys.open() && tls == nullptr) note("no --keys and no --tls-cert to read again");
}

/// Hears SIGHUP in a thread of its own: tenants change between two steps, and in a long one the signal that ends the server
/// is heard too.
class Reloads {
 public:
  explicit Reloads(std::function<void()> reload)
      : thread_([this, reload = std::move(reload)] {
          const sigset_t set = set_of({SIGHUP});
          for (int signal = 0; sigwait(&set, &signal) == 0 && !ends_;) reload();
        }) {}
  Reloads(const Reloads&) = delete;
  Reloads& operator=(const Reloads&) = delete;
  /// Waits for what it reads.
  ~Reloads() {
    ends_ = true;
    (void)pthread_kill(thread_.native_handle(), SIGHUP);
    thread_.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// Opens the models while the server answers probes. A signal ends the program, which has nothing to finish.
zrt::Result<void> load(Box& box, const ServeOptions& o, const std::vector<NamedModel>& models,
                       std::unique_ptr<HttpServer>& server) {
  auto opened = std::async(std::launch::async, [&] { return box.open(o, models); });
  while (opened.wait_for(kLook) != std::future_status::ready) {
    if (!is_ended({})) continue;
    note("ended while the models were loading");
    server = nullptr;
    std::_Exit(kOk);
  }
  return opened.get();
}

/// Null where the server is to speak in plain.
zrt::Result<std::shared_ptr<TlsContext>> tls_of(const ServeOptions& o) {
  if (o.tls_certificate.empty()) return std::shared_ptr<TlsContext>();
  return TlsContext::open({o.tls_certificate, o.tls_key});
}

/// Time of a drain that is left to clients to read the last of their answers.
std::chrono::milliseconds last_answers(const ServeOptions& o) {
  const std::chrono::milliseconds whole = std::chrono::seconds(o.drain_seconds);
  return std::clamp(whole / kLastAnswersShare, kLeastLastAnswers, kMostLastAnswers);
}

/// Lets requests finish until the deadline, with the time for the last answers before it, or a second signal.
void drain(const ServeOptions& o, const Api& api, EngineLoop& engine) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(o.drain_seconds) - 2 * last_answers(o);
  // What is read goes to the engine before it is counted as read, so this order misses none.
  while (api.reads() || !engine.drain(std::chrono::milliseconds(0))) {
    if (!is_ended(std::chrono::milliseconds(100)) && std::chrono::steady_clock::now() < deadline) continue;
    note("what still runs ends with an error");
    return engine.abort();
  }
}

}  // namespace

int serve_model(const ServeOptions& o) {
  block_signals();
  auto tenants = tenants_of(o.keys);
  if (!tenants) return failed(tenants.error());
  if (tenants->empty() && !is_loopback(o.host))
    return usage("--host " + o.host + " is open to others and needs --keys");
  const auto tls = tls_of(o);
  if (!tls) return failed(tls.error());
  if (o.image_limits.most < o.image_limits.least) return usage("--image-max-tokens is below --image-min-tokens");
  const auto models = named_models({o.models, o.alias, o.mmproj, o.adapters});
  if (!models) return usage(describe(models.error()));
  Metrics metrics;
  Front front(o.origins, metrics);
  const std::size_t bodies = kMostBodies * (std::size_t{o.body_mib} << 20);
  HttpServerOptions http;
  http.host = o.host;
  http.port = o.port;
  http.tls = *tls;
  http.limits.body_bytes = std::size_t{o.body_mib} << 20;
  http.bodies_bytes = bodies;
  http.connections = most_connections();
  auto server = HttpServer::open(http, front.host());
  if (!server) return failed(server.error());
  const bool local = o.host.starts_with("unix:");
  note((local ? o.host : "port " + std::to_string((*server)->port())) + " is open, and the models load");
  Box box;
  if (auto loaded = load(box, o, *models, *server); !loaded) return failed(loaded.error());
  if (auto sound = check_models(*tenants, box.served); !sound) return failed(sound.error());
  metrics.set_models(box.names());
  for (const auto& served : box.served) metrics.set_adapters(served->place, served->adapters.size());
  auto work = std::make_unique<WorkPool>(o.http_threads, kMostWork);
  // Rows that the engine has may be its last, so the queue of images outlives it.
  ImageQueue images(std::size_t{o.slots} + o.queue, bodies);
  EngineLoop engine(*box.set, metrics, {o.slots, o.queue, std::chrono::milliseconds(o.longest_step_ms)},
                    [&work] { work->wake(); });
  if (auto set = engine.set_tenants(*tenants); !set) return failed(set.error());
  TenantKeys keys(std::move(*tenants));
  Api api({box.served, metrics, engine, images, *work}, keys,
          {o.metrics_compat == "vllm", o.metrics_open, keys.open()});
  api.set_connections([&server] { return (*server)->open_connections(); });
  front.open(api);
  auto reloads = std::make_unique<Reloads>([&] { reload(o, keys, engine, box.served, tls->get()); });
  note("nothing is kept from an earlier run: no requests, no caches");
  const std::string scheme = *tls == nullptr ? "http" : "https";
  note("serving " + box.listed() + " at " +
       (local ? o.host : scheme + "://" + o.host + ":" + std::to_string((*server)->port())));
  wait_for_end();
  note("no new requests; those that run may finish");
  api.drain();
  drain(o, api, engine);
  images.abort();
  (*server)->stop(last_answers(o));
  // What the engine says goes to the pool, and what the pool does to both.
  const auto ended = std::async(std::launch::async, [&] {
    images.stop();
    engine.stop();
    reloads = nullptr;
    work = nullptr;
  });
  if (ended.wait_for(kMostLastAnswers) == std::future_status::ready) return kOk;
  note("what still ran was broken off");
  std::_Exit(kFailed);
}

}  // namespace program
