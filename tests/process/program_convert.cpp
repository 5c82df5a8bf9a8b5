// SPDX-License-Identifier: Apache-2.0
// tests/process/program_convert.cpp: zrt convert on small folders: what it says, what the file does, what it refuses.
#include <zrt/model/gguf/file.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <support/zrt_program.hpp>
#include <tools/hub_folder.hpp>

namespace program_convert_test {
namespace {

namespace fs = std::filesystem;
using zrt::test::contents;
using zrt::test::HubFolder;
using zrt::test::Outcome;

const fs::path kData = fs::path(ZRT_TEST_DATA_DIR) / "hub";

class ProgramConvert : public zrt::test::Program {
 protected:
  explicit ProgramConvert(const std::string& row = "qwen3") : folder_("program-" + row) {
    folder_.write_row(kData, zrt::test::HubJson::parse(contents(kData / (row + ".json"))));
  }
  [[nodiscard]] Outcome convert(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"convert", "--model", folder_.path(), "--out", path("made.gguf")});
    return run(more);
  }

  HubFolder folder_;
};

TEST_F(ProgramConvert, MakesAFileThatRuns) {
  const Outcome made = convert({"--name", "small"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, path("made.gguf") + ": qwen3, 24 tensors, 48.75 KiB as bf16\n");
  const auto file = zrt::model::GgufFile::open(path("made.gguf"));
  ASSERT_TRUE(file);
  EXPECT_EQ(*file->get<std::string_view>("general.name"), "small");
  const Outcome text = run({"generate", "--model", path("made.gguf"), "-p", "the", "-n", "2"});
  EXPECT_EQ(text.status, 0) << text.err;
}

/// The logits that `zrt logits --out` wrote.
std::vector<float> logits_in(const std::string& bytes) {
  std::uint32_t head[4]{};
  if (bytes.size() < sizeof head) return {};
  std::memcpy(head, bytes.data(), sizeof head);
  std::vector<float> all;
  for (std::size_t row = 0; row < head[3]; ++row) {
    const std::size_t at = sizeof head + row * (head[2] + 1u) * 4 + 4;
    if (at + head[2] * 4u > bytes.size()) return {};
    all.resize(all.size() + head[2]);
    std::memcpy(all.data() + all.size() - head[2], bytes.data() + at, head[2] * 4u);
  }
  return all;
}
bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// What each folder becomes is opened by an engine, and computes numbers.
TEST_F(ProgramConvert, EveryFolderComputes) {
  std::size_t decoders = 0;
  for (const auto& entry : fs::directory_iterator(kData)) {
    if (entry.path().extension() != ".json") continue;
    const std::string row = entry.path().stem().string();
    const HubFolder folder("program-" + row);
    folder.write_row(kData, zrt::test::HubJson::parse(contents(entry.path())));
    const std::string to = path(row + ".gguf");
    const Outcome made = run({"convert", "--model", folder.path(), "--out", to});
    EXPECT_EQ(made.status, 0) << row << ": " << made.err;
    const Outcome vectors = run({"embed", "--model", to, "--prompt", "the", "--pooling", "none", "--json"});
    const Outcome logits =
        run({"logits", "--model", to, "--tokens", "3,40,7", "--decode", "2", "--out", path("logits")});
    EXPECT_TRUE(vectors.status == 0 || logits.status == 0) << row << ": " << logits.err;
    EXPECT_EQ(vectors.out.find("null"), std::string::npos) << row << " gives a vector with no number";
    if (logits.status != 0) continue;
    const std::vector<float> values = logits_in(contents(path("logits")));
    EXPECT_FALSE(values.empty()) << row;
    EXPECT_TRUE(all_finite(values)) << row;
    ++decoders;
  }
  EXPECT_GT(decoders, 40u);
}

/// A decoder whose head is two rows of the language model's.
TEST_F(ProgramConvert, ARerankerScores) {
  for (const char* row : {"qwen3-answers", "qwen3-answers-tied"}) {
    const HubFolder folder(std::string("program-") + row);
    folder.write_row(kData, zrt::test::HubJson::parse(contents(kData / (std::string(row) + ".json"))));
    const std::string to = path(std::string(row) + ".gguf");
    ASSERT_EQ(run({"convert", "--model", folder.path(), "--out", to}).status, 0);
    const Outcome scored = run({"embed", "--model", to, "--context", "512", "--prompt", "the\tin the", "--json"});
    ASSERT_EQ(scored.status, 0) << scored.err;
    const auto json = nlohmann::json::parse(scored.out);
    EXPECT_EQ(json["pooling"], "rank") << scored.out;
    ASSERT_EQ(json["texts"][0]["scores"].size(), 2u) << scored.out;
    EXPECT_NEAR(json["texts"][0]["scores"][0].get<double>() + json["texts"][0]["scores"][1].get<double>(), 1, 1e-6);
    // The prompt is the file's, with the pair in it.
    const auto file = zrt::model::GgufFile::open(to);
    ASSERT_TRUE(file);
    std::string prompt(*file->get<std::string_view>("tokenizer.chat_template.rerank"));
    for (const auto& [name, text] : {std::pair{"{query}", "the"}, std::pair{"{document}", "in the"}})
      prompt.replace(prompt.find(name), std::strlen(name), text);
    const Outcome tokens = run({"tokenize", "--model", to, "--special", "--json", "--text", prompt});
    ASSERT_EQ(tokens.status, 0) << tokens.err;
    EXPECT_EQ(json["texts"][0]["tokens"], nlohmann::json::parse(tokens.out)["ids"].size()) << tokens.out;
    EXPECT_EQ(run({"embed", "--model", to, "--prompt", "the"}).status, 1) << "a pair is asked for";
  }
}

TEST_F(ProgramConvert, BytesDoNotDependOnWorkers) {
  ASSERT_EQ(convert({"--type", "q8_0"}).status, 0);
  const std::string alone = contents(path("made.gguf"));
  ASSERT_EQ(convert({"--type", "q8_0", "--threads", "2"}).status, 0);
  EXPECT_EQ(contents(path("made.gguf")), alone);
}

TEST_F(ProgramConvert, ReportsAsJson) {
  const auto json = nlohmann::json::parse(convert({"--json"}).out);
  EXPECT_EQ(json["architecture"], "qwen3");
  EXPECT_EQ(json["left_out"], 0);
  EXPECT_EQ(json["tensors"].size(), 24u);
}

TEST_F(ProgramConvert, AnErrorNamesTheFolderAndLeavesNothing) {
  folder_.write("config.json", R"({"architectures": ["NoFamily"]})");
  const Outcome refused = convert();
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err, "zrt: unknown_architecture: " + folder_.path() +
                             ": config.json: architecture 'NoFamily' is none whose folders are read; "
                             "docs/model-files.md lists them\n");
  EXPECT_FALSE(fs::exists(path("made.gguf")));
  EXPECT_EQ(run({"convert", "--model", path("nothing"), "--out", path("made.gguf")}).status, 1);
}

TEST_F(ProgramConvert, AFileThatNoEngineOpensDoesNotAppear) {
  auto config = nlohmann::json::parse(contents(fs::path(folder_.path()) / "config.json"));
  config["intermediate_size"] = 40;
  folder_.write("config.json", config.dump());
  const Outcome refused = convert();
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("shape_mismatch"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(path("made.gguf")));
}

}  // namespace
}  // namespace program_convert_test
