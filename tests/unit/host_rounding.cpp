// SPDX-License-Identifier: Apache-2.0
// tests/unit/host_rounding.cpp: a host's own rounding mode changes no bit, and it is the host's again after each call.
#if defined(__x86_64__)
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kDefault = 0x1f80;
constexpr std::uint32_t kDown = 0x2000, kUp = 0x4000, kToZero = 0x6000, kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
constexpr std::uint32_t kFlags = 0x3f;  ///< sticky notes of what happened, no mode

std::uint32_t mode() {
  std::uint32_t word = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(word)::"memory");
  return word & ~kFlags;
}
void set_mode(std::uint32_t word) { __asm__ volatile("ldmxcsr %0" ::"m"(word) : "memory"); }

/// Everything that an engine computes, as bits.
struct Bits {
  std::vector<std::int32_t> ids;
  std::vector<std::uint32_t> best;
  std::vector<std::uint32_t> logits;
  std::uint64_t perplexity = 0;
  std::string text;

  friend bool operator==(const Bits&, const Bits&) = default;
};

class HostRounding : public testing::TestWithParam<std::uint32_t> {
 protected:
  void TearDown() override { set_mode(kDefault); }

  /// Opens, generates and evaluates under the mode `host`; every call must leave that mode as it was.
  static Bits run(On on, const EngineOptions& options, const test::ModelFile& file, std::uint32_t host) {
    Bits bits;
    const auto kept = [&](const char* call) { EXPECT_EQ(mode(), host) << "after " << call; };
    set_mode(host);
    const auto opened = test::open_engine(on, file.bytes(), options);
    kept("open");
    if (!opened) return ADD_FAILURE() << opened.error().text(), bits;
    HostEngine& engine = **opened;
    Request request;
    request.prompt = "the king of";
    request.max_tokens = 12;
    request.ignore_eos = true;
    request.log_probabilities = 4;
    request.sampling = {.temperature = 0.9f,
                        .top_k = 30,
                        .top_p = 0.95f,
                        .min_p = 0.01f,
                        .repetition_penalty = 1.1f,
                        .frequency_penalty = 0.1f,
                        .seed = 3};
    const auto listen = [&](const Token& token) {
      kept("the way to the callable");
      if (token.id != kNoToken) bits.ids.push_back(token.id);
      for (const TokenProbability& p : token.best) bits.best.push_back(std::bit_cast<std::uint32_t>(p.log_probability));
      bits.text += token.text;
      return true;
    };
    EXPECT_TRUE(engine.generate(request, listen));
    kept("generate");
    EXPECT_TRUE(engine.submit(request));
    kept("submit");
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(engine.step([&](RequestId, const Token& token) { return listen(token); }));
    kept("step");
    for (std::size_t left = 1; left != 0;) {
      const auto r = engine.step([](RequestId, const Token&) { return true; });
      if (!r) return ADD_FAILURE() << r.error().text(), bits;
      left = *r;
    }
    const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 20, 4);
    EXPECT_TRUE(
        engine.evaluate(tokens, std::vector<std::int32_t>{3, 4}, [&](std::uint32_t, std::span<const float> row) {
          kept("the way to the logits");
          for (float x : row) bits.logits.push_back(std::bit_cast<std::uint32_t>(x));
        }));
    kept("evaluate");
    const auto perplexity = engine.perplexity("the king of the ab. the king of ab the. of the king");
    kept("perplexity");
    if (!perplexity) return ADD_FAILURE() << perplexity.error().text(), bits;
    bits.perplexity = std::bit_cast<std::uint64_t>(*perplexity);
    set_mode(kDefault);
    EXPECT_FALSE(bits.logits.empty());
    return bits;
  }
};

/// A model whose logits are denormal numbers: the weights of its head are.
test::ModelFile denormal_model() {
  const test::ModelFile plain = test::tiny_model({.text = true});
  std::vector<std::byte> bytes(plain.bytes().begin(), plain.bytes().end());
  const auto file = model::GgufFile::open(plain.bytes(), system_allocator());
  if (!file) return ADD_FAILURE() << file.error().text(), test::ModelFile();
  const std::span<const std::byte> head = file->data(*file->find_tensor("output.weight"));
  std::byte* at = bytes.data() + (head.data() - plain.bytes().data());
  for (std::size_t i = 0; i < head.size(); i += sizeof(float)) {
    float weight = 0.0f;
    std::memcpy(&weight, at + i, sizeof weight);
    weight *= 0x1p-130f;
    std::memcpy(at + i, &weight, sizeof weight);
  }
  return test::ModelFile(bytes);
}

TEST_P(HostRounding, ChangesNoBitAndStays) {
  const test::ModelFile files[] = {test::tiny_model({.rope = test::TinyRope::yarn, .text = true}),
                                   test::tiny_model({.weights = DType::q8_0, .text = true}), denormal_model()};
  for (const test::ModelFile& file : files) {
    EngineOptions options;
    options.chunk = 16;
    options.logit_rows = 32;
    const Bits expected = run(On::cpu, options, file, kDefault);
    for (const std::uint32_t threads : {1u, 2u}) {
      options.threads = threads;
      EXPECT_EQ(run(On::cpu, options, file, GetParam()), expected) << threads << " threads";
    }
    options.threads = 1;
    EXPECT_EQ(run(On::reference, options, file, GetParam()), expected) << "reference";
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, HostRounding,
                         testing::Values(kDefault | kUp, kDefault | kDown, kDefault | kToZero,
                                         kDefault | kFlushToZero | kDenormalsAreZero,
                                         kDefault | kUp | kFlushToZero | kDenormalsAreZero));

}  // namespace
#endif
