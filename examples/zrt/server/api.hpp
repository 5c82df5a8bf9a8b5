// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/api.hpp: the routes of the OpenAI API, of probes and of figures.
#pragma once

#include "answer.hpp"
#include "http_server.hpp"
#include "image_queue.hpp"
#include "keys.hpp"

namespace program::server {

/// What a host chooses of the routes.
struct ApiOptions {
  bool vllm_metrics = false;
  bool open_metrics = false;  ///< figures without names of tenants need no key
  bool local = true;  ///< only names of this machine are answered: no page of another host reaches it through a browser
};

/// What the routes answer with.
struct ApiServices {
  const ServedModels& models;
  Metrics& metrics;
  EngineLoop& engine;
  ImageQueue& images;
  WorkPool& work;
};

/// Answers exchanges. Any thread.
class Api {
 public:
  Api(ApiServices services, TenantKeys& keys, ApiOptions options);

  /// What answers a request of this head without its body; empty where the body is to be read.
  [[nodiscard]] HttpHost::Answer answer_unread(const HttpRequest& head);
  /// Answers, or has it answered by a thread of the pool.
  void handle(const std::shared_ptr<Exchange>& exchange);
  /// Refuses new requests from now on.
  void drain() { draining_ = true; }
  /// Whether requests were taken that the engine does not know yet.
  [[nodiscard]] bool reads() const { return reading_ != 0; }
  /// Tells the number of open connections for the figures.
  void set_connections(std::function<std::size_t()> connections) { connections_ = std::move(connections); }

 private:
  struct Call {
    std::shared_ptr<Exchange> exchange;
    Tenant tenant;
    std::string argument;  ///< what stands in the place of * in the route's path
  };
  struct Route {
    const char* method;
    const char* path;       ///< one part of it may be *
    const char* challenge;  ///< to who brings no key; null: none is needed
    bool waits;             ///< it computes: a thread of the pool answers
    void (Api::*answer)(const Call&);
  };
  static const Route kRoutes[];

  void handle_checked(const std::shared_ptr<Exchange>& exchange);
  /// What the table has of a request's path.
  struct Found {
    const Route* route = nullptr;  ///< null where the path, or its method, is none of the server's
    bool open = false;             ///< some method of the path needs no key
    std::string methods{};         ///< of the path; none of an unknown one
  };
  const Route& admit(const HttpRequest& request, Call& call) const;
  /// Does what may throw, and answers a call with what is thrown.
  template <class F> void guard(const Call& call, F work);
  void check_host(const HttpRequest& request) const;
  [[nodiscard]] Tenant tenant_of(const HttpRequest& request, const char* challenge) const;
  [[nodiscard]] static Found find_route(const HttpRequest& request, std::string& argument);

  void check_turns() const;
  void live(const Call& call);
  void ready(const Call& call);
  void page(const Call& call);
  void metrics(const Call& call);
  void models(const Call& call);
  void model(const Call& call);
  void usage(const Call& call);
  void load(const Call& call);
  void chat(const Call& call);
  void completion(const Call& call);
  void embedding(const Call& call);
  /// The last one names whose compiled grammars a request may use.
  using RequestReader = GenerationRequest (*)(const Json&, const ServedModel&, const std::string& owner);
  template <class A> void generate(const Call& call, RequestReader read);
  template <class A> void answer(const Call& call, const ServedModel& served, GenerationRequest request);
  template <class A> void encode(const Call& call, const ServedModel& served, GenerationRequest request);
  void name_ignored(const Call& call, const std::vector<std::string>& names) const;
  [[nodiscard]] std::optional<std::uint64_t> most_open(const zrt::TenantQuota& quota) const;
  [[nodiscard]] static Json body_of(const Call& call);
  void reply(const Call& call, const Json& json);

  /// The model that a body names, which whoever asks may use; the first where it names none, whose reader says so.
  [[nodiscard]] const ServedModel& model_of(const Json& body, const Tenant& asks) const;
  [[nodiscard]] Json model_json(const ServedModel& model, const Tenant& asks) const;
  [[nodiscard]] Json adapter_json(const ServedModel& model, const ServedAdapter& adapter, const Tenant& asks) const;

  ApiServices services_;
  TenantKeys& keys_;
  ApiOptions options_;
  std::function<std::size_t()> connections_ = [] { return std::size_t{0}; };
  std::atomic<bool> draining_{false};
  std::atomic<std::size_t> reading_{0};
};

}  // namespace program::server
