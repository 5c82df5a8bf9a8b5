// SPDX-License-Identifier: Apache-2.0
// tests/process/program_pm4.cpp: the commands for packets, kernels and modelled cards, as a user or another program runs them.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A stream as the bytes of a file.
std::string bytes_of(std::initializer_list<std::uint32_t> words) {
  std::string bytes;
  for (const std::uint32_t word : words)
    for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  return bytes;
}

TEST_F(Program, DecodesAPacketStream) {
  const std::string good = file("good", bytes_of({0xc0017600, 0x218, 0x00020200, 0xc0004600, 0x407}));
  const Outcome text = run({"pm4", "decode", good});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out,
            "0x00000000  SET_SH_REG OFFSET=536\n"
            "              COMPUTE_TMPRING_SIZE = 0x00020200 WAVES=512 WAVESIZE=32\n"
            "0x0000000c  EVENT_WRITE EVENT_TYPE=CS_PARTIAL_FLUSH EVENT_INDEX=4\n");
  const json listed = run_json({"pm4", "decode", good, "--target", "gfx1100", "--json"});
  EXPECT_EQ(listed["target"], "gfx1100");
  EXPECT_EQ(listed["packets"].size(), 2u);
  EXPECT_EQ(listed["packets"][0]["registers"][0]["fields"]["WAVES"], 512);
  EXPECT_EQ(listed["packets"][1]["fields"]["EVENT_TYPE"], "CS_PARTIAL_FLUSH");
  EXPECT_EQ(run({"pm4", "decode", "--help"}).status, 0);
}

TEST_F(Program, SaysWhatAQueueWouldRefuse) {
  const std::string bad = file("bad", bytes_of({0xc0004600, 0x407, 0xc0016900, 0, 0}));
  const Outcome found = run({"pm4", "decode", bad});
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.out.find("EVENT_WRITE"), std::string::npos);
  EXPECT_EQ(found.err,
            "zrt: invalid_packet: " + bad +
                ": not_on_compute_queue: dword 2, SET_CONTEXT_REG belongs to the graphics queue (at byte 8)\n");
  const Outcome as_json = run({"pm4", "decode", bad, "--json"});
  EXPECT_EQ(as_json.status, 1);
  EXPECT_EQ(json::parse(as_json.out)["finding"]["offset"], 8);
  // PRED_EXEC works inside an indirect buffer alone.
  const std::string skip = file("skip", bytes_of({0xc0002300, 0x01000001}));
  EXPECT_EQ(run({"pm4", "decode", skip}).status, 1);
  EXPECT_EQ(run({"pm4", "decode", skip, "--indirect"}).status, 0);
  EXPECT_EQ(run({"pm4", "decode", file("odd", "abc")}).status, 1);
  EXPECT_EQ(run({"pm4", "decode", path("none")}).status, 1);
  EXPECT_EQ(run({"pm4", "decode", skip, "--target", "gfx906"}).status, 2);
  EXPECT_EQ(run({"pm4"}).status, 2);
}

TEST_F(Program, PacksAKernel) {
  const std::string object = ZRT_TEST_DATA_DIR "/pm4/kernels-gfx1201.hsaco";
  const std::string out = path("scaled_add.zrt");
  const Outcome done =
      run({"pm4", "pack", object, "--kernel", "scaled_add", "--constant", "scale=0xcafe0001", "-o", out});
  EXPECT_EQ(done.status, 0) << done.err;
  const std::string bytes = contents(out);
  EXPECT_EQ(bytes.substr(0, 8), std::string_view("ZRT\0\1\0\1\0", 8));
  EXPECT_TRUE(bytes.ends_with("scale"));
  const std::vector<std::vector<std::string>> failing{
      {"pm4", "pack", object, "-o", path("none")},
      {"pm4", "pack", object, "--kernel", "gemm", "-o", path("none")},
      {"pm4", "pack", object, "--kernel", "scaled_add", "--constant", "scale=0xcafe0002", "-o", path("none")},
      {"pm4", "pack", kModel, "-o", path("none")},
      {"pm4", "pack", object, "--kernel", "reverse_rows", "-o", path("no/folder")}};
  for (const auto& args : failing) {
    EXPECT_EQ(run(args).status, 1);
    EXPECT_FALSE(fs::exists(path("none")));
  }
  EXPECT_EQ(run({"pm4", "pack", object, "--constant", "scale", "-o", path("none")}).status, 2);
}

/// Written by tests/tools/pm4_run_case.py.
const fs::path kRing = ZRT_TEST_DATA_DIR "/pm4/scaled_add";

TEST_F(Program, RunsARecordedRing) {
  const Outcome done = run({"pm4", "run", kRing});
  EXPECT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_TRUE(done.out.ends_with("\nmatch\n")) << done.out;
  // The same with another expectation.
  const fs::path copy = path("case");
  fs::copy(kRing, copy);
  std::string after = contents(copy / "buffer.after.bin");
  after[4096] ^= 1;
  std::ofstream(copy / "buffer.after.bin", std::ios::binary) << after;
  EXPECT_EQ(run({"pm4", "run", copy}).status, 0) << "a float that is rounded otherwise";
  after[0] ^= 1;
  std::ofstream(copy / "buffer.after.bin", std::ios::binary) << after;
  const Outcome wrong = run({"pm4", "run", copy});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.out.find("buffer: byte 0 holds "), std::string::npos) << wrong.out;
  EXPECT_TRUE(wrong.out.ends_with("\nno match\n"));
  EXPECT_EQ(run({"pm4", "run", path("none")}).status, 1);
  std::ofstream(copy / "case.json") << "{}";
  EXPECT_EQ(run({"pm4", "run", copy}).status, 1);
}

TEST_F(Program, RunsTheRingsOfAnotherDriver) {
  const fs::path golden = ZRT_SHARED_DIR "/golden/pm4";
  if (!fs::exists(golden)) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  const Outcome done = run({"pm4", "run", golden / "gfx1201-mv_q8_dot"});
  EXPECT_EQ(done.status, 0) << done.err << done.out;
  const json rounded = run_json({"pm4", "run", golden / "gfx1100-softmax", "--json"});
  EXPECT_EQ(rounded["match"], true);
  EXPECT_EQ(rounded["dispatches"], 1);
  EXPECT_GT(rounded["wave_instructions"], 100);
}

TEST_F(Program, ACaseOfARingIsNotTakenOnTrust) {
  const fs::path copy = path("case");
  fs::copy(kRing, copy);
  const json good = json::parse(contents(copy / "case.json"));
  const std::string ring = contents(copy / "ring.bin");
  const auto rerun = [&](const json& edited) {
    std::ofstream(copy / "case.json") << edited;
    return run({"pm4", "run", copy});
  };
  const auto with = [&](const char* pointer, const json& value) {
    json edited = good;
    edited[json::json_pointer(pointer)] = value;
    return edited;
  };
  ASSERT_EQ(rerun(good).status, 0);

  const Outcome other = rerun(with("/expect_f32/values/5", 123456.0));
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.out.find("buffer: byte 4116 holds 997.5"), std::string::npos) << other.out;
  json tail = with("/regions/2/size", 8194);
  tail["regions"][2]["after"] = "tail.bin";
  std::string after = contents(copy / "buffer.after.bin");
  after.resize(8194);
  after.back() = '\x01';
  std::ofstream(copy / "tail.bin", std::ios::binary) << after;
  EXPECT_NE(rerun(tail).out.find("buffer: byte 8192 holds 0x00000000, 0x00000100 expected"), std::string::npos);

  const std::vector<std::pair<json, std::string>> refused{
      {with("/expect_f32/region", "nosuch"), "expect_f32 is of region nosuch, which there is not"},
      {with("/expect_f32/offset", std::int64_t{1} << 40), "all of them in the region's 8192 bytes"},
      {with("/expect_f32/offset", -16), "300 floats at byte -16"},
      {with("/expect_f32/offset", 4098), "expected a multiple of 4"},
      {with("/expect_f32/count", 7), "300 values and a count of 7"},
      {with("/expect_f32/tolerance", -1), "tolerance below 0"},
      {with("/expect_f32", json::array({1})), "case.json: "},
      {with("/ring/size", 64), "ring.bin has "},
      {with("/ring/size", 1000), "the ring has 1000 bytes, expected a power of two"},
      {with("/ring/va", good["regions"][0]["va"]), "overlap"},
      {with("/ring", json{{"size", 4096}, {"file", "ring.bin"}}), "'va' not found"},
      {with("/regions/0/va", "0x600000000000 trailing"), "va is 0x600000000000 trailing"},
      {with("/regions/0/va", "600000000000"), "expected 0x and hexadecimal digits"},
      {with("/regions/0/size", -1), "a size is -1, expected 0 or more"},
  };
  for (const auto& [edited, words] : refused) {
    const Outcome done = rerun(edited);
    EXPECT_EQ(done.status, 1) << words;
    EXPECT_TRUE(done.out.empty()) << words << done.out;
    EXPECT_NE(done.err.find(words), std::string::npos) << words << ": " << done.err;
  }
  std::ofstream(copy / "ring.bin", std::ios::binary) << ring << "abc";
  EXPECT_NE(rerun(good).err.find("expected whole dwords"), std::string::npos);
}

TEST_F(Program, ARefusalOfTheModelIsToldWithTheCallThatItEnded) {
  const std::string model = path("q5_0.gguf");
  const Outcome made =
      run({"quantize", "--model", ZRT_TEST_DATA_DIR "/peer/granite.gguf", "--type", "q5_0", "--out", model});
  ASSERT_EQ(made.status, 0) << made.err;
  const Outcome refused = run({"logits", "--model", model, "--tokens", "1,2", "--backend", "pm4", "--device",
                               "emulated-gfx1201", "--out", path("logits")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("is q5_0, which no kernel of pm4 reads"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("the device model says"), std::string::npos) << refused.err;
}

TEST_F(Program, MemoryOnACardIsNotTheHosts) {
  const std::vector<std::string> plan{"plan", "--model", kModel, "--memory", "--backend"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = plan;
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  const json card = run_json(with({"pm4", "--device", "emulated-gfx1201", "--json"}));
  const json host = run_json(with({"cpu", "--json"}));
  EXPECT_EQ(card["weights_uploaded_bytes"], host["weights_mapped_bytes"]);
  EXPECT_EQ(card["state_bytes"], host["state_bytes"]);
  EXPECT_EQ(card["other_allocated_bytes"], card["allocated_bytes"]);
  EXPECT_LT(card["allocated_bytes"], host["allocated_bytes"]);
  const Outcome text = run(with({"pm4", "--device", "emulated-gfx1201"}));
  EXPECT_NE(text.out.find("uploaded"), std::string::npos) << text.out;
  const auto heap = [](const json& memory, const char* name) {
    for (const json& h : memory["heaps"])
      if (h["heap"] == name) return h;
    return json();
  };
  // Everything that kernels touch lies in video memory, the kernels themselves included; rings and fences in the host's.
  const json bar = heap(card, "VRAM behind the BAR");
  std::map<std::string, std::uint64_t> parts;
  for (const json& part : bar["parts"]) parts[part["what"]] = part["bytes"];
  for (const char* what : {"weights", "kernels", "keys and values", "prefill arena", "decode arena"})
    EXPECT_GT(parts[what], 0u) << what << ": " << bar;
  EXPECT_GE(parts["weights"], card["weights_uploaded_bytes"].get<std::uint64_t>());
  EXPECT_GE(parts["keys and values"], card["state_bytes"].get<std::uint64_t>());
  EXPECT_GT(heap(card, "GTT")["bytes"], 0);
  EXPECT_EQ(heap(card, "host memory")["bytes"], card["allocated_bytes"]);
  EXPECT_TRUE(heap(host, "GTT").is_null());
  EXPECT_EQ(heap(host, "mapped file")["bytes"], host["weights_mapped_bytes"]);
  EXPECT_EQ(heap(host, "host memory")["bytes"], host["allocated_bytes"]);
  EXPECT_NE(text.out.find("  kernels"), std::string::npos) << text.out;
}

TEST_F(Program, ProbesAModelledCard) {
  const Outcome both = run({"pm4", "probe", "--device", "emulated-gfx1201"});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_TRUE(both.out.starts_with("user queue: yes: modelled gfx1201, 4 compute units")) << both.out;
  EXPECT_TRUE(both.out.ends_with("\nchosen: user queue\n")) << both.out;
  const Outcome old = run({"pm4", "probe", "--device", "emulated-gfx1100", "--kernel", "6.12"});
  EXPECT_EQ(old.status, 0) << old.err;
  EXPECT_TRUE(old.out.starts_with("user queue: no: amdgpu of renderD128 has version 3.59, ")) << old.out;
  EXPECT_NE(old.out.find("\n/dev/kfd: yes: modelled gfx1100, "), std::string::npos) << old.out;
  EXPECT_TRUE(old.out.ends_with("\nchosen: /dev/kfd\n")) << old.out;
  EXPECT_EQ(run({"pm4", "probe", "--device", "emulated-gfx906"}).status, 1);
  EXPECT_EQ(run({"pm4", "probe", "--kernel", "5.4"}).status, 2);
  for (const char* const tier : {"kfd", "user-queue"}) {
    const Outcome done = run({"pm4", "memtest", "--device", "emulated-gfx1201", "--tier", tier, "--cycles", "60"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.out.find(": 60 cycles, "), std::string::npos) << done.out;
    EXPECT_TRUE(done.out.ends_with("every byte of video memory is back\n")) << done.out;
    const char* const device = tier == std::string_view("kfd") ? "emulated-gfx1201" : "emulated-gfx1151";
    const Outcome tested = run({"pm4", "selftest", "--device", device, "--tier", tier});
    EXPECT_EQ(tested.status, 0) << tested.err;
    EXPECT_TRUE(tested.out.starts_with(std::string(device).replace(0, 9, "modelled ") + " by ")) << tested.out;
    EXPECT_NE(tested.out.find(" forms of packets, "), std::string::npos) << tested.out;
    EXPECT_TRUE(tested.out.ends_with(" kernels, each as it should be\n")) << tested.out;
  }
}

TEST_F(Program, ForcesAWayToTheQueues) {
  for (const std::string tier : {"kfd", "user-queue"})
    for (const std::string device : {"emulated-gfx1201", "emulated-gfx1100"}) {
      const json done = run_json(
          {"bench", "--backend", "pm4", "-m", kModel, "--device", device, "--tier", tier, "-n", "1", "--json"});
      EXPECT_EQ(done["tier"], tier == "kfd" ? "/dev/kfd" : "user queue");
      EXPECT_EQ("emulated-" + done["target"].get<std::string>(), device);
      EXPECT_EQ(done["modelled"], true);
      EXPECT_EQ(done["doorbells_per_token"], 1.0);
      EXPECT_EQ(done["system_calls_per_token"], 0.0);
    }
  const Outcome none = run({"generate", "--backend", "pm4", "-m", kModel, "-p", "O", "--tier", "kfd"});
  if (!fs::exists("/dev/kfd")) {
    EXPECT_EQ(none.status, 1);
    EXPECT_NE(none.err.find("/dev/kfd: opening /dev/kfd failed with ENOENT"), std::string::npos) << none.err;
    EXPECT_EQ(none.err.find("user queue"), std::string::npos) << none.err;
  }
  EXPECT_EQ(run({"generate", "-m", kModel, "-p", "O", "--tier", "kfd"}).status, 2) << "the CPU has no queues";
  EXPECT_EQ(run({"pm4", "selftest", "--tier", "vulkan"}).status, 2);
}

/// Below its system calls the program meets the device model: it takes the card for one of the machine's own.
TEST_F(Program, MeetsACardOfTheMachine) {
  const auto beside = [&](const char* card, const std::vector<std::string>& args) {
    return run_program("zrt_beside_card", args, std::string("ZRT_MODELLED_CARD=") + card);
  };
  const std::vector<std::string> bench{"bench", "--backend", "pm4", "-m", kModel, "-p", "3",
                                       "-n",    "1",         "-b",  "2",  "-r",   "1",  "--tier"};
  const auto with = [&](std::vector<std::string> args, std::initializer_list<const char*> more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  const json counted =
      run_json({"bench", "--backend", "pm4", "-m", kModel, "--device", "emulated-gfx1201", "-n", "1", "--json"});
  const Outcome no_rows = run({"bench", "--backend", "pm4", "-m", kModel, "--device", "emulated-gfx1201", "-b", "3"});
  EXPECT_EQ(no_rows.status, 2);
  EXPECT_NE(no_rows.err.find("of rows that are timed"), std::string::npos) << no_rows.err;
  const Outcome timed = beside("gfx1201", with(bench, {"kfd", "--json"}));
  ASSERT_EQ(timed.status, 0) << timed.err;
  const json rows = json::parse(timed.out);
  EXPECT_EQ(rows["target"], "gfx1201");
  EXPECT_EQ(rows["tier"], "/dev/kfd");
  EXPECT_EQ(rows["modelled"], false);
  EXPECT_EQ(rows["launches_per_token"], counted["launches_per_token"]) << "the same record";
  EXPECT_FALSE(rows.contains("doorbells_per_token")) << "the model alone counts";
  ASSERT_EQ(rows["rows"].size(), 2u);
  for (const json& row : rows["rows"]) EXPECT_GT(row["tokens_per_second"], 0.0);
  const Outcome text = beside("gfx1100", with(bench, {"user-queue"}));
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("decode on the machine's gfx1100 by user queue\n")) << text.out;
  EXPECT_NE(text.out.find("not counted here"), std::string::npos) << text.out;
  const std::vector<std::string> generate{
      "generate", "-m", kModel, "-p", "ROMEO:", "-n", "2", "--temp", "0", "--backend"};
  const Outcome tokens = beside("gfx1100", with(generate, {"pm4"}));
  EXPECT_EQ(tokens.status, 0) << tokens.err;
  EXPECT_EQ(tokens.out, run(with(generate, {"cpu"})).out);
  // Each kernel was tried once when the engine was opened; who has a place to remember that does not try it again.
  const std::string cached = "gfx1201 XDG_CACHE_HOME=" + path("cache"), keys = path("cache/zrt/tested-kernels");
  std::ptrdiff_t kernels = 0;
  for (const auto& file : std::filesystem::directory_iterator(ZRT_SOURCE_DIR "/kernels/gfx1201"))
    kernels += file.path().extension() == ".zrt" ? 1 : 0;
  for (int run = 0; run < 2; ++run) {
    const Outcome again = beside(cached.c_str(), with(generate, {"pm4"}));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(again.out, tokens.out);
    const std::string kept = contents(keys);
    EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), kernels) << "a key for each kernel";
  }
  EXPECT_EQ(tokens.err.find("modelled"), std::string::npos) << "the program takes it for the machine's: " << tokens.err;
  const Outcome modelled = run(with(generate, {"pm4", "--device", "emulated-gfx1100"}));
  EXPECT_EQ(modelled.out, tokens.out);
  EXPECT_EQ(modelled.err.find("zrt: note: the card is modelled (emulated-gfx1100): "), 0u) << modelled.err;
  const Outcome probed = beside("gfx1201", {"pm4", "probe"});
  EXPECT_EQ(probed.status, 0) << probed.out;
  EXPECT_NE(probed.out.find("/dev/kfd: yes: gfx1201"), std::string::npos) << probed.out;
}

TEST_F(Program, DecodesTheRingsOfAnotherDriver) {
  std::error_code missing;
  std::size_t rings = 0;
  for (const auto& entry : fs::directory_iterator(ZRT_SHARED_DIR "/golden/pm4", missing)) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    const Outcome done = run({"pm4", "decode", entry.path() / "ring.bin", "--target", name.substr(0, 7)});
    EXPECT_EQ(done.status, 0) << name << done.err;
    EXPECT_NE(done.out.find("DISPATCH_DIRECT DIM_X="), std::string::npos) << name;
    ++rings;
  }
  if (rings == 0) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  EXPECT_EQ(rings, 15u);
}

}  // namespace
}  // namespace zrt::test
