// SPDX-License-Identifier: Apache-2.0
// tests/golden/embeddings.cpp: vectors of texts against an independent engine's, on both backends.
#include <zrt/engine/embedding.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/model/gguf/writer.hpp>
#include <zrt/quant/encode/types.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <support/engines.hpp>
#include <support/golden_models.hpp>
#include <vector>

namespace zrt::test {

/// How GTest names a model where a test of it fails.
void PrintTo(const GoldenEmbedding& model, std::ostream* out) { *out << model.name; }

}  // namespace zrt::test

namespace embeddings_test {
namespace {

using namespace zrt;

const std::filesystem::path kFolder = std::filesystem::path(ZRT_TEST_DATA_DIR) / "peer";

struct Pooled {
  Pooling pooling{};
  std::size_t width = 0;
  std::vector<float> vectors;  ///< [texts][width]
};

/// See tools/peer_embeddings.py.
struct Golden {
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<Pooled> poolings;
};

Golden read_golden(const std::string& name) {
  std::ifstream in(kFolder / (name + ".emb"), std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  Golden golden;
  if (all.size() < 16 || all.compare(0, 4, "ZGEM") != 0) {
    ADD_FAILURE() << name << ".emb is no golden file";
    return golden;
  }
  std::size_t at = 4;
  const auto take = [&](void* to, std::size_t words) {
    ASSERT_LE(at + 4 * words, all.size());
    std::memcpy(to, all.data() + at, 4 * words);
    at += 4 * words;
  };
  std::uint32_t head[3]{};
  take(head, 3);
  EXPECT_EQ(head[0], 1u);
  std::vector<std::uint32_t> lengths(head[1]);
  take(lengths.data(), lengths.size());
  for (const std::uint32_t length : lengths) take(golden.texts.emplace_back(length).data(), length);
  for (std::uint32_t i = 0; i < head[2]; ++i) {
    std::uint32_t kind[2]{};
    take(kind, 2);
    Pooled& p = golden.poolings.emplace_back(static_cast<Pooling>(kind[0]), kind[1]);
    p.vectors.resize(lengths.size() * kind[1]);
    take(p.vectors.data(), p.vectors.size());
  }
  EXPECT_EQ(at, all.size());
  return golden;
}

std::unique_ptr<test::HostEngine> open(test::On on, const std::string& name, std::uint32_t slots) {
  EngineOptions options;
  options.context = 256;
  options.chunk = 64;
  options.slots = slots;
  options.kv_type = DType::f32;
  options.embeddings = true;
  auto engine = test::open_engine(on, (kFolder / (name + ".gguf")).string(), options);
  if (engine) return std::move(*engine);
  ADD_FAILURE() << name << ": " << engine.error().text();
  return nullptr;
}

std::vector<float> vectors_of(test::HostEngine& engine, const Golden& golden, const EmbedOptions& options) {
  std::vector<EmbedInput> inputs;
  for (const auto& text : golden.texts) inputs.push_back({.tokens = text});
  const auto found = engine.embed(inputs, options);
  if (!found) {
    ADD_FAILURE() << found.error().text();
    return {};
  }
  return {found->values.begin(), found->values.end()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The peer takes gelu from a table of f16, which shows most in a score near 0.
double bound_of(std::string_view name) {
  if (name == "bert-rank" || name == "modern-bert-rank") return 1e-5;
  for (const std::string_view no_gelu : {"nomic-bert", "qwen3-embedding", "qwen3-rank", "modern-bert-silu"})
    if (name == no_gelu) return 1e-12;
  return 1e-6;
}

class Embeddings : public testing::TestWithParam<test::GoldenEmbedding> {};

TEST_P(Embeddings, AreThePeersAndDoNotDependOnNeighbours) {
  const std::string model = GetParam().name;
  const Golden golden = read_golden(model);
  const auto alone = open(test::On::cpu, model, 1);
  const auto together = open(test::On::cpu, model, 3);
  const auto reference = open(test::On::reference, model, 2);
  double worst = 0;
  ASSERT_TRUE(alone && together && reference);
  for (const Pooled& p : golden.poolings) {
    SCOPED_TRACE(name(p.pooling));
    const EmbedOptions options{.pooling = p.pooling, .normalize = false};
    const std::vector<float> found = vectors_of(*alone, golden, options);
    ASSERT_EQ(found.size(), p.vectors.size());
    double error = 0, power = 0, farthest = 0;
    for (std::size_t text = 0; text < golden.texts.size(); ++text) {
      double ab = 0, aa = 0, bb = 0;
      for (std::size_t i = text * p.width; i < (text + 1) * p.width; ++i) {
        const double a = double{found[i]}, b = double{p.vectors[i]};
        ab += a * b, aa += a * a, bb += b * b;
        error += (a - b) * (a - b);
      }
      power += bb;
      farthest = std::max(farthest, 1.0 - ab / std::sqrt(aa * bb));
    }
    std::printf("%-20s %-5s nmse %.4e, 1 - cosine %.1e\n", model.c_str(), std::string(name(p.pooling)).c_str(),
                error / power, farthest);
    EXPECT_LT(farthest, 1e-5);
    EXPECT_LT(error / power, bound_of(model));
    EXPECT_TRUE(same_bits(found, vectors_of(*together, golden, options))) << "beside other texts";
    EXPECT_TRUE(same_bits(found, vectors_of(*reference, golden, options))) << "on the reference backend";
    worst = std::max(worst, error / power);
  }
  EXPECT_NEAR(worst, GetParam().nmse, 0.01 * GetParam().nmse) << "tests/support/golden_models.hpp says otherwise";
}
/// The texts of tools/peer_embeddings.py: what follows a tab is the document of a query.
void expect_ids_of_texts(const char* name, Pooling pooling, std::span<const EmbedInput> texts) {
  const Golden golden = read_golden(name);
  ASSERT_EQ(golden.texts.size(), texts.size());
  const auto engine = open(test::On::cpu, name, 2);
  ASSERT_TRUE(engine);
  const auto found = engine->embed(texts);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->pooling, pooling) << "as the file says";
  const std::vector<float> values(found->values.begin(), found->values.end());
  EXPECT_TRUE(same_bits(values, vectors_of(*engine, golden, {})));
  for (std::size_t text = 0; text < golden.texts.size(); ++text)
    EXPECT_EQ(found->tokens[text], golden.texts[text].size());
}

TEST(EmbeddingsOfText, HaveThePeersIds) {
  constexpr EmbedInput kPairs[] = {{.text = "hello"},
                                   {.text = "Hello, W\u00f6rld!"},
                                   {.text = "what is this?", .document = "this is a thing."},
                                   {.text = "\u00c9t\u00e9 2024 \u4f60 singing", .document = "hello hello"}};
  expect_ids_of_texts("bert-rank", Pooling::rank, kPairs);
  constexpr EmbedInput kTexts[] = {{.text = "hello"},
                                   {.text = "Hello, W\u00f6rld!"},
                                   {.text = "what is this?\tthis is a thing."},
                                   {.text = "\u00c9t\u00e9 2024 \u4f60 singing\thello hello"}};
  expect_ids_of_texts("t5encoder-text", Pooling::mean, kTexts);
}

/// Writes t5encoder with biases of distances that were rounded to `rounded`, stored as that or in f32.
std::string with_rounded_biases(DType rounded, bool widened) {
  const auto file = model::GgufFile::open((kFolder / "t5encoder.gguf").string());
  EXPECT_TRUE(file);
  std::vector<std::byte> bytes;
  model::GgufWriter writer({&bytes,
                            [](void* to, Span<const std::byte> more) noexcept -> Result<void> {
                              auto& all = *static_cast<std::vector<std::byte>*>(to);
                              all.insert(all.end(), more.begin(), more.end());
                              return {};
                            }},
                           system_allocator());
  for (const model::GgufEntry& entry : file->entries()) EXPECT_TRUE(writer.add(entry));
  const auto is_bias = [](const model::GgufTensor& t) { return t.name.find("attn_rel_b") != t.name.npos; };
  for (const model::GgufTensor& t : file->tensors()) {
    const DType type = is_bias(t) && !widened ? rounded : DType::f32;
    EXPECT_TRUE(writer.add_tensor(t.name, *model::find_ggml_type(type), Span(t.dims).first(t.rank)));
  }
  EXPECT_TRUE(writer.begin());
  for (const model::GgufTensor& t : file->tensors()) {
    std::vector<float> x(t.elems);
    std::memcpy(x.data(), file->data(t).data(), x.size() * sizeof(float));
    std::vector<std::byte> halves(x.size() * 2);
    const std::vector<float> ones(x.size(), 1.0f);
    quant::find_encoder(rounded)(x.data(), ones.data(), x.size(), halves.data());
    quant::find(rounded)->dequantise(halves.data(), x.size(), x.data());
    EXPECT_TRUE(writer.write(!is_bias(t) ? file->data(t)
                             : widened   ? Span(reinterpret_cast<const std::byte*>(x.data()), x.size() * sizeof(float))
                                         : Span<const std::byte>(halves.data(), halves.size())));
  }
  EXPECT_TRUE(writer.finish());
  const std::string path = testing::TempDir() + "t5encoder-biases-" + std::to_string(widened) + ".gguf";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  return path;
}

TEST(BiasesOfDistances, MayBeHalves) {
  const Golden golden = read_golden("t5encoder");
  EngineOptions options;
  options.context = 256;
  options.kv_type = DType::f32;
  options.embeddings = true;
  for (const DType type : {DType::f16, DType::bf16})
    for (const test::On on : {test::On::cpu, test::On::reference}) {
      std::vector<float> found[2];
      for (const bool widened : {false, true}) {
        auto engine = test::open_engine(on, with_rounded_biases(type, widened), options);
        ASSERT_TRUE(engine) << engine.error().text();
        found[widened] = vectors_of(**engine, golden, {.pooling = Pooling::mean, .normalize = false});
      }
      EXPECT_FALSE(found[0].empty());
      EXPECT_TRUE(same_bits(found[0], found[1])) << name(type);
    }
}

INSTANTIATE_TEST_SUITE_P(Golden, Embeddings, testing::ValuesIn(test::kGoldenEmbeddings), [](const auto& model) {
  std::string name = model.param.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace embeddings_test
