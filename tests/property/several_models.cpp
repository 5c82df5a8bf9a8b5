// SPDX-License-Identifier: Apache-2.0
// tests/property/several_models.cpp: models that take turns, are evicted and come back give the tokens that each request gets alone.
#include <zrt/engine/model_set.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <data/models/tiny_adapters.hpp>
#include <data/models/tiny_models.hpp>
#include <map>
#include <memory>
#include <optional>
#include <support/sampled_requests.hpp>
#include <utility>
#include <vector>

namespace several_models_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kContext = 128;

/// A clock that goes on by a millisecond each time it is read.
struct OwnClock {
  std::uint64_t time = 1;

  [[nodiscard]] ClockHook hook() {
    return {this, [](void* context) noexcept { return static_cast<OwnClock*>(context)->time += 1'000'000; }};
  }
};

/// What may be asked of a model, and what it gives alone.
struct Question {
  std::vector<std::int32_t> prompt;
  Request request{};
  std::vector<std::int32_t> answer;
};

/// A model of the box with its questions.
struct Model {
  test::ModelFile file;
  std::unique_ptr<HostEngine> engine;
  std::vector<Question> questions;
};

/// Pages with drafts and adapters, a recurrent model, windows, and a pure state-space model in one box, with memory for
/// the largest two.
class Box {
 public:
  static constexpr std::array<std::string_view, 4> kFamilies{"llama", "granitehybrid", "gemma3", "mamba"};

  Box() : random_(7) {
    std::array<std::uint64_t, kFamilies.size()> needs{};
    for (std::size_t m = 0; m < kFamilies.size(); ++m) needs[m] = open(m);
    std::ranges::sort(needs, std::greater<>());
    auto set = ModelSet<HostEngine>::make({.memory = needs[0] + needs[1], .memory_patience = 24});
    EXPECT_TRUE(set);
    set_.emplace(std::move(*set));
    for (const Model& model : models_) {
      const auto id = set_->add(*model.engine);
      EXPECT_TRUE(id) << id.error().text();
    }
    constexpr std::array kClasses{ServiceClass::interactive, ServiceClass::standard, ServiceClass::batch};
    for (std::size_t t = 0; t < kClasses.size(); ++t) {
      const auto tenant = set_->create_tenant({.max_queued = 20, .service = kClasses[t]});
      EXPECT_TRUE(tenant) << tenant.error().text();
      if (tenant) tenants_[t] = *tenant;
    }
    bound_ = needs[0] + needs[1];
  }

  void run(std::uint32_t count) {
    for (std::uint32_t submitted = 0, steps = 0; submitted < count || left_ != 0; ++steps) {
      ASSERT_LT(steps, 400u * count) << "requests are left for ever";
      if (submitted < count && random_.below(100) < 8)
        for (std::uint32_t burst = 1 + random_.below(4); burst != 0; --burst, ++submitted) submit();
      if (random_.below(100) < 1 && !asked_.empty())
        set_->cancel(asked_.begin()->first.first, asked_.begin()->first.second);
      const auto left = set_->step([this](ModelId m, RequestId id, const Token& token) { return hear(m, id, token); });
      ASSERT_TRUE(left) << left.error().text();
      left_ = *left;
      std::uint64_t held = 0;
      for (const Model& model : models_) held += model.engine->memory().total();
      ASSERT_LE(held, bound_);
      ASSERT_FALSE(testing::Test::HasFailure()) << "step " << steps;
    }
    EXPECT_TRUE(asked_.empty()) << asked_.size() << " requests never ended";
  }

  /// A run in which nothing happened proves nothing.
  void check_events() {
    std::uint64_t evictions = 0, preemptions = 0, cached = 0, drafts = 0;
    for (std::uint32_t m = 0; m < kFamilies.size(); ++m) {
      const auto report = set_->report(ModelId{m});
      ASSERT_TRUE(report);
      EXPECT_GE(report->evictions, 3u) << kFamilies[m];
      EXPECT_GE(report->reopenings, 3u) << kFamilies[m];
      evictions += report->evictions;
    }
    for (const TenantId tenant : tenants_) {
      const auto used = set_->usage(tenant);
      ASSERT_TRUE(used);
      preemptions += used->preemptions;
      cached += used->cached_tokens;
      drafts += used->accepted_drafts;
    }
    EXPECT_GE(finished_, 100u);
    EXPECT_GE(cancelled_, 5u);
    EXPECT_GE(preemptions, 5u);
    EXPECT_GE(cached, 100u);
    EXPECT_GE(drafts, 5u);
    std::printf("%u finished, %u cancelled; %llu evictions, %llu preemptions, %llu tokens found, %llu guessed\n",
                finished_, cancelled_, static_cast<unsigned long long>(evictions),
                static_cast<unsigned long long>(preemptions), static_cast<unsigned long long>(cached),
                static_cast<unsigned long long>(drafts));
  }

 private:
  struct Asked {
    const Question* question;
    std::size_t heard = 0;
  };

  /// Opens a model, finds what its questions give alone, and returns the bytes that it needs.
  std::uint64_t open(std::size_t m) {
    Model& model = models_[m];
    for (const test::TinySpec& spec : test::kTinyFamilies)
      if (spec.name == kFamilies[m]) model.file = test::tiny_model(spec);
    EngineOptions alone;
    alone.context = kContext;
    alone.chunk = 64;
    alone.adapters = m == 0 ? 2 : 0;
    EngineOptions shared = alone;
    shared.slots = 3;
    shared.chunk = 32;
    shared.pages = 14;
    shared.queue = 64;
    shared.prefix_cache = true;
    shared.kept_states = 6;
    shared.draft_tokens = 6;
    shared.clock = clock_.hook();
    auto single = test::open_engine(On::cpu, model.file.bytes(), alone);
    auto engine = test::open_engine(On::cpu, model.file.bytes(), shared);
    EXPECT_TRUE(single && engine);
    model.engine = std::move(*engine);
    EXPECT_TRUE(model.engine->expect_tenants());
    std::array<AdapterId, 3> adapters{};
    if (m == 0)
      for (std::uint64_t a = 1; a < adapters.size(); ++a) {
        const test::ModelFile file = test::tiny_adapter({.weights = test::tiny_projections(), .seed = a});
        const auto here = (*single)->load_adapter(file.bytes()), there = model.engine->load_adapter(file.bytes());
        EXPECT_TRUE(here && there && *here == *there);
        adapters[a] = *there;
      }
    for (std::uint64_t i = 0; i < 16; ++i) {
      Question q;
      q.prompt = test::tiny_prompt(64, 16 + random_.below(40), 100 + i % 3);
      const std::vector<std::int32_t> own = test::tiny_prompt(64, 1 + random_.below(20), 200 + i);
      q.prompt.insert(q.prompt.end(), own.begin(), own.end());
      q.request = test::sampled_request({}, i, 1 + random_.below(40));
      if (i % 3 == 0) q.request.sampling.temperature = 0.0f;
      if (m == 0) q.request.adapter = adapters[i % 3];
      model.questions.push_back(std::move(q));
    }
    for (Question& q : model.questions) {
      q.request.tokens = q.prompt;
      q.answer = test::tokens_alone(**single, q.request);
    }
    return model.engine->memory().total();
  }

  void submit() {
    const std::uint32_t m = random_.below(kFamilies.size());
    const Question& q = models_[m].questions[random_.below(models_[m].questions.size())];
    Request r = q.request;
    if (random_.below(6) != 0) r.tenant = tenants_[random_.below(tenants_.size())];
    const auto id = set_->submit(ModelId{m}, r);
    ASSERT_TRUE(id) << id.error().text();
    asked_[{ModelId{m}, *id}] = {&q, 0};
  }
  [[nodiscard]] bool hear(ModelId m, RequestId id, const Token& token) {
    const auto at = asked_.find({m, id});
    EXPECT_NE(at, asked_.end()) << "a request speaks that has ended";
    if (at == asked_.end()) return false;
    Asked& asked = at->second;
    const std::vector<std::int32_t>& answer = asked.question->answer;
    if (token.id != kNoToken) {
      EXPECT_EQ(token.id, asked.heard < answer.size() ? answer[asked.heard] : kNoToken)
          << kFamilies[static_cast<std::size_t>(m)] << ", token " << asked.heard;
      ++asked.heard;
    }
    if (token.finish == FinishReason::none) return true;
    if (token.finish == FinishReason::length) {
      EXPECT_EQ(asked.heard, answer.size());
      ++finished_;
    } else if (token.finish == FinishReason::cancelled) {
      ++cancelled_;
    } else {
      EXPECT_EQ(token.finish, FinishReason::failed);
      EXPECT_TRUE(token.error != nullptr && token.error->code() == Errc::capacity_exceeded);
    }
    asked_.erase(at);
    return true;
  }

  test::TinyRandom random_;
  OwnClock clock_;
  std::array<Model, kFamilies.size()> models_;
  std::optional<ModelSet<HostEngine>> set_;
  std::array<TenantId, 3> tenants_{};
  std::map<std::pair<ModelId, RequestId>, Asked> asked_;
  std::size_t left_ = 0;
  std::uint64_t bound_ = 0;
  std::uint32_t finished_ = 0, cancelled_ = 0;
};

TEST(SeveralModels, GiveTheTokensThatEachRequestGetsAlone) {
  Box box;
  if (testing::Test::HasFailure()) return;
  box.run(600);
  box.check_events();
}

}  // namespace
}  // namespace several_models_test
