// SPDX-License-Identifier: Apache-2.0
// tests/unit/random_model.cpp: models of random weights: which tensors they have, what stands in them, and what is refused.
#include <zrt/exec/thread_pool.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/qwen2.hpp>
#include <zrt/model/byte_vocabulary.hpp>
#include <zrt/model/random_model.hpp>
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <tools/gguf_writer.hpp>
#include <vector>

namespace random_model_test {
namespace {

using namespace zrt;
using test::Bytes;

struct TwoFamilies {
  using List = boost::mp11::mp_list<model::Llama, model::Qwen2>;
};

/// The keys of a model of two layers, and its table of tokens.
Bytes metadata(const std::string& family, std::uint32_t vocabulary = 300) {
  test::GgufWriter w;
  w.add("general.architecture", family);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::uint32_t>>{{"context_length", 64},
                                                                                     {"embedding_length", 64},
                                                                                     {"block_count", 2},
                                                                                     {"feed_forward_length", 256},
                                                                                     {"attention.head_count", 4},
                                                                                     {"attention.head_count_kv", 2}})
    w.add(family + "." + key, value);
  w.add(family + ".attention.layer_norm_rms_epsilon", 1e-5f);
  w.add_f32("token_embd.weight", {64, vocabulary}, std::vector<float>(std::size_t{64} * vocabulary));
  return w.build();
}

model::GgufFile open(const Bytes& bytes) {
  return model::GgufFile::open(Span<const std::byte>(bytes.data(), bytes.size())).value();
}

std::vector<std::string> names_of(const std::string& family, const model::OptionalTensors& optional) {
  const Bytes bytes = metadata(family);
  const auto list = model::list_tensors<TwoFamilies>(open(bytes), optional, system_allocator());
  std::vector<std::string> names;
  for (const model::ListedTensor& tensor : *list) names.emplace_back(tensor.name.view());
  return names;
}

Bytes write(const model::GgufFile& file, const char* type, std::uint64_t seed, ThreadHook threads = {}) {
  const auto list = model::list_tensors<TwoFamilies>(file, {}, system_allocator());
  Bytes out;
  model::RandomModelOptions options;
  options.threads = threads;
  options.seed = seed;
  model::RandomModel model(file, list->span(), *model::find_file_type(type), options);
  const auto done =
      model.write({&out, [](void* to, Span<const std::byte> bytes) noexcept {
                     static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), bytes.begin(), bytes.end());
                     return Result<void>{};
                   }});
  EXPECT_TRUE(done) << done.error().text();
  return out;
}

TEST(RandomModel, TheProgramSaysWhichTensorsThereAre) {
  const std::vector<std::string> plain = names_of("qwen2", {});
  EXPECT_EQ(plain.front(), "token_embd.weight");
  EXPECT_EQ(std::set<std::string>(plain.begin(), plain.end()).size(), plain.size());
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has(plain, "blk.1.ffn_down.weight"));
  EXPECT_FALSE(has(plain, "output.weight"));
  const std::array<std::string_view, 2> some{"output.weight", "attn_q.bias"};
  const std::vector<std::string> with = names_of("llama", {some, true});
  EXPECT_TRUE(has(with, "output.weight"));
  EXPECT_TRUE(has(with, "blk.0.attn_q.bias"));
  EXPECT_FALSE(has(with, "blk.0.attn_k.bias"));
  const std::vector<std::string> without = names_of("llama", {some, false});
  EXPECT_FALSE(has(without, "output.weight"));
  EXPECT_FALSE(has(without, "blk.0.attn_q.bias"));
  EXPECT_TRUE(has(without, "blk.0.attn_k.bias"));
}

TEST(RandomModel, AnOptionalTensorIsNamedWholeOrByAnEndBehindADot) {
  const std::array<std::string_view, 1> end{"norm.weight"};
  const model::OptionalTensors optional{end, true};
  EXPECT_TRUE(optional.holds("norm.weight"));
  EXPECT_TRUE(optional.holds("blk.0.norm.weight"));
  EXPECT_FALSE(optional.holds("blk.0.attn_norm.weight"));
}

TEST(RandomModel, ValuesFollowTheFormula) {
  const std::string name = "blk.0.attn_q.weight";
  const std::uint64_t seed = 0x123456789abcdef0u;
  const auto spread = model::RandomSpread::of(name, 2, 64);
  std::vector<float> values(103);
  model::RandomTensor(seed, name, spread).fill(5, values.size(), values.data());
  const std::uint64_t hash = hash_bytes(name);
  double sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t i = k + 5;
    const auto words = philox4x32({static_cast<std::uint32_t>(i / 4), 0, static_cast<std::uint32_t>(hash),
                                   static_cast<std::uint32_t>(hash >> 32)},
                                  {0x9abcdef0u, 0x12345678u});
    std::array<unsigned char, 4> bytes{};
    std::memcpy(bytes.data(), &words[i % 4], 4);
    const int steps = bytes[0] + bytes[1] + bytes[2] + bytes[3] - 510;
    EXPECT_EQ(values[k], spread.step * static_cast<float>(steps)) << k;
    sum += std::pow(static_cast<double>(values[k]), 2);
  }
  // 1.5 / sqrt(64) is the deviation that was asked for.
  EXPECT_NEAR(std::sqrt(sum / static_cast<double>(values.size())), 1.5 / 8, 0.03);
}

TEST(RandomModel, NormsLieAroundOneAndADecayBelowZero) {
  const auto range = [](std::string_view name, std::uint32_t rank) {
    std::vector<float> values(1000);
    model::RandomTensor(1, name, model::RandomSpread::of(name, rank, 100)).fill(0, values.size(), values.data());
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return std::pair(*low, *high);
  };
  EXPECT_GT(range("blk.0.attn_norm.weight", 1).first, 0.2f);
  EXPECT_LT(range("blk.0.ssm_a", 2).second, -0.2f);
  EXPECT_GT(range("rope_freqs.weight", 1).first, 1.0f);
  EXPECT_LT(range("blk.0.attn_q.bias", 1).first, 0.0f);
}

TEST(RandomModel, TheFileHasKeysTypesAndTheSameBytesOnAnyNumberOfThreads) {
  const Bytes head = metadata("llama");
  const model::GgufFile keys = open(head);
  const Bytes one = write(keys, "q4_k_m", 3);
  exec::ThreadPool pool(system_allocator());
  ASSERT_TRUE(pool.start(3));
  EXPECT_EQ(write(keys, "q4_k_m", 3, pool.hook()), one);
  EXPECT_NE(write(keys, "q4_k_m", 4), one);
  const model::GgufFile file = open(one);
  EXPECT_EQ(file.get<std::uint32_t>("general.file_type").value(), 15u);
  EXPECT_EQ(file.get<std::uint32_t>("llama.embedding_length").value(), 64u);
  EXPECT_EQ(file.find_tensor("blk.0.attn_norm.weight")->type.dtype, DType::f32);
  EXPECT_EQ(file.find_tensor("blk.0.attn_q.weight")->type.dtype, DType::q5_0);  // rows of 64 are no blocks of 256
  EXPECT_EQ(file.find_tensor("blk.0.ffn_down.weight")->type.dtype, DType::q4_k);
  EXPECT_EQ(file.find_tensor("token_embd.weight")->dims[1], 300u);
  EXPECT_EQ(file.find_tensor("token_embd.weight")->type.dtype, DType::q8_0);  // the head of 6 bits
}

TEST(RandomModel, AChunkOfRowsEndsWhereItMay) {
  // More than a chunk of 4 MiB, and no multiple of it.
  const Bytes head = metadata("llama", 20011);
  const Bytes bytes = write(open(head), "f32", 9);
  const model::GgufFile file = open(bytes);
  const model::GgufTensor& table = *file.find_tensor("token_embd.weight");
  std::vector<float> expected(static_cast<std::size_t>(table.elems));
  model::RandomTensor(9, table.name, model::RandomSpread::of(table.name, 2, 64))
      .fill(0, expected.size(), expected.data());
  const auto data = file.data(table);
  ASSERT_EQ(data.size(), 4 * expected.size());
  EXPECT_EQ(std::memcmp(data.data(), expected.data(), data.size()), 0);
}

TEST(RandomModel, AnUnknownFamilyOrKeyIsRefused) {
  Bytes head = metadata("llama");
  EXPECT_EQ(model::list_tensors<TwoFamilies>(open(metadata("gemma9")), {}, system_allocator()).error().text(),
            "general.architecture is gemma9, this build knows llama qwen2");
  test::GgufWriter none;
  none.add("general.name", "nobody");
  head = none.build();
  EXPECT_EQ(model::list_tensors<TwoFamilies>(open(head), {}, system_allocator()).error().code(),
            Errc::missing_metadata);
}

/// The tokenizer of a vocabulary by rule.
struct Vocabulary {
  explicit Vocabulary(std::uint32_t size) {
    const model::ByteVocabulary rule(size);
    for (std::uint32_t id = 0; id < size; ++id) texts.emplace_back(rule.token(id).view());
    for (std::uint32_t i = 0; i < rule.merges(); ++i) pairs.emplace_back(rule.merge(i).view());
    tokens.assign(texts.begin(), texts.end());
    merges.assign(pairs.begin(), pairs.end());
    types.assign(size, 1);
    types.back() = 3;
    spec.model = "gpt2";
    spec.pre = "gpt-2";
    spec.tokens = {tokens.data(), tokens.size()};
    spec.types = {types.data(), types.size()};
    spec.merges = {merges.data(), merges.size()};
  }
  std::vector<std::string> texts;
  std::vector<std::string> pairs;
  std::vector<std::string_view> tokens;
  std::vector<std::string_view> merges;
  std::vector<std::int32_t> types;
  text::VocabularySpec spec;
};

TEST(ByteVocabulary, TokensAreDistinctAndMergesMakeThem) {
  for (const std::uint32_t size : {257u, 258u, 256u + 676u + 1u, 256u + 2u * 676u + 1000u, 32000u}) {
    const Vocabulary vocabulary(size);
    EXPECT_EQ(std::set<std::string>(vocabulary.texts.begin(), vocabulary.texts.end()).size(), size);
    const std::set<std::string> known(vocabulary.texts.begin(), vocabulary.texts.end());
    for (std::size_t i = 0; i < vocabulary.pairs.size(); ++i) {
      const std::size_t space = vocabulary.pairs[i].find(' ');
      const std::string left = vocabulary.pairs[i].substr(0, space);
      const std::string right = vocabulary.pairs[i].substr(space + 1);
      ASSERT_EQ(left + right, vocabulary.texts[256 + i]);
      ASSERT_TRUE(known.contains(left) && known.contains(right)) << vocabulary.pairs[i];
    }
  }
  const model::ByteVocabulary most(model::ByteVocabulary::kMost);
  EXPECT_EQ(most.token(most.size() - 2).view(), "\xc4\xa0zzzz");
}

TEST(ByteVocabulary, EveryTextComesBack) {
  const Vocabulary vocabulary(40000);
  const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  for (const std::string text : {"Hello there, 42 \xc3\xa9\xe4\xbd\xa0\n", " the  end", ""}) {
    const auto ids = tokenizer->encode(text, {});
    ASSERT_TRUE(ids);
    EXPECT_EQ(tokenizer->decode(ids->span())->view(), text);
  }
  // Two pairs that are merged come before the pair between them.
  EXPECT_EQ(tokenizer->encode("to", {})->size(), 1u);
  EXPECT_EQ(tokenizer->encode("toto", {})->size(), 1u);
}

TEST(ByteVocabulary, ASizeOutOfRangeIsRefused) {
  for (const std::uint32_t size : {0u, 256u, model::ByteVocabulary::kMost + 1}) {
    model::GgufWriter writer({}, system_allocator());
    const auto r = model::ByteVocabulary(size).write(writer);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_argument);
  }
}

}  // namespace
}  // namespace random_model_test
