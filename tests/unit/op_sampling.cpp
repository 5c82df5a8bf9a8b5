// SPDX-License-Identifier: Apache-2.0
// tests/unit/op_sampling.cpp: the sampling functions against the golden candidate sets and logits.
// test-set: smoke brief
#include <zrt/ops/sampling.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace op_sampling_test {
namespace {

using nlohmann::json;
using zrt::ops::Candidate;
using zrt::ops::SampleRequest;
namespace sampling = zrt::ops::sampling;

float number(const json& value) {
  if (value.is_string()) return value == "-inf" ? -std::numeric_limits<float>::infinity() : std::nanf("");
  return value.get<float>();
}

/// A candidate list on its way through samplers.
struct List {
  explicit List(const json& file) {
    for (const json& x : file.at("logits")) logits.push_back(number(x));
    reset();
  }
  void reset() {
    all.clear();
    for (std::size_t i = 0; i < logits.size(); ++i) all.push_back({logits[i], static_cast<std::int32_t>(i)});
    kept = all;
  }
  void penalise(const std::vector<std::int32_t>& history, std::size_t last, float repeat, float freq, float present) {
    const std::span<const std::int32_t> seen(history);
    sampling::penalise(logits, seen.last(std::min(last, seen.size())), repeat, freq, present);
    reset();
  }
  void order() { kept = sampling::top_k(kept, 0); }

  std::vector<float> logits;
  std::vector<Candidate> all;
  std::span<Candidate> kept;
};

/// Runs one sampler on the list; false when zrt has no such sampler.
bool apply(const std::string& name, const std::vector<float>& a, const std::vector<std::int32_t>& history, List& list) {
  if (name == "none")
    list.order();
  else if (name == "top_k")
    list.kept = sampling::top_k(list.kept, static_cast<std::uint32_t>(a[0]));
  else if (name == "top_p")
    list.order(), list.kept = sampling::top_p(list.kept, a[0], static_cast<std::uint32_t>(a[1]));
  else if (name == "min_p")
    list.order(), list.kept = sampling::min_p(list.kept, a[0], static_cast<std::uint32_t>(a[1]));
  else if (name == "temp")
    list.order(), list.kept = sampling::temperature(list.kept, a[0]);
  else if (name == "penalties")
    list.penalise(history, static_cast<std::size_t>(a[0]), a[1], a[2], a[3]), list.order();
  else if (name == "typical" && a[0] >= 1.0f)
    return true;  // keeps everything
  else
    return false;
  return true;
}

/// Runs "name(1,2)".
bool apply_step(const std::string& step, const std::vector<std::int32_t>& history, List& list) {
  const std::size_t open = step.find('(');
  std::vector<float> arguments;
  for (std::size_t at = open; at != std::string::npos && at + 1 < step.size(); at = step.find(',', at + 1))
    arguments.push_back(std::stof(step.substr(at + 1)));
  return apply(step.substr(0, open), arguments, history, list);
}

bool run_case(const json& c, List& list) {
  const std::string name = c.at("name");
  const json& p = c.at("params");
  const auto history = c.at("history").get<std::vector<std::int32_t>>();
  auto of = [&](const char* key) { return p.at(key).get<float>(); };
  if (name == "none") return apply(name, {}, history, list);
  if (name == "top_k") return apply(name, {of("k")}, history, list);
  if (name == "top_p" || name == "min_p") return apply(name, {of("p"), of("min_keep")}, history, list);
  if (name == "temp") return apply(name, {of("t")}, history, list);
  if (name == "penalties") return apply(name, {of("last_n"), of("repeat"), of("freq"), of("present")}, history, list);
  if (name == "logit_bias") {
    std::vector<std::int32_t> ids;
    std::vector<float> values;
    for (const json& pair : p.at("bias")) {
      ids.push_back(pair.at(0));
      values.push_back(number(pair.at(1)));
    }
    sampling::bias(list.logits, ids, values);
    list.reset();
    list.order();
    return true;
  }
  if (name.starts_with("chain_")) {
    for (const json& step : p.at("order"))
      if (!apply_step(step, history, list)) return false;
    return true;
  }
  return false;
}

TEST(Sampling, GivesTheGoldenCandidates) {
  const std::filesystem::path path = std::filesystem::path(ZRT_SHARED_DIR) / "golden/sampling/samplers.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NOT TESTED: " << path << " is missing";
  std::ifstream stream(path);
  const json file = json::parse(stream);
  std::map<std::string, int> covered, left_out;
  int shares = 0;
  for (std::size_t index = 0; index < file.at("cases").size(); ++index) {
    const json& c = file["cases"][index];
    const std::string name = c.at("name");
    SCOPED_TRACE("case " + std::to_string(index) + ", " + name + " " + c.at("params").dump());
    List list(file);
    if (!run_case(c, list)) {
      ++left_out[name];
      continue;
    }
    ++covered[name];
    // A temperature of 0 leaves one candidate here, and sets the others to -inf in the golden file.
    std::map<std::int32_t, float> expected;
    const bool greedy = name == "temp" && c["params"]["t"] == 0;
    for (std::size_t i = 0; i < c.at("n").get<std::size_t>(); ++i)
      if (!greedy || std::isfinite(number(c["logits"][i]))) expected[c["ids"][i]] = number(c["logits"][i]);
    ASSERT_EQ(list.kept.size(), expected.size());
    for (const Candidate& kept : list.kept) {
      ASSERT_TRUE(expected.contains(kept.id)) << "candidate " << kept.id;
      const float logit = expected[kept.id];
      // The file holds nine digits; penalties and temperature round twice at most.
      if (std::isfinite(logit)) {
        EXPECT_NEAR(kept.logit, logit, 3e-7f * (1.0f + std::abs(logit))) << "candidate " << kept.id;
      } else {
        EXPECT_EQ(kept.logit, logit) << "candidate " << kept.id;
      }
    }
    for (std::size_t i = 1; i < list.kept.size(); ++i)
      EXPECT_TRUE(sampling::before(list.kept[i - 1], list.kept[i])) << "at " << i;
    // Drawing is by inversion, so numbers just within a candidate's share of 0..1 draw it; f32 sums of 512 numbers are
    // that near to the file's.
    constexpr double kMargin = 2e-6;
    double below = 0;
    for (std::size_t i = 0; i < list.kept.size(); ++i) {
      const double p = c["p"][i].get<double>();
      if (p > 1e-3) {
        ++shares;
        EXPECT_EQ(sampling::draw(list.kept, static_cast<float>(below + kMargin)), c["ids"][i]) << "from " << below;
        EXPECT_EQ(sampling::draw(list.kept, static_cast<float>(below + p - kMargin)), c["ids"][i])
            << "to " << below + p;
      }
      below += p;
    }
  }
  EXPECT_GT(shares, 300);
  // Everything that a request can ask for is covered; the rest has no field in SampleRequest.
  const std::map<std::string, int> expect_covered{{"none", 1},       {"top_k", 4},         {"top_p", 6},
                                                  {"min_p", 5},      {"temp", 5},          {"penalties", 7},
                                                  {"logit_bias", 1}, {"chain_default", 1}, {"chain_temp_first", 1}};
  const std::map<std::string, int> expect_left_out{
      {"typical", 3},  {"temp_ext", 2},    {"top_n_sigma", 3},        {"dry", 7},           {"xtc", 5},
      {"mirostat", 2}, {"mirostat_v2", 2}, {"chain_topk_typical", 1}, {"chain_topk_xtc", 1}};
  EXPECT_EQ(covered, expect_covered);
  EXPECT_EQ(left_out, expect_left_out);
}

/// The one algorithm in its own order against the same functions called one by one.
TEST(Sampling, DrawsFromTheLastCandidates) {
  SampleRequest request;
  request.active = 1;
  request.seed_low = 7;
  request.temperature = 0.8f;
  request.top_k = 3;
  std::vector<float> logits{0.0f, 3.0f, 2.9f, -1.0f, 2.8f, 1.0f};
  std::vector<Candidate> list(logits.size());
  std::vector<int> drawn(logits.size());
  for (request.generated = 0; request.generated < 3000; ++request.generated) {
    std::vector<float> copy = logits;
    ++drawn[static_cast<std::size_t>(sampling::sample(request, copy, {}, {}, {}, list))];
  }
  EXPECT_EQ(drawn[0] + drawn[3] + drawn[5], 0);
  // exp(-0.1 / 0.8) and exp(-0.2 / 0.8): 0.376, 0.332 and 0.292 of 3000 draws, 5 standard deviations.
  EXPECT_NEAR(drawn[1], 1128, 133);
  EXPECT_NEAR(drawn[2], 996, 129);
  EXPECT_NEAR(drawn[4], 876, 125);
}

TEST(Sampling, IsRepeatableAndGreedyAtTemperatureZero) {
  SampleRequest request;
  request.active = 1;
  std::vector<float> logits{1.0f, 5.0f, std::nanf(""), 5.0f, 4.0f};
  std::vector<Candidate> list(logits.size());
  for (request.generated = 0; request.generated < 10; ++request.generated) {
    auto copy = logits;
    EXPECT_EQ(sampling::sample(request, copy, {}, {}, {}, list), 1);
  }
  request.temperature = 1.0f;
  for (request.generated = 0; request.generated < 50; ++request.generated) {
    auto one = logits, two = logits;
    const std::int32_t first = sampling::sample(request, one, {}, {}, {}, list);
    EXPECT_EQ(first, sampling::sample(request, two, {}, {}, {}, list));
    EXPECT_NE(first, 2) << "a NaN was drawn";
  }
}

/// Where quotients and sums pass the largest number, the most likely token is drawn, not the last.
TEST(Sampling, AnInfiniteBestIsDrawn) {
  SampleRequest request;
  request.active = 1;
  std::vector<Candidate> list(4);
  const auto expect_second = [&](std::vector<float> logits, std::span<const std::int32_t> ids,
                                 std::span<const float> biases) {
    for (request.generated = 0; request.generated < 20; ++request.generated) {
      auto copy = logits;
      EXPECT_EQ(sampling::sample(request, copy, {}, ids, biases, list), 1) << "temperature " << request.temperature;
    }
  };
  for (const float temperature : {1e-42f, 1e-38f, 1.0f, 100.0f}) {
    request.temperature = temperature;
    const std::int32_t second[] = {1};
    const float huge[] = {3e38f};
    expect_second({1.0f, 1e38f, 3.0f, 2.0f}, second, huge);
    if (temperature < 1.0f) {
      expect_second({4.0f, 5.0f, 3.0f, 2.0f}, {}, {});
      expect_second({-4.0f, -2.0f, -3.0f, -2.5f}, {}, {});
    }
  }
}

/// -infinity forbids a token, be it the only one.
TEST(Sampling, NoTokenIsDrawnWhereEachIsForbidden) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  SampleRequest request;
  request.active = 1;
  const std::vector<std::int32_t> ids{0, 1, 2};
  const std::vector<float> biases(3, kForbidden);
  std::vector<Candidate> list(4);
  for (const float temperature : {0.0f, 0.7f})
    for (const std::uint32_t top_k : {0u, 2u}) {
      request.temperature = temperature;
      request.top_k = top_k;
      std::vector<float> logits{1.0f, 5.0f, 2.0f};
      EXPECT_EQ(sampling::sample(request, logits, {}, ids, biases, zrt::Span<Candidate>(list).first(3)), -1);
      logits = {1.0f, 5.0f, std::nanf("")};
      EXPECT_EQ(sampling::sample(request, logits, {}, ids, biases, zrt::Span<Candidate>(list).first(3)), -1);
      logits = {1.0f, 5.0f, 2.0f, -1e30f};
      EXPECT_EQ(sampling::sample(request, logits, {}, ids, biases, list), 3);
    }
}

/// Ids come from a host: those outside the vocabulary change nothing.
TEST(Sampling, IgnoresIdsOutsideTheVocabulary) {
  std::vector<float> logits{1.0f, 2.0f};
  const std::vector<std::int32_t> ids{-1, 2, 1 << 30};
  const std::vector<float> values{9.0f, 9.0f, 9.0f};
  sampling::bias(logits, ids, values);
  sampling::penalise(logits, ids, 2.0f, 1.0f, 1.0f);
  EXPECT_EQ(logits, (std::vector<float>{1.0f, 2.0f}));
}

}  // namespace
}  // namespace op_sampling_test
