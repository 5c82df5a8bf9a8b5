// SPDX-License-Identifier: Apache-2.0
// tests/process/program_card_tokens.cpp: what the program writes on modelled cards is what the reference writes.
#include <array>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

namespace fs = std::filesystem;

/// A build without optimisation interprets too slowly for more.
#ifdef NDEBUG
constexpr const char* kTokens = "64";
#else
constexpr const char* kTokens = "2";
#endif

struct Way {
  const char* device;
  const char* tier;
  std::size_t first;  ///< The prompt of the first file; the next file takes the next.
};

class CardTokens : public Program, public testing::WithParamInterface<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, CardTokens,
                         testing::Values(Way{"emulated-gfx1201", "kfd", 0}, Way{"emulated-gfx1201", "user-queue", 1},
                                         Way{"emulated-gfx1100", "kfd", 2}, Way{"emulated-gfx1100", "user-queue", 0}));

TEST_P(CardTokens, AreTheReferences) {
  std::vector<std::string> files{ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf"};
  for (const char* name : {"q4_0", "q4_k_m"})
    if (const std::string file = std::string(ZRT_SHARED_DIR "/models/bard-") + name + ".gguf"; fs::exists(file))
      files.push_back(file);
  const std::array<std::string, 3> prompts{"ROMEO:\n", "Shall I compare thee", "To be, or not to be"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& prompt = prompts[(GetParam().first + i) % prompts.size()];
    SCOPED_TRACE(files[i] + ", " + prompt);
    const auto tokens = [&](std::vector<std::string> backend) {
      std::vector<std::string> words{"generate", "--model", files[i], "--prompt",     prompt,  "--max-tokens",
                                     kTokens,    "--temp",  "0",      "--ignore-eos", "--json"};
      words.insert(words.end(), backend.begin(), backend.end());
      return run_json_lines(words).back()["tokens"];
    };
    const auto wanted = tokens({"--backend", "reference"});
    EXPECT_EQ(std::to_string(wanted.size()), kTokens);
    EXPECT_EQ(tokens({"--backend", "pm4", "--device", GetParam().device, "--tier", GetParam().tier}), wanted);
  }
  if (files.size() < 3) GTEST_SKIP() << "SKIPPED: Q4_0 and Q4_K_M, there is no " ZRT_SHARED_DIR "/models/bard-*.gguf";
}

}  // namespace
}  // namespace zrt::test
