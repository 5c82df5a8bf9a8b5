// SPDX-License-Identifier: Apache-2.0
// tests/unit/snapshot.cpp: a saved request goes on as if nothing had happened; bytes from anywhere are checked.
#include <zrt/core/checksum.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/characters.hpp>
#include <support/engines.hpp>
#include <vector>

namespace snapshot_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::size_t kChecksumBytes = 8;

/// Makes the checksum fit the bytes again, as who forges a snapshot would.
void seal(std::span<std::byte> bytes) {
  const std::uint64_t sum = checksum(bytes.first(bytes.size() - kChecksumBytes));
  for (std::size_t b = 0; b < kChecksumBytes; ++b)
    bytes[bytes.size() - kChecksumBytes + b] = static_cast<std::byte>(sum >> 8 * b);
}

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

/// A restored request that has as many tokens as it may have, or more, ends without another one.
TEST_F(SnapshotTest, ALimitThatIsReachedEndsItAtOnce) {
  const Vector<std::byte> bytes = save_after(10);
  const auto has = static_cast<std::uint32_t>(heard_.size());
  ASSERT_GT(has, 5u);
  for (const std::uint32_t limit : {0u, 1u, has - 1, has, has + 1}) {
    Request less = request_;
    less.max_tokens = limit;
    const auto id = engine_->restore(bytes.span(), less);
    ASSERT_TRUE(id) << id.error().text();
    std::vector<std::int32_t> more;
    std::vector<FinishReason> ends;
    for (std::size_t left = 1, steps = 0; left != 0; ++steps) {
      ASSERT_LT(steps, 3u);
      const auto r = engine_->step([&](RequestId of, const Token& token) {
        EXPECT_EQ(of, *id);
        if (token.id != kNoToken) more.push_back(token.id);
        if (token.finish != FinishReason::none) ends.push_back(token.finish);
        return true;
      });
      ASSERT_TRUE(r) << r.error().text();
      left = *r;
    }
    EXPECT_EQ(more.size(), limit > has ? 1u : 0u) << limit;
    EXPECT_EQ(ends, std::vector{FinishReason::length}) << limit;
  }
}

/// One that would be over its limit keeps its own pages while others run.
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
  EXPECT_EQ(of_restored, 0);
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
                code == Errc::capacity_exceeded || code == Errc::unsupported_version || code == Errc::dtype_mismatch)
        << name(code);
  };
  for (std::size_t size = 0; size < good.size(); size += size < 300 ? 1 : 97) try_bytes(good.span().first(size));
  const int truncated = refused;
  EXPECT_GT(truncated, 300);
  std::vector<std::byte> changed(good.begin(), good.end());
  for (std::size_t at = 0; at < 40 + 4 * 50; ++at)
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      changed[at] = static_cast<std::byte>(value);
      seal(changed);
      try_bytes(changed);
      changed[at] = good[at];
    }
  EXPECT_GT(refused, truncated + 100);
  // Everything processed and nothing left to feed.
  std::vector<std::byte> done(good.begin(), good.end());
  for (std::size_t b = 0; b < 4; ++b) done[28 + b] = done[36 + b];
  seal(done);
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

/// Saved after every token, with all that the stop strings and the detokenizer hold back then.
class SnapshotText : public testing::Test {
 protected:
  struct Saved {
    std::string all;
    std::vector<Vector<std::byte>> bytes;
    std::vector<std::string> out;  ///< what had come out at each save
  };
  static Request request(std::uint64_t seed, std::span<const std::string_view> stops) {
    Request r;
    r.prompt = "the king of";
    r.max_tokens = 16;
    r.ignore_eos = true;
    r.sampling.temperature = 1.5f;
    r.sampling.seed = seed;
    r.stop_strings = stops;
    return r;
  }
  std::unique_ptr<HostEngine> open() {
    auto engine = test::open_engine(On::cpu, file_.bytes(), {.context = 64});
    EXPECT_TRUE(engine);
    return std::move(*engine);
  }
  static Saved run(HostEngine& engine, const Request& request) {
    Saved saved;
    const auto id = engine.submit(request);
    EXPECT_TRUE(id);
    const test::OnRequestToken listen = [&](RequestId, const Token& token) {
      saved.all += token.text;
      return true;
    };
    while (*engine.step(listen) != 0) {
      auto bytes = engine.save(*id);
      EXPECT_TRUE(bytes);
      saved.bytes.push_back(std::move(*bytes));
      saved.out.push_back(saved.all);
    }
    return saved;
  }
  static std::string rest(HostEngine& engine, std::span<const std::byte> bytes, const Request& request) {
    std::string text;
    const auto id = engine.restore(bytes, request);
    EXPECT_TRUE(id) << id.error().text();
    const test::OnRequestToken listen = [&](RequestId, const Token& token) {
      text += token.text;
      return true;
    };
    while (*engine.step(listen) != 0) {
    }
    return text;
  }

  test::ModelFile file_ = test::tiny_model({.text = true, .seed = 5});
};

TEST_F(SnapshotText, TextThatWasHeldBackComesAfterTheBreak) {
  const auto engine = open();
  const auto other = open();
  int characters = 0, stops_held = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::string whole = run(*engine, request(seed, {})).all;
    const std::string longer = test::whole_characters(whole, whole.size() / 2, whole.size()) + "?";
    const std::string_view never[] = {longer};
    const std::string first = test::whole_characters(longer, 0, 4);
    const std::string_view cut[] = {first};
    const std::vector<std::span<const std::string_view>> kinds{{}, never, cut};
    for (const auto& stops : kinds) {
      const Saved saved = run(*engine, request(seed, stops));
      for (std::size_t i = 0; i < saved.bytes.size(); ++i) {
        ASSERT_EQ(saved.out[i] + rest(*other, saved.bytes[i].span(), request(seed, stops)), saved.all)
            << "seed " << seed << ", step " << i;
        // Under other stop strings what came out stays out, and what was held back is not lost.
        const std::string freed = saved.out[i] + rest(*other, saved.bytes[i].span(), request(seed, {}));
        ASSERT_EQ(freed, whole) << "seed " << seed << ", step " << i;
        stops_held += !stops.empty() && i > 0 && saved.out[i] == saved.out[i - 1] ? 1 : 0;
        characters += stops.empty() && i > 0 && saved.out[i] == saved.out[i - 1] ? 1 : 0;
      }
    }
  }
  EXPECT_GT(characters, 5) << "saved inside a character or before a token without text";
  EXPECT_GT(stops_held, 20);
}

TEST_F(SnapshotText, MoreTextHeldBackThanThereIsIsALie) {
  const auto engine = open();
  const Request r = request(1, {});
  const Saved saved = run(*engine, r);
  std::vector<std::byte> lie(saved.bytes[3].begin(), saved.bytes[3].end());
  lie[33] = std::byte{1};
  seal(lie);
  const auto restored = engine->restore(lie, r);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Errc::invalid_file) << restored.error().text();
}

/// An engine of another type of pages, another rounding or another model says what it expects and what it found.
TEST_F(SnapshotTest, AnotherEngineRefusesIt) {
  const Vector<std::byte> bytes = save_after(10);
  const auto refused = [&](std::span<const std::byte> file, EngineOptions options, Errc code,
                           std::initializer_list<std::string_view> words) {
    options.slots = 2;
    options.context = 96;
    options.chunk = 16;
    const auto other = test::open_engine(On::cpu, file, options);
    ASSERT_TRUE(other);
    const auto r = (*other)->restore(bytes.span(), request_);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), code) << r.error().text();
    for (std::string_view word : words)
      EXPECT_NE(r.error().text().find(word), std::string_view::npos) << r.error().text();
    std::size_t tokens = 0;
    ASSERT_TRUE((*other)->generate(request_, [&](const Token& token) { return tokens += token.id != kNoToken, true; }));
    EXPECT_EQ(tokens, 30u);
  };
  refused(file_.bytes(), {.kv_type = DType::bf16}, Errc::dtype_mismatch, {"of f16", "expected bf16"});
  refused(file_.bytes(), {.kv_type = DType::f32}, Errc::dtype_mismatch, {"of f16", "expected f32"});
  refused(file_.bytes(), {.numerics = {.act = ActPolicy::none}}, Errc::invalid_argument, {"rounded", "expected"});
  refused(test::tiny_model({.seed = 2}).bytes(), {}, Errc::invalid_argument, {"model", "expected"});
  // A model that was trained on from this one, in one tensor alone.
  std::vector<std::uint64_t> room((file_.bytes().size() + 7) / 8);
  const std::span<std::byte> copy = std::as_writable_bytes(std::span(room)).first(file_.bytes().size());
  std::memcpy(copy.data(), file_.bytes().data(), copy.size());
  {
    const auto opened = model::GgufFile::open(copy, system_allocator());
    ASSERT_TRUE(opened);
    const std::span<const std::byte> last = opened->data(*opened->find_tensor("blk.1.ffn_down.weight"));
    copy[static_cast<std::size_t>(&last.back() - copy.data())] ^= std::byte{1};
  }
  refused(copy, {}, Errc::invalid_argument, {"model", "expected"});
  refused(test::tiny_model({.rope = test::TinyRope::linear}).bytes(), {}, Errc::invalid_argument,
          {"model", "expected"});
}

TEST_F(SnapshotTest, EverySingleBitThatFlipsIsDamage) {
  const test::ModelFile file = test::tiny_model({.layers = 1, .kv_heads = 1});
  const auto opened = test::open_engine(On::cpu, file.bytes(), {.context = 32, .chunk = 16});
  ASSERT_TRUE(opened);
  HostEngine& engine = **opened;
  prompt_.resize(5);
  Request request = request_;
  request.tokens = prompt_;
  request.max_tokens = 4;
  const auto id = engine.submit(request);
  ASSERT_TRUE(id && engine.step(listen()) && engine.step(listen()));
  const auto good = engine.save(*id);
  ASSERT_TRUE(good);
  while (*engine.step(listen()) != 0) {
  }
  std::vector<std::byte> changed(good->begin(), good->end());
  for (std::size_t bit = 0; bit < 8 * changed.size(); ++bit) {
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const auto r = engine.restore(changed, request);
    ASSERT_FALSE(r) << "bit " << bit;
    ASSERT_EQ(r.error().code(), Errc::invalid_file) << "bit " << bit << ": " << r.error().text();
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  EXPECT_NE(engine.restore(std::span(changed).first(changed.size() - 1), request)
                .error()
                .text()
                .find("the snapshot is damaged: its bytes have the checksum"),
            std::string_view::npos);
  // Other versions are whole: the ones before the checksum, and one that is still to come.
  for (const int version : {1, 2, 5}) {
    changed[4] = static_cast<std::byte>(version);
    seal(changed);
    const auto r = engine.restore(changed, request);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::unsupported_version) << r.error().text();
  }
  EXPECT_TRUE(engine.restore(good->span(), request));
}

/// No truncation and no single byte does worse than an error or other tokens, all the way to the end.
TEST_F(SnapshotTest, EveryByteMayBeWrong) {
  const test::ModelFile file = test::tiny_model({.layers = 1, .kv_heads = 1});
  const auto opened = test::open_engine(On::cpu, file.bytes(), {.context = 32, .chunk = 16});
  ASSERT_TRUE(opened);
  HostEngine& engine = **opened;
  prompt_.resize(5);
  Request request = request_;
  request.tokens = prompt_;
  request.max_tokens = 4;
  const auto id = engine.submit(request);
  ASSERT_TRUE(id && engine.step(listen()) && engine.step(listen()));
  const auto good = engine.save(*id);
  ASSERT_TRUE(good);
  while (*engine.step(listen()) != 0) {
  }
  int refused = 0, ran = 0;
  const auto try_bytes = [&](std::span<const std::byte> bytes) {
    const auto r = engine.restore(bytes, request);
    if (!r) {
      ++refused;
      EXPECT_FALSE(r.error().text().empty());
      return;
    }
    ++ran;
    for (int steps = 0;; ++steps) {
      ASSERT_LT(steps, 40);
      const auto left = engine.step(listen());
      if (!left) {
        EXPECT_EQ(left.error().code(), Errc::spec_violation) << left.error().text();
      }
      if (left && *left == 0) break;
    }
  };
  for (std::size_t size = 0; size < good->size(); ++size) try_bytes(good->span().first(size));
  EXPECT_EQ(ran, 0) << "no truncation is whole";
  std::vector<std::byte> changed(good->begin(), good->end());
  for (std::size_t at = 0; at + kChecksumBytes < changed.size(); ++at)
    for (const int flip : {0xff, 0x01, 0x80}) {
      changed[at] ^= static_cast<std::byte>(flip);
      seal(changed);
      try_bytes(changed);
      changed[at] ^= static_cast<std::byte>(flip);
    }
  EXPECT_GT(ran, 1000) << "most of it is state";
  heard_.clear();
  ASSERT_TRUE(engine.restore(good->span(), request));
  while (*engine.step(listen()) != 0) {
  }
  EXPECT_EQ(heard_.size(), 2u);
}

TEST_F(SnapshotTest, WhatDoesNotRunCannotBeSaved) {
  const auto r = engine_->save(RequestId{777});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::not_found);
}

}  // namespace
}  // namespace snapshot_test
