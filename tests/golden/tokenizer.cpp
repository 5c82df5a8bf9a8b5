// SPDX-License-Identifier: Apache-2.0
// tests/golden/tokenizer.cpp: ids and texts against an independent implementation, case by case.
#include <zrt/model/gguf.hpp>
#include <zrt/text/detokenizer.hpp>
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace tokenizer_test {

#ifndef ZRT_SHARED_DIR
#error "zrt: compile this test with ZRT_SHARED_DIR, the folder that holds golden/"
#endif

namespace {

namespace text = zrt::text;
using Ids = std::vector<std::int32_t>;

const std::filesystem::path kFolder = std::filesystem::path(ZRT_SHARED_DIR) / "golden/tokenizer";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// A vocabulary file with everything that a spec of it points at.
struct VocabularyFile {
  zrt::model::GgufFile file;
  zrt::Vector<std::string_view> tokens;
  zrt::Vector<float> scores;
  zrt::Vector<std::int32_t> types;
  zrt::Vector<std::string_view> merges;
  text::VocabularySpec spec;

  explicit VocabularyFile(zrt::model::GgufFile opened) : file(std::move(opened)) {}

  static std::optional<VocabularyFile> open(const std::filesystem::path& path) {
    auto file = zrt::model::GgufFile::open(path.c_str());
    if (!file) {
      ADD_FAILURE() << path << ": " << file.error().text();
      return std::nullopt;
    }
    VocabularyFile v(std::move(*file));
    const std::string prefix = "tokenizer.ggml.";
    v.tokens = v.file.strings(prefix + "tokens").value();
    if (v.file.find(prefix + "scores")) v.scores = v.file.list<float>(prefix + "scores").value();
    if (v.file.find(prefix + "token_type")) v.types = v.file.list<std::int32_t>(prefix + "token_type").value();
    if (v.file.find(prefix + "merges")) v.merges = v.file.strings(prefix + "merges").value();
    const auto string = [&](const char* key) { return v.file.get_or<std::string_view>(prefix + key, {}).value(); };
    const auto id = [&](const char* key) {
      return v.file.find(prefix + key) ? std::optional(v.file.get<std::int32_t>(prefix + key).value()) : std::nullopt;
    };
    const auto flag = [&](const char* key) {
      return v.file.find(prefix + key) ? std::optional(v.file.get<bool>(prefix + key).value()) : std::nullopt;
    };
    v.spec.model = string("model");
    v.spec.pre = string("pre");
    v.spec.tokens = v.tokens.span();
    v.spec.scores = v.scores.span();
    v.spec.types = v.types.span();
    v.spec.merges = v.merges.span();
    v.spec.bos = id("bos_token_id");
    v.spec.eos = id("eos_token_id");
    v.spec.eot = id("eot_token_id");
    v.spec.eom = id("eom_token_id");
    v.spec.unk = id("unknown_token_id");
    v.spec.sep = id("seperator_token_id");
    v.spec.pad = id("padding_token_id");
    v.spec.add_bos = flag("add_bos_token");
    v.spec.add_eos = flag("add_eos_token");
    v.spec.add_space_prefix = flag("add_space_prefix");
    return v;
  }
};

Ids encode(const text::Tokenizer& tokenizer, std::string_view input, text::EncodeOptions options = {}) {
  auto ids = tokenizer.encode(input, options);
  if (!ids) {
    ADD_FAILURE() << ids.error().text();
    return {};
  }
  return {ids->begin(), ids->end()};
}

/// Reads pairs of a text and its ids: texts between separator lines, one line of ids for each.
std::vector<std::pair<std::string, Ids>> read_pairs(const std::filesystem::path& base) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string inputs = read_file(base.string() + ".inp");
  std::ifstream out(base.string() + ".out");
  std::vector<std::pair<std::string, Ids>> pairs;
  std::string line;
  for (std::size_t at = 0; std::getline(out, line);) {
    const std::size_t end = inputs.find(separator, at);
    std::istringstream numbers(line);
    pairs.emplace_back(inputs.substr(at, end == std::string::npos ? end : end - at),
                       Ids(std::istream_iterator<std::int32_t>(numbers), {}));
    if (end == std::string::npos) break;
    at = end + separator.size();
  }
  return pairs;
}

std::size_t check_pairs(const text::Tokenizer& tokenizer, const std::filesystem::path& base) {
  const auto pairs = read_pairs(base);
  EXPECT_FALSE(pairs.empty()) << base;
  for (const auto& [input, ids] : pairs) EXPECT_EQ(encode(tokenizer, input), ids) << testing::PrintToString(input);
  return pairs.size();
}

std::string stream(const text::Tokenizer& tokenizer, const Ids& ids) {
  text::Detokenizer detokenizer(tokenizer, {.special = true, .at_start = true});
  std::string out;
  for (const std::int32_t id : ids) out += detokenizer.feed(id).value();
  out += detokenizer.finish().value();
  return out;
}

/// A vocabulary, and what llama.cpp says of its tokens when it loads the file.
struct Golden {
  const char* name;
  Ids ends;                                   ///< of a generation
  Ids infill = Ids(text::kInfillTokens, -1);  ///< by InfillToken, -1 where there is none
};

void check_known_tokens(const text::Tokenizer& tokenizer, const Golden& golden) {
  Ids ends, infill;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(tokenizer.vocab_size()); ++id)
    if (tokenizer.is_end_of_generation(id)) ends.push_back(id);
  for (std::size_t i = 0; i < text::kInfillTokens; ++i)
    infill.push_back(tokenizer.infill(static_cast<text::InfillToken>(i)).value_or(-1));
  EXPECT_EQ(ends, golden.ends);
  EXPECT_EQ(infill, golden.infill);
}

class TokenizerGolden : public testing::TestWithParam<Golden> {};

TEST_P(TokenizerGolden, EveryCase) {
  const std::filesystem::path base = kFolder / (std::string("ggml-vocab-") + GetParam().name + ".gguf");
  if (!std::filesystem::exists(base))
    GTEST_SKIP() << "NOT RUN: no " << base.filename() << " below ZRT_SHARED_DIR/golden/tokenizer";
  const auto vocabulary = VocabularyFile::open(base);
  ASSERT_TRUE(vocabulary);
  const auto made = text::Tokenizer::make(vocabulary->spec);
  ASSERT_TRUE(made) << made.error().text();
  const text::Tokenizer& tokenizer = *made;

  std::filesystem::path listed = base;
  const auto golden = nlohmann::json::parse(read_file(listed.replace_extension("cases.json")));
  EXPECT_EQ(tokenizer.vocab_size(), golden["n_vocab"].get<std::size_t>());
  EXPECT_EQ(tokenizer.adds_bos(), golden["add_bos"].get<bool>());
  EXPECT_EQ(tokenizer.adds_eos(), golden["add_eos"].get<bool>());
  EXPECT_EQ(tokenizer.bos().value_or(-1), golden["bos"].get<std::int32_t>());
  EXPECT_EQ(tokenizer.eos().value_or(-1), golden["eos"].get<std::int32_t>());
  check_known_tokens(tokenizer, GetParam());

  for (const auto& c : golden["cases"]) {
    const std::string input = from_hex(c["text_hex"]);
    SCOPED_TRACE(testing::PrintToString(input));
    const Ids ids = c["ids"].get<Ids>();
    EXPECT_EQ(encode(tokenizer, input), ids);
    EXPECT_EQ(encode(tokenizer, input, {.add_special = true}), c["ids_add_special"].get<Ids>());
    EXPECT_EQ(encode(tokenizer, input, {.parse_special = true}), c["ids_parse_special"].get<Ids>());
    const auto decoded = tokenizer.decode(ids, {.special = true});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->view(), from_hex(c["detok_hex"]));
    if (vocabulary->spec.model == "bert") continue;  // drops accents, case and spaces
    const auto exact = tokenizer.decode(ids, {.special = true, .clean_spaces = false});
    ASSERT_TRUE(exact);
    EXPECT_EQ(exact->view(), input);
    EXPECT_EQ(stream(tokenizer, ids), input);
  }
  std::size_t pairs = 0;
  if (std::filesystem::exists(base.string() + ".inp")) pairs = check_pairs(tokenizer, base);
  std::cout << GetParam().name << ": " << golden["cases"].size() << " cases and " << pairs
            << " listed texts compared\n";
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerGolden,
                         testing::Values(Golden{"llama-spm", {2}}, Golden{"baichuan", {2}}, Golden{"gpt-2", {50256}},
                                         Golden{"deepseek-llm", {100001}}, Golden{"falcon", {11}},
                                         Golden{"refact", {0, 4, 18}, {1, 3, 2, 4, 18, -1}}, Golden{"gpt-neox", {0}},
                                         Golden{"bert-bge", {0}, {-1, -1, -1, 0, -1, -1}}),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(TokenizerGoldenModel, PromptsOfBard) {
  const std::filesystem::path models = std::filesystem::path(ZRT_SHARED_DIR) / "models";
  const std::filesystem::path path = models / "bard-q8_0.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NOT RUN: no bard-q8_0.gguf below ZRT_SHARED_DIR/models";
  const auto vocabulary = VocabularyFile::open(path);
  ASSERT_TRUE(vocabulary);
  const auto made = text::Tokenizer::make(vocabulary->spec);
  ASSERT_TRUE(made) << made.error().text();
  std::size_t prompts = 0;
  for (const auto& entry : nlohmann::json::parse(read_file(models / "bard-golden.json"))) {
    const auto prompt = entry["prompt"].get<std::string>();
    EXPECT_EQ(encode(*made, prompt, {.add_special = true}), entry["prompt_ids"].get<Ids>()) << prompt;
    ++prompts;
  }
  EXPECT_GT(prompts, 0u);
  const std::string unseen = read_file(models / "bard-valid.txt");
  const auto ids = made->encode(unseen).value();
  EXPECT_EQ(made->decode(ids.span()).value().view(), unseen);
  std::cout << "bard: " << prompts << " prompts compared, " << ids.size() << " ids of unseen text came back\n";
}

/// Lists whose vocabulary file does not come with the golden data.
class TokenizerListed : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerListed, EveryText) {
  const std::string name = std::string("ggml-vocab-") + GetParam() + ".gguf";
  const std::filesystem::path base = kFolder / "expected-only" / name;
  if (!std::filesystem::exists(base.string() + ".inp"))
    GTEST_SKIP() << "NOT RUN: no " << name << ".inp below ZRT_SHARED_DIR";
  const char* folder = std::getenv("ZRT_VOCAB_DIR");
  if (folder == nullptr) GTEST_SKIP() << "NOT RUN: ZRT_VOCAB_DIR names no folder with " << name;
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "NOT RUN: no " << name << " in the folder that ZRT_VOCAB_DIR names";
  const auto vocabulary = VocabularyFile::open(path);
  ASSERT_TRUE(vocabulary);
  const auto made = text::Tokenizer::make(vocabulary->spec);
  ASSERT_TRUE(made) << made.error().text();
  std::cout << GetParam() << ": " << check_pairs(*made, base) << " listed texts compared\n";
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerListed,
                         testing::Values("llama-bpe", "qwen2", "qwen35", "gemma-4", "command-r"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace tokenizer_test
