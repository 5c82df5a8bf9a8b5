// SPDX-License-Identifier: Apache-2.0
// tests/unit/hub_convert.cpp: folders of Hugging Face become the files that llama.cpp's converter makes of them.
#include <zrt/model/gguf.hpp>
#include <zrt/model/hub/convert.hpp>
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tools/hub_folder.hpp>

namespace hub_convert_test {
namespace {

using namespace zrt;
using model::hub::Converter;
using test::HubFolder;
using test::HubJson;

const std::filesystem::path kData = std::filesystem::path(ZRT_TEST_DATA_DIR) / "hub";

HubJson row_of(const std::string& name) { return HubJson::parse(test::file_text(kData / (name + ".json"))); }

using Bytes = std::vector<std::byte>;

Result<Bytes> converted(Converter& converter) {
  Bytes bytes;
  const model::ByteSink sink{&bytes, [](void* context, Span<const std::byte> more) noexcept {
                               auto& to = *static_cast<Bytes*>(context);
                               to.insert(to.end(), more.begin(), more.end());
                               return Result<void>{};
                             }};
  if (auto r = converter.write(sink); !r) return pass(r);
  return bytes;
}

std::string hex(std::uint64_t value) {
  char text[17];
  (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}
std::string_view text_of(Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> row_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kData))
    if (file.path().extension() == ".json") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class HubRow : public testing::TestWithParam<std::string> {};

/// Factors come of powers, which torch and zrt round each in their way.
void expect_close(const model::GgufFile& file, const model::GgufTensor& tensor, const HubJson& expected) {
  const auto data = file.data(tensor);
  ASSERT_EQ(data.size(), 4 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    float value = 0;
    std::memcpy(&value, data.data() + 4 * i, sizeof value);
    EXPECT_NEAR(value, expected[i].get<float>(), 1e-6f * std::abs(expected[i].get<float>())) << i;
  }
}

/// A matrix of one row is a vector here.
std::vector<std::uint64_t> without_units(std::vector<std::uint64_t> dims) {
  while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  return dims;
}
std::vector<std::uint64_t> dims_of(const model::GgufTensor& tensor) {
  return {tensor.dims.begin(), tensor.dims.begin() + tensor.rank};
}

TEST_P(HubRow, IsThePeersFile) {
  const HubJson row = row_of(GetParam());
  const HubFolder folder(GetParam());
  folder.write_row(kData, row);
  auto converter = Converter::open(folder.path(), {});
  ASSERT_TRUE(converter) << converter.error().text();
  const auto bytes = converted(*converter);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const auto file = model::GgufFile::open(Span<const std::byte>(*bytes));
  ASSERT_TRUE(file) << file.error().text();

  const HubJson& made = row["made"];
  EXPECT_EQ(file->tensors().size(), made.size());
  for (const model::GgufTensor& tensor : file->tensors()) {
    const std::string name(tensor.name);
    ASSERT_TRUE(made.contains(name)) << name;
    EXPECT_EQ(tensor.type.name(), made[name][0].get<std::string>()) << name;
    EXPECT_EQ(without_units(dims_of(tensor)), without_units(made[name][1].get<std::vector<std::uint64_t>>())) << name;
    if (made[name].size() > 3)
      expect_close(*file, tensor, made[name][3]);
    else
      EXPECT_EQ(hex(test::fnv(text_of(file->data(tensor)))), made[name][2].get<std::string>()) << name;
  }
  EXPECT_EQ(*file->get<std::uint32_t>("general.file_type"), row["file_type"].get<std::uint32_t>());
  const HubJson& keys = row["keys"];
  for (const auto& [key, expected] : keys.items()) {
    const model::GgufValue* value = file->find(key);
    ASSERT_NE(value, nullptr) << key;
    // The peer gives all the same; ARankedPieceMergesInItsTurn has what these are.
    if (GetParam() == "llama-characters" && key == "tokenizer.ggml.scores") continue;
    EXPECT_EQ(static_cast<std::uint32_t>(value->type()), expected[0].get<std::uint32_t>()) << key;
    const auto payload = model::detail::GgufValueAccess::payload(*value);
    std::string held(text_of(payload));
    if (value->type() == model::GgufValueType::string) {
      const std::uint64_t size = held.size();
      held.insert(0, reinterpret_cast<const char*>(&size), sizeof size);
    }
    EXPECT_EQ(hex(test::fnv(held)), expected[2].get<std::string>()) << key << " is " << held.substr(0, 40);
  }
  for (const model::GgufEntry& entry : file->entries()) {
    const std::string key(entry.key);
    EXPECT_TRUE(key.starts_with("general.") || keys.contains(key)) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(, HubRow, testing::ValuesIn(row_names()), [](const auto& row) {
  std::string name = row.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

/// A folder of a row that a test spoils.
struct Spoiled {
  explicit Spoiled(const std::string& name) : row(row_of(name)), folder("spoiled-" + name) {
    folder.write_row(kData, row);
  }
  [[nodiscard]] std::string fault(const model::hub::ConvertOptions& options = {}) const {
    auto converter = Converter::open(folder.path(), options);
    if (!converter) return std::string(converter.error().text());
    const auto bytes = converted(*converter);
    return bytes ? "" : std::string(bytes.error().text());
  }
  HubJson row;
  HubFolder folder;
};

TEST(HubConvert, ThePageListsEveryFamily) {
  const std::string page = test::file_text(std::filesystem::path(ZRT_SOURCE_DIR) / "docs" / "model-files.md");
  for (const model::hub::HubFamily* family : model::hub::kFamilies) {
    std::string line = "| `" + std::string(family->name) + "` |";
    for (const std::string_view name : family->architectures)
      line += (line.ends_with('|') ? " `" : ", `") + std::string(name) + "`";
    EXPECT_NE(page.find(line + " |\n"), page.npos) << line;
  }
}

/// The file of a folder as its configuration now is.
Bytes file_of(const Spoiled& row) {
  auto converter = Converter::open(row.folder.path(), {});
  EXPECT_TRUE(converter) << converter.error().text();
  if (!converter) return {};
  const auto bytes = converted(*converter);
  EXPECT_TRUE(bytes) << bytes.error().text();
  return bytes ? *bytes : Bytes();
}

/// What stands before the data: keys, and tensors with their shapes and places.
Bytes head_of(const Bytes& bytes) {
  const auto file = model::GgufFile::open(Span<const std::byte>(bytes));
  EXPECT_TRUE(file) << file.error().text();
  if (!file) return {};
  return {bytes.data(), file->data(file->tensors()[0]).data()};
}

// The peer has one class for all names of a row.
TEST(HubConvert, OtherNamesOfAnArchitectureConvertAlike) {
  const std::pair<const char*, std::vector<const char*>> rows[] = {
      {"llama",
       {"IQuestCoderForCausalLM", "LlavaForConditionalGeneration", "VoxtralForConditionalGeneration",
        "JanusForConditionalGeneration", "VLlama3ForCausalLM"}},
      {"qwen2",
       {"KORMoForCausalLM", "Qwen2AudioForConditionalGeneration", "AudioFlamingo3ForConditionalGeneration",
        "DotsOCRForCausalLM"}},
      {"qwen3", {"StepVLForConditionalGeneration"}},
      {"qwen35", {"Qwen3_5ForCausalLM", "MiniCPMV4_6ForConditionalGeneration"}},
      {"phi3", {"Phi4ForCausalLMV"}},
      {"stablelm", {"LlavaStableLMEpochForCausalLM"}},
      {"exaone4", {"Exaone4_5_ForConditionalGeneration"}},
      {"glm4-sections", {"GlmOcrForConditionalGeneration"}},
      {"glm4moe", {"Glm4vMoeForConditionalGeneration"}},
      {"deepseek2-v3", {"KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration"}},
      {"youtu", {"YoutuVLForConditionalGeneration"}},
      {"roberta", {"RobertaForSequenceClassification"}},
      {"roberta-scores", {"CamembertModel"}},
      {"distil-bert", {"DistilBertForMaskedLM"}}};
  for (const auto& [name, others] : rows) {
    Spoiled row(name);
    const Bytes whole = file_of(row);
    for (const char* other : others) {
      row.row["config"]["architectures"] = {other};
      row.folder.write("config.json", row.row["config"].dump());
      EXPECT_TRUE(file_of(row) == whole) << other;
    }
  }
}

TEST(HubConvert, ADecoderWithinAModelOfImagesIsFoundByItsOwnArchitecture) {
  Spoiled row("qwen2");
  const Bytes whole = head_of(file_of(row));
  const HubJson config = row.row["config"];
  HubJson tensors = row.row["tensors"];
  for (HubJson& tensor : tensors) tensor[0] = "language_model." + tensor[0].get<std::string>();
  for (const char* name : {"vision_model.norm.weight", "mlp1.0.weight", "image_newline"})
    tensors.push_back({name, {8}});
  row.folder.write("model.safetensors", test::hub_tensors(tensors, "BF16"));
  for (const std::string_view within : model::hub::kDecoderConfigs) {
    row.folder.write("config.json", HubJson{{"architectures", {"InternVLChatModel"}}, {within, config}}.dump());
    // Values of a row follow from the names.
    EXPECT_TRUE(head_of(file_of(row)) == whole) << within;
    auto converter = Converter::open(row.folder.path(), {});
    ASSERT_TRUE(converter);
    EXPECT_EQ(converter->left_out(), 3u);
  }
  HubJson unknown = config;
  unknown["architectures"] = {"NoDecoder"};
  row.folder.write("config.json", HubJson{{"architectures", {"NoFamily"}}, {"text_config", unknown}}.dump());
  EXPECT_EQ(row.fault(),
            "config.json: architecture 'NoFamily' is none whose folders are read; docs/model-files.md lists them");
}

// The peer keeps a layer that predicts further tokens, which no engine of zrt computes.
TEST(HubConvert, LayersBehindTheLastOfADecoderWithinAModelAreLeftOut) {
  Spoiled row("glm4-sections");
  const Bytes whole = file_of(row);
  HubJson tensors = row.row["tensors"];
  tensors.push_back({"model.language_model.layers.2.eh_proj.weight", {8, 8}});
  row.folder.write("model.safetensors", test::hub_tensors(tensors, "BF16"));
  EXPECT_TRUE(file_of(row) == whole);
  const auto converter = Converter::open(row.folder.path(), {});
  ASSERT_TRUE(converter);
  EXPECT_EQ(converter->left_out(), 2u);
}

TEST(HubConvert, AHeadThatIsTheEmbeddingsIsLeftOutWhereTheConfigurationSaysSo) {
  Spoiled row("youtu");
  const auto has_head = [&] {
    const Bytes bytes = file_of(row);
    const auto file = model::GgufFile::open(Span<const std::byte>(bytes));
    return file && file->find_tensor("output.weight") != nullptr;
  };
  EXPECT_FALSE(has_head());
  row.row["config"]["tie_word_embeddings"] = false;
  row.folder.write("config.json", row.row["config"].dump());
  EXPECT_TRUE(has_head());
}

TEST(HubConvert, FoldersThatAreNotReadHaveAReason) {
  const std::string page = test::file_text(std::filesystem::path(ZRT_SOURCE_DIR) / "docs" / "model-files.md");
  for (const model::hub::UnreadFolder& unread : model::hub::kUnreadFolders) {
    const std::string name(unread.architecture);
    const std::string reason(unread.reason);
    Spoiled row("qwen3");
    row.row["config"]["architectures"] = {name};
    row.folder.write("config.json", row.row["config"].dump());
    EXPECT_EQ(row.fault(), "config.json: folders of architecture '" + name + "' are not read: " + reason);
    bool listed = false;
    for (std::size_t at = page.find("`" + name + "`"); at != page.npos; at = page.find("`" + name + "`", at + 1))
      listed = listed || page.substr(at, page.find('\n', at) - at).find(reason) != std::string::npos;
    EXPECT_TRUE(listed) << name;
  }
}

TEST(HubConvert, HeadsAndExpertsThatTheRowsDoNotHoldAreRefused) {
  const auto fault = [](const char* name, const char* key, const HubJson& value) {
    Spoiled row(name);
    HubJson& config = row.row["config"];
    (config.contains("text_config") ? config["text_config"] : config)[key] = value;
    row.folder.write("config.json", config.dump());
    return row.fault();
  };
  EXPECT_EQ(
      fault("glm4-sections", "num_attention_heads", 3),
      "tensor 'model.language_model.layers.0.self_attn.q_proj.weight' is [32, 32], expected whole pairs of heads");
  EXPECT_EQ(fault("nomic-bert-moe", "num_experts", 5),
            "tensor 'encoder.layers.1.mlp.experts.mlp.w1' is [144, 32], expected a matrix for each expert");
  EXPECT_EQ(fault("nomic-bert-moe", "activation_function", "swiglu"),
            "config.json: activation_function is 'swiglu', expected gelu beside experts");
  EXPECT_EQ(fault("nomic-bert-moe", "moe_top_k", nullptr), "config.json: expected a value of 'moe_top_k', found none");
}

TEST(HubConvert, TokensThatAreNotSaidAreAListOfIds) {
  Spoiled row("gemma4-unified");
  row.folder.write("generation_config.json", R"({"suppress_tokens": [4, -1]})");
  EXPECT_EQ(row.fault(), "config.json: suppress_tokens of generation_config.json is no list of ids");
  row.folder.write("generation_config.json", "{}");
  EXPECT_EQ(row.fault(), "");
}

TEST(HubConvert, TypesAreChosen) {
  const Spoiled row("qwen3");
  for (const char* type : {"f32", "f16", "q8_0", "q4_k_m"}) {
    model::hub::ConvertOptions options;
    options.type = model::find_file_type(type);
    auto converter = Converter::open(row.folder.path(), options);
    ASSERT_TRUE(converter);
    const auto bytes = converted(*converter);
    ASSERT_TRUE(bytes);
    const auto file = model::GgufFile::open(Span<const std::byte>(*bytes));
    ASSERT_TRUE(file);
    // Rows of 32 are no blocks of 256.
    const DType expected = type == std::string("q4_k_m") ? DType::q5_0 : model::find_file_type(type)->type;
    EXPECT_EQ(file->find_tensor("blk.0.ffn_up.weight")->type.dtype, expected) << type;
    EXPECT_EQ(file->find_tensor("blk.0.attn_norm.weight")->type.dtype, DType::f32);
  }
}

TEST(HubConvert, ARerankerIsToldByItsNames) {
  Spoiled row("qwen3-answers");
  const auto labels = [&] {
    auto converter = Converter::open(row.folder.path(), {});
    return converter && converter->keys().find("qwen3.classifier.output_labels") != nullptr;
  };
  EXPECT_TRUE(labels()) << "by README.md";
  row.folder.write("README.md", "# Qwen3-4B");
  EXPECT_FALSE(labels());
  row.row["config"]["_name_or_path"] = "/models/QWEN3-RERANKER-0.6B";
  row.folder.write("config.json", row.row["config"].dump());
  EXPECT_TRUE(labels()) << "by config.json";
  const std::string tokenizer = row.row["files"]["tokenizer.json"].dump();
  HubJson without = row.row["files"]["tokenizer.json"];
  without["model"]["vocab"].erase("yes");
  row.folder.write("tokenizer.json", without.dump());
  EXPECT_EQ(row.fault(), "tokenizer.json has no token 'yes', which a reranker answers with");
  without["model"]["vocab"]["yes"] = 100000;
  row.folder.write("tokenizer.json", without.dump());
  EXPECT_EQ(row.fault(), "tensor 'lm_head.weight' is [288, 32], expected rows of both answers");
  row.folder.write("tokenizer.json", tokenizer);
  EXPECT_EQ(row.fault(), "");
}

TEST(HubConvert, SeveralFilesAreOneModel) {
  Spoiled row("qwen3");
  const auto whole = [&] {
    auto converter = Converter::open(row.folder.path(), {});
    return *converted(*converter);
  }();
  HubJson parts[2] = {HubJson::array(), HubJson::array()};
  HubJson map = HubJson::object();
  for (std::size_t i = 0; i < row.row["tensors"].size(); ++i) {
    const std::size_t part = i < 7 ? 0 : 1;
    parts[part].push_back(row.row["tensors"][i]);
    map[row.row["tensors"][i][0].get<std::string>()] = "part-" + std::to_string(part) + ".safetensors";
  }
  row.folder.remove("model.safetensors");
  for (std::size_t i = 0; i < 2; ++i)
    row.folder.write("part-" + std::to_string(i) + ".safetensors", test::hub_tensors(parts[i], "BF16"));
  row.folder.write("model.safetensors.index.json", HubJson{{"weight_map", map}}.dump());
  auto converter = Converter::open(row.folder.path(), {});
  ASSERT_TRUE(converter) << converter.error().text();
  EXPECT_EQ(*converted(*converter), whole);

  map["gone"] = "part-0.safetensors";
  row.folder.write("model.safetensors.index.json", HubJson{{"weight_map", map}}.dump());
  EXPECT_EQ(row.fault(), "tensor 'gone' is in no file, expected in 'part-0.safetensors'");
  row.folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "../b"}})");
  EXPECT_EQ(row.fault(), "model.safetensors.index.json names the file '../b', expected one of the folder");
  row.folder.write("model.safetensors.index.json", "{}");
  EXPECT_EQ(row.fault(), "model.safetensors.index.json has no object 'weight_map'");
}

TEST(HubConvert, ConfigurationsThatItDoesNotKnowAreRefusedByName) {
  Spoiled row("qwen3");
  const auto with = [&](const char* key, const HubJson& value) {
    HubJson config = row.row["config"];
    config[key] = value;
    row.folder.write("config.json", config.dump());
    return row.fault();
  };
  EXPECT_EQ(with("architectures", {"NoFamily"}),
            "config.json: architecture 'NoFamily' is none whose folders are read; docs/model-files.md lists them");
  EXPECT_EQ(with("architectures", nullptr), "config.json names no architecture in 'architectures'");
  EXPECT_EQ(with("num_hidden_layers", "many"),
            "config.json: 'num_hidden_layers' is \"many\", expected a number from 0 to 2^32 - 1");
  EXPECT_EQ(with("num_hidden_layers", nullptr), "config.json: expected a value of 'num_hidden_layers', found none");
  EXPECT_EQ(with("rope_scaling", {{"type", "new"}}),
            "config.json: rope_scaling is of type 'new', expected linear, yarn, longrope or llama3");
  EXPECT_EQ(with("quantization_config", {{"quant_method", "fp8"}}),
            "config.json has a quantization_config, expected weights of f32, f16 or bf16");
  row.folder.write("config.json", "{,");
  EXPECT_EQ(row.fault(), "config.json: expected JSON, found '{,'");
  row.folder.write("config.json", "[]");
  EXPECT_EQ(row.fault(), "config.json holds array, expected an object");
}

TEST(HubConvert, TensorsThatItCannotPlaceAreRefusedByName) {
  Spoiled row("mixtral");
  const auto with = [&](const char* name, const HubJson& shape) {
    HubJson tensors = row.row["tensors"];
    for (HubJson& tensor : tensors)
      if (tensor[0] == name) tensor[1] = shape;
    if (shape.is_string())
      for (HubJson& tensor : tensors)
        if (tensor[0] == name) tensor[0] = shape;
    for (HubJson& tensor : tensors)
      if (tensor[1].is_string()) tensor[1] = {48, 32};
    row.folder.write("model.safetensors", test::hub_tensors(tensors, "BF16"));
    return row.fault();
  };
  const char* expert = "model.layers.0.block_sparse_moe.experts.1.w1.weight";
  EXPECT_EQ(with(expert, "model.layers.0.extra.weight"), "tensor 'model.layers.0.extra.weight' is none that llama has");
  EXPECT_EQ(with(expert, "model.layers.0.block_sparse_moe.experts.7.w1.weight"),
            "part 1 of 8 of 'blk.0.ffn_gate_exps.weight' is missing");
  EXPECT_EQ(with(expert, {48, 16}),
            "tensors 'model.layers.0.block_sparse_moe.experts.1.w1.weight' and "
            "'model.layers.0.block_sparse_moe.experts.0.w1.weight' are stacked and differ in shape");
  EXPECT_EQ(with("model.layers.0.self_attn.q_proj.weight", {31, 32}),
            "tensor 'model.layers.0.self_attn.q_proj.weight' is [31, 32], expected whole pairs of heads");
}

TEST(HubConvert, ValuesThatTheTypeCannotHoldAreRefusedByRow) {
  Spoiled row("gpt2");
  std::string bytes = test::file_text(std::filesystem::path(row.folder.path()) / "model.safetensors");
  const float huge = 1e30f;
  std::memcpy(bytes.data() + bytes.size() - sizeof huge, &huge, sizeof huge);
  row.folder.write("model.safetensors", bytes);
  // The last tensor is a vector, which stays f32; the first is a matrix.
  EXPECT_EQ(row.fault(), "");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(bytes.data() + 8 + header, &huge, sizeof huge);
  row.folder.write("model.safetensors", bytes);
  EXPECT_EQ(row.fault(), "tensor 'token_embd.weight': row 0 holds a value that is not finite or that f16 cannot hold");
}

TEST(HubConvert, VocabulariesThatItDoesNotKnowAreRefused) {
  Spoiled row("qwen3");
  HubJson tokenizer = HubJson::parse(test::file_text(kData / "bpe" / "tokenizer.json"));
  const auto with = [&](auto change) {
    HubJson changed = tokenizer;
    change(changed);
    row.folder.write("tokenizer.json", changed.dump());
    return row.fault();
  };
  EXPECT_EQ(with([](HubJson& t) { t["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "x"; }),
            "tokenizer.json: the pre-tokenizer 'split x;bytes;' is none that zrt knows, and no name is given");
  EXPECT_EQ(with([](HubJson& t) { t["model"]["type"] = "Unigram"; }),
            "tokenizer.json holds a model 'Unigram', expected BPE with vocab and merges");
  EXPECT_EQ(with([](HubJson& t) { t["model"]["vocab"]["a"] = 5000; }),
            "tokenizer.json: token 'a' has no id below the vocabulary's size");
  EXPECT_EQ(with([](HubJson& t) { t["model"]["merges"][0] = 1; }),
            "tokenizer.json: a merge is number, expected two texts");
  row.folder.remove("tokenizer.json");
  EXPECT_EQ(row.fault(), "the folder has no tokenizer.json and no tokenizer.model");
  const Spoiled bytes_alone("gpt2");
  tokenizer["model"]["byte_fallback"] = true;
  bytes_alone.folder.write("tokenizer.json", tokenizer.dump());
  EXPECT_EQ(bytes_alone.fault(),
            "tokenizer.json: BPE over characters with bytes to fall back on, expected BPE over bytes");
}

/// BPE as its papers have it: of all neighbours that merge, the first in the list of merges is merged, leftmost first.
std::vector<std::string> merged_in_turn(std::vector<std::string> parts, const HubJson& merges) {
  for (;;) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      for (std::size_t rank = 0; rank < best; ++rank)
        if (merges[rank][0] == parts[i] && merges[rank][1] == parts[i + 1]) best = rank, at = i;
    if (best == merges.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

// Merges whose order is not that of the letters, so that equal scores would cut otherwise.
TEST(HubConvert, ARankedPieceMergesInItsTurn) {
  Spoiled row("llama-characters");
  HubJson tokenizer = HubJson::parse(test::file_text(kData / "characters" / "tokenizer.json"));
  HubJson& merges = tokenizer["model"]["merges"];
  HubJson& vocabulary = tokenizer["model"]["vocab"];
  merges = HubJson::array();
  const char* pairs[][2] = {{"b", "c"}, {"a", "b"}, {"c", "a"}, {"bc", "a"}, {"ab", "ab"}, {"a", "bc"}, {"c", "c"}};
  std::size_t word = 0;
  const auto add = [&](const std::string& text) {
    if (vocabulary.contains(text)) return;
    while (!vocabulary.contains("word" + std::to_string(word))) ++word;
    const HubJson id = vocabulary["word" + std::to_string(word)];
    vocabulary.erase("word" + std::to_string(word));
    vocabulary[text] = id;
  };
  for (const char* letter : {"a", "b", "c"}) add(letter);
  for (const auto& pair : pairs) {
    merges.push_back({pair[0], pair[1]});
    add(std::string(pair[0]) + pair[1]);
  }
  row.folder.write("tokenizer.json", tokenizer.dump());
  auto converter = Converter::open(row.folder.path(), {});
  ASSERT_TRUE(converter) << converter.error().text();
  const auto bytes = converted(*converter);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const auto file = model::GgufFile::open(Span<const std::byte>(*bytes));
  ASSERT_TRUE(file) << file.error().text();
  text::VocabularySpec spec;
  const auto tokens = file->strings("tokenizer.ggml.tokens").value();
  const auto scores = file->list<float>("tokenizer.ggml.scores").value();
  const auto types = file->list<std::int32_t>("tokenizer.ggml.token_type").value();
  spec.model = file->get<std::string_view>("tokenizer.ggml.model").value();
  spec.tokens = tokens.span();
  spec.scores = scores.span();
  spec.types = types.span();
  spec.add_space_prefix = false;
  const auto made = text::Tokenizer::make(spec);
  ASSERT_TRUE(made) << made.error().text();
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> letters(1 + random() % 12);
    std::string input;
    for (std::string& letter : letters) input += letter = std::string(1, "abc"[random() % 3]);
    std::vector<std::string> found;
    const auto ids = made->encode(input).value();
    for (const std::int32_t id : ids) found.emplace_back(tokens[static_cast<std::size_t>(id)]);
    ASSERT_EQ(found, merged_in_turn(letters, merges)) << input;
  }
}

TEST(HubConvert, WithoutAVocabularySizeTheEmbeddingsTell) {
  Spoiled row("gemma3");
  HubJson config = row.row["config"];
  config.erase("vocab_size");
  config["text_config"].erase("vocab_size");
  row.folder.write("config.json", config.dump());
  auto converter = Converter::open(row.folder.path(), {});
  ASSERT_TRUE(converter) << converter.error().text();
  const auto* tokens = converter->keys().find("tokenizer.ggml.tokens");
  ASSERT_NE(tokens, nullptr);
  EXPECT_EQ(std::get<std::vector<std::string>>(*tokens).size(), 288u);
}

TEST(HubConvert, APreTokenizerCanBeSaid) {
  Spoiled row("qwen3");
  HubJson tokenizer = HubJson::parse(test::file_text(kData / "bpe" / "tokenizer.json"));
  tokenizer["pre_tokenizer"] = {{"type", "Whitespace"}};
  row.folder.write("tokenizer.json", tokenizer.dump());
  model::hub::ConvertOptions options;
  options.pre = "qwen2";
  EXPECT_EQ(row.fault(options), "");
}

TEST(HubConvert, PiecesThatBreakTheirFormatAreRefused) {
  Spoiled row("gemma2");
  const std::string good = test::file_text(kData / "pieces" / "tokenizer.model");
  row.folder.write("tokenizer.model", good.substr(0, good.size() - 1));
  EXPECT_TRUE(row.fault().starts_with("tokenizer.model: ")) << row.fault();
  row.folder.write("tokenizer.model", "");
  EXPECT_EQ(row.fault(), "tokenizer.model: expected pieces of a SentencePiece model, found none");
  row.folder.write("tokenizer.model", std::string_view("\x0a\x02\x18\x09", 4));
  EXPECT_EQ(row.fault(), "tokenizer.model: piece '' is of type 9, expected 1 to 6");
}

}  // namespace
}  // namespace hub_convert_test
