// SPDX-License-Identifier: Apache-2.0
// tests/support/preempted_job.hpp: a batch request that users of higher class take the slot from, again and again.
#pragma once

#include <algorithm>
#include <support/sampled_requests.hpp>
#include <vector>

namespace zrt::test {

/// Demands that a batch request on an engine of one slot says `expected`, though it is preempted in its prompt and behind
/// each few tokens, and that no position is computed twice for it.
inline void expect_goes_on(HostEngine& engine, const Request& job, const std::vector<std::int32_t>& expected) {
  const auto batch = engine.create_tenant({.service = ServiceClass::batch});
  const auto chat = engine.create_tenant({.service = ServiceClass::interactive});
  ASSERT_TRUE(batch && chat);
  Request long_one = job;
  long_one.tenant = *batch;
  const auto id = engine.submit(long_one);
  ASSERT_TRUE(id);
  const std::vector<std::int32_t> text = tiny_prompt(64, 20, 11);
  std::vector<std::int32_t> said;
  std::size_t left = 1;
  for (int step = 0; left != 0; ++step) {
    // Positions in the middle of pages and at their borders.
    if (step % 9 == 1 && std::ranges::size(said) < expected.size()) {
      Request user = sampled_request(text, 5, 2);
      user.tenant = *chat;
      ASSERT_TRUE(engine.submit(user));
    }
    const auto r = engine.step([&](RequestId of, const Token& token) {
      EXPECT_NE(token.finish, FinishReason::failed) << token.error->text();
      if (of == *id && token.id != kNoToken) said.push_back(token.id);
      return true;
    });
    ASSERT_TRUE(r) << r.error().text();
    left = *r;
  }
  EXPECT_EQ(said, expected);
  const auto use = engine.usage(*batch);
  ASSERT_TRUE(use);
  EXPECT_GE(use->preemptions, expected.size() / 9);
  EXPECT_EQ(use->recomputed_tokens, 0u);
}

}  // namespace zrt::test
