// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/hub_folder.cpp: configurations and vocabularies of a folder: any text, and edited good ones.
// covers: zrt/model/hub/json.hpp 90
// covers: zrt/model/hub/settings.hpp 90
// covers: zrt/model/hub/decoder.hpp 90
// covers: zrt/model/hub/special_tokens.hpp 90
// covers: zrt/model/hub/pre_tokenizer.hpp 90
// covers: zrt/model/hub/character_vocabulary.hpp 90
// covers: zrt/model/hub/bpe_merges.hpp 90
// covers: zrt/model/hub/encoder.hpp 90
// covers: zrt/model/hub/family/falcon_h1.hpp 90
// covers: zrt/model/hub/family/gemma4.hpp 90
// covers: zrt/model/hub/family/nemotron_h.hpp 90
// covers: zrt/model/hub/family/phi3.hpp 90
#include <zrt/model/hub/convert.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tools/hub_folder.hpp>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

namespace {

namespace hub = zrt::model::hub;
using zrt::test::HubJson;

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

// How many shares the readers of one text are cut into: an input meets one share, a seed all of them.
constexpr std::size_t kShares = 8;

std::size_t share_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return (hash >> 8) % kShares;
}

// A family reads a configuration: keys and no error, or an error that says something.
void read_config(std::string_view text, std::size_t share) {
  const auto config = hub::parse_json(text);
  if (!config) return demand(!config.error().text().empty());
  for (std::size_t i = share; i < std::size(hub::kFamilies); i += kShares) {
    const hub::HubFamily* family = hub::kFamilies[i];
    hub::Settings settings(*config);
    hub::Keys keys(family->name);
    std::vector<hub::MadeTensor> tensors;
    family->add_keys(settings, keys);
    if (family->suits != nullptr) (void)family->suits(settings);
    if (family->heads != nullptr) (void)family->heads(settings);
    std::vector<hub::RowScale> scales;
    if (family->add_scales != nullptr) family->add_scales(settings, "blk.0.ssm_in.weight", scales);
    if (family->add_tensors != nullptr) family->add_tensors(settings, keys, tensors);
    if (!settings.result()) demand(!settings.result().error().text().empty());
  }
}

// The two files of a tokenizer, one behind the other.
void read_tokenizer(std::string_view text, std::size_t share) {
  const std::size_t cut = text.find('\n');
  if (cut == text.npos) return;
  auto tokenizer = hub::parse_json(text.substr(0, cut));
  auto config = hub::parse_json(text.substr(cut + 1));
  if (!tokenizer || !config) return;
  hub::TokenizerFiles files;
  files.tokenizer = std::move(*tokenizer);
  files.config = std::move(*config);
  if (const auto* own = hub::find(&files.config, "chat_template")) files.chat_template = *own;
  const HubJson model = HubJson::object();
  hub::Settings settings(model);
  hub::Keys keys("llama");
  // One reads BPE over bytes alone, the other what may have been pieces too.
  const std::string_view pre = share % 2 == 0 ? "" : "qwen2";
  hub::HubFamily plain{};
  if (!pre.empty()) plain.vocabulary = hub::VocabularyFiles::sentence_piece_or_bpe;
  for (const auto& added :
       {hub::detail::add_bpe(files, plain, settings, pre, 0, keys),
        hub::detail::add_unigram(files, plain, settings, keys), hub::detail::add_characters(files, keys)})
    if (!added) demand(!added.error().text().empty());
  hub::add_special_tokens(files, settings, keys);
  hub::add_chat_templates(files, keys);
  files.generation = files.config;
  for (std::size_t i = share; i < std::size(hub::kFamilies); i += kShares)
    if (hub::kFamilies[i]->add_vocabulary_keys != nullptr)
      hub::kFamilies[i]->add_vocabulary_keys(settings, files, keys);
}

void read(std::string_view input, std::size_t share) {
  const std::string_view text = input.substr(1);
  if (input[0] == 't') read_tokenizer(text, share);
  if (input[0] == 'c') read_config(text, share);
  if (input[0] == 'p') {
    const auto pieces = hub::detail::read_pieces(text);
    demand(pieces ? !pieces->empty() : !pieces.error().text().empty());
    const auto normalizer = hub::detail::read_unigram_normalizer(text);
    demand(normalizer || !normalizer.error().text().empty());
  }
}

std::vector<std::string> seeds() {
  const std::filesystem::path data = std::filesystem::path(ZRT_TEST_DATA_DIR) / "hub";
  std::vector<std::string> all;
  for (const auto& file : std::filesystem::directory_iterator(data))
    if (file.path().extension() == ".json")
      all.push_back("c" + HubJson::parse(zrt::test::file_text(file.path()))["config"].dump());
  for (const char* vocabulary : {"bpe", "characters", "glm", "unigram"})
    all.push_back("t" + HubJson::parse(zrt::test::file_text(data / vocabulary / "tokenizer.json")).dump() + "\n" +
                  zrt::test::file_text(data / vocabulary / "tokenizer_config.json"));
  all.push_back("p" + zrt::test::file_text(data / "pieces" / "tokenizer.model"));
  all.push_back("p" + zrt::test::file_text(data / "unigram-pieces" / "spiece.model"));
  constexpr std::string_view kModel = R"("model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]})";
  for (
      const std::string_view more :
      {R"("pre_tokenizer":{"type":"ByteLevel"},"post_processor":{"type":"RobertaProcessing","cls":["a",0],"sep":["b",1]})",
       R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]},"normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"StripAccents"},{"type":"BertNormalizer","lowercase":false}]})",
       R"("pre_tokenizer":{"type":"Punctuation","behavior":"Contiguous"},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"b"}}],"pair":[{"SpecialToken":{"id":"a"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"b"}},{"SpecialToken":{"id":"b"}},{"Sequence":{"id":"B"}},{"SpecialToken":{"id":"b"}}]})"})
    for (
        const std::string_view config :
        {R"({})",
         R"({"cls_token":"a","sep_token":"b","add_bos_token":true,"chat_template":[{"name":"default","template":"x"},{"name":"t","template":"y"},{}]})",
         R"({"eos_token":{"content":"a"},"chat_template":"x","suppress_tokens":[1],"added_tokens_decoder":{"1":{"content":"<|im_end|>","special":true}}})"})
      all.push_back("t{" + std::string(kModel) + "," + std::string(more) + "}\n" + std::string(config));
  for (
      const std::string_view rope :
      {R"({"type":"linear"})", R"({"rope_type":"linear","factor":2})",
       R"({"full_attention":{"rope_theta":1},"sliding_attention":{"rope_theta":2}})",
       R"({"rope_type":"yarn","factor":2,"original_max_position_embeddings":4,"attn_factor":1,"beta_fast":1,"beta_slow":2,"extrapolation_factor":1})",
       R"({"type":"other"})"})
    all.push_back(
        R"(c{"num_hidden_layers":2,"n_group":2,"scoring_func":"sigmoid","score_func":"x","rope_parameters":)" +
        std::string(rope) + "}");
  all.push_back(R"(c{"scoring_func":"none","hidden_size":8,"num_attention_heads":2})");
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  for (const std::string& seed : seeds())
    for (std::size_t share = 0; share < kShares; ++share) read(seed, share);
  return 0;
}

// Starts now and then from a good text.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  static const std::vector<std::string> good = seeds();
  if (size == 0 || seed % 16 == 0) {
    const std::string& text = good[seed / 16 % good.size()];
    if (text.size() <= max_size) {
      std::memcpy(data, text.data(), text.size());
      size = text.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read(input, share_of(input));
  return 0;
}
