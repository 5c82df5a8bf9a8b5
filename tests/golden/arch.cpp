// SPDX-License-Identifier: Apache-2.0
// tests/golden/arch.cpp: logits of small models of each family and each weight type against an independent engine's.
#include <zrt/core/hash.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <support/engines.hpp>
#include <support/golden_models.hpp>
#include <support/typed_model.hpp>
#include <support/validated.hpp>
#include <vector>

namespace zrt::test {

/// How GTest names a model where a test of it fails.
void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

}  // namespace zrt::test

namespace arch_test {
namespace {

using namespace zrt;

const std::filesystem::path kFolder = std::filesystem::path(ZRT_SHARED_DIR) / "golden" / "arch";
/// Models made by tools/make_model.cpp with llama.cpp's logits; tools/peer_models.py wrote both.
const std::filesystem::path kOwnFolder = std::filesystem::path(ZRT_TEST_DATA_DIR) / "peer";

/// Largest nmse of logits against exact arithmetic. The data's own noise is 4e-12.
constexpr double kExactNmse = 2e-11;
/// How much further from exact arithmetic than the peer rounded activations may lead.
constexpr double kPlanFactor = 1.44;

struct Golden {
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> decode;
  std::size_t vocabulary = 0;
  std::vector<float> logits;  ///< a row per token fed
};

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Takes golden data off the front of `all`, which `path` holds.
Golden take_golden(std::string_view& all, const std::filesystem::path& path) {
  Golden golden;
  std::int32_t head[4]{};
  if (all.size() < 20 || !all.starts_with("ZGLD")) {
    ADD_FAILURE() << path << " is no golden file";
    return golden;
  }
  std::memcpy(head, all.data() + 4, sizeof head);
  const auto [version, prompt, decode, vocabulary] = head;
  EXPECT_EQ(version, 1);
  golden.prompt.resize(static_cast<std::size_t>(prompt));
  golden.decode.resize(static_cast<std::size_t>(decode));
  golden.vocabulary = static_cast<std::size_t>(vocabulary);
  golden.logits.resize(static_cast<std::size_t>(prompt + decode) * golden.vocabulary);
  const char* at = all.data() + 20;
  const auto take = [&](auto& to) {
    const std::size_t bytes = to.size() * sizeof to[0];
    ASSERT_LE(bytes, static_cast<std::size_t>(all.data() + all.size() - at)) << path;
    std::memcpy(to.data(), at, bytes);
    at += bytes;
  };
  take(golden.prompt);
  take(golden.decode);
  take(golden.logits);
  all.remove_prefix(static_cast<std::size_t>(at - all.data()));
  return golden;
}

Golden read_golden(const std::filesystem::path& path) {
  const std::string all = read_text(path);
  std::string_view rest = all;
  return take_golden(rest, path);
}

double nmse(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return 1e30;
  double error = 0, power = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = double{found[i]} - double{expected[i]};
    error += d * d;
    power += double{expected[i]} * double{expected[i]};
  }
  return error / power;
}

std::size_t argmax(const float* row, std::size_t count) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (row[i] > row[best]) best = i;
  return best;
}

/// The greedy path of the prompt's last row and the decode rows.
std::vector<std::int32_t> greedy(const std::vector<float>& logits, const Golden& golden) {
  std::vector<std::int32_t> ids;
  for (std::size_t row = golden.prompt.size() - 1; row + 1 < golden.prompt.size() + golden.decode.size(); ++row)
    ids.push_back(static_cast<std::int32_t>(argmax(logits.data() + row * golden.vocabulary, golden.vocabulary)));
  return ids;
}

/// A file with a LoRA adapter, and what its products count.
struct Adapter {
  std::string path;
  float scale = 1.0f;
};

std::vector<std::byte> read_bytes(const std::string& path) {
  const std::string all = read_text(path);
  std::vector<std::byte> bytes(all.size());
  if (!all.empty()) std::memcpy(bytes.data(), all.data(), all.size());
  return bytes;
}

/// `model` is a path or a file's bytes.
template <class Model>
std::vector<float> logits_of(const Model& model, const Golden& golden, ActPolicy act, std::uint32_t chunk = 512,
                             const Adapter& adapter = {}) {
  EngineOptions options;
  options.context = 128;
  options.chunk = chunk;
  options.logit_rows = 64;
  options.kv_type = DType::f32;
  options.numerics.act = act;
  options.adapters = adapter.path.empty() ? 0 : 1;
  auto engine = test::open_engine(test::On::cpu, model, options);
  if (!engine) {
    ADD_FAILURE() << engine.error().text();
    return {};
  }
  AdapterId id{};
  if (!adapter.path.empty()) {
    const auto loaded = (*engine)->load_adapter(read_bytes(adapter.path), adapter.scale);
    EXPECT_TRUE(loaded) << adapter.path << ": " << loaded.error().text();
    if (loaded) id = *loaded;
  }
  std::vector<float> all;
  std::uint32_t next = 0;
  const auto done = (*engine)->evaluate(
      golden.prompt, golden.decode,
      [&](std::uint32_t position, std::span<const float> row) {
        EXPECT_EQ(position, next++);
        all.insert(all.end(), row.begin(), row.end());
      },
      id);
  if (!done) ADD_FAILURE() << done.error().text();
  return all;
}

/// Both backends on the same tokens: every value of every layer.
template <class Model> void expect_same_values(const Model& model, const Golden& golden, ActPolicy act) {
  EngineOptions options;
  options.context = 128;
  options.chunk = 64;
  options.logit_rows = 64;
  options.kv_type = DType::f32;
  options.numerics.act = act;
  options.keep_values = true;
  const auto cpu = test::open_engine(test::On::cpu, model, options);
  ASSERT_TRUE(cpu) << cpu.error().text();
  const auto reference = test::open_engine(test::On::reference, model, options);
  ASSERT_TRUE(reference) << reference.error().text();
  test::expect_validated((*cpu)->validated(), (*reference)->validated(), golden.prompt, golden.decode, 64);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool have_data() {
  if (std::filesystem::exists(kFolder)) return true;
  std::fprintf(stderr, "SKIPPED: there is no golden data at %s\n", kFolder.c_str());
  return false;
}

/// The bound of a model: its logits have the noise of 64 layers, or of a gelu that the peer took from a table of f16,
/// which the shared data was made without.
double bound_of(const test::GoldenModel& model) {
  const std::string_view name = model.name;
  if (model.own && (name == "starcoder2" || name == "gpt2" || name == "gemma4")) return 1e-6;
  if (model.own && name == "gemma4-moe") return 1e-5;  // the router adds to it
  return name == "exaone4-window" ? 2e-10 : kExactNmse;
}

std::string test_name(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class ArchF32 : public testing::TestWithParam<test::GoldenModel> {};

TEST_P(ArchF32, LogitsAndGreedyTokensAndEveryValueOnBothBackends) {
  const test::GoldenModel& model = GetParam();
  if (!model.own && !have_data()) GTEST_SKIP();
  const std::filesystem::path base = (model.own ? kOwnFolder : kFolder) / model.name;
  const std::string path = base.string() + ".gguf";
  const Golden golden = read_golden(base.string() + ".bin");
  const std::vector<float> cpu = logits_of(path, golden, ActPolicy::weight);
  const double far = nmse(cpu, golden.logits);
  std::printf("%-18s nmse %.2e\n", model.name, far);
  EXPECT_LT(far, bound_of(model));
  EXPECT_NEAR(far, model.nmse, 0.01 * model.nmse) << "tests/support/golden_models.hpp says otherwise";
  expect_same_values(path, golden, ActPolicy::weight);
  EXPECT_EQ(greedy(cpu, golden), golden.decode);
  EXPECT_TRUE(same_bits(cpu, logits_of(path, golden, ActPolicy::weight, 16))) << "cut into chunks of 16";
}
INSTANTIATE_TEST_SUITE_P(Golden, ArchF32, testing::ValuesIn(test::kGoldenF32), [](const auto& model) {
  return test_name((model.param.own ? "own_" : "") + std::string(model.param.name));
});

class ArchQuantised : public testing::TestWithParam<const char*> {};

TEST_P(ArchQuantised, ExactWithoutRoundingAndCloseWithIt) {
  if (!have_data()) GTEST_SKIP();
  const std::string name = GetParam();
  const Golden exact = read_golden(kFolder / (name + ".exact.bin"));
  const Golden peer = read_golden(kFolder / (name + ".bin"));
  ASSERT_EQ(exact.decode, peer.decode);
  const std::string path = (kFolder / (name + ".gguf")).string();
  const std::vector<float> none = logits_of(path, exact, ActPolicy::none);
  const std::vector<float> plan = logits_of(path, exact, ActPolicy::weight);
  for (const ActPolicy act : {ActPolicy::none, ActPolicy::weight}) expect_same_values(path, exact, act);
  EXPECT_TRUE(same_bits(plan, logits_of(path, exact, ActPolicy::weight, 16))) << "cut into chunks of 16";
  const double far_none = nmse(none, exact.logits);
  const double far_plan = nmse(plan, exact.logits);
  const double far_peer = nmse(peer.logits, exact.logits);
  std::printf("%-14s act none nmse %.2e; act plan nmse %.3e, the peer's %.3e, ratio %.3f\n", name.c_str(), far_none,
              far_plan, far_peer, far_plan / far_peer);
  RecordProperty("ratio_to_peer", std::to_string(far_plan / far_peer));
  EXPECT_LT(far_none, kExactNmse);
  EXPECT_EQ(greedy(none, exact), exact.decode);
  EXPECT_LE(far_plan, kPlanFactor * far_peer);
  EXPECT_FALSE(same_bits(none, plan)) << "the plan rounds nothing";
}
INSTANTIATE_TEST_SUITE_P(Golden, ArchQuantised,
                         testing::Values("llama-q8_0", "llama-q4_0", "llama-q4_k_m", "qwen3-q8_0", "qwen3-q4_0",
                                         "qwen3-q4_k_m", "qwen3moe-q8_0", "qwen3moe-q4_0", "qwen3moe-q4_k_m"),
                         [](const auto& param) { return test_name(param.param); });

class ArchTyped : public testing::TestWithParam<std::string_view> {};

// A model of random blocks of each type. The peer's own roundings are no bound where it has none.
TEST_P(ArchTyped, EveryWeightTypeIsExactWithoutRoundingAndCloseWithIt) {
  const std::filesystem::path path = kOwnFolder / "weight_types.bin";
  const std::string all = read_text(path);
  std::string_view rest = all;
  std::size_t types = 0;
  while (rest.size() > 32) {
    const std::string name = rest.substr(0, rest.find('\0')).data();
    std::uint64_t hash = 0;
    std::memcpy(&hash, rest.data() + 24, sizeof hash);
    rest.remove_prefix(32);
    const Golden exact = take_golden(rest, path);
    const Golden peer = take_golden(rest, path);
    const std::size_t dash = name.find('-');
    if (name.substr(0, dash) != GetParam()) continue;
    SCOPED_TRACE(name);
    const quant::TypeFacts* type = nullptr;
    for (const quant::TypeFacts& facts : quant::kTypeFactsOf<quant::OwnTypes>)
      if (zrt::name(facts.dtype) == name.substr(dash + 1)) type = &facts;
    ASSERT_NE(type, nullptr);
    ++types;
    const test::Bytes file = test::TypedModel(GetParam(), type->dtype).build();
    ASSERT_EQ(hash_bytes({reinterpret_cast<const char*>(file.data()), file.size()}), hash)
        << "the model is another than the peer's: tools/peer_weight_types.py asks it anew";
    ASSERT_EQ(exact.decode, peer.decode);
    const std::span<const std::byte> model(file);
    const std::vector<float> none = logits_of(model, exact, ActPolicy::none);
    const std::vector<float> plan = logits_of(model, exact, ActPolicy::weight);
    for (const ActPolicy act : {ActPolicy::none, ActPolicy::weight}) expect_same_values(model, exact, act);
    EXPECT_TRUE(same_bits(plan, logits_of(model, exact, ActPolicy::weight, 16))) << "cut into chunks of 16";
    const double far_none = nmse(none, exact.logits);
    const double far_plan = nmse(plan, exact.logits);
    const double far_peer = nmse(peer.logits, exact.logits);
    std::printf("%-14s act none nmse %.2e; act plan nmse %.3e, the peer's %.3e, ratio %.3f\n", name.c_str(), far_none,
                far_plan, far_peer, far_plan / far_peer);
    EXPECT_LT(far_none, kExactNmse);
    EXPECT_EQ(greedy(none, exact), exact.decode);
    EXPECT_LE(far_plan, std::max(kPlanFactor * far_peer, kExactNmse));
    EXPECT_EQ(same_bits(none, plan), type->act == quant::Act::none) << "the plan rounds otherwise than the type says";
  }
  EXPECT_EQ(types, quant::kTypeFactsOf<quant::OwnTypes>.size());
}
INSTANTIATE_TEST_SUITE_P(Golden, ArchTyped, testing::ValuesIn(test::kTypedArchitectures),
                         [](const auto& param) { return std::string(param.param); });

struct AdaptedModel {
  const char* name;
  float scale;  ///< as tools/peer_lora.py gives it to the peer
};
void PrintTo(const AdaptedModel& model, std::ostream* out) { *out << model.name; }

class ArchAdapted : public testing::TestWithParam<AdaptedModel> {};

TEST_P(ArchAdapted, LogitsWithAnAdapterAreThePeers) {
  const std::string base = (kOwnFolder / GetParam().name).string();
  const Golden golden = read_golden(base + "-lora.bin");
  const Adapter adapter{base + "-lora.gguf", GetParam().scale};
  const std::vector<float> with = logits_of(base + ".gguf", golden, ActPolicy::weight, 512, adapter);
  const double far = nmse(with, golden.logits);
  std::printf("%-18s nmse %.2e\n", GetParam().name, far);
  EXPECT_LT(far, kExactNmse);
  EXPECT_EQ(greedy(with, golden), golden.decode);
  EXPECT_TRUE(same_bits(with, logits_of(base + ".gguf", golden, ActPolicy::weight, 16, adapter))) << "in chunks of 16";
  EXPECT_GT(nmse(logits_of(base + ".gguf", golden, ActPolicy::weight), golden.logits), 1e-3) << "it changes nothing";
}
INSTANTIATE_TEST_SUITE_P(Golden, ArchAdapted,
                         testing::Values(AdaptedModel{"seed_oss", 0.75f}, AdaptedModel{"falcon-h1", 1.0f}),
                         [](const auto& model) { return test_name(model.param.name); });

}  // namespace
}  // namespace arch_test
