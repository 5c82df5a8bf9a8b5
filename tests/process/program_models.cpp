// SPDX-License-Identifier: Apache-2.0
// tests/process/program_models.cpp: zrt make-model: models of random weights that run; zrt imatrix on them; what is refused.
#include <algorithm>
#include <bit>
#include <set>
#include <sstream>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;

class MadeModels : public Program {
 protected:
  [[nodiscard]] Outcome make(const std::string& out, std::vector<std::string> args) const {
    args.insert(args.begin(), "make-model");
    for (const char* word : {"--threads", "2", "--out"}) args.emplace_back(word);
    args.push_back(path(out));
    return run(args);
  }
  /// Files whose names begin with this.
  [[nodiscard]] std::ptrdiff_t files(const std::string& begin) const {
    return std::ranges::count_if(std::filesystem::directory_iterator(path("")), [&](const auto& entry) {
      return entry.path().filename().string().starts_with(begin);
    });
  }
  /// Makes a model that must succeed, and returns its path.
  [[nodiscard]] std::string made(const std::string& architecture, const std::string& type,
                                 const std::string& seed = "1") const {
    const Outcome done =
        make(architecture + ".gguf", {"--arch", architecture, "--shape", "tiny", "--type", type, "--seed", seed});
    EXPECT_EQ(done.status, 0) << done.err;
    return path(architecture + ".gguf");
  }
};

/// The families that docs/models.md lists, which is made of zrt::AllFamilies.
std::set<std::string> listed_families() {
  std::set<std::string> names;
  std::istringstream page(contents(ZRT_SOURCE_DIR "/docs/models.md"));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cell(line.substr(2, line.find(" |", 2) - 2));
    for (std::string between, name; std::getline(cell, between, '`') && std::getline(cell, name, '`');)
      names.insert(name);
  }
  return names;
}

TEST_F(MadeModels, TinyModelsOfEachFamilyRun) {
  const Outcome none = make("x", {"--arch", "none", "--shape", "tiny", "--type", "f16"});
  EXPECT_EQ(none.status, 2);
  const std::string before = "zrt: --shape tiny is not there for --arch none, but for ";
  ASSERT_TRUE(none.err.starts_with(before)) << none.err;
  std::istringstream words(none.err.substr(before.size()));
  std::set<std::string> encoders{"bert", "nomic-bert", "nomic-bert-moe", "modern-bert", "t5encoder"};
  std::set<std::string> missing = listed_families();
  ASSERT_GE(missing.size(), 46u);
  for (std::string architecture; words >> architecture;) {
    EXPECT_EQ(missing.erase(architecture), 1u) << architecture;
    const std::string model = made(architecture, "q4_0");
    if (encoders.erase(architecture) != 0) {
      const Outcome vector = run({"embed", "--model", model, "--prompt", "hello there"});
      EXPECT_EQ(vector.status, 0) << architecture << vector.err;
      EXPECT_EQ(vector.out.find("nan"), std::string::npos) << architecture;
      continue;
    }
    const json lines = run_json_lines({"generate", "--model", model, "--prompt", "hello there", "--max-tokens", "4",
                                       "--ignore-eos", "--temp", "0", "--json"});
    EXPECT_EQ(lines.back()["tokens"].size(), 4u) << architecture << lines;
    const Outcome surprise = run({"perplexity", "--model", model, "--file",
                                  file("text", "To be, or not to be, that is the question."), "--context", "32"});
    EXPECT_EQ(surprise.status, 0) << surprise.err;
    // Weights of sane size make neither certain nor broken predictions.
    EXPECT_GT(std::atof(surprise.out.c_str()), 20.0) << architecture;
    EXPECT_LT(std::atof(surprise.out.c_str()), 1e8) << architecture;
  }
  EXPECT_TRUE(encoders.empty());
  EXPECT_TRUE(missing.empty()) << "no tiny model of " << *missing.begin();
}

TEST_F(MadeModels, TheSameSeedGivesTheSameBytes) {
  const std::string first = contents(made("qwen3", "q4_k_m"));
  EXPECT_EQ(first.substr(0, 4), "GGUF");
  EXPECT_EQ(contents(made("qwen3", "q4_k_m")) == first, true);
  EXPECT_EQ(contents(made("qwen3", "q4_k_m", "2")) == first, false);
}

TEST_F(MadeModels, AShapeCanBeAFileAndKeysCanBeSet) {
  const std::string shape = file("shape",
                                 "# sizes\nvocab_size=300 context_length=64\nembedding_length=64 block_count=1\n"
                                 "feed_forward_length=128 attention.head_count=4 # four\n"
                                 "attention.layer_norm_rms_epsilon=0.00001 with=output.weight\n");
  const Outcome done = make("own.gguf", {"--arch", "llama", "--shape", shape, "--set", "block_count=2", "--type", "f16",
                                         "--set", "general.license=none", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(done.out)["tensors"], 21);
  const json seen = run_json({"inspect", "--model", path("own.gguf"), "--json"});
  EXPECT_EQ(seen["metadata"]["llama.block_count"], 2) << seen["metadata"];
  EXPECT_EQ(files("own.gguf"), 1);
}

TEST_F(MadeModels, WhatIsUnknownIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls{
      {{"--arch", "llama", "--shape", file("words", "block_count"), "--type", "f16"},
       "'block_count' is no KEY=VALUE\n"},
      {{"--arch", "llama", "--type", "f16"}, "zrt: missing_metadata: the shape says no vocab_size, expected a number"},
      {{"--arch", "llama", "--shape", "tiny", "--type", "f16", "--set", "heads=4"},
       "zrt: unimplemented: llama.heads is 4, but its family does not read it; expected no such key\n"},
      {{"--arch", "llama", "--shape", "tiny", "--type", "f16", "--set", "block_count=[2"},
       "zrt: invalid_argument: llama.block_count is [2, expected [N,N,...] with numbers from 0 to 2^32 - 1\n"},
      {{"--arch", "llama", "--shape", "tiny", "--type", "f16", "--set", "block_count=4294967296000"},
       "zrt: invalid_argument: llama.block_count is 4294967296000, expected a whole number below 2^32\n"},
      {{"--arch", "llama", "--shape", "tiny", "--type", "f16", "--set", "vocab_size=256"},
       "zrt: invalid_argument: a vocabulary of bytes has 257 to 915561 tokens, 256 wanted\n"},
  };
  for (const auto& [args, expected] : calls) {
    const Outcome done = make("none.gguf", args);
    EXPECT_EQ(done.status, 1) << json(args);
    EXPECT_NE(done.err.find(expected), std::string::npos) << json(args) << done.err;
    EXPECT_EQ(files("none.gguf"), 0) << json(args);
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> misuses{
      {{"--arch", "llama", "--shape", "qwen3-0.6b", "--type", "f16"},
       "zrt: --shape qwen3-0.6b is not there for --arch llama, but for qwen3\n"},
      {{"--arch", "llama", "--shape", "small", "--type", "f16"},
       "zrt: --shape 'small' is neither a file of KEY=VALUE words nor one of qwen3-0.6b"},
      {{"--arch", "llama", "--shape", "tiny", "--type", "q9"}, "zrt: --type: q9 is none of {f32"},
      {{"--shape", "tiny", "--type", "f16"}, "zrt: zrt make-model needs --arch"},
  };
  for (const auto& [args, expected] : misuses) {
    const Outcome done = make("none.gguf", args);
    EXPECT_EQ(done.status, 2) << json(args);
    EXPECT_TRUE(done.err.starts_with(expected)) << json(args) << done.err;
  }
}

TEST_F(MadeModels, AFolderThatIsNotThereIsAnError) {
  const Outcome done = make("no/where.gguf", {"--arch", "llama", "--shape", "tiny", "--type", "q8_0"});
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.err.find("zrt: io_error: "), std::string::npos) << done.err;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "To be, or not to be, that is the question " + std::to_string(i) + ".\n";
  return text;
}

TEST_F(MadeModels, AnImportanceMatrixOfAModelQuantisesIt) {
  const std::string model = made("qwen3moe", "f32");
  const std::string text = file("text", long_text());
  const std::vector<std::string> call{"imatrix", "--model", model, "--data", text, "--context", "96", "--chunks", "4"};
  const auto with = [](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  const json made = run_json(with(call, {"--out", path("one"), "--threads", "1", "--json"}));
  EXPECT_EQ(made["chunks"], 4);
  EXPECT_EQ(made["chunk_size"], 96);
  EXPECT_EQ(made["tensors"], 16);  // q, k, v, output, router, gate, up and down of two layers
  const Outcome again = run(with(call, {"--out", path("two"), "--threads", "2"}));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(contents(path("one")) == contents(path("two")), true);
  const json seen = run_json({"inspect", "--model", path("one"), "--json"});
  EXPECT_EQ(seen["metadata"]["general.type"], "imatrix");
  EXPECT_EQ(seen["metadata"]["imatrix.chunk_count"], 4);
  const Outcome plain = run({"quantize", "--model", model, "--type", "q2_k_s", "--out", path("plain.gguf")});
  EXPECT_EQ(plain.status, 0) << plain.err;
  const Outcome weighted =
      run({"quantize", "--model", model, "--type", "q2_k_s", "--imatrix", path("one"), "--out", path("weighted.gguf")});
  EXPECT_EQ(weighted.status, 0) << weighted.err;
  EXPECT_EQ(contents(path("plain.gguf")).size() == contents(path("weighted.gguf")).size(), true);
  EXPECT_EQ(contents(path("plain.gguf")) == contents(path("weighted.gguf")), false);
}

TEST_F(MadeModels, AnOlderImportanceMatrixQuantisesToo) {
  const std::string model = made("llama", "f32");
  std::string dat;
  const auto number = [&](std::uint32_t value) {
    for (int i = 0; i < 4; ++i) dat.push_back(static_cast<char>(value >> 8 * i & 255u));
  };
  const std::string tensor = "blk.0.attn_q.weight";
  constexpr std::uint32_t kColumns = 256;
  number(1);
  number(static_cast<std::uint32_t>(tensor.size()));
  dat += tensor;
  number(1);
  number(kColumns);
  for (std::uint32_t i = 0; i < kColumns; ++i) number(std::bit_cast<std::uint32_t>(1.0f + static_cast<float>(i)));
  const std::vector<std::string> call{"quantize",  "--model", model,   "--type",        "q4_0",
                                      "--imatrix", "",        "--out", path("dat.gguf")};
  const auto with = [&](const std::string& importance) {
    std::vector<std::string> args = call;
    args[6] = importance;
    return run(args);
  };
  const Outcome weighted = with(file("imatrix.dat", dat));
  EXPECT_EQ(weighted.status, 0) << weighted.err;
  EXPECT_NE(weighted.out.find("weighted for 1 of "), std::string::npos) << weighted.out;
  const Outcome cut = with(file("cut.dat", dat.substr(0, dat.size() - 1)));
  EXPECT_EQ(cut.status, 1);
  EXPECT_NE(cut.err.find("zrt: truncated_file: " + path("cut.dat") + ": an entry wants 1024 bytes, and 1023 are left"),
            std::string::npos)
      << cut.err;
}

TEST_F(MadeModels, AnImportanceMatrixNeedsATextAndADecoder) {
  const std::string model = made("llama", "q8_0");
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls{
      {{"--model", model, "--data", file("short", "To be.")}, "tokens, expected a chunk of 512 or more"},
      {{"--model", model, "--data", path("absent")}, "zrt: io_error: cannot open " + path("absent")},
      {{"--model", model, "--data", "/dev/zero"},
       "zrt: limit_exceeded: /dev/zero: the text has more than 64.00 MiB, expected --chunks"},
      {{"--model", made("bert", "f16"), "--data", file("text", long_text())},
       "zrt: unimplemented: the model is an encoder, expected one that predicts tokens"},
  };
  for (const auto& [args, expected] : calls) {
    std::vector<std::string> call{"imatrix", "--out", path("none.imatrix")};
    call.insert(call.end(), args.begin(), args.end());
    const Outcome done = run(call);
    EXPECT_EQ(done.status, 1) << json(call);
    EXPECT_NE(done.err.find(expected), std::string::npos) << json(call) << done.err;
    EXPECT_EQ(files("none.imatrix"), 0) << json(call);
  }
}

}  // namespace
}  // namespace zrt::test
