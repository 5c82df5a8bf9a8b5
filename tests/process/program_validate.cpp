// SPDX-License-Identifier: Apache-2.0
// tests/process/program_validate.cpp: zrt validate, record and replay, as a user runs them.
#include <cstring>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;

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

TEST_F(Program, ValidatesAnEncoder) {
  const Outcome done = run({"validate", "--model", ZRT_SOURCE_DIR "/tests/data/peer/bert.gguf", "--backends",
                            "cpu,reference", "--tokens", "1,2,3"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("cpu and reference agree: 1 steps, 3 positions, "), std::string::npos) << done.out;
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

/// Eight numbers from -1.5 on as a .npy file.
std::string numbers() {
  std::string npy("\x93NUMPY\x01\x00", 8);
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }";
  head.resize(117, ' ');
  head += '\n';
  npy += static_cast<char>(head.size());
  npy += '\0';
  npy += head;
  for (int i = 0; i < 8; ++i) {
    const float x = -1.5f + 0.37f * static_cast<float>(i);
    npy.append(reinterpret_cast<const char*>(&x), 4);
  }
  return npy;
}

TEST_F(Program, ValidatesATensorProgramOnEveryBackendAndInC) {
  const std::string feed = "x=" + file("x.npy", numbers());
  const std::string exact = file("exact.ptir", R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[2, 4]) {
  %1 = dot_general(%0, %0) {batch_lhs = [], batch_rhs = [], contract_lhs = [-1], contract_rhs = [-1]}: f32[2, 2]
  %2 y = elementwise_binary(%1, %1) {op = mul}: f32[2, 2]
  return %2: f32[2, 2]
}
)");
  for (const char* backends : {"cpu,reference", "reference,cpu"}) {
    const Outcome done = run({"validate", "--ptir", exact, "--feed", feed, "--backends", backends});
    EXPECT_EQ(done.status, 0) << done.err << done.out;
    EXPECT_NE(done.out.find(" agree: 8 values of 2 instructions, the same bits\n"), std::string::npos) << done.out;
  }
  const json told = run_json({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,reference", "--json"});
  EXPECT_EQ(told["values"], 8);
  EXPECT_TRUE(told["difference"].is_null());
  EXPECT_EQ(run({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,c", "--layers"}).status, 2);
  const Outcome model = run({"validate", "--model", kModel, "--backends", "cpu,c"});
  EXPECT_EQ(model.status, 2);
  EXPECT_NE(model.err.find("--ptir"), std::string::npos) << model.err;
  const std::string broken = file("broken.ptir", "spec_version = ptir.v0.4\n");
  const Outcome refused = run({"validate", "--ptir", broken, "--backends", "cpu,c"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find(broken + ": "), std::string::npos) << refused.err;
  const std::string search = "PATH=/usr/bin:/bin";
  const Outcome in_c = run({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,c"}, search);
  EXPECT_EQ(in_c.status, 0) << in_c.err << in_c.out;
  EXPECT_NE(in_c.out.find("cpu and c agree: 8 values of 2 instructions, "), std::string::npos) << in_c.out;
  const std::string smooth = file("smooth.ptir", R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[2, 4]) {
  %1 = elementwise_unary(%0) {op = exp}: f32[2, 4]
  return %1: f32[2, 4]
}
)");
  const Outcome within = run({"validate", "--ptir", smooth, "--feed", feed, "--backends", "c,reference"}, search);
  EXPECT_EQ(within.status, 0) << within.err << within.out;
  EXPECT_EQ(run({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,pm4"}).status, 2);
  EXPECT_EQ(run({"validate", "--ptir", exact, "--backends", "cpu,reference"}).status, 1) << "an input without a feed";
  const Outcome none = run({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,c"}, "CC=/bin/false");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("the C compiler /bin/false built no program"), std::string::npos) << none.err;
  // A compiler that computes something else is found out.
  const std::string wrong = file("wrong", R"(#!/bin/sh
PATH=/usr/bin:/bin
export PATH
for word; do case $word in *.c) sed -i 's/fmaf(x, y,/fmaf(x, 1.5f * y,/' "$word" ;; esac; done
exec cc "$@"
)");
  std::filesystem::permissions(wrong, std::filesystem::perms::owner_all);
  const Outcome found =
      run({"validate", "--ptir", exact, "--feed", feed, "--backends", "cpu,c"}, "CC=" + wrong + " -g0");
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_NE(found.out.find("difference in instruction 0: %1 = dot_general, element 0\n"), std::string::npos)
      << found.out;
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
