// SPDX-License-Identifier: Apache-2.0
// tests/unit/model_set.cpp: several engines in one box: turns, places in memory, tenants of all, faults of one.
#include <zrt/engine/model_set.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <map>
#include <memory>
#include <support/sampled_requests.hpp>
#include <utility>
#include <vector>

namespace model_set_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;
using Set = ModelSet<HostEngine>;

constexpr ModelId kA{0}, kB{1}, kC{2};

struct Heard {
  std::vector<std::int32_t> tokens;
  FinishReason finish = FinishReason::none;
  std::string error;
};

/// An allocator that can be told to have no memory left.
struct Meagre {
  bool empty = false;

  [[nodiscard]] Allocator hook() {
    return {this,
            [](void* context, std::size_t bytes, std::size_t align) noexcept -> void* {
              const Allocator system = system_allocator();
              return static_cast<Meagre*>(context)->empty ? nullptr : system.allocate(system.context, bytes, align);
            },
            [](void*, void* memory, std::size_t bytes, std::size_t align) noexcept {
              const Allocator system = system_allocator();
              system.release(system.context, memory, bytes, align);
            }};
  }
};

class ModelSets : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<HostEngine> open(EngineOptions options = {}) const {
    options.context = 128;
    options.chunk = 32;
    auto engine = test::open_engine(On::cpu, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  /// A set of `count` engines of the same model, in memory for `places` of them; 0: for all.
  void make(std::size_t count, std::size_t places = 0, const EngineOptions& options = {}) {
    for (std::size_t i = 0; i < count; ++i) engines_.push_back(open(options));
    each_ = engines_[0]->memory().total();
    auto set = Set::make({.memory = places * each_});
    ASSERT_TRUE(set) << set.error().text();
    set_.emplace(std::move(*set));
    for (const auto& engine : engines_) {
      const auto id = set_->add(*engine);
      ASSERT_TRUE(id) << id.error().text();
    }
  }
  RequestId submit(ModelId model, std::uint64_t seed, std::uint32_t most = 12, TenantId tenant = {}) {
    Request r = test::sampled_request(prompt_, seed, most);
    r.tenant = tenant;
    const auto id = set_->submit(model, r);
    EXPECT_TRUE(id) << id.error().text();
    return id ? *id : RequestId{};
  }
  std::size_t step() {
    const auto left = set_->step([this](ModelId model, RequestId id, const Token& token) {
      Heard& h = heard_[{model, id}];
      if (token.id != kNoToken) h.tokens.push_back(token.id);
      if (token.id != kNoToken) turns_.push_back(model);
      h.finish = token.finish;
      if (token.error != nullptr) h.error = token.error->text();
      return true;
    });
    if (!left) error_ = left.error().text();
    return left ? *left : ~std::size_t{0};
  }
  void finish() {
    for (int steps = 0; step() != 0; ++steps) ASSERT_LT(steps, 5000);
  }
  [[nodiscard]] std::vector<std::int32_t> alone(std::uint64_t seed, std::uint32_t most = 12) const {
    return test::tokens_alone(*open(), test::sampled_request(prompt_, seed, most));
  }
  [[nodiscard]] ModelReport report(ModelId model) {
    const auto r = set_->report(model);
    EXPECT_TRUE(r);
    return r ? *r : ModelReport{};
  }
  static Errc code_of(const auto& result) { return result ? Errc{} : result.error().code(); }

  test::ModelFile file_ = test::tiny_model(test::TinySpec{});
  std::vector<std::int32_t> prompt_ = test::tiny_prompt(64, 40, 3);
  std::vector<std::unique_ptr<HostEngine>> engines_;
  std::optional<Set> set_;
  std::uint64_t each_ = 0;
  std::map<std::pair<ModelId, RequestId>, Heard> heard_;
  std::vector<ModelId> turns_;
  std::string error_;
};

TEST_F(ModelSets, EngineGivesItsMemoryBackAndAnswersAsBefore) {
  const auto engine = open({.slots = 2, .prefix_cache = true});
  const HeldMemory before = engine->memory();
  EXPECT_GT(before.weights, 0u);
  EXPECT_GT(before.caches, 0u);
  EXPECT_GT(before.work, 0u);
  const auto running = engine->submit(test::sampled_request(prompt_, 1, 12));
  ASSERT_TRUE(running);
  std::vector<std::int32_t> first, second;
  std::size_t left = 0;
  const auto run = [&] {
    const auto r = engine->step([&](RequestId id, const Token& token) {
      if (token.id != kNoToken) (id == *running ? first : second).push_back(token.id);
      return true;
    });
    ASSERT_TRUE(r) << r.error().text();
    left = *r;
  };
  run();
  EXPECT_EQ(code_of(engine->evict()), Errc::invalid_state);
  ASSERT_TRUE(engine->hold(true));
  const auto waiting = engine->submit(test::sampled_request(prompt_, 2, 12));
  const auto cancelled = engine->submit(test::sampled_request(prompt_, 3, 12));
  ASSERT_TRUE(waiting && cancelled);
  for (int i = 0; i < 40 && first.size() < 12; ++i) run();
  EXPECT_EQ(first, alone(1));
  EXPECT_EQ(left, 2u) << "what waits is held back";
  run();
  EXPECT_EQ(engine->idle_ns(), kUntilSubmit);
  ASSERT_TRUE(engine->evict());
  EXPECT_FALSE(engine->is_resident());
  EXPECT_EQ(engine->memory().total(), 0u);
  engine->cancel(*cancelled);
  run();
  EXPECT_EQ(left, 1u);
  EXPECT_TRUE(second.empty());
  EXPECT_EQ(code_of(engine->evaluate(prompt_, {}, [](std::uint32_t, std::span<const float>) {})), Errc::invalid_state);
  EXPECT_EQ(code_of(engine->save(*waiting)), Errc::invalid_state);
  ASSERT_TRUE(engine->reopen());
  EXPECT_EQ(engine->memory().total(), before.total());
  while (left != 0) run();
  EXPECT_EQ(second, alone(2));
  ASSERT_TRUE(engine->evict());
  EXPECT_EQ(code_of(engine->generate(test::sampled_request(prompt_, 1, 2), [](const Token&) { return true; })),
            Errc::invalid_state);
}

TEST_F(ModelSets, TakeTurnsAndAnswerAsEachAlone) {
  make(3);
  for (const ModelId m : {kA, kB, kC}) submit(m, 1 + static_cast<std::uint64_t>(m));
  finish();
  for (const auto& [key, heard] : heard_) {
    EXPECT_EQ(heard.finish, FinishReason::length);
    EXPECT_EQ(heard.tokens, alone(1 + static_cast<std::uint64_t>(key.first)));
  }
  // One tenant, alike: nobody has two turns before another has one.
  ASSERT_EQ(turns_.size(), 36u);
  for (std::size_t i = 3; i < turns_.size(); ++i) EXPECT_EQ(turns_[i], turns_[i - 3]) << i;
  EXPECT_EQ(set_->idle_ns(), kUntilSubmit);
  EXPECT_EQ(code_of(set_->submit(ModelId{3}, {})), Errc::not_found);
  EXPECT_EQ(code_of(set_->report(ModelId{3})), Errc::not_found);
}

TEST_F(ModelSets, OnesThatAreIdleAreEvictedAndComeBack) {
  make(3, 2);
  EXPECT_EQ(report(kA).resident + report(kB).resident + report(kC).resident, 2);
  for (std::uint64_t round = 0; round < 3; ++round)
    for (const ModelId m : {kA, kB, kC}) {
      heard_.clear();
      const RequestId id = submit(m, round);
      finish();
      EXPECT_EQ((heard_[{m, id}].tokens), alone(round));
      std::uint64_t held = 0;
      for (const ModelId each : {kA, kB, kC}) held += report(each).memory.total();
      EXPECT_LE(held, 2 * each_);
      EXPECT_TRUE(report(m).resident);
      EXPECT_EQ(report(m).needs, each_);
    }
  EXPECT_GE(report(kA).evictions, 2u);
  EXPECT_GE(report(kA).reopenings, 2u);
}

TEST_F(ModelSets, RequestsThatNoModelHasReadYetAreLeft) {
  make(2);
  // The first ends in the step in which the other is not read.
  const RequestId a = submit(kA, 1, 1), b = submit(kB, 2, 1);
  finish();
  EXPECT_EQ((heard_[{kA, a}].finish), FinishReason::length);
  EXPECT_EQ((heard_[{kB, b}].finish), FinishReason::length);
  EXPECT_GE(set_->reads(kA), 1u);
}

TEST_F(ModelSets, ABusyModelRunsEmptyForOneThatHasWaited) {
  make(2, 1, {.slots = 2});
  // A has work for much longer than B's patience.
  for (std::uint64_t i = 0; i < 12; ++i) submit(kA, i, 60);
  step();
  const RequestId b = submit(kB, 7);
  std::size_t most = 0;
  for (int steps = 0; step() != 0; ++steps) {
    ASSERT_LT(steps, 5000);
    const std::size_t resident = report(kA).resident + report(kB).resident;
    most = resident > most ? resident : most;
    ASSERT_LE(report(kA).memory.total() + report(kB).memory.total(), each_);
  }
  EXPECT_EQ(most, 1u);
  EXPECT_EQ((heard_[{kB, b}].tokens), alone(7));
  for (const auto& [key, heard] : heard_) EXPECT_EQ(heard.finish, FinishReason::length);
  // B's answer came before A's last ones.
  std::size_t last_b = 0, a_behind = 0;
  for (std::size_t i = 0; i < turns_.size(); ++i)
    if (turns_[i] == kB) last_b = i;
  for (std::size_t i = last_b; i < turns_.size(); ++i) a_behind += turns_[i] == kA ? 1u : 0u;
  EXPECT_GE(a_behind, 100u);
  EXPECT_EQ(report(kA).evictions, 2u) << "for B when it was added, and for its request";
}

TEST_F(ModelSets, RequestsOfOneThatIsNotInMemoryAreRefusedAndCancelledAtOnce) {
  make(2, 1, {.slots = 1, .queue = 1});
  submit(kA, 1, 80);
  step();
  ASSERT_FALSE(report(kB).resident);
  std::vector<RequestId> ids;
  for (std::uint64_t i = 0; i < 3; ++i) ids.push_back(submit(kB, i));
  step();
  EXPECT_EQ((heard_[{kB, ids[2]}].finish), FinishReason::failed) << "one free slot and a queue of one";
  set_->cancel(kB, ids[0]);
  step();
  EXPECT_EQ((heard_[{kB, ids[0]}].finish), FinishReason::cancelled);
  finish();
  EXPECT_EQ((heard_[{kB, ids[1]}].tokens), alone(1));
}

TEST_F(ModelSets, ACancelIsHeardInTheNextStepWhoseverTurnItIs) {
  make(3);
  const TenantId batch = *set_->create_tenant({.service = ServiceClass::batch});
  for (const ModelId busy : {kA, kB}) (void)submit(busy, 1, 60);
  const RequestId waits = submit(kC, 2, 60, batch), runs = submit(kC, 3, 60);
  // Until one of them has a token.
  while (heard_[{kC, runs}].tokens.empty()) ASSERT_NE(step(), 0u);
  while (turns_.back() == kC) ASSERT_NE(step(), 0u);
  for (const RequestId id : {waits, runs}) set_->cancel(kC, id);
  const std::size_t turns = turns_.size();
  EXPECT_EQ(step(), 2u);
  for (const RequestId id : {waits, runs}) EXPECT_EQ((heard_[{kC, id}].finish), FinishReason::cancelled);
  EXPECT_GT(turns_.size(), turns) << "the step computed nothing";
  finish();
}

TEST_F(ModelSets, WhatDoesNotFitIsRefused) {
  engines_.push_back(open());
  auto set = Set::make({.memory = engines_[0]->memory().total() - 1});
  ASSERT_TRUE(set);
  EXPECT_EQ(code_of(set->add(*engines_[0])), Errc::capacity_exceeded);
  ASSERT_TRUE(engines_[0]->submit(test::sampled_request(prompt_, 1, 2)));
  auto unbounded = Set::make();
  EXPECT_EQ(code_of(unbounded->add(*engines_[0])), Errc::invalid_state);
}

TEST_F(ModelSets, BringMakesRoomForACallOfTheEngines) {
  make(2, 1);
  const ModelId away = report(kA).resident ? kB : kA;
  const ModelId here = away == kA ? kB : kA;
  ASSERT_TRUE(set_->bring(away));
  EXPECT_TRUE(report(away).resident);
  EXPECT_FALSE(report(here).resident);
  submit(away, 1, 30);
  step();
  EXPECT_EQ(code_of(set_->bring(here)), Errc::capacity_exceeded);
  finish();
  EXPECT_TRUE(set_->bring(here));
}

TEST_F(ModelSets, AFaultOfOneLeavesTheOthers) {
  Meagre memory;
  engines_.push_back(open({.allocator = memory.hook()}));
  engines_.push_back(open());
  each_ = engines_[0]->memory().total();
  auto made = Set::make({.memory = each_});
  ASSERT_TRUE(made);
  set_.emplace(std::move(*made));
  for (const auto& engine : engines_) ASSERT_TRUE(set_->add(*engine));
  const RequestId b = submit(kB, 1);
  finish();
  ASSERT_FALSE(report(kA).resident);
  // A cannot come back: what waits for it ends with the reason, and B goes on.
  const RequestId a = submit(kA, 2);
  memory.empty = true;
  std::size_t left = 1;
  for (int i = 0; i < 10 && heard_[{kA, a}].finish == FinishReason::none; ++i) left = step();
  EXPECT_EQ((heard_[{kA, a}].finish), FinishReason::failed);
  EXPECT_NE((heard_[{kA, a}].error.find("memory")), std::string::npos) << heard_[{kA, a}].error;
  EXPECT_EQ(error_.substr(0, 9), "model 0: ") << error_;
  EXPECT_EQ(left, ~std::size_t{0});
  const RequestId again = submit(kB, 3);
  finish();
  EXPECT_EQ((heard_[{kB, b}].tokens), alone(1));
  EXPECT_EQ((heard_[{kB, again}].tokens), alone(3));
  // With memory it does.
  memory.empty = false;
  const RequestId later = submit(kA, 4);
  finish();
  EXPECT_EQ((heard_[{kA, later}].tokens), alone(4));
}

TEST_F(ModelSets, TenantsAreOfAllModels) {
  std::uint64_t time = 1;
  const ClockHook clock{&time, [](void* context) noexcept { return *static_cast<std::uint64_t*>(context); }};
  make(2, 0, {.slots = 2, .clock = clock});
  const auto tenant = set_->create_tenant({.decode_tokens_per_s = 2, .service = ServiceClass::standard});
  ASSERT_TRUE(tenant) << tenant.error().text();
  submit(kA, 1, 12, *tenant);
  submit(kB, 1, 12, *tenant);
  // Ten tokens in five seconds, over both models together. The first token of an answer comes with its prompt.
  for (int i = 0; i < 60; ++i) step();
  const auto all = set_->usage(*tenant), of_a = set_->usage(*tenant, kA), of_b = set_->usage(*tenant, kB);
  ASSERT_TRUE(all && of_a && of_b);
  EXPECT_EQ(all->delivered_tokens, 12u);
  EXPECT_EQ(of_a->delivered_tokens + of_b->delivered_tokens, 12u);
  EXPECT_GE(of_a->delivered_tokens, 5u);
  EXPECT_GE(of_b->delivered_tokens, 5u);
  EXPECT_GT(set_->idle_ns(), 0u);
  EXPECT_LE(set_->idle_ns(), 5'100'000'000u);
  ASSERT_TRUE(set_->change_tenant(*tenant, {.decode_tokens_per_s = 1000, .service = ServiceClass::standard}));
  finish();
  EXPECT_EQ(set_->usage(*tenant)->delivered_tokens, 24u);
  ASSERT_TRUE(set_->remove_tenant(*tenant));
  EXPECT_EQ(code_of(set_->submit(kA,
                                 [&] {
                                   Request r = test::sampled_request(prompt_, 1, 2);
                                   r.tenant = *tenant;
                                   return r;
                                 }())),
            Errc::not_found);
  EXPECT_EQ(code_of(set_->usage(*tenant)), Errc::not_found);
  EXPECT_EQ(code_of(set_->change_tenant(TenantId{}, {})), Errc::invalid_argument);
}

TEST_F(ModelSets, ASessionIsOfOneModel) {
  make(2);
  const auto tenant = set_->create_tenant({.service = ServiceClass::standard});
  ASSERT_TRUE(tenant);
  const auto session = set_->open_session(kB, *tenant);
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_EQ(code_of(set_->open_session(ModelId{7}, *tenant)), Errc::not_found);
  EXPECT_EQ(code_of(set_->open_session(kA, TenantId{99})), Errc::not_found);
  EXPECT_EQ(code_of(set_->close_session(ModelId{7}, *session)), Errc::not_found);
  Request r = test::sampled_request(prompt_, 3, 12);
  r.tenant = *tenant;
  r.session = *session;
  const auto of_b = set_->submit(kB, r);
  ASSERT_TRUE(of_b);
  const RequestId of_a = submit(kA, 1, 12, *tenant);
  for (int i = 0; i < 6; ++i) step();
  ASSERT_TRUE(set_->close_session(kB, *session));
  finish();
  EXPECT_EQ((heard_[{kB, *of_b}].finish), FinishReason::cancelled);
  EXPECT_EQ((heard_[{kA, of_a}].tokens), alone(1));
}

TEST_F(ModelSets, ATenantsServiceCountsOverAllModels) {
  make(2, 0, {.slots = 1});
  const auto greedy = set_->create_tenant({.service = ServiceClass::standard});
  const auto modest = set_->create_tenant({.service = ServiceClass::standard});
  ASSERT_TRUE(greedy && modest);
  // One keeps both models busy, the other asks B alone: B answers it in one of two places, since A counts.
  std::map<std::pair<ModelId, RequestId>, bool> is_modest;
  for (std::uint64_t i = 0; i < 8; ++i) {
    submit(kA, i, 20, *greedy);
    submit(kB, i, 20, *greedy);
    is_modest[{kB, submit(kB, i, 20, *modest)}] = true;
  }
  std::vector<bool> order;
  for (int steps = 0; steps < 4000; ++steps) {
    const auto left = set_->step([&](ModelId model, RequestId id, const Token& token) {
      if (model == kB && token.finish != FinishReason::none) order.push_back(is_modest[{model, id}]);
      return true;
    });
    ASSERT_TRUE(left);
    if (*left == 0) break;
  }
  ASSERT_EQ(order.size(), 16u);
  const auto among_first = std::count(order.begin(), order.begin() + 9, true);
  EXPECT_GE(among_first, 5) << "alone on B they would take turns";
}

TEST_F(ModelSets, RequestsThatWaitForTheirRatesAskForNoMemory) {
  std::uint64_t time = 1;
  const ClockHook clock{&time, [](void* context) noexcept { return *static_cast<std::uint64_t*>(context); }};
  make(2, 1, {.clock = clock});
  const auto slow = set_->create_tenant({.prefill_tokens_per_s = 8, .service = ServiceClass::standard});
  ASSERT_TRUE(slow) << slow.error().text();
  submit(kA, 1, 4, *slow);  // forty tokens, which is all of five seconds
  finish();
  ASSERT_TRUE(report(kA).resident);
  const RequestId waits = submit(kB, 2, 4, *slow);
  for (int i = 0; i < 300; ++i) step();
  EXPECT_TRUE(report(kA).resident);
  EXPECT_EQ(report(kB).reopenings, 0u) << "there is nothing that it could do in memory";
  EXPECT_GT(set_->idle_ns(), 1'000'000'000u);
  EXPECT_LE(set_->idle_ns(), 5'100'000'000u);
  // Another tenant's request brings it, and both models go on in turn.
  submit(kB, 3, 4);
  for (int i = 0; i < 300; ++i) step();
  EXPECT_EQ(report(kB).reopenings, 1u);
  EXPECT_TRUE((heard_[{kB, waits}].tokens.empty()));
  time += 6'000'000'000;
  EXPECT_EQ(set_->idle_ns(), 0u);
  finish();
  EXPECT_EQ((heard_[{kB, waits}].tokens), alone(2, 4));
}

TEST_F(ModelSets, WhatATenantHasBesideStepsCountsInAllModels) {
  std::uint64_t time = 1;
  const ClockHook clock{&time, [](void* context) noexcept { return *static_cast<std::uint64_t*>(context); }};
  make(2, 0, {.slots = 1, .clock = clock});
  const auto tenant = set_->create_tenant({.prefill_tokens_per_s = 100, .service = ServiceClass::standard});
  const auto other = set_->create_tenant({.service = ServiceClass::standard});
  ASSERT_TRUE(tenant && other);
  ASSERT_TRUE(set_->charge(*tenant, 500));
  for (const ModelId model : {kA, kB}) {
    submit(model, 1, 4, *tenant);
    submit(model, 1, 4, *other);
  }
  for (int i = 0; i < 40; ++i) step();
  EXPECT_EQ(set_->usage(*tenant)->delivered_tokens, 0u) << "its rate is used up";
  EXPECT_EQ(set_->usage(*other)->delivered_tokens, 8u);
  time += 6'000'000'000;
  finish();
  EXPECT_EQ(set_->usage(*tenant)->delivered_tokens, 8u);
  EXPECT_EQ(code_of(set_->charge(TenantId{77}, 1)), Errc::not_found);
}

TEST_F(ModelSets, TheCallableMaySubmitAndNothingElse) {
  make(2);
  submit(kA, 1, 2);
  bool refused = false;
  RequestId more{};
  for (bool first = true; first; first = false)
    for (std::size_t left = 1; left != 0;) {
      const auto r = set_->step([&](ModelId, RequestId, const Token&) {
        if (std::exchange(first, false)) {
          refused = code_of(set_->create_tenant({})) == Errc::invalid_argument;
          more = submit(kB, 2, 2);
        }
        return true;
      });
      ASSERT_TRUE(r) << r.error().text();
      left = set_->idle_ns() == kUntilSubmit ? 0 : 1;
    }
  EXPECT_TRUE(refused);
  EXPECT_NE(more, RequestId{});
}

}  // namespace
}  // namespace model_set_test
