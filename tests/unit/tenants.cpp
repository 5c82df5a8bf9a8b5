// SPDX-License-Identifier: Apache-2.0
// tests/unit/tenants.cpp: tenants come, change and go while an engine serves; each refusal says what is wrong.
#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <limits>
#include <map>
#include <memory>
#include <support/sampled_requests.hpp>
#include <vector>

namespace tenants_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kContext = 128;

struct Heard {
  std::vector<std::int32_t> tokens;
  FinishReason finish = FinishReason::none;
  Errc code{};
  std::string error;
  std::uint64_t retry_after_ns = 0;
  std::uint32_t cached_tokens = 0;
};

class Tenants : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<HostEngine> open(EngineOptions options) const {
    options.context = kContext;
    if (options.chunk == EngineOptions{}.chunk) options.chunk = 32;
    auto engine = test::open_engine(On::cpu, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  static TenantId create(HostEngine& engine, const TenantQuota& quota) {
    const auto made = engine.create_tenant(quota);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : TenantId{};
  }
  RequestId submit(HostEngine& engine, TenantId tenant, std::uint64_t seed, std::uint32_t most = 12) {
    Request r = test::sampled_request(prompt_, seed, most);
    r.tenant = tenant;
    const auto id = engine.submit(r);
    EXPECT_TRUE(id) << id.error().text();
    return id ? *id : RequestId{};
  }
  std::size_t step(HostEngine& engine) {
    const auto left = engine.step([this](RequestId id, const Token& token) {
      Heard& h = heard_[id];
      if (token.id != kNoToken) h.tokens.push_back(token.id);
      h.finish = token.finish;
      h.retry_after_ns = token.retry_after_ns;
      h.cached_tokens = token.cached_tokens;
      if (token.error != nullptr) {
        h.code = token.error->code();
        h.error = token.error->text();
      }
      return true;
    });
    EXPECT_TRUE(left) << left.error().text();
    return left ? *left : 0;
  }
  void finish(HostEngine& engine) {
    while (step(engine) != 0) {
    }
  }
  [[nodiscard]] std::vector<std::int32_t> alone(std::uint64_t seed, std::uint32_t most = 12) const {
    return test::tokens_alone(*open({}), test::sampled_request(prompt_, seed, most));
  }
  static Errc code_of(const auto& result) { return result ? Errc{} : result.error().code(); }

  test::ModelFile file_ = test::tiny_model(test::TinySpec{});
  std::vector<std::int32_t> prompt_ = test::tiny_prompt(64, 40, 3);
  std::map<RequestId, Heard> heard_;
};

TEST_F(Tenants, AnInteractiveOneTakesTheSlotOfAJobThatGoesOnLater) {
  const auto engine = open({.slots = 1});
  const TenantId job = create(*engine, {.service = ServiceClass::batch});
  const TenantId chat = create(*engine, {.service = ServiceClass::interactive});
  const RequestId first = submit(*engine, job, 1, 30);
  for (int i = 0; i < 10; ++i) step(*engine);
  const RequestId second = submit(*engine, chat, 2, 5);
  while (heard_[second].finish == FinishReason::none) step(*engine);
  EXPECT_EQ(heard_[first].finish, FinishReason::none);
  finish(*engine);
  EXPECT_EQ(heard_[first].tokens, alone(1, 30));
  EXPECT_EQ(heard_[second].tokens, alone(2, 5));
  const auto used = engine->usage(job);
  ASSERT_TRUE(used);
  EXPECT_EQ(used->preemptions, 1u);
  EXPECT_EQ(used->delivered_tokens, 30u);
  EXPECT_EQ(used->prompt_tokens, prompt_.size());
  EXPECT_EQ(used->requests_finished, 1u);
}

TEST_F(Tenants, APrefixIsSharedWithinAGroupAndByNobodyElse) {
  const auto engine = open({.slots = 1, .prefix_cache = true});
  const TenantId a = create(*engine, {.group = 1}), b = create(*engine, {.group = 1}), c = create(*engine, {});
  std::vector<std::uint32_t> told;
  for (const TenantId tenant : {a, b, c, TenantId{}}) {
    const RequestId id = submit(*engine, tenant, 5);
    finish(*engine);
    told.push_back(heard_[id].cached_tokens);
  }
  EXPECT_EQ(told, (std::vector<std::uint32_t>{0, 32, 0, 0}));
  const auto cached = [&](TenantId tenant) { return engine->usage(tenant)->cached_tokens; };
  EXPECT_EQ(cached(a), 0u);
  EXPECT_EQ(cached(b), 32u) << "two whole pages of 40 tokens";
  EXPECT_EQ(cached(c), 0u);
  EXPECT_EQ(cached(TenantId{}), 0u);
  const auto expected = alone(5);
  for (const auto& [id, h] : heard_) EXPECT_EQ(h.tokens, expected);
}

/// Two requests of 6 pages each take all 12, unless some are left to prefixes: then the second waits for the first.
TEST_F(Tenants, SlotsLeaveThePagesOfPrefixesToThem) {
  const std::int32_t begins = prompt_[0];
  for (const std::uint32_t prefix_pages : {0u, 4u}) {
    heard_.clear();
    const auto engine = open({.slots = 2, .pages = 12, .prefix_cache = true, .prefix_pages = prefix_pages});
    const TenantId reader = create(*engine, {}), writer = create(*engine, {.service = ServiceClass::interactive});
    submit(*engine, reader, 1);
    finish(*engine);
    std::vector<RequestId> ids;
    for (const std::uint64_t seed : {2u, 3u}) {
      prompt_[0] = static_cast<std::int32_t>(10 + seed);
      ids.push_back(submit(*engine, writer, seed, 50));
    }
    finish(*engine);
    EXPECT_EQ(heard_[ids[1]].tokens, alone(3, 50));
    prompt_[0] = begins;
    const RequestId again = submit(*engine, reader, 1);
    finish(*engine);
    EXPECT_EQ(heard_[again].cached_tokens, prefix_pages == 0 ? 0u : 16u) << "the oldest two of 8 have gone";
    EXPECT_EQ(heard_[again].tokens, alone(1));
  }
  EngineOptions all{.slots = 1, .context = kContext, .pages = 8, .prefix_pages = 8};
  EXPECT_EQ(code_of(test::open_engine(On::cpu, file_.bytes(), all)), Errc::invalid_argument);
}

TEST_F(Tenants, ARefusedRequestSaysWhyAndWhenToComeBack) {
  const auto engine = open({.slots = 1});
  const TenantId tenant = create(*engine, {.max_pages = 4, .max_context = 60, .max_queued = 1});
  const RequestId fits = submit(*engine, tenant, 1);
  step(*engine);
  const RequestId waits = submit(*engine, tenant, 2), late = submit(*engine, tenant, 3);
  const RequestId longer = submit(*engine, tenant, 5, 30), stranger = submit(*engine, TenantId{77}, 6);
  finish(*engine);
  EXPECT_EQ(heard_[fits].tokens, alone(1));
  EXPECT_EQ(heard_[waits].tokens, alone(2));
  EXPECT_EQ(heard_[late].finish, FinishReason::failed);
  EXPECT_EQ(heard_[late].code, Errc::capacity_exceeded);
  EXPECT_EQ(heard_[late].error.substr(0, 46), "the request is refused: tenant_queue_full; try");
  EXPECT_GT(heard_[late].retry_after_ns, 0u);
  EXPECT_EQ(heard_[longer].error, "the request is refused: context_too_long");
  EXPECT_EQ(heard_[longer].retry_after_ns, 0u);
  EXPECT_EQ(heard_[stranger].code, Errc::not_found);
}

TEST_F(Tenants, AFloodIsBoundedAndDelaysNobodyElse) {
  prompt_.resize(8);
  const auto engine = open({.slots = 2});
  const TenantId flood = create(*engine, {}), chat = create(*engine, {.service = ServiceClass::interactive});
  Request r = test::sampled_request(prompt_, 1, 2);
  r.tenant = flood;
  std::size_t submitted = 0;
  Result<RequestId> id{};
  while ((id = engine->submit(r))) ++submitted;
  EXPECT_EQ(submitted, 1024u + 2 * 2 + 256) << "queue, slots twice, and what a step reads";
  EXPECT_EQ(id.error().code(), Errc::capacity_exceeded);
  EXPECT_NE(id.error().text().find("submit again after the next step"), std::string_view::npos) << id.error().text();
  const RequestId mine = submit(*engine, chat, 2, 2);
  step(*engine);
  EXPECT_EQ(engine->usage(chat)->requests_accepted, 1u) << "read in the first step";
  EXPECT_EQ(heard_[mine].tokens.size(), 1u);
  EXPECT_LE(engine->usage(flood)->requests_accepted + engine->usage(flood)->requests_refused, 255u);
  EXPECT_TRUE(engine->submit(r)) << "a step has made room";
  submit(*engine, TenantId{77}, 3);
  finish(*engine);
  const auto used = *engine->usage(flood);
  EXPECT_EQ(used.requests_accepted + used.requests_refused, submitted + 1);
  EXPECT_TRUE(engine->submit(r));
  finish(*engine);
}

/// Nor does one of requests that end before the model reads them: a step tells of as many as it reads.
TEST_F(Tenants, AFloodThatAsksForNothingIsReadInTurnsToo) {
  prompt_.resize(8);
  const auto engine = open({.slots = 2});
  const TenantId flood = create(*engine, {}), chat = create(*engine, {.service = ServiceClass::interactive});
  for (const AdapterId adapter : {AdapterId{}, AdapterId{7}}) {
    heard_.clear();
    Request r = test::sampled_request(prompt_, 1, 0);
    r.tenant = flood;
    r.adapter = adapter;
    std::size_t sent = 0;
    while (engine->submit(r)) ++sent;
    const RequestId mine = submit(*engine, chat, 2, 1);
    step(*engine);
    EXPECT_EQ(heard_[mine].finish, FinishReason::length);
    EXPECT_EQ(heard_.size(), 256u);
    finish(*engine);
    EXPECT_EQ(heard_.size(), sent + 1);
    heard_.erase(mine);
    for (const auto& [id, heard] : heard_) {
      EXPECT_EQ(heard.finish, adapter == AdapterId{} ? FinishReason::length : FinishReason::failed);
      EXPECT_EQ(heard.code, adapter == AdapterId{} ? Errc{} : Errc::not_found);
    }
  }
}

TEST_F(Tenants, RemovingOneEndsItsRequestsAndNobodyElses) {
  const auto engine = open({.slots = 2});
  const TenantId a = create(*engine, {}), b = create(*engine, {});
  const RequestId gone = submit(*engine, a, 1), waiting = submit(*engine, a, 2), stays = submit(*engine, b, 3);
  for (int i = 0; i < 4; ++i) step(*engine);
  ASSERT_TRUE(engine->remove_tenant(a));
  EXPECT_EQ(code_of(engine->remove_tenant(a)), Errc::not_found);
  EXPECT_EQ(code_of(engine->usage(a)), Errc::not_found);
  const RequestId after = submit(*engine, a, 4);
  finish(*engine);
  EXPECT_EQ(heard_[gone].finish, FinishReason::cancelled);
  EXPECT_EQ(heard_[waiting].finish, FinishReason::cancelled);
  EXPECT_EQ(heard_[after].code, Errc::not_found);
  EXPECT_EQ(heard_[stays].tokens, alone(3));
  EXPECT_EQ(heard_[stays].finish, FinishReason::length);
}

/// What a tenant that is gone has sent is not its successor's, in whose row it was.
TEST_F(Tenants, AFloodOfOneThatIsGoneIsNotItsSuccessors) {
  prompt_.resize(8);
  const auto engine = open({.slots = 2});
  const TenantId gone = create(*engine, {});
  Request r = test::sampled_request(prompt_, 1, 2);
  r.tenant = gone;
  const auto flood = [&] {
    std::size_t count = 0;
    while (engine->submit(r)) ++count;
    return count;
  };
  std::size_t sent = flood();
  step(*engine);  // which reads some and collects the others
  sent += flood();
  ASSERT_TRUE(engine->remove_tenant(gone));
  const TenantId heir = create(*engine, {.service = ServiceClass::interactive});
  const RequestId first = submit(*engine, heir, 2, 2);
  step(*engine);
  EXPECT_EQ(heard_[first].tokens.size(), 1u) << "it has a turn of its own";
  r.tenant = heir;
  EXPECT_EQ(flood(), 1024u + 2 * 2 + 256);
  finish(*engine);
  std::size_t not_found = 0;
  for (const auto& [id, heard] : heard_) not_found += heard.code == Errc::not_found ? 1u : 0u;
  EXPECT_GE(not_found, sent - 256);
}

TEST_F(Tenants, WhatAsksForNoTokenIsItsTenantsAllTheSame) {
  const auto engine = open({.slots = 2});
  const TenantId tenant = create(*engine, {.max_context = 48}), gone = create(*engine, {});
  ASSERT_TRUE(engine->remove_tenant(gone));
  const RequestId nothing = submit(*engine, tenant, 1, 0), stranger = submit(*engine, gone, 1, 0);
  prompt_ = test::tiny_prompt(64, 49, 3);
  const RequestId longer = submit(*engine, tenant, 1, 0);
  finish(*engine);
  EXPECT_EQ(heard_[nothing].finish, FinishReason::length);
  EXPECT_EQ(heard_[stranger].code, Errc::not_found);
  EXPECT_EQ(heard_[longer].error, "the request is refused: context_too_long");
  const TenantLedger used = *engine->usage(tenant);
  EXPECT_EQ(used.requests_accepted, 1u);
  EXPECT_EQ(used.requests_finished, 1u);
  EXPECT_EQ(used.requests_refused, 1u);
  EXPECT_EQ(used.prompt_tokens, 0u) << "none was read";
}

/// A request that forbids every token ends alone, with others in its batch.
TEST_F(Tenants, ARequestThatForbidsEveryTokenEndsAlone) {
  std::vector<TokenBias> all;
  for (std::int32_t token = 0; token < 64; ++token) all.push_back({token, -std::numeric_limits<float>::infinity()});
  const auto engine = open({.slots = 4});
  const RequestId other = submit(*engine, create(*engine, {}), 1);
  for (const float temperature : {0.0f, 1.0f}) {
    Request r = test::sampled_request(prompt_, 2, 12);
    r.sampling.temperature = temperature;
    r.sampling.bias = all;
    const auto id = engine->submit(r);
    ASSERT_TRUE(id) << id.error().text();
    finish(*engine);
    EXPECT_EQ(heard_[*id].finish, FinishReason::failed);
    EXPECT_EQ(heard_[*id].error, "the sampler found no token that may be drawn");
    EXPECT_TRUE(heard_[*id].tokens.empty());
  }
  EXPECT_EQ(heard_[other].tokens, alone(1));
}

/// A clock that the test sets; it notes how long it is asked to wait, and waits in no time.
struct SetClock {
  std::uint64_t time = 1'000'000'000;
  std::uint64_t waits = 0;

  ClockHook hook() noexcept {
    return {this, [](void* context) noexcept { return static_cast<SetClock*>(context)->time; }};
  }
  WaitHook wait() noexcept {
    return {this, [](void* context, std::uint64_t nanoseconds) noexcept {
              static_cast<SetClock*>(context)->time += nanoseconds;
              ++static_cast<SetClock*>(context)->waits;
            }};
  }
};

TEST_F(Tenants, IdleTimeEndsExactlyWhenARateHasRoom) {
  SetClock clock;
  const auto engine = open({.slots = 2, .clock = clock.hook()});
  EXPECT_EQ(engine->idle_ns(), kUntilSubmit);
  const TenantId tenant = create(*engine, {.decode_tokens_per_s = 1});
  const RequestId id = submit(*engine, tenant, 1);
  EXPECT_EQ(engine->idle_ns(), 0u) << "a request has come";
  while (engine->idle_ns() == 0) step(*engine);
  const std::uint64_t idle = engine->idle_ns();
  EXPECT_EQ(idle, 5'100'000'000u);
  const std::size_t heard = heard_[id].tokens.size();
  EXPECT_EQ(heard, 6u) << "one by the prompt, five by the rate";
  clock.time += idle - 1;
  EXPECT_EQ(engine->idle_ns(), 1u);
  step(*engine);
  EXPECT_EQ(heard_[id].tokens.size(), heard);
  clock.time += 1;
  EXPECT_EQ(engine->idle_ns(), 0u);
  step(*engine);
  EXPECT_EQ(heard_[id].tokens.size(), heard + 1);
  while (engine->idle_ns() == 0) step(*engine);
  ASSERT_TRUE(engine->change_tenant(tenant, {}));
  EXPECT_EQ(engine->idle_ns(), 0u) << "a change may let it go on";
  finish(*engine);
  EXPECT_EQ(heard_[id].tokens, alone(1));
  EXPECT_EQ(engine->idle_ns(), kUntilSubmit);
}

TEST_F(Tenants, ASubmissionEndsIdleTime) {
  SetClock clock;
  const auto engine = open({.slots = 2, .clock = clock.hook()});
  const TenantId tenant = create(*engine, {.decode_tokens_per_s = 1}), other = create(*engine, {});
  submit(*engine, tenant, 1);
  while (engine->idle_ns() == 0) step(*engine);
  submit(*engine, other, 2, 3);
  EXPECT_EQ(engine->idle_ns(), 0u);
  step(*engine);
  EXPECT_EQ(engine->idle_ns(), 0u) << "the other one has tokens to compute";
  engine->cancel(RequestId{77});
  EXPECT_EQ(engine->idle_ns(), 0u);
}

TEST_F(Tenants, AnEndThatNobodyHasHeardEndsIdleTime) {
  SetClock clock;
  const auto engine = open({.slots = 2, .clock = clock.hook()});
  const TenantId tenant = create(*engine, {});
  const auto end_is_told = [&](RequestId id, FinishReason reason) {
    EXPECT_EQ(engine->idle_ns(), 0u);
    step(*engine);
    EXPECT_EQ(heard_[id].finish, reason);
    EXPECT_EQ(engine->idle_ns(), kUntilSubmit);
  };
  const RequestId lowered = submit(*engine, tenant, 1, 40);
  step(*engine);
  ASSERT_TRUE(engine->change_tenant(tenant, {.max_pages = 3}));
  end_is_told(lowered, FinishReason::failed);
  const RequestId removed = submit(*engine, tenant, 1, 8);
  step(*engine);
  ASSERT_TRUE(engine->remove_tenant(tenant));
  end_is_told(removed, FinishReason::cancelled);
}

TEST_F(Tenants, ARestoredRequestEndsIdleTime) {
  SetClock clock;
  const auto engine = open({.slots = 2, .clock = clock.hook()});
  const RequestId first = submit(*engine, TenantId{}, 1);
  for (int i = 0; i < 3; ++i) step(*engine);
  const auto bytes = engine->save(first);
  ASSERT_TRUE(bytes) << bytes.error().text();
  engine->cancel(first);
  step(*engine);
  submit(*engine, create(*engine, {.decode_tokens_per_s = 1}), 2);
  while (engine->idle_ns() == 0) step(*engine);
  ASSERT_TRUE(engine->restore({bytes->data(), bytes->size()}, test::sampled_request(prompt_, 1, 12)));
  EXPECT_EQ(engine->idle_ns(), 0u);
}

TEST_F(Tenants, GenerateWaitsForARate) {
  SetClock clock;
  const auto engine = open({.slots = 1, .clock = clock.hook(), .wait = clock.wait()});
  Request r = test::sampled_request(prompt_, 1, 12);
  r.tenant = create(*engine, {.decode_tokens_per_s = 1});
  std::vector<std::int32_t> tokens;
  const auto done = engine->generate(r, [&](const Token& token) {
    if (token.id != kNoToken) tokens.push_back(token.id);
    return true;
  });
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(tokens, alone(1));
  EXPECT_GE(clock.waits, 5'100u) << "a millisecond each, so that a stop is heard";
  EXPECT_GE(clock.time, 11'000'000'000u);
}

TEST_F(Tenants, ALoweredQuotaEndsWhatNoLongerFits) {
  const auto engine = open({.slots = 2});
  const TenantId tenant = create(*engine, {});
  const RequestId large = submit(*engine, tenant, 1, 40), small = submit(*engine, tenant, 2, 8);
  for (int i = 0; i < 4; ++i) step(*engine);
  ASSERT_TRUE(engine->change_tenant(tenant, {.max_slots = 1, .max_pages = 3}));
  finish(*engine);
  EXPECT_EQ(heard_[large].finish, FinishReason::failed);
  EXPECT_EQ(heard_[large].error, "its tenant's quota was lowered below the pages or the context that it needs");
  EXPECT_EQ(heard_[small].tokens, alone(2, 8));
}

TEST_F(Tenants, ALoweredContextEndsWhatIsLonger) {
  const auto engine = open({.slots = 1});
  const TenantId tenant = create(*engine, {});
  const RequestId longer = submit(*engine, tenant, 1, 30);
  const RequestId shorter = submit(*engine, tenant, 2, 4);
  step(*engine);
  ASSERT_TRUE(engine->change_tenant(tenant, {.max_context = 50}));
  finish(*engine);
  EXPECT_EQ(heard_[longer].finish, FinishReason::failed);
  EXPECT_EQ(heard_[longer].code, Errc::capacity_exceeded);
  EXPECT_NE(heard_[longer].error.find("context"), std::string::npos) << heard_[longer].error;
  EXPECT_EQ(heard_[shorter].tokens, alone(2, 4));
}

TEST_F(Tenants, ASessionsEndIsThatOfItsRequests) {
  const auto engine = open({.slots = 2});
  const TenantId a = create(*engine, {.max_sessions = 1}), b = create(*engine, {});
  const auto session = engine->open_session(a);
  ASSERT_TRUE(session);
  EXPECT_EQ(code_of(engine->open_session(a)), Errc::capacity_exceeded) << "the tenant may have one";
  EXPECT_TRUE(engine->open_session(b));
  EXPECT_TRUE(engine->open_session()) << "the host's";
  EXPECT_EQ(code_of(engine->open_session(TenantId{77})), Errc::not_found);
  const auto turn = [&](TenantId tenant, SessionId of, std::uint64_t seed) {
    Request r = test::sampled_request(prompt_, seed, 12);
    r.tenant = tenant;
    r.session = of;
    return *engine->submit(r);
  };
  const RequestId foreign = turn(b, *session, 1), own = turn(a, *session, 2), other = turn(a, {}, 3);
  for (int i = 0; i < 4; ++i) step(*engine);
  EXPECT_EQ(heard_[foreign].finish, FinishReason::failed);
  EXPECT_EQ(heard_[foreign].code, Errc::not_found);
  ASSERT_TRUE(engine->close_session(*session));
  EXPECT_EQ(code_of(engine->close_session(*session)), Errc::not_found);
  EXPECT_TRUE(engine->open_session(a)) << "there is room again";
  finish(*engine);
  EXPECT_EQ(heard_[own].finish, FinishReason::cancelled);
  EXPECT_EQ(heard_[other].tokens, alone(3));
  const RequestId late = turn(a, *session, 4);
  finish(*engine);
  EXPECT_EQ(heard_[late].code, Errc::not_found);
}

TEST_F(Tenants, ARestoredRequestNamesAnOpenSessionOrNone) {
  const auto engine = open({.slots = 1});
  const RequestId id = submit(*engine, {}, 1);
  for (int i = 0; i < 5; ++i) step(*engine);
  const auto saved = engine->save(id);
  ASSERT_TRUE(saved);
  finish(*engine);
  Request r = test::sampled_request(prompt_, 1, 12);
  r.session = SessionId{77};
  const auto refused = engine->restore(saved->span(), r);
  ASSERT_EQ(code_of(refused), Errc::not_found);
  EXPECT_NE(refused.error().text().find("session"), std::string_view::npos);
  const auto session = engine->open_session();
  ASSERT_TRUE(session);
  r.session = *session;
  const auto again = engine->restore(saved->span(), r);
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_TRUE(engine->close_session(*session));
  finish(*engine);
  EXPECT_EQ(heard_[*again].finish, FinishReason::cancelled);
}

/// A step takes a second here, so that every budget is too short.
TEST_F(Tenants, PromptsAreShortWhereAnotherMayWantAToken) {
  std::uint64_t now = 1'000'000'000;
  const ClockHook clock{&now, [](void* at) noexcept { return *static_cast<std::uint64_t*>(at) += 1'000'000'000; }};
  const std::vector<std::int32_t> text = test::tiny_prompt(64, 100, 3);
  const auto read_of = [&](const TenantQuota& other) {
    const auto engine = open({.slots = 2, .chunk = 128, .clock = clock});
    const TenantId job = create(*engine, {.service = ServiceClass::batch});
    create(*engine, other);
    Request r = test::sampled_request(text, 1, 4);
    r.tenant = job;
    const auto id = engine->submit(r);
    EXPECT_TRUE(id);
    step(*engine);
    return engine->processed(*id);
  };
  EXPECT_EQ(read_of({.service = ServiceClass::batch}), 100u);
  EXPECT_EQ(read_of({.service = ServiceClass::interactive}), 64u);
  EXPECT_EQ(read_of({.service = ServiceClass::standard}), 64u);
  EXPECT_EQ(read_of({.service = ServiceClass::interactive, .first_token_ns = 0}), 100u);
}

/// Complete answers that nobody reads are their tenant's, who hears that its own queue is full; others find room.
TEST_F(Tenants, AnswersThatNobodyReadsFillTheirTenantsQueueAlone) {
  const auto engine = open({.slots = 1, .queue = 4, .slow_client_ns = 3'600'000'000'000u});
  const TenantId slow = create(*engine, {.max_queued = 2}), other = create(*engine, {});
  std::vector<RequestId> unread;
  for (std::uint64_t i = 0; i < 3; ++i) {
    unread.push_back(submit(*engine, slow, i, 1));
    ASSERT_TRUE(engine->pause(unread.back()));
    for (int s = 0; s < 3; ++s) step(*engine);
  }
  const RequestId refused = submit(*engine, slow, 9, 1);
  step(*engine);
  EXPECT_EQ(heard_[refused].finish, FinishReason::failed);
  EXPECT_NE(heard_[refused].error.find("tenant_queue_full"), std::string::npos) << heard_[refused].error;
  const RequestId fine = submit(*engine, other, 5, 4);
  for (int s = 0; s < 8; ++s) step(*engine);
  EXPECT_EQ(heard_[fine].tokens, alone(5, 4));
  for (const RequestId id : unread) ASSERT_TRUE(engine->pause(id, false));
  finish(*engine);
  for (std::size_t i = 0; i < unread.size(); ++i) EXPECT_EQ(heard_[unread[i]].tokens, alone(i, 1));
}

TEST_F(Tenants, ATenantThatCannotBeIsRefused) {
  const auto engine = open({.slots = 2});
  EXPECT_EQ(code_of(engine->create_tenant({.max_slots = 0})), Errc::invalid_argument);
  EXPECT_EQ(code_of(engine->create_tenant({.max_pages = 100, .reserved_pages = 17})), Errc::capacity_exceeded)
      << "of 16 pages";
  const TenantId half = create(*engine, {.reserved_pages = 8});
  EXPECT_EQ(code_of(engine->create_tenant({.reserved_pages = 9})), Errc::capacity_exceeded);
  EXPECT_EQ(code_of(engine->change_tenant(half, {.reserved_pages = 17})), Errc::capacity_exceeded);
  EXPECT_EQ(code_of(engine->change_tenant(TenantId{}, {})), Errc::invalid_argument) << "the host stays as it is";
  EXPECT_EQ(code_of(engine->remove_tenant(TenantId{})), Errc::invalid_argument);
  EXPECT_EQ(code_of(engine->change_tenant(TenantId{12345}, {})), Errc::not_found);
  EXPECT_EQ(code_of(open({.clock = {}})->create_tenant({})), Errc::invalid_argument);
}

TEST_F(Tenants, ACallableMayAskForUsageAndMakesNoTenants) {
  const auto engine = open({});
  const TenantId tenant = create(*engine, {});
  Request r = test::sampled_request(prompt_, 1, 3);
  r.tenant = tenant;
  ASSERT_TRUE(engine->submit(r));
  std::size_t calls = 0;
  for (std::size_t left = 1; left != 0;) {
    const auto done = engine->step([&](RequestId, const Token& token) {
      calls += token.id != kNoToken ? 1 : 0;
      EXPECT_EQ(engine->usage(tenant)->delivered_tokens, calls);
      EXPECT_EQ(code_of(engine->create_tenant({})), Errc::invalid_argument);
      EXPECT_EQ(code_of(engine->change_tenant(tenant, {})), Errc::invalid_argument);
      EXPECT_EQ(code_of(engine->remove_tenant(tenant)), Errc::invalid_argument);
      return true;
    });
    ASSERT_TRUE(done);
    left = *done;
  }
  EXPECT_EQ(calls, 3u);
}

/// A pool smaller than all slots together: requests of lower classes take pages as they need them.
TEST_F(Tenants, RequestsShareAPoolThatIsTooSmallForAllOfThem) {
  const auto engine = open({.slots = 4, .pages = 12});
  const TenantId tenant = create(*engine, {});
  std::vector<RequestId> ids;
  for (std::uint64_t seed = 0; seed < 6; ++seed) ids.push_back(submit(*engine, tenant, seed, 60));
  finish(*engine);
  for (std::uint64_t seed = 0; seed < 6; ++seed) EXPECT_EQ(heard_[ids[seed]].tokens, alone(seed, 60)) << seed;
  EXPECT_GT(engine->usage(tenant)->preemptions, 0u);
  EXPECT_GT(engine->usage(tenant)->peak_pages, 7u) << "what one request takes";
}

/// A step of 32 prompt tokens is less than either prompt.
TEST_F(Tenants, AShortPromptDoesNotWaitForALongOneOfTheSameTenant) {
  const auto engine = open({.slots = 2});
  const std::vector<std::int32_t> long_prompt = test::tiny_prompt(64, 110, 9);
  for (const TenantId tenant : {TenantId{}, create(*engine, {})}) {
    Request r = test::sampled_request(long_prompt, 1, 4);
    r.tenant = tenant;
    const auto first = engine->submit(r);
    ASSERT_TRUE(first);
    const RequestId second = submit(*engine, tenant, 2, 1);
    while (heard_[second].tokens.empty()) step(*engine);
    EXPECT_TRUE(heard_[*first].tokens.empty());
    finish(*engine);
    EXPECT_EQ(heard_[*first].tokens.size(), 4u);
  }
}

TEST_F(Tenants, PromptsBesideTheFloorAreReadWhole) {
  const auto engine = open({.slots = 4, .chunk = 16});
  const TenantId tenant = create(*engine, {});
  const RequestId first = submit(*engine, tenant, 1);
  const RequestId second = submit(*engine, tenant, 2);
  finish(*engine);
  EXPECT_EQ(heard_[first].tokens, alone(1));
  EXPECT_EQ(heard_[second].tokens, alone(2));
}

TEST_F(Tenants, ARestoreThatFindsNoPagesLeavesNothingBehind) {
  const auto engine = open({.slots = 2, .pages = 10});
  const RequestId saved = submit(*engine, {}, 1, 30);
  for (int i = 0; i < 5; ++i) step(*engine);
  const auto bytes = engine->save(saved);
  ASSERT_TRUE(bytes) << bytes.error().text();
  engine->cancel(saved);
  step(*engine);
  const RequestId other = submit(*engine, {}, 2, 60);
  step(*engine);
  const Span<const std::byte> state(bytes->data(), bytes->size());
  const TenantLedger before = *engine->usage({});
  EXPECT_EQ(code_of(engine->restore(state, test::sampled_request(prompt_, 1, 40))), Errc::capacity_exceeded);
  EXPECT_EQ(engine->usage({})->requests_accepted, before.requests_accepted);
  EXPECT_EQ(engine->usage({})->requests_ended_early, before.requests_ended_early);
  EXPECT_EQ(engine->usage({})->prompt_tokens, before.prompt_tokens);
  const auto restored = engine->restore(state, test::sampled_request(prompt_, 1, 8));
  ASSERT_TRUE(restored) << restored.error().text();
  finish(*engine);
  EXPECT_EQ(heard_[other].tokens, alone(2, 60));
  EXPECT_FALSE(heard_[*restored].tokens.empty());
  EXPECT_EQ(heard_[*restored].finish, FinishReason::length);
}

TEST_F(Tenants, NothingIsRestoredWhileAnEndIsUntold) {
  const auto engine = open({.slots = 2});
  const TenantId tenant = create(*engine, {});
  const RequestId saved = submit(*engine, {}, 1, 30);
  const RequestId gone = submit(*engine, tenant, 2, 30);
  for (int i = 0; i < 5; ++i) step(*engine);
  const auto bytes = engine->save(saved);
  ASSERT_TRUE(bytes) << bytes.error().text();
  ASSERT_TRUE(engine->remove_tenant(tenant));
  const Span<const std::byte> state(bytes->data(), bytes->size());
  EXPECT_EQ(code_of(engine->restore(state, test::sampled_request(prompt_, 1, 30))), Errc::invalid_state);
  step(*engine);
  EXPECT_EQ(heard_[gone].finish, FinishReason::cancelled);
  EXPECT_TRUE(engine->restore(state, test::sampled_request(prompt_, 1, 30)));
  finish(*engine);
  EXPECT_EQ(heard_[saved].tokens, alone(1, 30));
}

}  // namespace
}  // namespace tenants_test
