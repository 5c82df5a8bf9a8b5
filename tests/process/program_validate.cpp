// SPDX-License-Identifier: Apache-2.0
// tests/process/program_validate.cpp: zrt validate, record and replay, as a user runs them.
#include <cstring>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;

const std::string kModel = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

TEST_F(Program, ValidatesTheBackendsOfTheHost) {
  const Outcome done = run(
      {"validate", "--model", kModel, "--backends", "cpu,reference", "--steps", "4", "--layers", "--context", "64"});
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_NE(done.out.find("cpu and reference agree: 5 steps, "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("the same bits\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("layer 5 "), std::string::npos) << done.out;
  const json plan = run_json({"plan", "--model", kModel, "--format", "json"});
  const json found = run_json({"validate", "--model", kModel, "--backends", "reference,cpu", "--steps", "1", "--prompt",
                               "O Romeo", "--threads", "2", "--json"});
  EXPECT_EQ(found["agree"], true);
  EXPECT_EQ(found["differing"], 0);
  std::size_t instructions = 0;
  for (const json& layer : found["layers"]) instructions += layer["instructions"].get<std::size_t>();
  EXPECT_EQ(instructions, plan["instructions"].size()) << "every instruction is compared";
}

TEST_F(Program, ValidatesACard) {
  const Outcome done = run({"validate", "--model", kModel, "--backends", "pm4,cpu", "--device", "emulated-gfx1201",
                            "--steps", "1", "--prompt", "O", "--context", "32", "--chunk", "16"});
  EXPECT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_NE(done.out.find("pm4 and cpu agree: 2 steps, "), std::string::npos) << done.out;
}

TEST_F(Program, ValidateSaysWhatIsWrongWithACall) {
  EXPECT_EQ(run({"validate", "--model", kModel}).status, 2);
  EXPECT_EQ(run({"validate", "--model", kModel, "--backends", "cpu"}).status, 2);
  const Outcome unknown = run({"validate", "--model", kModel, "--backends", "cpu,gpu"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("gpu"), std::string::npos) << unknown.err;
  EXPECT_EQ(run({"validate", "--model", kModel, "--backends", "cpu,reference", "--tokens", "99999999"}).status, 1);
  EXPECT_EQ(run({"validate", "--model", path("none.gguf"), "--backends", "cpu,reference"}).status, 1);
}

TEST_F(Program, RecordsARunAndRunsItAgain) {
  const std::string recording = path("r.zrtr");
  const Outcome made = run({"record",
                            "--model",
                            kModel,
                            "--out",
                            recording,
                            "--requests",
                            "4",
                            "--slots",
                            "2",
                            "--stagger",
                            "3",
                            "--max-tokens",
                            "12",
                            "--threads",
                            "2",
                            "--ignore-eos",
                            "--chunk",
                            "16",
                            "--prompt",
                            "Shall I compare thee to a summer's day? Thou art more lovely and more",
                            "--step-latency",
                            "0.2",
                            "--context",
                            "128"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.err.find(", 48 tokens, "), std::string::npos) << made.err;
  EXPECT_LT(contents(recording).size(), 4000u);
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome again = run({"replay", recording, "--model", kModel, "--backend", backend, "--threads", "1"});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.out.find(" steps of 4 requests, 48 tokens: as recorded\n"), std::string::npos) << again.out;
  }
}

TEST_F(Program, AReplayOnACardIsTheCpus) {
  const std::string recording = path("r.zrtr");
  ASSERT_EQ(run({"record", "--model", kModel, "--out", recording, "--max-tokens", "2", "--context", "32", "--prompt",
                 "O", "--chunk", "16"})
                .status,
            0);
  const Outcome again =
      run({"replay", recording, "--model", kModel, "--backend", "pm4", "--device", "emulated-gfx1201"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("2 steps of 1 requests, 2 tokens: as recorded\n"), std::string::npos) << again.out;
}

TEST_F(Program, ReplayRefusesDamageAndOtherModels) {
  const std::string recording = path("r.zrtr");
  ASSERT_EQ(run({"record", "--model", kModel, "--out", recording, "--max-tokens", "3", "--context", "32"}).status, 0);
  std::string bytes = contents(recording);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  const Outcome damaged = run({"replay", file("bad.zrtr", bytes), "--model", kModel});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_NE(damaged.err.find("bad.zrtr: the recording is damaged"), std::string::npos) << damaged.err;
  // A weight that is not the recorded run's.
  std::string other = contents(kModel);
  ASSERT_GT(other.size(), 100'000u);
  other.back() = static_cast<char>(other.back() ^ 1);
  const Outcome foreign = run({"replay", recording, "--model", file("other.gguf", other)});
  EXPECT_EQ(foreign.status, 1);
  EXPECT_NE(foreign.err.find("fingerprint"), std::string::npos) << foreign.err;
  EXPECT_EQ(run({"record", "--model", kModel, "--out", path("no/folder"), "--max-tokens", "1"}).status, 1);
  EXPECT_EQ(run({"replay", path("none.zrtr"), "--model", kModel}).status, 1);
}

}  // namespace
}  // namespace zrt::test
