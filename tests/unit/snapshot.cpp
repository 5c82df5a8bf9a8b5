// SPDX-License-Identifier: Apache-2.0
// tests/unit/snapshot.cpp: a saved request goes on as if nothing had happened; bytes from anywhere are checked.
#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <support/engines.hpp>
#include <vector>

namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

class SnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = open();
    prompt_ = test::tiny_prompt(64, 40, 7);
    request_.tokens = prompt_;
    request_.max_tokens = 30;
    request_.sampling.temperature = 1.0f;
    request_.sampling.seed = 99;
    const auto done = engine_->generate(request_, [&](const Token& token) {
      if (token.id != kNoToken) solo_.push_back(token.id);
      return true;
    });
    ASSERT_TRUE(done);
  }
  std::unique_ptr<HostEngine> open() {
    auto engine = test::open_engine(On::cpu, file_.bytes(), {.slots = 2, .context = 96, .chunk = 16});
    EXPECT_TRUE(engine);
    return std::move(*engine);
  }
  /// Runs until `tokens` have come and saves then.
  Vector<std::byte> save_after(std::size_t steps) {
    const auto id = engine_->submit(request_);
    EXPECT_TRUE(id);
    heard_.clear();
    for (std::size_t i = 0; i < steps; ++i) (void)engine_->step(listen());
    auto bytes = engine_->save(*id);
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().text());
    engine_->cancel(*id);
    (void)engine_->step(listen());
    return std::move(*bytes);
  }
  test::OnRequestToken listen() {
    return [this](RequestId, const Token& token) {
      if (token.id != kNoToken) heard_.push_back(token.id);
      return true;
    };
  }

  test::ModelFile file_ = test::tiny_model({});
  std::unique_ptr<HostEngine> engine_;
  std::vector<std::int32_t> prompt_;
  Request request_;
  std::vector<std::int32_t> solo_;
  std::vector<std::int32_t> heard_;
};

TEST_F(SnapshotTest, GoesOnWithTheSameTokensInThisEngineAndInAnother) {
  for (const std::size_t steps : {1u, 2u, 3u, 7u, 20u}) {
    const Vector<std::byte> bytes = save_after(steps);
    const std::vector<std::int32_t> before = heard_;
    const auto fresh = open();
    for (HostEngine* engine : {engine_.get(), fresh.get()}) {
      heard_ = before;
      ASSERT_TRUE(engine->restore(bytes.span(), request_));
      for (std::size_t left = 1; left != 0;) {
        const auto r = engine->step(listen());
        ASSERT_TRUE(r);
        left = *r;
      }
      EXPECT_EQ(heard_, solo_) << steps;
    }
  }
}

TEST_F(SnapshotTest, TwoCopiesOfOneRequestRunSideBySide) {
  const Vector<std::byte> bytes = save_after(10);
  const std::size_t before = heard_.size();
  heard_.clear();
  ASSERT_TRUE(engine_->restore(bytes.span(), request_));
  ASSERT_TRUE(engine_->restore(bytes.span(), request_));
  const auto third = engine_->restore(bytes.span(), request_);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Errc::capacity_exceeded);
  while (*engine_->step(listen()) != 0) {
  }
  ASSERT_EQ(heard_.size(), 2 * (solo_.size() - before));
  for (std::size_t i = 0; i < heard_.size(); ++i) EXPECT_EQ(heard_[i], solo_[before + i / 2]);
}

/// A restored request that may not even have the tokens it has keeps its own pages and ends soon.
TEST_F(SnapshotTest, AShorterLimitTouchesNobodyElse) {
  const Vector<std::byte> bytes = save_after(28);
  heard_.clear();
  Request other = request_;
  other.max_tokens = 40;
  ASSERT_TRUE(engine_->submit(other));
  ASSERT_TRUE(engine_->step(listen()));
  Request little = request_;
  little.max_tokens = 1;
  const auto restored = engine_->restore(bytes.span(), little);
  ASSERT_TRUE(restored);
  std::vector<std::int32_t> rest;
  int of_restored = 0;
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine_->step([&](RequestId id, const Token& token) {
      if (token.id != kNoToken) id == *restored ? void(++of_restored) : rest.push_back(token.id);
      return true;
    });
    ASSERT_TRUE(r);
    left = *r;
  }
  EXPECT_EQ(of_restored, 1);
  ASSERT_GE(rest.size(), solo_.size());
  rest.resize(solo_.size());
  EXPECT_EQ(rest, solo_);
}

TEST_F(SnapshotTest, EveryTruncationAndEveryLieIsAnErrorAndTheEngineWorksOn) {
  const Vector<std::byte> good = save_after(10);
  int refused = 0;
  const auto try_bytes = [&](std::span<const std::byte> bytes) {
    const auto r = engine_->restore(bytes, request_);
    if (r) {
      engine_->cancel(*r);
      (void)engine_->step(listen());
      return;
    }
    ++refused;
    const Errc code = r.error().code();
    EXPECT_TRUE(code == Errc::invalid_file || code == Errc::truncated_file || code == Errc::invalid_argument ||
                code == Errc::capacity_exceeded)
        << name(code);
  };
  for (std::size_t size = 0; size < good.size(); size += size < 300 ? 1 : 97) try_bytes(good.span().first(size));
  const int truncated = refused;
  EXPECT_GT(truncated, 300);
  std::vector<std::byte> changed(good.begin(), good.end());
  for (std::size_t at = 0; at < 20 + 4 * 50; ++at)
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      changed[at] = static_cast<std::byte>(value);
      try_bytes(changed);
      changed[at] = good[at];
    }
  EXPECT_GT(refused, truncated + 100);
  // Everything processed and nothing left to feed.
  std::vector<std::byte> done(good.begin(), good.end());
  for (std::size_t b = 0; b < 4; ++b) done[12 + b] = done[16 + b];
  const auto r = engine_->restore(done, request_);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::invalid_file);
  heard_.clear();
  ASSERT_TRUE(engine_->restore(good.span(), request_));
  while (*engine_->step(listen()) != 0) {
  }
  EXPECT_FALSE(heard_.empty());
  EXPECT_TRUE(std::equal(heard_.rbegin(), heard_.rend(), solo_.rbegin()));
}

TEST_F(SnapshotTest, WhatDoesNotRunCannotBeSaved) {
  const auto r = engine_->save(RequestId{777});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::not_found);
}

}  // namespace
