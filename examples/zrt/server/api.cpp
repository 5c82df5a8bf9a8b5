// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/api.cpp: from an exchange to the route that answers it.
#include "api.hpp"
#include "base64.hpp"
#include "chat_answer.hpp"
#include "chat_page.hpp"
#include "chat_request.hpp"
#include "completion_answer.hpp"
#include "completion_request.hpp"
#include "embedding_request.hpp"
#include "json_body.hpp"

#include <algorithm>

namespace program::server {
namespace {

constexpr const char* kJson = "application/json";

/// Whether a path is a route's. What stands at its * goes to `argument`.
bool matches(std::string_view route, std::string_view path, std::string& argument) {
  const std::size_t star = route.find('*');
  if (star == std::string_view::npos) return route == path;
  const std::string_view before = route.substr(0, star), behind = route.substr(star + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind))
    return false;
  const std::string_view found = path.substr(before.size(), path.size() - before.size() - behind.size());
  // What is no encoding of anything is a name that nothing has.
  argument = percent_decoded(found).value_or(std::string(found));
  return behind.empty() || found.find('/') == std::string_view::npos;
}

/// What stands behind the scheme of an `Authorization`; none of another scheme.
std::optional<std::string_view> behind_scheme(std::string_view value, std::string_view scheme) {
  if (lower_case(value.substr(0, scheme.size())) != scheme) return {};
  value.remove_prefix(scheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

/// The key of `Authorization: Bearer KEY`, the password of `Authorization: Basic`, whatever the name, or `api-key`.
std::string key_of(const HttpRequest& request) {
  const std::string_view value = request.header("authorization");
  if (const auto key = behind_scheme(value, "bearer ")) return std::string(*key);
  if (const auto encoded = behind_scheme(value, "basic ")) {
    const std::string pair = bytes_of_base64(*encoded).value_or("");
    const std::size_t colon = pair.find(':');
    return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
  }
  return std::string(request.header("api-key"));
}

/// 404, or 405 where the path has other methods.
ApiError no_route(const HttpRequest& request, const std::string& methods) {
  if (methods.empty()) return not_found("there is no " + request.path, "unknown_url");
  ApiError error{405,
                 "invalid_request_error",
                 "method_not_allowed",
                 {},
                 request.method + " is not a method of " + request.path + ", expected " + methods,
                 0};
  error.methods = methods;
  return error;
}

bool is_json(const HttpRequest& request) {
  std::string type = lower_case(request.header("content-type"));
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  return type == kJson || (type.starts_with("application/") && type.ends_with("+json"));
}

bool is_encoded(const HttpRequest& request) {
  const std::string coding = lower_case(request.header("content-encoding"));
  return !coding.empty() && coding != "identity";
}

}  // namespace

const Api::Route Api::kRoutes[] = {
    {"GET", "/livez", nullptr, false, &Api::live},
    {"GET", "/readyz", nullptr, false, &Api::ready},
    {"GET", "/health", nullptr, false, &Api::ready},
    {"GET", "/", kBasic, false, &Api::page},
    {"GET", "/metrics", kBearer, false, &Api::metrics},
    {"GET", "/v1/models", kBearer, false, &Api::models},
    {"GET", "/v1/models/*", kBearer, false, &Api::model},
    {"GET", "/v1/tenants/*/usage", kBearer, false, &Api::usage},
    {"GET", "/v1/load", kBearer, false, &Api::load},
    {"POST", "/v1/chat/completions", kBearer, true, &Api::chat},
    {"POST", "/v1/completions", kBearer, true, &Api::completion},
    {"POST", "/v1/embeddings", kBearer, true, &Api::embedding},
};

Api::Api(ApiServices services, TenantKeys& keys, ApiOptions options)
    : services_(services), keys_(keys), options_(std::move(options)) {}

void Api::handle(const std::shared_ptr<Exchange>& exchange) {
  try {
    handle_checked(exchange);
  } catch (const ApiError& error) {
    reply_error(*exchange, error, services_.metrics);
  }
}

/// Of a request that is refused the keys are looked at once.
HttpHost::Answer Api::answer_unread(const HttpRequest& head) {
  try {
    Call call;
    if (head.method != "OPTIONS" && admit(head, call).waits) return {};
  } catch (const ApiError& error) {
    return
        [this, error](const std::shared_ptr<Exchange>& exchange) { reply_error(*exchange, error, services_.metrics); };
  }
  return [this](const std::shared_ptr<Exchange>& exchange) { handle(exchange); };
}

/// The route of a request that is answered, and who asks. Looks at the head alone.
const Api::Route& Api::admit(const HttpRequest& request, Call& call) const {
  check_host(request);
  const Found found = find_route(request, call.argument);
  // Who has no key learns no routes.
  const char* challenge = found.route != nullptr ? found.route->challenge : found.open ? nullptr : kBearer;
  const bool open = options_.open_metrics && found.route != nullptr && found.route->answer == &Api::metrics &&
                    key_of(request).empty();
  if (challenge != nullptr && !open) call.tenant = tenant_of(request, challenge);
  if (found.route == nullptr) throw no_route(request, found.methods);
  const Route& route = *found.route;
  if (!route.waits) return route;
  if (draining_) throw unavailable(kShuttingDown, "draining");
  if (!is_json(request))
    throw ApiError{415, "invalid_request_error", {}, {}, "expected Content-Type application/json", 0};
  if (is_encoded(request))
    throw ApiError{415, "invalid_request_error", {}, {}, "expected a body without Content-Encoding", 0};
  return route;
}

void Api::handle_checked(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  if (request.method == "OPTIONS") {
    check_host(request);
    services_.metrics.answered(204);
    return exchange->reply(204, {}, {});
  }
  Call call{exchange, {}, {}};
  const Route& route = admit(request, call);
  if (!route.waits) return (this->*route.answer)(call);
  ++reading_;
  const std::string owner = call.tenant.id;
  const bool posted = services_.work.try_post(owner, [this, &route, call = std::move(call)] {
    guard(call, [&] { (this->*route.answer)(call); });
    --reading_;
  });
  if (!posted) --reading_;
  if (!posted) throw unavailable("too many requests wait; try again");
}

template <class F> void Api::guard(const Call& call, F work) {
  try {
    work();
  } catch (const ApiError& error) {
    reply_error(*call.exchange, error, services_.metrics);
  } catch (const std::bad_alloc&) {
    reply_error(*call.exchange, unavailable("no memory is left", "out_of_memory"), services_.metrics);
  } catch (const std::exception& error) {
    reply_error(*call.exchange, {500, "server_error", {}, {}, error.what(), 0}, services_.metrics);
  }
}

void Api::check_host(const HttpRequest& request) const {
  if (!options_.local) return;
  std::string host = lower_case(request.header("host"));
  const std::size_t colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) host.resize(colon);
  constexpr std::string_view kLocal[] = {"", "localhost", "127.0.0.1", "[::1]"};
  if (std::find(std::begin(kLocal), std::end(kLocal), host) == std::end(kLocal))
    throw ApiError{403,
                   "invalid_request_error",
                   "host_not_allowed",
                   {},
                   "the host is not this machine; a file of keys opens the server to others",
                   0};
}

Tenant Api::tenant_of(const HttpRequest& request, const char* challenge) const {
  const std::string key = key_of(request);
  if (auto tenant = keys_.find(key)) return *tenant;
  ApiError error{401, "invalid_request_error", "invalid_api_key", {}, "the key is not known", 0};
  if (key.empty()) error.message = "expected Authorization: Bearer KEY, or a key as the password of Basic";
  error.challenge = challenge;
  throw error;
}

Api::Found Api::find_route(const HttpRequest& request, std::string& argument) {
  Found found;
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const Route& route : kRoutes) {
    if (!matches(route.path, request.path, argument)) continue;
    if (method == route.method) found.route = &route;
    found.open |= route.challenge == nullptr;
    found.methods += std::string_view(route.method) == "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
    break;
  }
  return found;
}

void Api::reply(const Call& call, const Json& json) {
  services_.metrics.answered(200);
  call.exchange->reply(200, kJson, text_of(json));
}

// --- probes and figures ---------------------------------------------------------------------------------

namespace {
/// Whether a model, or an adapter of it, is a tenant's to use.
bool may_use(const Tenant& tenant, const ServedModel& model) {
  return tenant.may_use(model.id) ||
         std::ranges::any_of(model.adapters, [&](const ServedAdapter& adapter) { return tenant.may_use(adapter.id); });
}

Json usage_json(const zrt::TenantLedger& used) {
  return {{"requests", used.requests_accepted},      {"prompt_tokens", used.prompt_tokens},
          {"cached_tokens", used.cached_tokens},     {"completion_tokens", used.delivered_tokens},
          {"computed_tokens", used.computed_tokens}, {"recomputed_tokens", used.recomputed_tokens},
          {"drafted_tokens", used.drafted_tokens},   {"accepted_drafts", used.accepted_drafts},
          {"preemptions", used.preemptions},         {"refused", used.requests_refused}};
}

const char* state_of(const zrt::ModelReport& report) {
  return !report.resident ? "evicted" : report.drains ? "draining" : "loaded";
}
}  // namespace

void Api::check_turns() const {
  if (!services_.engine.turns()) throw unavailable("the engine has not finished its step", "stuck");
}
void Api::live(const Call& call) {
  check_turns();
  reply(call, {{"status", "live"}});
}
void Api::ready(const Call& call) {
  if (draining_) throw unavailable(kShuttingDown, "draining");
  check_turns();
  reply(call, {{"status", "ready"}});
}
void Api::page(const Call& call) {
  services_.metrics.answered(200);
  call.exchange->add_header("Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                            "frame-ancestors 'none'");
  call.exchange->add_header("X-Content-Type-Options", "nosniff");
  call.exchange->reply(200, "text/html; charset=utf-8", kChatPage);
}
void Api::metrics(const Call& call) {
  services_.metrics.answered(200);
  const Metrics& figures = services_.metrics;
  const bool vllm = options_.vllm_metrics;
  // Whose lengths, times and hits they are, a sum over all tells whoever knows his own.
  const std::string text = call.tenant.admin        ? figures.text(vllm, connections_())
                           : call.tenant.id.empty() ? figures.text_for_routers(vllm)
                                                    : figures.text_of(call.tenant.id, vllm);
  call.exchange->reply(200, "text/plain; version=0.0.4; charset=utf-8", text);
}
void Api::usage(const Call& call) {
  if (call.argument != call.tenant.id && !call.tenant.admin)
    throw ApiError{403, "invalid_request_error", "permission_denied", {}, "the key is another tenant's", 0};
  const auto used = services_.metrics.usage(call.argument);
  if (!used) throw not_found("there is no tenant '" + call.argument + "'", "tenant_not_found");
  Json json{{"object", "tenant.usage"}, {"tenant", call.argument}};
  json.update(usage_json(sum_of(*used)));
  Json by_model = Json::object();
  for (std::size_t m = 0; m < used->size(); ++m)
    if (may_use(call.tenant, *services_.models[m])) by_model[services_.metrics.name(m)] = usage_json((*used)[m]);
  json["models"] = std::move(by_model);
  reply(call, json);
}
namespace {
/// Pages of each slot that works, and whose they are: all for an admin, else the tenant's own.
Json held_json(const std::vector<SlotPages>& slots, const Tenant& asks) {
  Json out = Json::array();
  for (const SlotPages& slot : slots)
    if (slot.pages != 0 && (asks.admin || slot.tenant == asks.id))
      out.push_back({{"tenant", slot.tenant}, {"pages", slot.pages}});
  return out;
}
}  // namespace

/// For the live view of the page: what runs, of all tenants for an admin, else of the one that asks.
void Api::load(const Call& call) {
  Json models = Json::array();
  std::uint32_t slots = 0, running = 0, waiting = 0;
  std::uint64_t pages = 0;
  double used_pages = 0.0;
  const bool all = call.tenant.admin;
  const std::vector<ModelLoad> loads = all ? services_.metrics.loads() : services_.metrics.loads_of(call.tenant.id);
  const auto slots_of = services_.metrics.slots();
  for (std::size_t m = 0; m < loads.size(); ++m) {
    const ModelLoad& load = loads[m];
    if (!may_use(call.tenant, *services_.models[m])) continue;
    slots += load.slots, running += load.running, waiting += load.waiting;
    pages += load.pages, used_pages += load.pages_used * static_cast<double>(load.pages);
    models.push_back({{"id", services_.metrics.name(m)},
                      {"slots", load.slots},
                      {"running", load.running},
                      {"waiting", load.waiting},
                      {"pages", load.pages},
                      {"pages_used", load.pages_used},
                      {"held", held_json(slots_of[m], call.tenant)}});
    if (!all) continue;
    models.back().update({{"state", state_of(load.report)},
                          {"memory_bytes", load.report.memory.total()},
                          {"needs_bytes", load.report.needs},
                          {"evictions", load.report.evictions}});
  }
  Json tenants = Json::array();
  for (const auto& [id, usage] : services_.metrics.usages())
    if (call.tenant.admin || id == call.tenant.id) {
      const zrt::TenantLedger used = sum_of(usage);
      tenants.push_back(
          {{"id", id}, {"requests", used.requests_accepted}, {"completion_tokens", used.delivered_tokens}});
    }
  Json json{{"slots", slots},
            {"running", running},
            {"waiting", waiting},
            {"pages", pages},
            {"pages_used", pages == 0 ? 0.0 : used_pages / static_cast<double>(pages)}};
  if (all) json["connections"] = connections_();
  json["models"] = std::move(models);
  json["tenants"] = std::move(tenants);
  reply(call, json);
}

// --- models ---------------------------------------------------------------------------------------------

/// What is in memory depends on what all tenants ask, and only an admin sees it.
Json Api::model_json(const ServedModel& model, const Tenant& asks) const {
  Json json{{"id", model.id},
            {"object", "model"},
            {"created", model.created},
            {"owned_by", "zrt"},
            {"images", model.images.has_value()},
            {"embeddings", model.embeds}};
  if (!asks.admin) return json;
  const zrt::ModelReport report = services_.metrics.loads()[static_cast<std::size_t>(model.place)].report;
  json["state"] = state_of(report);
  json["memory_bytes"] = report.memory.total();
  return json;
}
Json Api::adapter_json(const ServedModel& model, const ServedAdapter& adapter, const Tenant& asks) const {
  Json json = model_json(model, asks);
  json["id"] = adapter.id;
  json["parent"] = model.id;
  return json;
}

void Api::models(const Call& call) {
  Json data = Json::array();
  for (const auto& served : services_.models) {
    if (call.tenant.may_use(served->id)) data.push_back(model_json(*served, call.tenant));
    for (const ServedAdapter& adapter : served->adapters)
      if (call.tenant.may_use(adapter.id)) data.push_back(adapter_json(*served, adapter, call.tenant));
  }
  reply(call, {{"object", "list"}, {"data", std::move(data)}});
}
void Api::model(const Call& call) {
  const ServedModel* served = find_model(services_.models, call.argument);
  if (served == nullptr || !call.tenant.may_use(call.argument)) throw no_model(call.argument);
  if (call.argument == served->id) return reply(call, model_json(*served, call.tenant));
  reply(call,
        adapter_json(*served, *std::ranges::find(served->adapters, call.argument, &ServedAdapter::id), call.tenant));
}

// --- work -----------------------------------------------------------------------------------------------

namespace {
/// An answer ends where its tenant's positions or pages do. The last token is never computed and needs no page.
void fit_quota(const zrt::TenantQuota& quota, Asked& choice) {
  const std::uint64_t room = std::min<std::uint64_t>(quota.max_context, std::uint64_t{quota.max_pages} * 16 + 1);
  const std::uint64_t prompt = choice.tokens.size();
  if (prompt < room)
    choice.max_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(choice.max_tokens, room - prompt));
}
}  // namespace

/// How many choices of a tenant may run and wait.
std::optional<std::uint64_t> Api::most_open(const zrt::TenantQuota& quota) const {
  if (quota.max_queued == unbounded_quota().max_queued) return {};
  std::uint64_t slots = 0;
  for (const ModelLoad& load : services_.metrics.loads()) slots += std::min(quota.max_slots, load.slots);
  return slots + quota.max_queued;
}

/// Tells which fields counted for nothing, as far as a header of a few hundred bytes has room.
void Api::name_ignored(const Call& call, const std::vector<std::string>& names) const {
  constexpr std::size_t kMostBytes = 512;
  constexpr std::string_view kMore = "...";
  std::string list;
  for (const std::string& name : names) {
    const std::string shown = percent_encoded(name);
    const bool fits = list.size() + 2 + shown.size() + 2 + kMore.size() <= kMostBytes;
    list.append(list.empty() ? "" : ", ").append(fits ? shown : kMore);
    if (!fits) break;
  }
  if (!list.empty()) call.exchange->add_header("X-Zrt-Ignored-Fields", list);
}

/// The body of a call, once.
Json Api::body_of(const Call& call) {
  Json json = read_body(call.exchange->request().body);
  call.exchange->drop_body();
  return json;
}

const ServedModel& Api::model_of(const Json& body, const Tenant& asks) const {
  const ServedModel* found = nullptr;
  if (body.is_object())
    if (const auto field = body.find("model"); field != body.end() && field->is_string()) {
      const auto& name = field->get_ref<const std::string&>();
      found = find_model(services_.models, name);
      if ((found == nullptr && services_.models.size() > 1) || !asks.may_use(name)) throw no_model(name);
    }
  return found == nullptr ? *services_.models.front() : *found;
}

namespace {
/// Who shares what is kept for a tenant: its group, as with prefixes, or nobody else.
std::string owner_of(const Tenant& tenant) {
  return tenant.quota.group == 0 ? tenant.id : "group " + std::to_string(tenant.quota.group);
}
}  // namespace

template <class A> void Api::generate(const Call& call, RequestReader read) {
  const Json body = body_of(call);
  const ServedModel& served = model_of(body, call.tenant);
  if (served.embeds) throw bad_field("model", "the model gives embeddings, not text");
  GenerationRequest request = read(body, served, owner_of(call.tenant));
  if (request.choices.size() > services_.engine.most())
    throw bad_field("n", "the request asks for " + std::to_string(request.choices.size()) +
                             " choices, slots and queue hold " + std::to_string(services_.engine.most()));
  const zrt::TenantQuota& quota = call.tenant.quota;
  if (request.choices.size() > quota.max_queued)
    throw bad_field("n", "the request asks for " + std::to_string(request.choices.size()) +
                             " choices, the queue of its tenant holds " + std::to_string(quota.max_queued));
  for (Asked& choice : request.choices) {
    choice.tenant = call.tenant.id;
    choice.model = served.place;
    fit_quota(quota, choice);
  }
  name_ignored(call, request.ignored);
  request.most_open = most_open(quota);
  if (request.images.empty()) return answer<A>(call, served, std::move(request));
  encode<A>(call, served, std::move(request));
}

template <class A> void Api::answer(const Call& call, const ServedModel& served, GenerationRequest request) {
  auto answer = std::make_shared<A>(Services{served, services_.metrics, services_.engine, services_.work},
                                    call.exchange, std::move(request));
  answer->start();
}

namespace {
/// The images of a request as its tenant's.
std::unique_ptr<ImageJob> job_of(GenerationRequest& request, const Tenant& tenant, const ServedImages& model) {
  auto job = std::make_unique<ImageJob>();
  job->tenant = tenant.id;
  job->weight = tenant.quota.weight;
  job->model = &model;
  job->images = std::move(request.images);
  std::uint64_t rows = 0;
  for (const RequestImage& image : job->images) rows += image.rows;
  job->bytes = rows * model.row_numbers * sizeof(float) * request.choices.size();
  return job;
}

/// Gives encoded images to the choices, which share them.
void give_images(ImageJob& job, GenerationRequest& request) {
  auto images = std::make_shared<AskedImages>();
  images->rows = std::move(job.done);
  for (const RequestImage& image : job.images) images->firsts.push_back(image.first);
  for (Asked& choice : request.choices) {
    choice.images = images;
    choice.lease = job.lease;
  }
}
}  // namespace

/// Has the images of a request encoded, and answers it then.
template <class A> void Api::encode(const Call& call, const ServedModel& served, GenerationRequest request) {
  for (Asked& choice : request.choices) choice.arrived = std::chrono::steady_clock::now();
  auto job = job_of(request, call.tenant, *served.images);
  job->gone = [exchange = call.exchange] { return exchange->gone(); };
  // A drain waits for what is read, as this is until the engine knows it.
  ++reading_;
  const std::shared_ptr<void> reads(&reading_, [](std::atomic<std::size_t>* reading) { --*reading; });
  auto kept = std::make_shared<GenerationRequest>(std::move(request));
  job->hear = [this, call, kept, reads, &served](std::unique_ptr<ImageJob> done, const zrt::Error* error) {
    std::shared_ptr<ImageJob> images = std::move(done);
    std::optional<ApiError> fault;
    if (error != nullptr) fault = image_error(*error, images->images[images->done.size()].path);
    services_.work.post([this, call, kept, reads, images, fault, &served] {
      guard(call, [&] {
        if (fault) throw *fault;
        give_images(*images, *kept);
        answer<A>(call, served, std::move(*kept));
      });
    });
  };
  services_.images.push(std::move(job), most_open(call.tenant.quota));
}

void Api::chat(const Call& call) { generate<ChatAnswer>(call, &read_chat_request); }
void Api::completion(const Call& call) { generate<CompletionAnswer>(call, &read_completion_request); }

namespace {
/// The texts of a request as its tenant's. Throws ApiError for one that no five seconds of its rate hold.
std::unique_ptr<EmbedJob> job_of(const EmbeddingRequest& request, const Tenant& tenant, zrt::Pooling pooling) {
  auto job = std::make_unique<EmbedJob>();
  job->tenant = tenant.id;
  job->quota = tenant.quota;
  job->pooling = pooling;
  const std::uint32_t most = zrt::serve::TokenWindow{}.room(tenant.quota.prefill_tokens_per_s);
  for (const Prompt& prompt : request.inputs) {
    if (prompt.tokens.size() > most)
      throw bad_field("input", "a text has " + std::to_string(prompt.tokens.size()) +
                                   " tokens, five seconds of the tenant's rate hold " + std::to_string(most));
    job->texts.push_back(prompt.tokens);
  }
  return job;
}
}  // namespace

void Api::embedding(const Call& call) {
  const Json body = body_of(call);
  const ServedModel& served = model_of(body, call.tenant);
  if (!served.embeds)
    throw bad_field("model", "the model gives text, not embeddings; zrt serve --embeddings serves vectors");
  auto request = std::make_shared<EmbeddingRequest>(read_embedding_request(body, served));
  auto job = job_of(*request, call.tenant, served.pooling);
  name_ignored(call, request->ignored);
  job->model = served.place;
  job->gone = [exchange = call.exchange] { return exchange->gone(); };
  job->hear = [this, call, request, &served](zrt::Result<TextVectors> found) {
    auto kept = std::make_shared<zrt::Result<TextVectors>>(std::move(found));
    services_.work.post([this, call, request, kept, &served] {
      try {
        if (!*kept) throw api_error(kept->error(), "input");
        reply(call, embedding_answer(*request, **kept, served));
      } catch (const ApiError& error) {
        reply_error(*call.exchange, error, services_.metrics);
      }
    });
  };
  const std::optional<std::uint64_t> most = most_open(call.tenant.quota);
  if (most) job->taken = [&](std::uint64_t open) { show_quota(*call.exchange, *most, open); };
  using Refusal = EngineLoop::Refusal;
  switch (services_.engine.embed(std::move(job), most)) {
    case Refusal::none:
      return;
    case Refusal::tenant_full:
      show_quota(*call.exchange, *most, *most);
      throw tenant_full(1);
    case Refusal::queue_full:
      throw unavailable("too many requests wait; try again");
  }
}

}  // namespace program::server
