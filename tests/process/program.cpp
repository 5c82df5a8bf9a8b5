// SPDX-License-Identifier: Apache-2.0
// tests/process/program.cpp: the commands for language models, as a user or another program runs them.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <map>
#include <set>
#include <sstream>
#include <support/engines.hpp>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::array kCommands{"generate", "logits", "tokenize", "inspect", "plan", "perplexity", "embed", "bench"};

struct LogitsRow {
  std::uint32_t token = 0;
  std::vector<float> logits;
};

/// Reads a file of `zrt logits`; empty when it is not one, to the byte.
std::vector<LogitsRow> read_logits(const std::string& path) {
  const std::string bytes = contents(path);
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  if (bytes.size() < 16 || bytes.substr(0, 4) != "ZRTL" || word(4) != 1) return {};
  const std::size_t vocabulary = word(8);
  const std::size_t row_bytes = 4 + 4 * vocabulary;
  if (bytes.size() != 16 + word(12) * row_bytes) return {};
  std::vector<LogitsRow> rows(word(12));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = 16 + i * row_bytes;
    rows[i].token = word(at);
    rows[i].logits.resize(vocabulary);
    std::memcpy(rows[i].logits.data(), bytes.data() + at + 4, 4 * vocabulary);
  }
  return rows;
}

TEST_F(Program, HelpOfEachCommand) {
  const Outcome all = run({"--help"});
  EXPECT_EQ(all.status, 0);
  for (const std::string command : kCommands) {
    EXPECT_NE(all.out.find(command), std::string::npos) << command;
    const Outcome one = run({command, "--help"});
    EXPECT_EQ(one.status, 0) << command;
    EXPECT_NE(one.out.find("--model"), std::string::npos) << command;
  }
}

TEST_F(Program, WrongUsageIsStatusTwo) {
  const std::vector<std::vector<std::string>> calls{
      {},
      {"sing"},
      {"generate"},
      {"generate", "--model", kModel, "--no-such-option"},
      {"generate", "--model", kModel, "--backend", "abacus"},
      {"generate", "--model", kModel, "--backend", "cpu", "--device", "emulated-gfx1201"},
      {"generate", "--model", kModel, "--max-tokens", "many"},
      {"generate", "--model", kModel, "--prompt", "a", "--prompt-file", "b"},
      {"logits", "--model", kModel, "--tokens", "1,two", "--out", path("x")},
      {"logits", "--model", kModel, "--tokens", "1", "--decode", "1", "--feed", "1", "--out", path("x")},
      {"tokenize", "--model", kModel},
      {"embed", "--model", kModel, "--pooling", "sum"},
      {"embed", "--model", kModel, "--prompt", "a", "--prompt-file", "b"},
      {"plan", "--model", kModel, "--format", "poem"},
      {"plan", "--model", kModel, "--format", "dot", "--memory"},
      {"plan", "--model", kModel, "--format", "dot", "--json"},
      {"bench", "--model", kModel, "--batch", "0"},
      {"bench", "--model", kModel, "-p", "0", "-n", "0"},
      {"bench", "--model", kModel, "--batch", ""},
      {"generate", "--model", kModel, "--seed", "18446744073709551616"},
      {"generate", "--model", kModel, "--seed", "99999999999999999999999"},
      {"generate", "--model", kModel, "--seed", "-1"},
      {"generate", "--model", kModel, "--max-tokens", "010"},
      {"generate", "--model", kModel, "--temp", "inf"},
      {"generate", "--model", kModel, "--repetition-penalty", "inf"},
      {"generate", "--model", kModel, "--frequency-penalty=-inf"},
      {"generate", "--model", kModel, "--presence-penalty", "nan"},
      {"generate", "--model", kModel, "--temp", "-1"},
      {"generate", "--model", kModel, "--temp", "nan"},
      {"generate", "--model", kModel, "--top-p", "0"},
      {"generate", "--model", kModel, "--top-p", "2"},
      {"generate", "--model", kModel, "--top-p", "nan"},
      {"generate", "--model", kModel, "--min-p", "1.5"},
      {"generate", "--model", kModel, "--min-p=-nan"},
      {"generate", "--model", kModel, "--repetition-penalty", "0"},
      {"generate", "--model", kModel, "--penalty-window", "65537"},
      {"generate", "--model", kModel, "--context", "0"},
      {"generate", "--model", kModel, "--context", "268435457"},
      {"generate", "--model", kModel, "-n", "0"},
      {"logits", "--model", kModel, "--tokens", "1", "--feed", "", "--out", path("x")},
  };
  for (const auto& call : calls) {
    const Outcome done = run(call);
    EXPECT_EQ(done.status, 2) << json(call);
    EXPECT_TRUE(done.out.empty()) << json(call);
    EXPECT_TRUE(done.err.starts_with("zrt: ")) << json(call) << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << json(call) << done.err;
  }
}

TEST_F(Program, NumbersThatNobodySamplesByAreNamedWithTheirRange) {
  const std::map<std::string, std::string> calls{
      {"--temp=-1", "temperature is -1, expected 0 or more, and finite"},
      {"--top-p=2", "top_p is 2, expected above 0 and at most 1"},
      {"--min-p=nan", "min_p is nan, expected 0 to 1"},
      {"--repetition-penalty=-0.5", "repetition_penalty is -0.5, expected above 0, and finite"},
      {"--presence-penalty=inf", "presence_penalty is inf, expected a finite number"},
      {"--frequency-penalty=much", "'much' is no number"},
  };
  for (const auto& [option, words] : calls) {
    const Outcome done = run({"generate", "--model", kModel, option});
    EXPECT_EQ(done.status, 2) << option;
    EXPECT_NE(done.err.find(words), std::string::npos) << option << ": " << done.err;
  }
}

TEST_F(Program, IdsAreDecimalNumbers) {
  for (const char* ids : {"", "010", "-1", "+1", "0x1", "1,", "1,,2", "1 ", "2147483648"}) {
    const Outcome done = run({"logits", "--model", kModel, "--tokens", ids, "--out", path("x")});
    EXPECT_EQ(done.status, 2) << ids;
    EXPECT_NE(done.err.find("is no decimal number"), std::string::npos) << ids << ": " << done.err;
    EXPECT_FALSE(fs::exists(path("x"))) << ids;
  }
}

TEST_F(Program, UnknownCommandIsNamed) {
  const Outcome done = run({"sing", "--loud"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("'sing' is no command"), std::string::npos) << done.err;
}

TEST_F(Program, EnvironmentIsForCommandsThatHaveTheOption) {
  EXPECT_EQ(run({"tokenize", "--model", kModel, "--text", "a"}, "ZRT_THREADS=abc").status, 0);
  EXPECT_EQ(run({"tokenize", "--text", "a"}, "ZRT_MODEL=" + kModel).status, 0);
  EXPECT_EQ(run({"plan", "--model", kModel}, "ZRT_THREADS=abc").status, 2);
}

TEST_F(Program, FullStdoutIsAnError) {
  const std::string text = file("text", "To be, or not to be, that is the question.");
  const std::vector<std::vector<std::string>> calls{
      {"perplexity", "--model", kModel, "--file", text, "--context", "16"},
      {"perplexity", "--model", kModel, "--file", text, "--context", "16", "--json"},
      {"generate", "--model", kModel, "--prompt", "a", "--max-tokens", "8"},
      {"generate", "--model", kModel, "--prompt", "a", "--max-tokens", "8", "--json"},
      {"logits", "--model", kModel, "--tokens", "1", "--out", path("x"), "--json"},
      {"tokenize", "--model", kModel, "--text", "a"},
      {"embed", "--model", kModel, "--prompt", "a", "--pooling", "mean"},
      {"inspect", "--model", kModel},
      {"ptir", "run",
       file("one.ptir", "spec_version = ptir.v0.4\nregion @0 main() {\n  return f32[] {1.0}: f32[]\n}\n")},
      {"plan", "--model", kModel},
      {"bench", "--model", kModel, "-p", "4", "-n", "0", "--batch", "1", "-r", "1"},
  };
  for (const auto& call : calls) {
    const Outcome done = run_program("zrt", call, {}, "/dev/full");
    EXPECT_EQ(done.status, 1) << json(call);
    EXPECT_NE(done.err.find("zrt: io_error: cannot write stdout\n"), std::string::npos) << json(call) << done.err;
    EXPECT_EQ(done.err.find("finish: none"), std::string::npos) << json(call) << done.err;
  }
}

TEST_F(Program, FileErrorsHaveTheirCode) {
  const Outcome folder = run({"generate", "--model", kModel, "--prompt-file", path("")});
  EXPECT_EQ(folder.status, 1);
  EXPECT_EQ(folder.err, "zrt: io_error: cannot read " + path("") + ": Is a directory\n");
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"generate", "--model", kModel, "--prompt-file", ""},
        {"tokenize", "--model", kModel, "--file", ""}}) {
    const Outcome nameless = run(call);
    EXPECT_EQ(nameless.status, 1) << json(call);
    EXPECT_EQ(nameless.err, "zrt: io_error: cannot open : No such file or directory\n");
  }
  const std::string absent = path("no/such/folder");
  const Outcome unwritable = run({"logits", "--model", kModel, "--tokens", "1", "--out", absent});
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_EQ(unwritable.err, "zrt: io_error: cannot write " + absent + ": No such file or directory\n");
}

TEST_F(Program, InspectSpeaksOfTheUsualContext) {
  const ModelFile model =
      tiny_model({.more = [](GgufWriter& w) { w.add("llama.attention.sliding_window", std::uint32_t{64}); }});
  const std::string window =
      file("window.gguf", {reinterpret_cast<const char*>(model.bytes().data()), model.bytes().size()});
  for (const json& row : run_json({"inspect", "--model", window, "--json"})["backends"]) {
    if (row["backend"] == "pm4") continue;  // no card
    EXPECT_EQ(row["runs"], false);
    EXPECT_EQ(row["why"],
              "unimplemented: llama.attention.sliding_window changes what the model computes, but its family does "
              "not read it; expected 0 or at least the 128 positions of a slot; a --context within the window runs "
              "it");
  }
  EXPECT_EQ(run({"plan", "--model", window, "--context", "64"}).status, 0);
}

TEST_F(Program, WhatFailsIsStatusOneAndSaysWhy) {
  const std::string cut = file("cut.gguf", contents(kModel).substr(0, 100'000));
  const std::vector<std::vector<std::string>> calls{
      {"generate", "--model", path("absent.gguf")},
      {"generate", "--model", cut},
      {"generate", "--model", kModel, "--prompt-file", path("absent.txt")},
      {"generate", "--model", kModel, "--prompt", "To be, or not to be", "--context", "1"},
      {"inspect", "--model", cut},
      {"plan", "--model", path("absent.gguf")},
      {"tokenize", "--model", kModel, "--decode", "--text", "1,x"},
      {"tokenize", "--model", kModel, "--decode", "--text", "99999"},
      {"perplexity", "--model", kModel, "--file", path("absent.txt")},
      {"bench", "--model", path("absent.gguf")},
      {"logits", "--model", kModel, "--tokens", "1", "--out", path("no/such/folder")},
      {"generate", "--model", path("absent.gguf"), "--json"},
      {"generate", "--model", kModel, "--prompt", "To be, or not to be", "--context", "1", "--json"},
      {"logits", "--model", kModel, "--tokens", "1,99999", "--out", path("x"), "--json"},
  };
  for (const auto& call : calls) {
    const Outcome done = run(call);
    EXPECT_EQ(done.status, 1) << json(call);
    EXPECT_TRUE(done.out.empty()) << json(call);
    EXPECT_EQ(done.err.rfind("zrt: ", 0), 0u) << json(call) << done.err;
  }
}

TEST_F(Program, GenerateWritesTheTextAlone) {
  auto engine = open_engine(On::cpu, kModel);
  ASSERT_TRUE(engine);
  std::string text;
  const auto done = (*engine)->generate({.prompt = "ROMEO:\n", .max_tokens = 30}, [&](const Token& token) {
    text += token.text;
    return true;
  });
  ASSERT_TRUE(done);
  const Outcome typed =
      run({"generate", "--model", kModel, "--prompt", "ROMEO:\n", "--max-tokens", "30", "--temp", "0"});
  EXPECT_EQ(typed.status, 0);
  EXPECT_EQ(typed.out, text);
  EXPECT_NE(typed.err.find("tokens/s"), std::string::npos);
  EXPECT_EQ(typed.err.back(), '\n');
  const Outcome filed = run({"generate", "--prompt-file", file("prompt", "ROMEO:\n"), "--max-tokens", "30", "--temp",
                             "0", "--backend", "reference", "--threads", "2"},
                            "ZRT_MODEL=" + kModel);
  EXPECT_EQ(filed.status, 0) << filed.err;
  EXPECT_EQ(filed.out, text);
}

TEST_F(Program, GenerateAsAnObject) {
  const std::vector<std::string> call{"generate",     "--model", kModel,   "--prompt", "ROMEO:\n",
                                      "--max-tokens", "30",      "--temp", "0"};
  const Outcome typed = run(call);
  std::vector<std::string> as_json = call;
  as_json.push_back("--json");
  // The last of several lines.
  const Outcome lines = run(as_json);
  ASSERT_EQ(lines.status, 0) << lines.err;
  const json found = json::parse(lines.out.substr(lines.out.rfind('\n', lines.out.size() - 2) + 1), nullptr, false);
  ASSERT_TRUE(found.is_object());
  EXPECT_EQ(found["text"], typed.out);
  EXPECT_EQ(found["finish"], "length");
  EXPECT_EQ(found["tokens"].size(), 30u);
  EXPECT_EQ(found["generated_tokens"], 30);
  for (const char* speed : {"prompt_tokens_per_second", "generated_tokens_per_second"}) EXPECT_GT(found[speed], 0.0);
  for (const char* key : {"backend", "isa", "kv"}) EXPECT_TRUE(found[key].is_string()) << key;
  // The ids are those of the text, and the prompt's are counted as the tokenizer counts them.
  std::string ids;
  for (const json& id : found["tokens"]) ids += (ids.empty() ? "" : ",") + std::to_string(id.get<int>());
  EXPECT_EQ(run({"tokenize", "--model", kModel, "--decode", "--text", ids}).out, typed.out);
  const json prompt = run_json({"tokenize", "--model", kModel, "--text", "ROMEO:\n", "--special", "--json"});
  EXPECT_EQ(found["prompt_tokens"], prompt["ids"].size());
}

TEST_F(Program, SameSeedSameText) {
  const auto sample = [&](const std::string& seed) {
    return run({"generate", "--model", kModel, "--prompt", "KING:\n", "--max-tokens", "40", "--temp", "1", "--seed",
                seed})
        .out;
  };
  const std::string first = sample("5");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(sample("5"), first);
  EXPECT_NE(sample("6"), first);
}

TEST_F(Program, LogitsAreTheEngines) {
  const std::string greedy = path("greedy");
  ASSERT_EQ(run({"logits", "--model", kModel, "--tokens", "1,309,1984,529", "--decode", "5", "--out", greedy}).status,
            0);
  const std::vector<LogitsRow> rows = read_logits(greedy);
  ASSERT_EQ(rows.size(), 9u);
  const std::vector<std::int32_t> prompt{1, 309, 1984, 529};
  std::vector<std::int32_t> fed;
  for (std::size_t i = 4; i < rows.size(); ++i) {
    fed.push_back(static_cast<std::int32_t>(rows[i].token));
    const auto& before = rows[i - 1].logits;
    EXPECT_EQ(std::max_element(before.begin(), before.end()) - before.begin(), fed.back());
  }

  auto engine = open_engine(On::cpu, kModel, {.logit_rows = 64, .kv_type = DType::f32});
  ASSERT_TRUE(engine);
  std::size_t seen = 0;
  const auto done = (*engine)->evaluate(prompt, fed, [&](std::uint32_t position, std::span<const float> logits) {
    ++seen;
    ASSERT_LT(position, rows.size());
    EXPECT_EQ(rows[position].token, static_cast<std::uint32_t>(position < 4 ? prompt[position] : fed[position - 4]));
    EXPECT_EQ(std::memcmp(rows[position].logits.data(), logits.data(), logits.size_bytes()), 0) << position;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(seen, rows.size());

  std::string ids;
  for (const std::int32_t id : fed) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  const std::string again = path("again");
  ASSERT_EQ(run({"logits", "--model", kModel, "--tokens", "1,309,1984,529", "--feed", ids, "--backend", "reference",
                 "--out", again})
                .status,
            0);
  EXPECT_EQ(contents(again), contents(greedy));
}

TEST_F(Program, LogitsSayWhatTheyWrote) {
  const json found =
      run_json({"logits", "--model", kModel, "--tokens", "1,309,1984", "--decode", "2", "--out", path("x"), "--json"});
  ASSERT_TRUE(found.is_object());
  const std::vector<LogitsRow> rows = read_logits(path("x"));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(found["file"], path("x"));
  EXPECT_EQ(found["n_rows"], 5);
  EXPECT_EQ(found["n_vocab"], rows[0].logits.size());
  EXPECT_EQ(found["kv"], "f32");
  ASSERT_EQ(found["rows"].size(), 5u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto best = std::max_element(rows[i].logits.begin(), rows[i].logits.end());
    EXPECT_EQ(found["rows"][i]["token"], rows[i].token);
    EXPECT_EQ(found["rows"][i]["best"], best - rows[i].logits.begin());
    EXPECT_EQ(found["rows"][i]["logit"].get<float>(), *best);
  }
  EXPECT_TRUE(run({"logits", "--model", kModel, "--tokens", "1", "--out", path("x")}).out.empty());
}

TEST_F(Program, LogitsThatFailLeaveNoFile) {
  EXPECT_EQ(run({"logits", "--model", kModel, "--tokens", "1,99999", "--out", path("bad")}).status, 1);
  EXPECT_FALSE(fs::exists(path("bad")));
  EXPECT_EQ(run({"logits", "--model", kModel, "--tokens", "1", "--feed", "99999", "--out", path("bad")}).status, 1);
  EXPECT_FALSE(fs::exists(path("bad")));
}

TEST_F(Program, LogitsTouchNoOtherFile) {
  (void)file("old", "old");
  (void)file("out.part", "another's");
  fs::create_symlink("old", path("link"));
  fs::create_symlink("new", path("dangling"));
  EXPECT_EQ(run({"logits", "--model", kModel, "--tokens", "1,99999", "--out", path("link")}).status, 1);
  EXPECT_EQ(contents(path("old")), "old");
  for (const char* out : {"out", "link", "dangling"})
    EXPECT_EQ(run({"logits", "--model", kModel, "--tokens", "1", "--out", path(out)}).status, 0) << out;
  EXPECT_EQ(contents(path("out.part")), "another's");
  for (const char* link : {"link", "dangling"}) EXPECT_TRUE(fs::is_symlink(path(link))) << link;
  for (const char* whole : {"out", "old", "new"}) EXPECT_EQ(read_logits(path(whole)).size(), 1u) << whole;
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(path(""))) found.insert(entry.path().filename().string());
  EXPECT_EQ(found, (std::set<std::string>{"dangling", "link", "new", "old", "out", "out.part", "stderr", "stdout"}));
}

TEST_F(Program, TokenizeThereAndBack) {
  const std::string text = "O Romeo, Romeo!\nwherefore art thou \xe2\x82\xac?";
  const Outcome there = run({"tokenize", "--model", kModel, "--text", text});
  ASSERT_EQ(there.status, 0);
  EXPECT_EQ(std::count(there.out.begin(), there.out.end(), '\n'), 1);
  const Outcome back = run({"tokenize", "--model", kModel, "--decode", "--file", file("ids", there.out)});
  EXPECT_EQ(back.status, 0);
  EXPECT_EQ(back.out, text);
  const json special = run_json({"tokenize", "--model", kModel, "--text", text, "--special", "--json"});
  EXPECT_EQ(special["ids"][0], 1);
  EXPECT_EQ(special["text"], text);
}

TEST_F(Program, InspectSaysWhatRuns) {
  const json found = run_json({"inspect", "--model", kModel, "--json"});
  EXPECT_EQ(found["metadata"]["general.architecture"], "llama");
  EXPECT_EQ(found["tensors"].size(), 56u);
  ASSERT_EQ(found["backends"].size(), 4u);
  for (const json& backend : found["backends"]) {
    // Cards and GPUs are for machines that have one.
    if ((backend["backend"] == "pm4" || backend["backend"] == "vulkan") && backend["runs"] == false) {
      EXPECT_EQ(backend["why"].get<std::string>().find("unsupported_device: "), 0u) << backend;
    } else {
      EXPECT_EQ(backend["runs"], true) << backend;
    }
  }
  std::string other = contents(kModel);
  other.replace(other.find("llama", other.find("general.architecture")), 5, "gecko");
  const Outcome unknown = run({"inspect", "--model", file("gecko.gguf", other)});
  EXPECT_EQ(unknown.status, 0);
  EXPECT_NE(unknown.out.find("cannot run it: "), std::string::npos) << unknown.out;
}

TEST_F(Program, InspectTakesTimeInProportionToTheKeys) {
  std::string bytes("GGUF\3\0\0\0", 8);
  const auto number = [&](std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  };
  constexpr std::uint64_t kKeys = 300000;
  number(0, 8);
  number(kKeys, 8);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::string key = "key." + std::to_string(i);
    number(key.size(), 8);
    bytes += key;
    number(0, 4);  // a byte
    number(i & 0xff, 1);
  }
  const auto start = std::chrono::steady_clock::now();
  const json found = run_json({"inspect", "--model", file("keys.gguf", bytes), "--json"});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(found["metadata"].size(), kKeys);
  // Comparing every key with every other would be 45 thousand million comparisons.
  EXPECT_LT(seconds.count(), 20);
}

TEST_F(Program, PlanHasEveryForm) {
  const json plan = run_json({"plan", "--model", kModel, "--json"});
  EXPECT_EQ(plan["instructions"][0]["op"], "embedding");
  EXPECT_EQ(plan["outputs"].count("token"), 1u);
  const Outcome text = run({"plan", "--model", kModel});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("flash_attn_batched"), std::string::npos);
  const Outcome dot = run({"plan", "--model", kModel, "--format", "dot"});
  EXPECT_EQ(dot.out.rfind("digraph", 0), 0u);
}

/// Remembers the sizes of the blocks that are in use.
struct Blocks {
  std::multiset<std::size_t> sizes;
  [[nodiscard]] Allocator hook() {
    Allocator hook;
    hook.context = this;
    hook.allocate = [](void* self, std::size_t bytes, std::size_t alignment) noexcept {
      static_cast<Blocks*>(self)->sizes.insert(bytes);
      return system_allocator().allocate(nullptr, bytes, alignment);
    };
    hook.release = [](void* self, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
      auto& held = static_cast<Blocks*>(self)->sizes;
      held.erase(held.find(bytes));
      system_allocator().release(nullptr, memory, bytes, alignment);
    };
    return hook;
  }
};

TEST_F(Program, MemoryIsWhatTheEngineHolds) {
  const json memory = run_json({"plan", "--model", kModel, "--memory", "--json", "--slots", "3", "--context", "100",
                                "--kv", "bf16", "--threads", "1"});
  Blocks blocks;
  auto engine =
      open_engine(On::cpu, kModel, {.slots = 3, .context = 100, .kv_type = DType::bf16, .allocator = blocks.hook()});
  ASSERT_TRUE(engine);
  const auto held = [&](const json& bytes) { return blocks.sizes.count(bytes.get<std::size_t>()); };
  EXPECT_EQ(held(memory["prefill_arena"]["bytes"]), 1u);
  EXPECT_EQ(held(memory["decode_arena"]["bytes"]), 1u);
  std::uint64_t states = 0;
  for (const json& state : memory["states"]) {
    EXPECT_EQ(state["units"], 3 * 7);  // seven pages of 16 positions per slot
    EXPECT_EQ(held(state["bytes"]), memory["states"].size());
    states += state["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(states, memory["state_bytes"]);
  std::uint64_t all = 0;
  for (const std::size_t size : blocks.sizes) all += size;
  EXPECT_EQ(memory["allocated_bytes"], all);
  EXPECT_EQ(memory["other_allocated_bytes"], all - states - memory["prefill_arena"]["bytes"].get<std::uint64_t>() -
                                                 memory["decode_arena"]["bytes"].get<std::uint64_t>());
}

TEST_F(Program, AWindowedLayerIsShownWithThePagesThatItHas) {
  const auto spec = std::ranges::find(kTinyFamilies, "gemma2", &TinySpec::name);
  ASSERT_NE(spec, kTinyFamilies.end());
  const ModelFile model = tiny_model(*spec);
  const std::string name =
      file("gemma2.gguf", {reinterpret_cast<const char*>(model.bytes().data()), model.bytes().size()});
  const std::vector<std::string> plan{"plan", "--model", name, "--json", "--slots", "2", "--context", "1600"};
  const json states = run_json(plan)["states"];
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0]["window"], 8);
  EXPECT_EQ(states[0]["cache_group"], 1);
  EXPECT_FALSE(states[1].contains("window"));
  std::vector<std::string> of_memory = plan;
  of_memory.push_back("--memory");
  const json memory = run_json(of_memory);
  // Of a step's 514 tokens all may be one slot's, the first of which sees seven positions more.
  EXPECT_EQ(memory["states"][0]["units"], 2 * ((7 + 514 + 14) / 16 + 1));
  EXPECT_EQ(memory["states"][1]["units"], 2 * 100);
  EXPECT_EQ(memory["states"][0]["bytes"].get<std::uint64_t>() + memory["states"][1]["bytes"].get<std::uint64_t>(),
            memory["state_bytes"]);
  std::vector<std::string> text = plan;
  std::erase(text, "--json");
  EXPECT_NE(run(text).out.find("positions, cache group 1 with a window of 8\n"), std::string::npos);
}

TEST_F(Program, PerplexityIsANumber) {
  const std::string text = file("text", "To be, or not to be, that is the question.");
  const json scored = run_json({"perplexity", "--model", kModel, "--file", text, "--context", "16", "--json"});
  EXPECT_GT(scored["perplexity"], 1.0);
  EXPECT_LT(scored["perplexity"], 2048.0);
}

TEST_F(Program, EmbedsTextsAndScoresDocuments) {
  const std::string bert = ZRT_TEST_DATA_DIR "/peer/bert-rank.gguf";
  const std::string lines = file("lines", "what is this?\tthis is a thing.\nhello\tthis\n");
  const json scored = run_json({"embed", "--model", bert, "--prompt-file", lines, "--json"});
  EXPECT_EQ(scored["pooling"], "rank");
  ASSERT_EQ(scored["texts"].size(), 2u);
  EXPECT_EQ(scored["texts"][0]["tokens"], 25);
  EXPECT_EQ(scored["texts"][0]["scores"].size(), 1u);

  const Outcome alone = run({"embed", "--model", bert, "--prompt", "a query"});
  EXPECT_EQ(alone.status, 1);
  EXPECT_NE(alone.err.find("text 0 has no document"), std::string::npos) << alone.err;

  // A tab is a space of the text unless documents are scored.
  const std::string tab = file("tab", "this\ta\n"), space = file("space", "this a\n");
  const auto cls = [&](const std::string& path) {
    return run({"embed", "--model", bert, "--pooling", "cls", "--prompt-file", path}).out;
  };
  EXPECT_EQ(cls(tab), cls(space));
  const Outcome tokens = run({"embed", "--model", bert, "--pooling", "none", "--prompt", "a", "--prompt", "a"});
  EXPECT_EQ(tokens.status, 0) << tokens.err;
  const std::size_t half = tokens.out.find("\n\n");
  ASSERT_NE(half, std::string::npos);
  EXPECT_EQ(tokens.out.substr(0, half + 1), tokens.out.substr(half + 2));

  const std::vector<std::string> texts{
      "embed", "--model", bert, "--pooling", "mean", "--prompt", "hello", "--prompt", "a singing w\xc3\xb6rd"};
  const Outcome plain = run(texts);
  ASSERT_EQ(plain.status, 0) << plain.err;
  std::vector<std::string> as_json = texts;
  as_json.push_back("--json");
  const json vectors = run_json(as_json);
  std::istringstream rows(plain.out);
  for (const json& text : vectors["texts"]) {
    double squares = 0;
    for (const json& x : text["embedding"]) {
      float printed = 0;
      rows >> printed;
      EXPECT_EQ(printed, x.get<float>());
      squares += x.get<double>() * x.get<double>();
    }
    EXPECT_NEAR(squares, 1.0, 1e-5);
  }
  const Outcome too_long =
      run({"embed", "--model", bert, "--prompt", "a a a a a a a a", "--pooling", "cls", "--context", "8"});
  EXPECT_EQ(too_long.status, 1);
  EXPECT_NE(too_long.err.find("10 tokens, the context holds 8"), std::string::npos) << too_long.err;
  // A decoder whose file names no pooling.
  EXPECT_EQ(run({"embed", "--model", kModel, "--prompt", "a"}).status, 1);
  EXPECT_EQ(run({"embed", "--model", kModel, "--prompt", "a", "--pooling", "last"}).status, 0);
}

TEST_F(Program, BenchNamesWhatItMeasured) {
  const json bench =
      run_json({"bench", "--model", kModel, "-p", "16", "-n", "4", "--batch", "1,2", "-r", "1", "--json"});
  ASSERT_EQ(bench["rows"].size(), 4u);
  for (const json& row : bench["rows"]) {
    for (const char* key : {"backend", "isa", "numerics", "kv"}) EXPECT_TRUE(row[key].is_string()) << row;
    for (const char* key : {"tokens_per_second", "bytes_per_token"}) EXPECT_GT(row[key], 0.0) << row;
    EXPECT_LE(row["step_ms"]["p50"], row["step_ms"]["p99"]);
    for (const char* when : {"machine_before", "machine_after"}) EXPECT_GT(row[when]["memory_gbs"], 0.0);
    EXPECT_GE(row["machine_before"]["bf16_gflops"], 0.0);
  }
  EXPECT_GT(bench["executor"]["ns_per_instruction"], 0.0);
}

/// What a row had resident: everything that its engine holds, and none of the buffers that the machine is measured
/// with, each of which is larger than all of that together.
TEST_F(Program, BenchsPeakMemoryIsThatOfTheRow) {
  const json bench = run_json({"bench", "--model", kModel, "-p", "0", "-n", "4", "-d", "300", "--batch", "1,16", "-r",
                               "1", "--kv", "f32", "--json"});
  ASSERT_EQ(bench["rows"].size(), 2u);
  std::vector<std::uint64_t> peaks, states;
  for (const json& row : bench["rows"]) {
    const std::string slots = std::to_string(row["batch"].get<int>());
    const json memory = run_json(
        {"plan", "--model", kModel, "--memory", "--json", "--slots", slots, "--context", "305", "--kv", "f32"});
    peaks.push_back(row["peak_memory_bytes"]);
    states.push_back(memory["state_bytes"]);
    const std::uint64_t weights = fs::file_size(kModel);
    EXPECT_GT(peaks.back(), states.back() + weights * 9 / 10) << slots;
    EXPECT_LT(peaks.back(), memory["allocated_bytes"].get<std::uint64_t>() + weights + (std::uint64_t{48} << 20))
        << slots;
  }
  ASSERT_GT(states[1], states[0] + (std::uint64_t{8} << 20));
  EXPECT_GT(peaks[1] - peaks[0], (states[1] - states[0]) * 9 / 10) << "the cache of 15 more sequences";
  EXPECT_GE(bench["machine"]["read_buffer_bytes"], std::uint64_t{128} << 20);
}

TEST_F(Program, ExamplesRun) {
  const std::string onnx = ZRT_TEST_DATA_DIR "/onnx/block_softmax_by_hand/model.onnx";
  for (const std::string name : {"embed", "text_vectors", "stream_cancel", "several_requests", "several_tenants",
                                 "score", "save_restore", "memory_limit", "own_threads", "two_engines", "observe",
                                 "tensor_program", "onnx_model", "custom_op", "custom_backend"}) {
    const Outcome done = run_program(name, {name == "onnx_model" ? onnx : kModel});
    EXPECT_EQ(done.status, 0) << name << ": " << done.err;
    EXPECT_FALSE(done.out.empty()) << name;
  }
}

TEST_F(Program, TheTrainingExampleReachesPyTorchsLosses) {
  const json expected = json::parse(contents(ZRT_TEST_DATA_DIR "/train/tiny_losses.json"));
  const Outcome done = run_program("train", {ZRT_SOURCE_DIR "/LICENSE", "steps=6", "batch=2", "length=8", "width=8",
                                             "heads=2", "rate=0.01", "seed=5", "print=1", "sample=20"});
  ASSERT_EQ(done.status, 0) << done.err;
  std::istringstream lines(done.out);
  std::string word;
  std::vector<double> losses;
  while (lines >> word)
    if (word == "loss" && lines >> word) losses.push_back(std::stod(word));
  ASSERT_EQ(losses.size(), expected["losses"].size() + 1);
  for (std::size_t i = 0; i + 1 < losses.size(); ++i)
    EXPECT_NEAR(losses[i], expected["losses"][i].get<double>(), 1e-4) << i;
  EXPECT_NEAR(losses.back(), expected["held_out"].get<double>(), 1e-4);
  EXPECT_EQ(run_program("train", {ZRT_SOURCE_DIR "/LICENSE", "steps"}).status, 2);
  for (const char* const none : {"batch=0", "length=0", "width=-8", "print=0", "rate=nan", "seed=1e30"})
    EXPECT_EQ(run_program("train", {ZRT_SOURCE_DIR "/LICENSE", none}).status, 2) << none;
}

TEST(Readme, ShowsTheExampleAsItIs) {
  const std::string source = contents(ZRT_SOURCE_DIR "/examples/embed.cpp");
  const std::string code = source.substr(source.find('\n') + 1);  // without the licence line
  EXPECT_NE(contents(ZRT_SOURCE_DIR "/README.md").find("```cpp\n" + code + "```"), std::string::npos);
}

}  // namespace
}  // namespace zrt::test
