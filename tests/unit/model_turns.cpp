// SPDX-License-Identifier: Apache-2.0
// tests/unit/model_turns.cpp: models that share a machine: whose step is next, who is in memory, and how long anybody waits.
#include <zrt/serve/model_turns.hpp>
#include <zrt/serve/tenant_service.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <vector>

namespace model_turns_test {
namespace {

using namespace zrt;
using serve::ModelAction;
using serve::ModelState;
using ModelTurns = serve::ModelTurns<>;
using serve::ServiceClass;
using Kind = ModelAction::Kind;

ModelTurns turns_of(std::size_t models, const serve::ModelTurnLimits& limits = {}) {
  ModelTurns turns(limits, system_allocator());
  for (std::size_t m = 0; m < models; ++m) EXPECT_TRUE(turns.add());
  return turns;
}

ModelState in_memory(bool ready = true) {
  ModelState s;
  s.ready = s.running = s.busy = ready;
  s.resident = true;
  s.bytes = 10;
  return s;
}

std::vector<std::uint32_t> steps_of(ModelTurns& turns, const std::vector<ModelState>& models, int rounds) {
  std::vector<std::uint32_t> stepped;
  for (int i = 0; i < rounds; ++i) {
    turns.begin(models);
    const ModelAction action = turns.next(models);
    EXPECT_EQ(action.kind, Kind::step);
    stepped.push_back(action.model);
  }
  return stepped;
}

TEST(ModelTurns, ClassComesFirstThenServiceThenTheOneThatWaited) {
  ModelTurns turns = turns_of(3);
  std::vector<ModelState> models(3, in_memory());
  // Alike: in turn.
  EXPECT_EQ(steps_of(turns, models, 6), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  models[0].had = 5;
  EXPECT_EQ(steps_of(turns, models, 4), (std::vector<std::uint32_t>{1, 2, 1, 2}));
  models[2].service = 1;
  models[0].service = 1;
  EXPECT_EQ(steps_of(turns, models, 2), (std::vector<std::uint32_t>{1, 1}));
}

TEST(ModelTurns, PatienceBoundsTheWaitBehindAHigherClass) {
  ModelTurns turns = turns_of(3);
  std::vector<ModelState> models(3, in_memory());
  models[0].service = models[1].service = 2;
  const auto stepped = steps_of(turns, models, 40);
  for (const std::uint32_t m : {0u, 1u}) {
    int waited = 0;
    int longest = 0;
    for (const std::uint32_t s : stepped) {
      waited = s == m ? 0 : waited + 1;
      longest = waited > longest ? waited : longest;
    }
    EXPECT_LE(longest, 8 + 2) << "model " << m;
    EXPECT_GE(longest, 8) << "model " << m;
  }
}

TEST(ModelTurns, TheLongestUnusedWithoutWorkMakesRoom) {
  ModelTurns turns = turns_of(4, {.memory = 30});
  std::vector<ModelState> models(4, in_memory());
  EXPECT_EQ(steps_of(turns, models, 3), (std::vector<std::uint32_t>{0, 1, 2}));
  models[0] = models[1] = in_memory(false);
  models[3].resident = models[3].running = false;
  turns.begin(models);
  ModelAction action = turns.next(models);
  while (action.kind == Kind::step) {
    turns.begin(models);
    action = turns.next(models);
  }
  EXPECT_EQ(action.kind, Kind::evict);
  EXPECT_EQ(action.model, 0u);
  models[0].resident = false;
  action = turns.next(models);
  EXPECT_EQ(action.kind, Kind::reopen);
  EXPECT_EQ(action.model, 3u);
  EXPECT_EQ(turns.first_to_go(models, 3), 1u);
}

TEST(ModelTurns, AModelThatMakesRoomGoesThoughRequestsForItArrive) {
  ModelTurns turns = turns_of(3, {.memory = 20});
  std::vector<ModelState> models(3, in_memory());
  models[0].running = false;
  models[2].resident = models[2].running = false;
  turns.begin(models);
  EXPECT_EQ(turns.first_to_go(models, 2), serve::kNone);
  models[0].drains = true;
  EXPECT_EQ(turns.first_to_go(models, 2), 0u);
}

TEST(ModelTurns, AModelThatDidNotComeBackLetsTheOthersGoFirst) {
  ModelTurns turns = turns_of(3);
  const std::vector<ModelState> models(3, in_memory());
  EXPECT_EQ(steps_of(turns, models, 3), (std::vector<std::uint32_t>{0, 1, 2}));
  turns.put_last(0);
  EXPECT_EQ(steps_of(turns, models, 3), (std::vector<std::uint32_t>{1, 2, 0}));
}

/// Models whose requests come and end by chance, moved as ModelTurns says.
class Machine {
 public:
  Machine(std::uint64_t seed, std::size_t models, std::uint64_t memory)
      : random_(seed), limits_{.memory = memory}, turns_(turns_of(models, limits_)), models_(models), waited_(models) {
    for (Model& m : models_) m.state.bytes = 1 + random_.below(static_cast<std::uint32_t>(memory));
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      for (Model& m : models_) arrive(m);
      step();
      if (testing::Test::HasFailure()) return;
    }
  }
  std::uint32_t longest() const { return longest_; }
  std::uint32_t moves() const { return moves_; }

 private:
  struct Model {
    ModelState state{};
    std::uint32_t waiting = 0, running = 0;
    bool stalls = false;  ///< its tenants have used up their rates
  };

  void arrive(Model& m) {
    if (random_.below(20) == 0) m.waiting += 1 + random_.below(3);
    m.stalls = random_.below(8) == 0;
    m.state.service = random_.below(3);
    m.state.had = random_.below(4);
    look(m);
  }
  void look(Model& m) {
    const bool begins = m.waiting != 0 && !m.state.drains;
    m.state.running = m.running != 0;
    m.state.busy = m.running + m.waiting != 0;
    m.state.ready = m.state.resident ? !m.stalls && (m.running != 0 || begins) : m.waiting != 0;
  }
  std::vector<ModelState> states() const {
    std::vector<ModelState> out;
    for (const Model& m : models_) out.push_back(m.state);
    return out;
  }
  void step() {
    turns_.begin(states());
    for (int actions = 0;; ++actions) {
      ASSERT_LT(actions, 100) << "models move for ever";
      const ModelAction action = turns_.next(states());
      if (action.kind == Kind::rest) return;
      Model& m = models_[action.model];
      if (action.kind == Kind::step) return compute(action.model);
      ++moves_;
      if (action.kind == Kind::evict) {
        ASSERT_TRUE(m.state.resident);
        ASSERT_EQ(m.running, 0u) << "in the middle of a request";
        m.state.resident = m.state.drains = false;
      }
      if (action.kind == Kind::reopen) {
        ASSERT_FALSE(m.state.resident);
        m.state.resident = true;
      }
      if (action.kind == Kind::drain || action.kind == Kind::release) m.state.drains = action.kind == Kind::drain;
      look(m);
      std::uint64_t used = 0;
      for (const Model& each : models_) used += each.state.resident ? each.state.bytes : 0;
      ASSERT_LE(used, limits_.memory);
    }
  }
  void compute(std::uint32_t stepped) {
    Model& m = models_[stepped];
    ASSERT_TRUE(m.state.ready && m.state.resident);
    while (m.waiting != 0 && m.running < 4 && !m.state.drains) --m.waiting, ++m.running;
    if (random_.below(4) == 0 && m.running != 0) --m.running;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const bool wants = models_[i].waiting + models_[i].running != 0 && i != stepped;
      waited_[i] = wants ? waited_[i] + 1 : 0;
      longest_ = waited_[i] > longest_ ? waited_[i] : longest_;
    }
  }

  test::TinyRandom random_;
  serve::ModelTurnLimits limits_;
  ModelTurns turns_;
  std::vector<Model> models_;
  std::vector<std::uint32_t> waited_;
  std::uint32_t longest_ = 0, moves_ = 0;
};

TEST(ModelTurns, NobodyWaitsForEverAndMemoryHolds) {
  std::uint32_t moves = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t models = 2 + seed % 4;
    Machine machine(seed, models, 4 + seed % 16);
    machine.run(3000);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    // Each may have its patience, its stay, and requests that run empty.
    EXPECT_LT(machine.longest(), models * (64 + 64 + 200)) << "seed " << seed;
    moves += machine.moves();
  }
  EXPECT_GT(moves, 10'000u);
}

TEST(TenantService, CountsByWeightAndLiftsWhoComesBack) {
  serve::TenantService service(system_allocator());
  ASSERT_TRUE(service.resize(3));
  constexpr auto standard = static_cast<std::uint32_t>(ServiceClass::standard);
  service.note(0, ServiceClass::standard, true);
  service.note(1, ServiceClass::standard, true);
  service.charge(0, 32, 16);
  service.charge(1, 32, 32);
  EXPECT_EQ(service.had(0), 2 * serve::kServiceUnit);
  EXPECT_EQ(service.had(1), serve::kServiceUnit);
  service.note(1, ServiceClass::standard, false);
  service.charge(0, 160, 16);
  service.pass(standard, service.had(0));
  service.note(1, ServiceClass::standard, true);
  EXPECT_EQ(service.had(1), service.had(0)) << "idleness banks nothing";
  service.note(2, ServiceClass::batch, true);
  EXPECT_EQ(service.had(2), 0u) << "another class is no measure";
  service.begin(1);
  EXPECT_EQ(service.had(1), 0u);
}

TEST(TenantService, WhoWaitsIsNoMeasureOfWhoComes) {
  serve::TenantService service(system_allocator());
  ASSERT_TRUE(service.resize(3));
  service.note(0, ServiceClass::standard, true);  // its rate is used up: it gets nothing
  service.note(1, ServiceClass::standard, true);
  service.charge(1, 80, 16);
  service.pass(static_cast<std::uint32_t>(ServiceClass::standard), service.had(1));
  service.note(2, ServiceClass::standard, true);
  EXPECT_EQ(service.had(2), service.had(1));
  service.pass(static_cast<std::uint32_t>(ServiceClass::standard), 0);
  service.note(2, ServiceClass::standard, true);
  EXPECT_EQ(service.had(2), service.had(1)) << "virtual time does not go back";
}

}  // namespace
}  // namespace model_turns_test
