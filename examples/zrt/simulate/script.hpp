// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/script.hpp: what happens to a simulated scheduler, drawn from a seed before it happens.
#pragma once

#include <zrt/serve/scheduler.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace simulate {

namespace serve = zrt::serve;

[[nodiscard]] inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(mixed(a) ^ b); }

/// Random numbers of a script.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(mixed(seed)) {}

  std::uint64_t word() { return state_ = mixed(state_); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((word() >> 32) * n >> 32); }
  std::uint32_t from(std::uint32_t least, std::uint32_t most) { return least + below(most - least + 1); }
  double unit() { return (static_cast<double>(word() >> 11) + 0.5) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  template <std::size_t N> std::uint32_t one_of(const std::uint32_t (&list)[N]) {
    return list[below(static_cast<std::uint32_t>(N))];
  }
  double normal() { return std::sqrt(-2 * std::log(unit())) * std::cos(6.283185307179586 * unit()); }
  double lognormal(double mu, double sigma) { return std::exp(mu + sigma * normal()); }
  /// Marsaglia and Tsang; mean 1, by the coefficient of variation.
  double gamma_gap(double cv) {
    const double shape = 1 / (cv * cv);
    const double k = shape < 1 ? shape + 1 : shape;
    const double d = k - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal();
      const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
      if (v <= 0 || std::log(unit()) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
      const double boost = shape < 1 ? std::pow(unit(), 1 / shape) : 1;
      return d * v * boost / shape;
    }
  }

 private:
  std::uint64_t state_;
};

enum class Action : std::uint8_t { create, change, remove, open, close, submit, cancel, block, ready, drop, jump };

/// One thing that happens. Tenants, sessions and requests go by their numbers in the script.
struct ScriptEvent {
  std::uint32_t step = 0;
  std::uint32_t order = 0;  ///< among those of a step
  Action act = Action::submit;
  std::uint32_t tenant = 0;
  std::uint32_t session = 0;  ///< 0: none
  std::uint32_t request = 0;
  serve::TenantQuota quota{};
  std::uint32_t shared = 0;  ///< prompt tokens from the forest of prefixes
  std::uint32_t branch = 0;  ///< which of the prefixes
  std::uint32_t adapter = 0;
  bool shares = true;  ///< its pages may be found by others
  std::uint32_t prompt = 1;
  std::uint32_t most = 1;
  std::uint32_t continues = 0;  ///< request whose tokens begin the prompt, or 0
  std::uint32_t fails_at = 0;   ///< run of the request that fails; 0: none
  std::uint64_t target = 0;     ///< nanoseconds of a step while it runs; 0: none
  std::uint64_t nanoseconds = 0;
  std::uint32_t model = 0;   ///< of those on the machine
  std::uint32_t scored = 0;  ///< leading positions of the prompt whose logits are read
  bool silent = false;       ///< and no token is drawn behind it
};

/// Whether a slot has state beside its pages.
[[nodiscard]] inline bool is_hybrid(const serve::SchedulerLimits& limits) {
  return limits.recurrent || limits.checkpoints != 0;
}

struct Script {
  std::uint64_t seed = 0;
  serve::SchedulerLimits limits{};
  std::uint64_t step_ns = 1'000'000;
  std::uint64_t token_ns = 10'000;
  std::uint64_t row_ns = 0;  ///< of logits of a prompt that are read
  std::uint32_t vocabulary = 64;
  std::uint32_t window =
      0;  ///< positions that a row sees in one cache group of a model with state beside its pages; 0: all
  std::uint32_t prompt_tokens = ~0u;
  bool timed = false;              ///< the host says how long steps take
  std::uint32_t right_drafts = 0;  ///< of a hundred
  bool weighs_drafts = false;      ///< the times of steps say how many there are
  std::uint32_t adapters = 0;      ///< that requests choose from, beside none
  std::vector<ScriptEvent> events{};
};

/// Writes scripts: sizes and rates differ from seed to seed, so that each fault is common in some of them. Lengths and
/// gaps follow the public traces, scaled to a pool of a few dozen pages.
class ScriptWriter {
 public:
  explicit ScriptWriter(std::uint64_t seed) : draw_(mixed(seed, 0x5c41)) { script_.seed = seed; }

  Script write() { return Draw(mixed(script_.seed, 0x57ea)).chance(0.1) ? endless() : bursts(); }

  /// Bursts of requests of all kinds, which end.
  Script bursts() {
    sizes();
    const std::uint32_t tenants = draw_.from(1, kTenants);
    for (std::uint32_t t = 1; t <= tenants; ++t) tenant(t, draw_.chance(0.8) ? 0 : draw_.below(40));
    for (std::uint32_t i = draw_.below(4); i > 0; --i) jump();
    for (std::uint32_t i = draw_.chance(0.3) ? draw_.below(3) : 0; i > 0; --i) add(Action::drop, draw_.below(kSteps));
    return in_order();
  }

 private:
  static constexpr std::uint32_t kSteps = 120;
  static constexpr std::uint32_t kEndlessSteps = 600;
  static constexpr std::uint32_t kTenants = 5;

  Script in_order() {
    tell_prompts();
    std::sort(script_.events.begin(), script_.events.end(), [](const ScriptEvent& a, const ScriptEvent& b) {
      return a.step != b.step ? a.step < b.step : a.order < b.order;
    });
    return script_;
  }

  /// In a quarter of the scripts the logits of a third of the prompts are read, mostly to their ends.
  void tell_prompts() {
    Draw own(mixed(script_.seed, 0x701d));
    if (!own.chance(0.25)) return;
    script_.limits.scored_rows = own.one_of({0, 1, 16});
    script_.row_ns = own.one_of({0, 10'000, 1'000'000});
    for (ScriptEvent& e : script_.events) {
      if (e.act != Action::submit || e.prompt < 2 || !own.chance(1.0 / 3)) continue;
      e.scored = own.chance(0.6) ? e.prompt - 1 : own.from(1, e.prompt - 1);
      e.silent = own.chance(0.2);
    }
  }

  void sizes() {
    serve::SchedulerLimits& l = script_.limits;
    tiny_ = draw_.chance(0.4);
    l.tenants = draw_.from(3, 6);
    l.sessions = draw_.from(1, 6);
    l.slots = draw_.from(1, 5);
    l.queue = draw_.one_of({2, 16, 64, 64});
    l.arrivals = draw_.one_of({4, 64});
    l.context = tiny_ ? 64 : 192;
    l.pages = draw_.one_of({6, 10, 16, 32, 64});
    l.prefix_pages = draw_.below(l.pages / 3 + 1);
    l.step_tokens = l.slots + draw_.one_of({16, 32, 64, 200});
    l.checkpoints = draw_.chance(0.4) ? draw_.from(1, 8) : 0;
    l.checkpoint_pages = draw_.from(1, 4);
    Draw shelf(mixed(script_.seed, 0x5e1f));
    l.recurrent = l.checkpoints != 0 || shelf.chance(0.3);
    if (l.recurrent) l.shelf = shelf.one_of({0, 1, l.slots, l.slots});
    if (l.recurrent) script_.window = shelf.one_of({0, 0, 1, 7, 40});
    l.goes_back = script_.window != 0 && shelf.chance(0.7);
    l.slow_steps = draw_.one_of({1, 4, 20});
    l.floor_patience = draw_.one_of({1, 4, 8});
    l.hash_bits = draw_.one_of({2, 4, 64, 64});
    l.key = {draw_.word(), draw_.word()};
    script_.step_ns = draw_.one_of({100'000, 5'000'000, 40'000'000, 400'000'000});
    script_.token_ns = draw_.one_of({0, 10'000, 1'000'000});
    script_.vocabulary = draw_.one_of({2, 64, 50'000});
    script_.prompt_tokens = draw_.one_of({0, 1, 20, 40, ~0u, ~0u});
    Draw drafts(mixed(script_.seed, 0xd4af));
    l.draft_tokens = drafts.one_of({0, 0, 3, 16});
    script_.right_drafts = drafts.one_of({0, 50, 90, 100});
    script_.weighs_drafts = drafts.chance(0.5);
    Draw own(mixed(script_.seed, 0xada9));
    script_.adapters = own.one_of({0, 0, 1, 2});
    Draw times(mixed(script_.seed, 0x71e5));
    script_.timed = times.chance(0.7);
    targets_ = times.chance(0.3);
    budgets_ = times.chance(0.5);
    l.slow_ns = own.one_of({0, 0, 1'000'000, 2'000'000'000});
    block_ = draw_.chance(0.4) ? draw_.unit() * 0.5 : 0;
    cancel_ = draw_.chance(0.5) ? draw_.unit() * 0.4 : 0;
    fail_ = draw_.chance(0.3) ? draw_.unit() * 0.3 : 0;
    change_ = draw_.chance(0.4) ? 0.6 : 0;
    remove_ = draw_.chance(0.4) ? 0.5 : 0;
    bad_ = draw_.chance(0.3) ? 0.2 : 0;
    load_ = draw_.one_of({1, 4, 16});
    reserve_ = draw_.chance(0.5);
    groups_ = draw_.chance(0.4);
    tight_ = draw_.chance(0.4);
    idle_ = draw_.chance(0.3);
  }

  /// Large requests of one tenant beside small ones of others that never cease, in a pool that has no room for both.
  Script endless() {
    sizes();
    serve::SchedulerLimits& l = script_.limits;
    l.slots = draw_.from(2, 4);
    l.queue = 64;
    l.pages = draw_.from(8, 14);
    l.prefix_pages = draw_.below(2);
    l.context = l.pages * zrt::kPageTokens;
    l.step_tokens = l.slots + 64;
    l.draft_tokens = 0;
    l.floor_patience = draw_.from(1, 4);
    script_.prompt_tokens = ~0u;
    const std::uint32_t others = draw_.from(1, l.tenants - 1);
    const std::uint32_t reserved = std::min(draw_.below(3), l.pages / 3 / others);
    const std::uint32_t floating = l.pages - l.prefix_pages - others * reserved;
    const auto large = static_cast<serve::ServiceClass>(draw_.below(3));
    const auto small = static_cast<serve::ServiceClass>(draw_.below(3));
    const std::uint32_t longest = draw_.one_of({8, 24, 40});
    for (std::uint32_t t = 1; t <= others + 1; ++t) {
      const bool is_large = t == 1;
      ScriptEvent& created = add(Action::create, 0);
      created.tenant = t;
      created.quota = {.max_slots = l.slots,
                       .max_pages = l.pages,
                       .reserved_pages = is_large ? 0 : reserved,
                       .decode_tokens_per_s = 100'000,
                       .max_context = l.context,
                       .service = is_large ? large : small};
      const std::uint32_t rest = draw_.from(1, others * 4);
      for (std::uint32_t step = draw_.below(8); step < kEndlessSteps; step += is_large ? 40 : draw_.from(1, rest)) {
        ScriptEvent e;
        e.step = step;
        e.tenant = t;
        e.request = ++requests_;
        e.prompt = is_large ? (floating - 1) * zrt::kPageTokens + 1 : draw_.from(1, 17);
        e.most = is_large ? draw_.from(1, zrt::kPageTokens) : draw_.from(1, longest);
        add(e);
      }
    }
    return in_order();
  }

  ScriptEvent& add(Action act, std::uint32_t step) {
    ScriptEvent e;
    e.act = act;
    e.step = step;
    return add(e);
  }
  ScriptEvent& add(ScriptEvent e) {
    e.order = static_cast<std::uint32_t>(script_.events.size());
    script_.events.push_back(e);
    return script_.events.back();
  }

  serve::TenantQuota quota() {
    const serve::SchedulerLimits& l = script_.limits;
    serve::TenantQuota q;
    q.max_slots = tight_ ? draw_.from(1, l.slots) : l.slots;
    q.max_pages = draw_.chance(0.4) ? draw_.from(2, l.pages) : l.pages;
    q.reserved_pages = reserve_ && draw_.chance(0.6) ? draw_.below(std::min(q.max_pages, l.pages / 3) + 1) : 0;
    q.decode_tokens_per_s = tight_ && draw_.chance(0.5) ? draw_.from(1, 8) : 100'000;
    q.prefill_tokens_per_s = tight_ && draw_.chance(0.5) ? draw_.from(4, 40) : 1'000'000;
    q.max_context = tight_ && draw_.chance(0.5) ? draw_.from(8, l.context) : l.context;
    q.max_queued = draw_.chance(0.2) ? draw_.from(1, 4) : 256;
    q.weight = draw_.one_of({1, 16, 16, 16, 32, 128});
    q.group = groups_ && draw_.chance(0.6) ? draw_.from(1, 2) : 0;
    q.service = static_cast<serve::ServiceClass>(draw_.below(3));
    Draw own(mixed(script_.seed, 0xb0d9 + script_.events.size()));
    if (budgets_) {
      q.first_token_ns = own.one_of({0, 2'000'000, 40'000'000, 0});
      q.gap_ns = own.one_of({0, 1'000'000, 20'000'000, 0});
    }
    q.max_sessions = own.one_of({1, 2, 256});
    return q;
  }

  void tenant(std::uint32_t number, std::uint32_t begin) {
    ScriptEvent& created = add(Action::create, begin);
    created.tenant = number;
    created.quota = quota();
    const bool sessions = draw_.chance(0.4);
    for (std::uint32_t i = sessions ? 1 + static_cast<std::uint32_t>(mixed(script_.seed, number) % 3) : 0; i-- > 0;) {
      ScriptEvent& opened = add(Action::open, begin);
      opened.tenant = number;
      opened.session = number + i * 2 * kTenants;
    }
    const std::uint32_t end = draw_.chance(remove_) ? draw_.from(begin + 1, kSteps) : kSteps;
    requests(number, begin, end, sessions);
    if (draw_.chance(change_)) {
      ScriptEvent& changed = add(Action::change, draw_.from(begin, kSteps));
      changed.tenant = number;
      changed.quota = quota();
    }
    if (sessions && draw_.chance(0.5)) add(Action::close, draw_.from(begin, kSteps)).session = number;
    if (end == kSteps) return;
    add(Action::remove, end).tenant = number;
    // Another comes in its place.
    if (number <= kTenants && mixed(script_.seed, 0x6e + number) % 2 != 0) tenant(number + kTenants, end + 1);
  }

  /// Tenant rates by Zipf's law, gaps by Gamma, in bursts; what is asked for by kind.
  void requests(std::uint32_t tenant, std::uint32_t begin, std::uint32_t end, bool session) {
    constexpr double kVariation[] = {0.7, 0.7, 1, 1, 1, 1.2, 1.2, 1.2, 4, 10};
    const double cv = kVariation[draw_.below(10)];
    const double mean = (4.0 * std::pow(tenant, 1.2)) / load_;
    const std::uint32_t kind = draw_.below(4);
    const std::uint32_t branch = draw_.below(3);
    std::uint32_t last = 0;
    double time = begin;
    if (idle_ && tenant == 1) time += 60;
    for (std::uint32_t count = 0; count < 40; ++count) {
      time += mean * draw_.gamma_gap(cv);
      if (time >= end + 3.0) break;
      ScriptEvent e;
      e.step = static_cast<std::uint32_t>(time);
      e.tenant = tenant;
      e.request = ++requests_;
      e.session = session && draw_.chance(0.7) ? tenant : 0;
      lengths(e, kind);
      e.branch = draw_.chance(0.8) ? branch : draw_.below(3);
      e.adapter = static_cast<std::uint32_t>(mixed(script_.seed, e.request) % (script_.adapters + 1));
      e.shares = mixed(script_.seed, 0x5a) % 3 != 0 || mixed(script_.seed, 0x5b + e.request) % 2 != 0;
      e.continues = last != 0 && draw_.chance(0.3) ? last : 0;
      if (draw_.chance(fail_)) e.fails_at = draw_.from(1, 6);
      constexpr std::uint64_t kTargets[] = {0, 1, 3'000'000, 60'000'000};
      if (targets_) e.target = kTargets[mixed(script_.seed, 0x7a + e.request) % 4];
      add(e);
      last = e.request;
      if (draw_.chance(cancel_)) of_request(Action::cancel, e, draw_.below(20));
      if (draw_.chance(cancel_ * 0.2)) of_request(Action::cancel, e, draw_.below(20));
      if (draw_.chance(block_)) {
        const std::uint32_t blocked = draw_.below(12);
        of_request(Action::block, e, blocked);
        if (draw_.chance(0.7)) of_request(Action::ready, e, blocked + draw_.below(12));
      }
    }
  }
  void of_request(Action act, const ScriptEvent& of, std::uint32_t later) {
    const std::uint32_t request = of.request;
    add(act, of.step + later).request = request;
  }

  void lengths(ScriptEvent& e, std::uint32_t kind) {
    // Input and output in tokens: conversation, code completion, reasoning, summaries.
    constexpr double kShape[4][4] = {
        {6.63, 0.99, 4.7, 0.8}, {7.0, 1.36, 2.79, 0.85}, {5.5, 1.2, 6.0, 1.0}, {7.2, 0.8, 4.0, 0.5}};
    const double scale = tiny_ ? 1.0 / 64 : 1.0 / 24;
    const auto& shape = kShape[kind];
    const double most_prompt = script_.limits.context * 0.75;
    const double most_answer = script_.limits.context * 0.25;
    e.prompt = static_cast<std::uint32_t>(std::clamp(draw_.lognormal(shape[0], shape[1]) * scale, 1.0, most_prompt));
    e.most = static_cast<std::uint32_t>(std::clamp(draw_.lognormal(shape[2], shape[3]) * scale, 1.0, most_answer));
    if (draw_.chance(0.2)) e.prompt = draw_.one_of({1, 15, 16, 17, 32, 33});
    e.shared = draw_.chance(0.7) ? draw_.below(e.prompt + 1) : 0;
    if (draw_.chance(0.3)) e.shared = e.prompt;
    if (draw_.chance(bad_)) {
      e.prompt = draw_.one_of({0, 1, 16, 300});
      e.most = draw_.one_of({0, 1, 200});
    }
  }

  void jump() { add(Action::jump, draw_.below(kSteps)).nanoseconds = draw_.chance(0.5) ? 3'600'000'000'000u : 0; }

  Draw draw_;
  Script script_{};
  std::uint32_t requests_ = 0;
  bool tiny_ = false;
  bool reserve_ = false;
  bool groups_ = false;
  bool tight_ = false;
  bool idle_ = false;
  bool targets_ = false;
  bool budgets_ = false;
  double block_ = 0;
  double cancel_ = 0;
  double fail_ = 0;
  double change_ = 0;
  double remove_ = 0;
  double bad_ = 0;
  double load_ = 1;
};

/// Token `i` of a submission's prompt, by the forest of prefixes or its own. Two thirds of the chunks are the same in every
/// branch, so that equal chunks follow different ones.
[[nodiscard]] inline std::uint32_t prompt_token(const ScriptEvent& e, std::uint32_t i, std::uint32_t vocabulary) {
  const std::uint32_t chunk = i / zrt::kPageTokens;
  const std::uint64_t branch = mixed(e.branch, chunk) % 3 == 0 ? e.branch : 7;
  const std::uint64_t token =
      i < e.shared ? mixed(mixed(branch, chunk % 2), i % zrt::kPageTokens) : mixed(e.request, i);
  return static_cast<std::uint32_t>(token % vocabulary);
}

[[nodiscard]] inline Script script_of(std::uint64_t seed) { return ScriptWriter(seed).write(); }

/// A line for an event, for a report of a failure.
[[nodiscard]] inline std::string line_of(const ScriptEvent& e) {
  constexpr const char* kNames[] = {"create tenant", "change tenant", "remove tenant",    "open session",
                                    "close session", "submit",        "cancel",           "block client",
                                    "client ready",  "drop cache",    "jump of the clock"};
  constexpr const char* kClasses[] = {"interactive", "standard", "batch"};
  std::string text = "step " + std::to_string(e.step) + ": " + kNames[static_cast<int>(e.act)];
  const auto add = [&text](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  if (e.tenant != 0) add("tenant", e.tenant);
  if (e.session != 0) add("session", e.session);
  if (e.request != 0) add("request", e.request);
  if (!e.shares) text += " alone";
  if (e.model != 0) add("model", e.model);
  if (e.act == Action::create || e.act == Action::change) {
    text += std::string(" ") + kClasses[static_cast<int>(e.quota.service)];
    add("slots", e.quota.max_slots);
    add("pages", e.quota.max_pages);
    add("reserved", e.quota.reserved_pages);
    add("decode/s", e.quota.decode_tokens_per_s);
    add("prefill/s", e.quota.prefill_tokens_per_s);
    add("context", e.quota.max_context);
    add("weight", e.quota.weight);
    add("group", e.quota.group);
    add("sessions", e.quota.max_sessions);
    if (e.quota.first_token_ns != serve::kBudgetOfClass) add("first token ns", e.quota.first_token_ns);
    if (e.quota.gap_ns != serve::kBudgetOfClass) add("gap ns", e.quota.gap_ns);
  }
  if (e.act == Action::submit) {
    add("prompt", e.prompt);
    add("shared", e.shared);
    add("branch", e.branch);
    if (e.adapter != 0) add("adapter", e.adapter);
    add("most", e.most);
    if (e.scored != 0) add("scored", e.scored);
    if (e.silent) text += " draws nothing";
    if (e.continues != 0) add("continues", e.continues);
    if (e.fails_at != 0) add("fails at run", e.fails_at);
    if (e.target != 0) add("target ns", e.target);
  }
  if (e.nanoseconds != 0) add("ns", e.nanoseconds);
  return text;
}

}  // namespace simulate
