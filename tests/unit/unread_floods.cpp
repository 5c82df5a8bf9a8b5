// SPDX-License-Identifier: Apache-2.0
// tests/unit/unread_floods.cpp: what a step and a cancellation do grows with what they read, not with what waits unread.
#include <zrt/engine/active_request.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <memory>
#include <support/sampled_requests.hpp>
#include <support/watched_objects.hpp>
#include <vector>

namespace unread_floods_test {
namespace {

using namespace zrt;
using test::HostEngine;

constexpr std::size_t kTenants = 63;  // and the host
constexpr std::size_t kEach = 330;
constexpr std::size_t kSlots = 4;
constexpr std::size_t kStepReads = 256;
/// Those that a step reads, those behind them in their tenants' queues, and the last of each queue.
constexpr std::size_t kStepTouches = kStepReads + 2 * kTenants + kSlots;

class UnreadFloods : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options{.slots = kSlots, .context = 64};
    options.chunk = 32;
    options.allocator = objects_.allocator();
    auto engine = test::open_engine(test::On::cpu, file_.bytes(), options);
    ASSERT_TRUE(engine) << engine.error().text();
    engine_ = std::move(*engine);
    for (std::size_t i = 0; i < kTenants; ++i) {
      const auto tenant = engine_->create_tenant({});
      ASSERT_TRUE(tenant) << tenant.error().text();
      tenants_.push_back(*tenant);
    }
    const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 8, 3);
    Request r = test::sampled_request(prompt, 1, 2);
    for (std::size_t i = 0; i < kTenants * kEach; ++i) {
      r.tenant = tenants_[i % kTenants];
      const auto id = engine_->submit(r);
      ASSERT_TRUE(id) << id.error().text();
      ids_.push_back(*id);
    }
    ASSERT_EQ(objects_.count(), ids_.size());
  }
  /// How many requests a step touches.
  std::size_t touched_by_step() {
    objects_.watch();
    const auto left = engine_->step([](RequestId, const Token&) { return true; });
    EXPECT_TRUE(left) << left.error().text();
    return objects_.touched();
  }

  test::WatchedObjects objects_{sizeof(detail::ActiveRequest), kTenants* kEach};
  test::ModelFile file_ = test::tiny_model(test::TinySpec{});
  std::unique_ptr<HostEngine> engine_;
  std::vector<TenantId> tenants_;
  std::vector<RequestId> ids_;
};

TEST_F(UnreadFloods, AStepTouchesWhatItReadsAlone) {
  for (int step = 0; step < 3; ++step) {
    const std::size_t touched = touched_by_step();
    EXPECT_GE(touched, 4 * kTenants) << "the count works: a step reads four of each";
    EXPECT_LE(touched, kStepTouches) << "of " << ids_.size();
  }
}

TEST_F(UnreadFloods, ACancellationTouchesNeighboursAlone) {
  (void)touched_by_step();
  const std::size_t middle = ids_.size() / 2;
  for (std::size_t i = 0; i < 40; ++i) engine_->cancel(ids_[middle + 7 * i]);
  std::size_t cancelled = 0, most = 0;
  objects_.watch();
  const auto left = engine_->step([&](RequestId, const Token& token) {
    if (token.finish != FinishReason::cancelled) return true;
    ++cancelled;
    most = objects_.touched() > most ? objects_.touched() : most;
    objects_.watch();
    return true;
  });
  ASSERT_TRUE(left) << left.error().text();
  EXPECT_EQ(cancelled, 40u);
  EXPECT_LE(most, 8u) << "itself, one on each side, and whose ids share its bucket";
}

TEST_F(UnreadFloods, AllCanBeCancelledAtOnce) {
  (void)touched_by_step();
  for (std::size_t i = ids_.size(); i-- > 0;) engine_->cancel(ids_[i]);
  for (const RequestId id : ids_) engine_->cancel(id);
  std::size_t cancelled = 0;
  const auto left = engine_->step([&](RequestId, const Token& token) {
    cancelled += token.finish == FinishReason::cancelled ? 1u : 0u;
    return true;
  });
  ASSERT_TRUE(left) << left.error().text();
  EXPECT_EQ(*left, 0u);
  EXPECT_GE(cancelled, ids_.size() - kStepReads);
}

// Each of them had its place among those that no step has read.
TEST(UnreadRequests, ThatAreCancelledLeaveTheirPlaces) {
  const test::ModelFile file = test::tiny_model(test::TinySpec{});
  const auto opened = test::open_engine(test::On::cpu, file.bytes(), {.slots = 1, .context = 64, .queue = 1});
  ASSERT_TRUE(opened) << opened.error().text();
  HostEngine& engine = **opened;
  const auto on_token = [](RequestId, const Token&) { return true; };
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 8, 3);
  const Request r = test::sampled_request(prompt, 1, 2);
  for (int i = 0; i < 2000; ++i) {
    const auto id = engine.submit(r);
    ASSERT_TRUE(id) << i << " were cancelled: " << id.error().text();
    engine.cancel(*id);
    const auto left = i % 2 == 0 ? engine.step(on_token) : engine.hear(on_token);
    ASSERT_TRUE(left) << left.error().text();
    ASSERT_EQ(*left, 0u);
  }
  EXPECT_EQ(engine.idle_ns(), kUntilSubmit);
}

}  // namespace
}  // namespace unread_floods_test
