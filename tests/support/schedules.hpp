// SPDX-License-Identifier: Apache-2.0
// tests/support/schedules.hpp: random schedules of joins, leaves and prompt cuts, compared with each request alone.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

// An engine here is anything with the calls of zrt::Engine. Nothing computes with floats: flags may
// change what a test computes, never what zrt does. A function that returns text says what went
// wrong; no text is success. ZRT_COLD spares compile time: flags/ builds this eight times.
namespace zrt::test {

/// A generated token with the bits of its log-probabilities.
struct Heard {
  std::int32_t id = kNoToken;
  std::vector<std::pair<std::int32_t, std::uint32_t>> best;
  friend bool operator==(const Heard&, const Heard&) = default;
};

[[nodiscard]] inline Heard heard(const Token& token) {
  Heard h{token.id, {}};
  for (const TokenProbability& p : token.best)
    h.best.emplace_back(p.id, std::bit_cast<std::uint32_t>(p.log_probability));
  return h;
}

/// A request with what it views.
struct Ask {
  std::vector<std::int32_t> prompt;
  std::vector<TokenBias> bias;
  Request request;

  [[nodiscard]] Request view() const {
    Request r = request;
    r.tokens = prompt;
    r.sampling.bias = bias;
    return r;
  }
};

/// What a world is made of.
struct ScheduleSpec {
  DType weights = DType::f32;
  DType kv = DType::f16;
  ActPolicy act = ActPolicy::weight;
  std::uint32_t layers = 2;
  std::uint32_t asks = 40;
  std::uint32_t most_requests = 10;  ///< of one schedule
  std::uint32_t vocabulary = 64;
  std::uint32_t stretch = 1;  ///< prompts and contexts are so many times as long
  std::uint32_t experts = 0;  ///< 0: an MLP

  [[nodiscard]] std::uint32_t context() const { return 128 * stretch; }
};

/// A third of the requests are greedy, the others sample with every setting there is.
[[nodiscard]] ZRT_COLD inline Ask random_ask(const ScheduleSpec& spec, TinyRandom& random) {
  Ask ask;
  const std::uint32_t lengths[] = {1, 1 + random.below(15), 16, 17 + random.below(40), 64, 1 + random.below(90)};
  const std::uint32_t length = lengths[random.below(6)] * spec.stretch;
  ask.prompt = tiny_prompt(spec.vocabulary, length, random.next());
  ask.request.max_tokens = 1 + random.below(16);
  ask.request.log_probabilities = 12;
  Sampling& s = ask.request.sampling;
  if (random.below(3) == 0) return ask;
  constexpr float temperatures[] = {0.5f, 0.75f, 1.0f, 1.25f, 1.5f};
  constexpr float top_ps[] = {0.5f, 0.625f, 0.75f, 0.875f};
  s.temperature = temperatures[random.below(5)];
  s.seed = random.next();
  if (random.below(2) == 0) s.top_k = 1 + random.below(40);
  if (random.below(2) == 0) s.top_p = top_ps[random.below(4)];
  if (random.below(3) == 0) s.min_p = 0.0625f;
  if (random.below(3) == 0) s.repetition_penalty = 1.25f;
  if (random.below(3) == 0) s.frequency_penalty = 0.5f;
  if (random.below(3) == 0) s.presence_penalty = 0.5f;
  s.penalty_window = random.below(65);
  for (std::uint32_t i = random.below(4); i > 0; --i)
    ask.bias.push_back({static_cast<std::int32_t>(random.below(spec.vocabulary)), 2.0f * random.signed_unit()});
  return ask;
}

/// A model, requests to it, and what each of them gives alone.
struct ScheduleWorld {
  ZRT_COLD explicit ScheduleWorld(const ScheduleSpec& what) : spec(what) {
    const std::uint64_t seed = 3 + static_cast<std::uint64_t>(spec.kv);
    file = tiny_model({.weights = spec.weights,
                       .vocabulary = spec.vocabulary,
                       .layers = spec.layers,
                       .context = spec.context(),
                       .experts = spec.experts,
                       .seed = seed});
    TinyRandom random(seed * 977 + 5);
    for (std::uint32_t i = 0; i < spec.asks; ++i) asks.push_back(random_ask(spec, random));
    text = tiny_prompt(spec.vocabulary, 40, 77);
  }

  /// Options for an engine that runs requests alone.
  [[nodiscard]] EngineOptions options() const {
    EngineOptions o;
    o.context = spec.context();
    o.kv_type = spec.kv;
    o.numerics.act = spec.act;
    o.logit_rows = 64;
    return o;
  }
  /// Options for an engine that runs schedules: other slots and another chunk each time.
  [[nodiscard]] EngineOptions random_options(TinyRandom& random) const {
    EngineOptions o = options();
    o.slots = 1 + random.below(8);
    constexpr std::uint32_t chunks[] = {16, 32, 48, 64, 128, 512};
    o.chunk = chunks[random.below(6)];
    o.logit_rows = random.below(2) == 0 ? 0 : 16 + random.below(49);
    return o;
  }

  ScheduleSpec spec;
  ModelFile file;
  std::vector<Ask> asks;
  std::vector<std::vector<Heard>> solo;
  std::vector<std::int32_t> text;  ///< for evaluate
  std::vector<std::vector<std::uint32_t>> text_logits;
};

/// A request on its way through a schedule.
struct ScheduleJourney {
  std::size_t ask = 0;
  std::optional<RequestId> id;
  std::vector<Heard> tokens;
  FinishReason finish = FinishReason::none;
  std::size_t leave_after = ~std::size_t{0};  ///< the callable says stop here
  std::optional<Vector<std::byte>> saved;     ///< taken out; comes back from this

  [[nodiscard]] bool running() const { return id && finish == FinishReason::none; }
};

/// Hears the tokens of all requests. A type with a name: every callable compiles an engine's step anew.
struct ScheduleListener {
  std::map<RequestId, ScheduleJourney*> by_id;

  bool operator()(RequestId id, const Token& token) {
    ScheduleJourney& j = *by_id.find(id)->second;
    if (token.id != kNoToken) j.tokens.push_back(heard(token));
    if (token.finish != FinishReason::none) j.finish = token.finish;
    if (token.finish != FinishReason::none || j.tokens.size() < j.leave_after) return true;
    j.finish = FinishReason::callback;
    return false;
  }
};

/// The tokens of a request that runs alone; none if it does not run to its length.
template <class E> [[nodiscard]] ZRT_COLD std::vector<Heard> alone(E& engine, const Ask& ask) {
  ScheduleJourney journey;
  ScheduleListener listener;
  const auto id = engine.submit(ask.view());
  if (!id) return {};
  listener.by_id[*id] = &journey;
  for (bool going = true; going;) {
    const auto left = engine.step(std::ref(listener));
    going = left && *left != 0;
  }
  return journey.finish == FinishReason::length ? journey.tokens : std::vector<Heard>{};
}

/// Collects the bits of logits.
struct LogitRows {
  std::vector<std::vector<std::uint32_t>> rows;

  void operator()(std::uint32_t, std::span<const float> logits) {
    std::vector<std::uint32_t>& row = rows.emplace_back(logits.size());
    std::memcpy(row.data(), logits.data(), logits.size_bytes());
  }
};

/// The logits of the world's text; no rows if the engine fails.
template <class E>
[[nodiscard]] std::vector<std::vector<std::uint32_t>> logits_of_text(E& engine, const ScheduleWorld& world) {
  LogitRows listener;
  return engine.evaluate(world.text, {}, std::ref(listener)) ? listener.rows
                                                             : std::vector<std::vector<std::uint32_t>>{};
}

/// Runs each request and the text alone, and keeps what they give.
template <class E> [[nodiscard]] ZRT_COLD std::string run_alone(ScheduleWorld& world, E& engine) {
  for (const Ask& ask : world.asks) {
    world.solo.push_back(alone(engine, ask));
    if (world.solo.back().size() != ask.request.max_tokens)
      return "request " + std::to_string(world.solo.size() - 1) + " alone did not run to its length";
  }
  world.text_logits = logits_of_text(engine, world);
  return world.text_logits.size() == world.text.size() ? "" : "the text alone was not evaluated";
}

/// Demands that an engine on its own gives the world's bits, for the first `count` requests and the text.
template <class E>
[[nodiscard]] ZRT_COLD std::string same_alone(const ScheduleWorld& world, E& engine, std::size_t count) {
  for (std::size_t i = 0; i < count && i < world.asks.size(); ++i)
    if (alone(engine, world.asks[i]) != world.solo[i]) return "request " + std::to_string(i) + " alone differs";
  return logits_of_text(engine, world) == world.text_logits ? "" : "the logits of the text differ";
}

/// A digest of everything that the requests and the text give alone.
[[nodiscard]] inline std::uint64_t digest(const ScheduleWorld& world) {
  std::uint64_t value = 0xcbf29ce484222325u;
  const auto add = [&](std::uint32_t word) { value = (value ^ word) * 0x100000001b3u; };
  for (const std::vector<Heard>& tokens : world.solo)
    for (const Heard& h : tokens) {
      add(static_cast<std::uint32_t>(h.id));
      for (const auto& [id, log_probability] : h.best) add(static_cast<std::uint32_t>(id)), add(log_probability);
    }
  for (const std::vector<std::uint32_t>& row : world.text_logits)
    for (const std::uint32_t word : row) add(word);
  return value;
}

/// What schedules held.
struct ScheduleTally {
  int schedules = 0, requests = 0, cancelled = 0, left = 0, restored = 0, evaluated = 0, steps = 0, most_at_once = 0;

  [[nodiscard]] ZRT_COLD std::string text() const {
    return std::to_string(schedules) + " schedules, " + std::to_string(steps) + " steps, " + std::to_string(requests) +
           " requests (at most " + std::to_string(most_at_once) + " at once), " + std::to_string(cancelled) +
           " cancelled, " + std::to_string(left) + " left, " + std::to_string(restored) + " restored, " +
           std::to_string(evaluated) + " evaluated between";
  }
};

/// Runs one random schedule: requests join between steps, leave, are cancelled, are taken out and put
/// back, and the text is evaluated in between; each must give the bits that it gives alone.
template <class E>
[[nodiscard]] ZRT_COLD std::string run_schedule(const ScheduleWorld& world, E& engine, TinyRandom& random,
                                                ScheduleTally& tally) {
  std::deque<ScheduleJourney> journeys;
  const std::uint32_t count = 2 + random.below(world.spec.most_requests - 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    journeys.emplace_back().ask = random.below(world.asks.size());
    if (random.below(8) == 0) journeys.back().leave_after = 1 + random.below(6);
  }
  ScheduleListener listener;
  const std::uint32_t eagerness = 1 + random.below(5);
  std::size_t submitted = 0;
  for (bool going = true; going;) {
    while (submitted < journeys.size() && random.below(eagerness) == 0) {
      ScheduleJourney& j = journeys[submitted++];
      const auto id = engine.submit(world.asks[j.ask].view());
      if (!id) return "submit: " + std::string(id.error().text());
      j.id = *id;
      listener.by_id[*id] = &j;
    }
    ScheduleJourney& any = journeys[random.below(journeys.size())];
    const std::uint32_t event = random.below(24);
    if (event == 0 && any.running() && !any.saved) {
      engine.cancel(*any.id);
    } else if (event < 3 && any.running() && !any.saved) {
      if (auto bytes = engine.save(*any.id)) {  // it may still wait for a slot
        any.saved.emplace(std::move(*bytes));
        engine.cancel(*any.id);
      }
    } else if (event == 3) {
      LogitRows logits;
      const auto done = engine.evaluate(world.text, {}, std::ref(logits));
      if (done && logits.rows != world.text_logits) return "the logits of the text, evaluated between steps, differ";
      if (done)
        ++tally.evaluated;
      else if (done.error().code() != Errc::capacity_exceeded)
        return "evaluate: " + std::string(done.error().text());
    }
    for (ScheduleJourney& j : journeys) {
      // Out of its slot and not yet back in one.
      if (!j.saved || j.finish != FinishReason::cancelled || random.below(3) != 0) continue;
      const auto id = engine.restore(j.saved->span(), world.asks[j.ask].view());
      if (!id) {
        if (id.error().code() != Errc::capacity_exceeded) return "restore: " + std::string(id.error().text());
        continue;
      }
      ++tally.restored;
      j.id = *id;
      listener.by_id[*id] = &j;
      j.finish = FinishReason::none;
      j.saved.reset();
    }
    int at_once = 0;
    for (const ScheduleJourney& j : journeys) at_once += j.running() ? 1 : 0;
    tally.most_at_once = std::max(tally.most_at_once, at_once);
    const auto left = engine.step(std::ref(listener));
    if (!left) return "step: " + std::string(left.error().text());
    ++tally.steps;
    bool waiting = submitted < journeys.size();
    for (const ScheduleJourney& j : journeys) waiting = waiting || j.saved;
    going = *left != 0 || waiting;
  }
  for (const ScheduleJourney& j : journeys) {
    const std::string who = "request " + std::to_string(j.ask);
    const std::vector<Heard>& solo = world.solo[j.ask];
    ++tally.requests;
    if (j.finish == FinishReason::length) {
      if (j.tokens != solo) return who + " differs from what it gives alone";
      continue;
    }
    if (j.finish != FinishReason::cancelled && j.finish != FinishReason::callback)
      return who + " ended: " + std::string(name(j.finish));
    tally.cancelled += j.finish == FinishReason::cancelled ? 1 : 0;
    tally.left += j.finish == FinishReason::callback ? 1 : 0;
    if (j.tokens.size() > solo.size() || !std::equal(j.tokens.begin(), j.tokens.end(), solo.begin()))
      return who + " differs, up to where it ended, from what it gives alone";
  }
  ++tally.schedules;
  return "";
}

/// Three workers that run one after the other, last first: no worker may wait for one that has not come.
[[nodiscard]] constexpr ThreadHook three_in_turn() {
  return {nullptr,
          [](void*, ThreadHook::Work work, void* argument) noexcept {
            for (std::uint32_t worker = 3; worker-- > 0;) work(argument, worker, 3);
          },
          3};
}

}  // namespace zrt::test
