// SPDX-License-Identifier: Apache-2.0
// tests/property/several_tenants.cpp: requests of several tenants, mixed, with adapters, preempted, resumed on prefixes, held for slow clients and cancelled, give the tokens that each gives alone, and the log-probabilities of prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <data/models/tiny_adapters.hpp>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <support/sampled_requests.hpp>
#include <vector>

namespace several_tenants_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kContext = 128;
constexpr std::uint32_t kChunk = 32;
const std::string kBard = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

/// How many requests each model answers; ZRT_CANARY_REQUESTS in place of it for a long run.
std::uint32_t requests_to_run(std::uint32_t by_default) {
  const char* more = std::getenv("ZRT_CANARY_REQUESTS");
  return more == nullptr ? by_default : static_cast<std::uint32_t>(std::strtoul(more, nullptr, 10));
}

/// A clock that goes on by `step` nanoseconds each time it is read.
struct OwnClock {
  std::uint64_t time = 1;
  std::uint64_t step = 1'000'000;

  [[nodiscard]] ClockHook hook() {
    return {this, [](void* context) noexcept {
              auto& clock = *static_cast<OwnClock*>(context);
              return clock.time += clock.step;
            }};
  }
};

/// Some projections of each layer of bard.
std::vector<test::AdaptedWeight> bard_projections() {
  std::vector<test::AdaptedWeight> all;
  for (std::uint32_t layer = 0; layer < 6; ++layer)
    for (const auto& [name, cols, rows] :
         {std::tuple{"attn_q.weight", 256u, 256u}, {"attn_v.weight", 256u, 128u}, {"ffn_down.weight", 768u, 256u}})
      all.push_back({"blk." + std::to_string(layer) + "." + name, cols, rows});
  return all;
}

/// What may be asked, and what it gives alone.
struct Question {
  std::vector<std::int32_t> prompt;
  Request request{};
  /// With the bits of log-probabilities, and behind the prompt where that is told.
  std::vector<std::pair<std::int32_t, std::uint32_t>> answer;
};

std::pair<std::int32_t, std::uint32_t> heard_of(const Token& token) {
  return {token.id, std::bit_cast<std::uint32_t>(token.log_probability)};
}

class Canary {
 public:
  /// With `adapted` weights two adapters of them are loaded, and two requests in three choose one.
  Canary(std::function<test::AnyEngine(const EngineOptions&)> open, std::uint32_t vocabulary, std::uint64_t seed,
         const std::vector<test::AdaptedWeight>& adapted = {})
      : random_(seed), adapts_(!adapted.empty()) {
    EngineOptions alone;
    alone.context = kContext;
    alone.chunk = 64;
    alone.adapters = adapts_ ? 2 : 0;
    auto single = open(alone);
    EngineOptions shared = alone;
    shared.slots = 4;
    shared.chunk = kChunk;
    shared.slow_client_ns = 80'000'000;
    shared.pages = 18;  // of 32 that four whole contexts would take
    shared.queue = 64;
    shared.prefix_cache = true;
    shared.kept_states = 12;
    shared.draft_tokens = 8;
    shared.clock = clock_.hook();
    auto engine = open(shared);
    if (!single || !engine) {
      ADD_FAILURE() << (single ? engine.error() : single.error()).text();
      return;
    }
    engine_ = std::move(*engine);
    for (std::uint64_t a = 1; adapts_ && a < adapters_.size(); ++a) load(**single, adapted, a);
    invent(**single, vocabulary);
    for (std::size_t t = 0; t < tenants_.size(); ++t) create(t);
  }

  /// Lets another model guess tokens. Time stands still in a step, so that luck alone says how many.
  void draft_with(test::AnyEngine drafter) {
    ASSERT_TRUE(drafter) << drafter.error().text();
    const auto taken = engine_->draft_with(**drafter);
    ASSERT_TRUE(taken) << taken.error().text();
    clock_.step = 0;
  }

  /// Has `count` requests answered.
  void run(std::uint32_t count) {
    ASSERT_NE(engine_, nullptr);
    for (std::uint32_t submitted = 0, steps = 0; submitted < count || left_ != 0; ++steps) {
      ASSERT_LT(steps, 200u * count + 10'000u) << "requests are left for ever";
      if (submitted < count && random_.below(100) < 8)
        for (std::uint32_t burst = 1 + random_.below(3); burst != 0 && submitted < count; --burst, ++submitted)
          submit();
      if (random_.below(100) < 1) cancel();
      if (random_.below(100) < 4) pause();
      if (random_.below(1000) < 4) change(random_.below(tenants_.size()));
      if (random_.below(1000) < 2) recreate(random_.below(tenants_.size()));
      const auto left = engine_->step([this](RequestId id, const Token& token) { return hear(id, token); });
      ASSERT_TRUE(left) << left.error().text();
      left_ = *left;
      if (clock_.step == 0) clock_.time += 1'000'000;
      ASSERT_FALSE(testing::Test::HasFailure()) << "step " << steps;
    }
    EXPECT_TRUE(asked_.empty()) << asked_.size() << " requests never ended";
  }

  /// A run in which nothing happened proves nothing.
  void check_events(bool drafts = true, std::uint64_t accepted = 20) {
    for (std::size_t t = 0; t < tenants_.size(); ++t) count(t);
    EXPECT_EQ(accepted_drafts_ >= accepted, drafts) << accepted_drafts_ << " guesses were right";
    EXPECT_GE(preemptions_, 20u);
    EXPECT_GE(recomputed_, 100u);
    EXPECT_GE(cached_, 200u);
    EXPECT_GE(finished_, 100u);
    EXPECT_GE(cancelled_, 10u);
    EXPECT_GE(refused_, 1u);
    EXPECT_GE(chunked_, 20u);
    EXPECT_GE(slow_, 2u);
    EXPECT_GE(told_, 8u);
    EXPECT_EQ(adapted_ >= 40, adapts_) << adapted_ << " had an adapter";
    std::printf(
        "%u finished, of these %u with an adapter, %u with their prompts told, %u in chunks; %u cancelled, %u of slow "
        "clients, %u refused; %llu "
        "preemptions, %llu tokens computed again, %llu found, %llu guessed\n",
        finished_, adapted_, told_, chunked_, cancelled_, slow_, refused_,
        static_cast<unsigned long long>(preemptions_), static_cast<unsigned long long>(recomputed_),
        static_cast<unsigned long long>(cached_), static_cast<unsigned long long>(accepted_drafts_));
  }

 private:
  struct Asked {
    const Question* question;
    std::size_t heard = 0;
    bool stops_itself = false;  ///< its callable says no in the middle
    bool paused = false;
  };

  void load(HostEngine& alone, const std::vector<test::AdaptedWeight>& adapted, std::uint64_t seed) {
    const test::ModelFile file = test::tiny_adapter({.weights = adapted, .seed = seed});
    const auto here = alone.load_adapter(file.bytes()), there = engine_->load_adapter(file.bytes());
    ASSERT_TRUE(here && there && *here == *there);
    adapters_[seed] = *there;
  }

  /// Prompts that begin alike, from one token to most of the context, greedy and sampled.
  void invent(HostEngine& alone, std::uint32_t vocabulary) {
    for (std::uint64_t i = 0; i < 48; ++i) {
      Question q;
      const std::uint64_t family = random_.below(4);
      q.prompt = test::tiny_prompt(vocabulary, family == 0 ? 0 : 16 + random_.below(64), 100 + family);
      const std::vector<std::int32_t> own = test::tiny_prompt(vocabulary, 1 + random_.below(24), 200 + i);
      q.prompt.insert(q.prompt.end(), own.begin(), own.end());
      q.request =
          test::sampled_request({}, i, 1 + random_.below(kContext - static_cast<std::uint32_t>(q.prompt.size())));
      if (q.request.max_tokens > 60) q.request.max_tokens = 60;
      if (i % 3 == 0) q.request.sampling.temperature = 0.0f;
      if (i % 4 == 1) q.request.sampling.repetition_penalty = 1.3f;
      q.request.adapter = adapters_[i / 2 % 3];
      q.request.prompt_log_probabilities = i % 6 == 2 ? 2 : 0;
      questions_.push_back(std::move(q));
    }
    for (Question& q : questions_) {
      q.request.tokens = q.prompt;
      const auto done = alone.generate(q.request, [&q](const Token& token) {
        if (token.id != kNoToken) q.answer.push_back(heard_of(token));
        return true;
      });
      ASSERT_TRUE(done) << done.error().text();
      ASSERT_EQ(q.answer.size(),
                q.request.max_tokens + (q.request.prompt_log_probabilities == 0 ? 0 : q.prompt.size()));
    }
  }

  [[nodiscard]] TenantQuota quota(std::size_t tenant) {
    constexpr std::array kClasses{ServiceClass::interactive, ServiceClass::standard, ServiceClass::standard,
                                  ServiceClass::batch, ServiceClass::batch};
    TenantQuota q;
    q.service = kClasses[tenant];
    q.max_slots = 1 + random_.below(4);
    q.max_pages = 8 + random_.below(16);
    q.reserved_pages = random_.below(4) == 0 ? 2 : 0;
    q.weight = 1 + random_.below(64);
    q.max_queued = 8 + random_.below(40);
    q.group = tenant == 1 || tenant == 2 ? 7 : 0;
    if (random_.below(4) == 0) q.decode_tokens_per_s = 200;
    if (random_.below(4) == 0) q.prefill_tokens_per_s = 1000;
    if (random_.below(16) == 0) q.max_context = 64;
    return q;
  }
  void create(std::size_t tenant) {
    TenantQuota q = quota(tenant);
    auto made = engine_->create_tenant(q);
    q.reserved_pages = 0;
    if (!made) made = engine_->create_tenant(q);
    ASSERT_TRUE(made) << made.error().text();
    tenants_[tenant] = *made;
  }
  void change(std::size_t tenant) {
    const auto changed = engine_->change_tenant(tenants_[tenant], quota(tenant));
    EXPECT_TRUE(changed || changed.error().code() == Errc::capacity_exceeded) << changed.error().text();
  }
  void recreate(std::size_t tenant) {
    count(tenant);
    const auto removed = engine_->remove_tenant(tenants_[tenant]);
    ASSERT_TRUE(removed) << removed.error().text();
    EXPECT_FALSE(engine_->usage(tenants_[tenant]));
    create(tenant);
  }
  void count(std::size_t tenant) {
    const auto ledger = engine_->usage(tenants_[tenant]);
    ASSERT_TRUE(ledger) << ledger.error().text();
    preemptions_ += ledger->preemptions;
    recomputed_ += ledger->recomputed_tokens;
    cached_ += ledger->cached_tokens;
    accepted_drafts_ += ledger->accepted_drafts;
  }

  void submit() {
    const Question& q = questions_[random_.below(questions_.size())];
    Request r = q.request;
    // One in eight is the host's own.
    if (random_.below(8) != 0) r.tenant = tenants_[random_.below(tenants_.size())];
    const auto id = engine_->submit(r);
    ASSERT_TRUE(id) << id.error().text();
    asked_[*id] = {&q, 0, random_.below(40) == 0};
  }
  void cancel() {
    if (asked_.empty()) return;
    auto at = asked_.begin();
    std::advance(at, random_.below(asked_.size()));
    engine_->cancel(at->first);
  }

  /// A client stops reading, or reads again.
  void pause() {
    if (asked_.empty()) return;
    auto at = asked_.begin();
    std::advance(at, random_.below(asked_.size()));
    at->second.paused = !at->second.paused;
    EXPECT_TRUE(engine_->pause(at->first, at->second.paused));
  }

  [[nodiscard]] bool hear(RequestId id, const Token& token) {
    const auto at = asked_.find(id);
    EXPECT_NE(at, asked_.end()) << "a request speaks that has ended";
    if (at == asked_.end()) return false;
    Asked& asked = at->second;
    if (token.id != kNoToken) {
      const auto& answer = asked.question->answer;
      EXPECT_EQ(heard_of(token), asked.heard < answer.size() ? answer[asked.heard] : std::pair(kNoToken, 0u))
          << "token " << asked.heard;
      ++asked.heard;
    }
    if (asked.stops_itself && asked.heard == asked.question->answer.size() / 2 + 1) {
      asked_.erase(at);
      return false;
    }
    if (token.finish != FinishReason::none) finish(asked, token), asked_.erase(at);
    return true;
  }
  void finish(const Asked& asked, const Token& token) {
    switch (token.finish) {
      case FinishReason::length:
        EXPECT_EQ(asked.heard, asked.question->answer.size());
        ++finished_;
        adapted_ += asked.question->request.adapter != AdapterId{} ? 1u : 0u;
        told_ += asked.question->request.prompt_log_probabilities != 0 ? 1u : 0u;
        chunked_ += asked.question->prompt.size() > kChunk ? 1u : 0u;
        return;
      case FinishReason::client_too_slow:
        EXPECT_LT(asked.heard, asked.question->answer.size());
        EXPECT_TRUE(asked.paused);
        ++slow_;
        return;
      case FinishReason::cancelled:
        ++cancelled_;
        return;
      case FinishReason::failed:
        ASSERT_NE(token.error, nullptr);
        EXPECT_TRUE(token.error->code() == Errc::capacity_exceeded || token.error->code() == Errc::not_found)
            << token.error->text();
        ++refused_;
        return;
      default:
        ADD_FAILURE() << name(token.finish);
    }
  }

  test::TinyRandom random_;
  OwnClock clock_;
  std::unique_ptr<HostEngine> engine_;
  std::vector<Question> questions_;
  std::array<TenantId, 5> tenants_{};
  std::map<RequestId, Asked> asked_;
  std::size_t left_ = 0;
  bool adapts_ = false;
  std::array<AdapterId, 3> adapters_{};
  std::uint32_t finished_ = 0, adapted_ = 0, told_ = 0, chunked_ = 0, cancelled_ = 0, slow_ = 0, refused_ = 0;
  std::uint64_t preemptions_ = 0, recomputed_ = 0, cached_ = 0, accepted_drafts_ = 0;
};

class SeveralTenants : public testing::TestWithParam<std::string_view> {};

TEST_P(SeveralTenants, GetTheTokensThatEachRequestGetsAlone) {
  test::ModelFile file;
  bool drafts = false;
  for (const test::TinySpec& spec : test::kTinyFamilies)
    if (spec.name == GetParam()) {
      file = test::tiny_model(spec);
      drafts = !test::is_recurrent(spec, 0);
    }
  Canary canary([&](const EngineOptions& o) { return test::open_engine(On::cpu, file.bytes(), o); }, 64, 1,
                GetParam() == "llama" ? test::tiny_projections() : std::vector<test::AdaptedWeight>{});
  canary.run(requests_to_run(2000));
  canary.check_events(drafts);
}

INSTANTIATE_TEST_SUITE_P(Property, SeveralTenants,
                         testing::Values("llama", "qwen3moe", "gemma2", "gemma3", "gpt-oss", "mamba", "mamba2",
                                         "granitehybrid", "lfm2", "qwen35"),
                         [](const auto& param) {
                           std::string name(param.param);
                           std::erase(name, '-');
                           return name;
                         });

/// A model whose logits another engine has given.
struct GoldenModel {
  std::string_view name;
  bool drafts;  ///< of windows, over which guesses can go back; recurrent layers cannot
};

class SeveralTenantsOfGoldenModels : public testing::TestWithParam<GoldenModel> {};

TEST_P(SeveralTenantsOfGoldenModels, GetTheTokensThatEachRequestGetsAlone) {
  const auto [name, drafts] = GetParam();
  const std::filesystem::path file =
      std::filesystem::path(ZRT_SHARED_DIR) / "golden" / "arch" / (std::string(name) + ".gguf");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  Canary canary([&](const EngineOptions& o) { return test::open_engine(On::cpu, file.string(), o); }, 64, 4);
  canary.run(requests_to_run(500));
  canary.check_events(drafts);
}

INSTANTIATE_TEST_SUITE_P(Property, SeveralTenantsOfGoldenModels,
                         testing::Values(GoldenModel{"gemma2", true}, GoldenModel{"gemma3", true},
                                         GoldenModel{"gemma4", true}, GoldenModel{"gemma4-dense", true},
                                         GoldenModel{"gemma4-moe", true}, GoldenModel{"gpt-oss", true},
                                         GoldenModel{"granitehybrid", false}, GoldenModel{"granitehybrid-moe", false},
                                         GoldenModel{"granitehybrid-rope", false}, GoldenModel{"lfm2", false},
                                         GoldenModel{"mamba", false}, GoldenModel{"mamba2", false},
                                         GoldenModel{"qwen35", false}, GoldenModel{"qwen35moe", false},
                                         GoldenModel{"qwen3next", false}),
                         [](const auto& param) {
                           std::string name(param.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(SeveralTenantsOfBard, GetTheTokensThatEachRequestGetsAlone) {
  Canary canary([](const EngineOptions& o) { return test::open_engine(On::cpu, kBard, o); }, 256, 2,
                bard_projections());
  canary.run(requests_to_run(300));
  canary.check_events();
}

TEST(SeveralTenantsOfBardWithADraftModel, GetTheTokensThatEachRequestGetsAlone) {
  const std::filesystem::path folder = std::filesystem::path(ZRT_SHARED_DIR) / "models";
  if (!std::filesystem::exists(folder / "bard-q4_0.gguf")) GTEST_SKIP() << "there are no models at " << folder;
  // So many that something of everything happens; of the other file that tokens are the same.
  constexpr std::uint32_t kAll = 300, kFew = 60;
  for (const auto& [file, requests] : {std::pair{"bard-q8_0.gguf", kAll}, {"bard-f32.gguf", kFew}}) {
    Canary canary([&](const EngineOptions& o) { return test::open_engine(On::cpu, (folder / file).string(), o); }, 256,
                  3);
    EngineOptions o;
    o.slots = 4;
    o.context = kContext;
    o.chunk = 32;
    canary.draft_with(test::open_engine(On::cpu, (folder / "bard-q4_0.gguf").string(), o));
    canary.run(requests_to_run(requests));
    if (requests == kAll) canary.check_events(true, 500);
  }
}

}  // namespace
}  // namespace several_tenants_test
