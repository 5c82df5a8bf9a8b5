// SPDX-License-Identifier: Apache-2.0
// tests/process/program.cpp: the program zrt as a user or another program runs it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <support/engines.hpp>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace zrt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kModel = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";
constexpr std::array kCommands{"generate", "logits", "tokenize", "inspect", "plan", "perplexity", "bench"};

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Program : public testing::Test {
 protected:
  Program() {
    std::string pattern = (fs::temp_directory_path() / "zrt_program_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Program() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  /// Runs zrt; `environment` is one more variable, as NAME=value.
  [[nodiscard]] Outcome run(const std::vector<std::string>& args, const std::string& environment = {}) const {
    return run_program("zrt", args, environment);
  }

  /// `device` takes the place of stdout, which then is not read back.
  [[nodiscard]] Outcome run_program(const std::string& name, std::vector<std::string> args,
                                    const std::string& environment = {}, const std::string& device = {}) const {
    args.insert(args.begin(), ZRT_BIN_DIR "/" + name);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    std::string variable = environment;
    std::array<char*, 2> env{variable.empty() ? nullptr : variable.data(), nullptr};
    const std::string out = device.empty() ? path("stdout") : device;
    const std::string err = path("stderr");
    const pid_t child = fork();
    if (child == 0) {
      (void)dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      (void)dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      execve(argv[0], argv.data(), env.data());
      _exit(127);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, device.empty() ? contents(out) : std::string(),
            contents(err)};
  }

  [[nodiscard]] json run_json(const std::vector<std::string>& args) const {
    const Outcome done = run(args);
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }

 private:
  fs::path folder_;
};

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
      {"generate", "--model", kModel, "--max-tokens", "many"},
      {"generate", "--model", kModel, "--prompt", "a", "--prompt-file", "b"},
      {"logits", "--model", kModel, "--tokens", "1,two", "--out", path("x")},
      {"logits", "--model", kModel, "--tokens", "1", "--decode", "1", "--feed", "1", "--out", path("x")},
      {"tokenize", "--model", kModel},
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
    EXPECT_FALSE(done.err.empty()) << json(call);
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
  EXPECT_EQ(unwritable.err, "zrt: io_error: cannot write " + absent + "\n");
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
  const json found = run_json(as_json);
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
  ASSERT_EQ(found["backends"].size(), 3u);
  for (const json& backend : found["backends"]) {
    // Cards are for machines that have one.
    if (backend["backend"] == "pm4" && backend["runs"] == false) {
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
  const json memory =
      run_json({"plan", "--model", kModel, "--memory", "--json", "--slots", "3", "--context", "100", "--kv", "bf16"});
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

TEST_F(Program, PerplexityIsANumber) {
  const std::string text = file("text", "To be, or not to be, that is the question.");
  const json scored = run_json({"perplexity", "--model", kModel, "--file", text, "--context", "16", "--json"});
  EXPECT_GT(scored["perplexity"], 1.0);
  EXPECT_LT(scored["perplexity"], 2048.0);
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
  for (const std::string name :
       {"embed", "stream_cancel", "several_requests", "two_engines", "custom_op", "custom_backend"}) {
    const Outcome done = run_program(name, {kModel});
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
}

TEST(Readme, ShowsTheExampleAsItIs) {
  const std::string source = contents(ZRT_SOURCE_DIR "/examples/embed.cpp");
  const std::string code = source.substr(source.find('\n') + 1);  // without the licence line
  EXPECT_NE(contents(ZRT_SOURCE_DIR "/README.md").find("```cpp\n" + code + "```"), std::string::npos);
}

/// A .npy file as numpy writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').append(1, '\n');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + data;
}
template <class T> std::string elements(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

constexpr const char* kTensorProgram = R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[?N, 2], %1: si4[3]) {
  %2 doubled = elementwise_binary(%0, %0) {op = add}: f32[?N, 2]
  %3 = elementwise_binary(%1, %1) {op = add}: si4[3]
  return %2: f32[?N, 2], %3: si4[3], f64[2] {inf, 0.1}: f64[2]
}
)";

TEST_F(Program, RunsATensorProgram) {
  const std::string source = file("twice.ptir", kTensorProgram);
  const std::string x = "x=" + file("x.npy", npy("<f4", "2, 2", elements<float>({1, 2, 0.1f, -4})));
  const std::string y = "%1=" + file("y.npy", npy("|i1", "3,", elements<std::int8_t>({1, -2, 3})));
  const Outcome text = run({"ptir", "run", source, "--feed", x, "--feed", y});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out,
            "doubled: f32 [2, 2] = [[2.0,4.0],[0.2,-8.0]]\n"
            "result.1: si4 [3] = [2,-4,6]\n"
            "result.2: f64 [2] = [\"inf\",0.1]\n");
  const Outcome machine = run({"ptir", "run", source, "--feed", x, "--feed", y, "--json", "--threads", "2"});
  EXPECT_EQ(machine.status, 0) << machine.err;
  const json all = json::parse(machine.out)["outputs"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], json::parse(R"({"name":"doubled","dtype":"f32","shape":[2,2],"values":[[2.0,4.0],[0.2,-8.0]]})"));

  fs::create_directory(path("out"));
  const Outcome written = run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", path("out")});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(contents(path("out/doubled.npy")), npy("<f4", "2, 2", elements<float>({2, 4, 0.2f, -8})));
  EXPECT_EQ(contents(path("out/result.1.npy")), npy("|i1", "3,", elements<std::int8_t>({2, -4, 6})));
  EXPECT_EQ(run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", path("none")}).status, 1);

  const Outcome plan = run({"ptir", "run", source, "--feed", x, "--dump", "plan"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("elementwise_binary(lhs=r"), std::string::npos) << plan.out;
  const Outcome code = run({"ptir", "run", source, "--feed", x, "--dump", "c"});
  EXPECT_EQ(code.status, 0) << code.err;
  EXPECT_NE(code.out.find("(const void *const *inputs, void *const *outputs, void *arena, int training) {"),
            std::string::npos)
      << code.out;
  const Outcome dot = run({"ptir", "run", source, "--dump", "dot"});
  EXPECT_EQ(dot.status, 0) << dot.err;
  EXPECT_NE(dot.out.find("digraph"), std::string::npos);
}

TEST_F(Program, RunsAnOnnxModel) {
  // The last bytes of the data set's messages are the elements.
  const std::string folder = std::string(ZRT_TEST_DATA_DIR) + "/onnx/gpt2_masked_fill/";
  const auto last = [&](const char* name, std::size_t bytes) {
    const std::string message = contents(folder + "test_data_set_0/" + name);
    return message.substr(message.size() - bytes);
  };
  const std::string x = "x=" + file("ids.npy", npy("<i8", "2, 6", last("input_0.pb", 2 * 6 * 8)));
  const std::string expected = last("output_0.pb", 2 * 6 * 24 * 4);
  fs::create_directory(path("logits"));
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome done =
        run({"ptir", "run", folder + "model.onnx", "--feed", x, "--backend", backend, "--out", path("logits")});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(done.out.starts_with("y: f32 [2, 6, 24] in ")) << done.out;
    const std::string found = contents(path("logits/y.npy"));
    ASSERT_GT(found.size(), expected.size());
    const char* elements = found.data() + found.size() - expected.size();
    for (std::size_t i = 0; i < expected.size(); i += sizeof(float)) {
      float a = 0;
      float b = 0;
      std::memcpy(&a, elements + i, sizeof a);
      std::memcpy(&b, expected.data() + i, sizeof b);
      ASSERT_NEAR(a, b, 1e-4) << i / sizeof(float);
    }
  }
}

TEST_F(Program, SaysWhyATensorProgramDoesNotRun) {
  const std::string source = file("twice.ptir", kTensorProgram);
  const std::string x = "x=" + file("x.npy", npy("<f4", "1, 2", elements<float>({1, 2})));
  const std::string y = "%1=" + file("y.npy", npy("|i1", "3,", elements<std::int8_t>({1, -2, 3})));
  const std::string wide = "x=" + file("wide.npy", npy("<f8", "1, 2", elements<double>({1, 2})));
  const std::string cut = "x=" + file("cut.npy", npy("<f4", "2, 2", elements<float>({1, 2})));
  const std::string other = "x=" + file("other.npy", npy("<f4", "1, 3", elements<float>({1, 2, 3})));
  const std::string bad = file("bad.ptir", "spec_version = ptir.v0.5\n");
  const std::string model = std::string(ZRT_TEST_DATA_DIR) + "/onnx/conv_1d/model.onnx";
  struct Case {
    std::vector<std::string> args;
    std::string said;
  };
  const std::vector<Case> cases{
      {{source, "--feed", y}, "input x has dynamic extents and no --feed"},
      {{source, "--feed", x}, "input %1 has no --feed"},
      {{source, "--feed", x, "--feed", y, "--feed", "z=" + source}, "not_found: the program has no input z"},
      {{source, "--feed", x, "--feed", x}, "is fed twice"},
      {{source, "--feed", wide}, "dtype_mismatch: input x: the file holds <f8, expected <f4"},
      {{source, "--feed", cut}, "invalid_file: input x"},
      {{source, "--feed", "x=" + source}, "invalid_file: input x"},
      {{source, "--feed", other, "--feed", y}, "shape_mismatch: region @0"},
      {{source, "--dump", "c"}, "has dynamic extents and no --feed"},
      {{"model.onnx"}, "io_error"},
      {{file("bad.onnx", "no model")}, "invalid_file: a protocol buffers field"},
      {{model, "--feed", "z=" + source}, "not_found: the program has no input z"},
      {{model}, "input x has no --feed"},
      {{path("none.json")}, "io_error"},
      {{bad}, "unsupported_version"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> args{"ptir", "run"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Outcome done = run(args);
    EXPECT_EQ(done.status, 1) << json(args);
    EXPECT_TRUE(done.out.empty()) << json(args);
    EXPECT_NE(done.err.find(c.said), std::string::npos) << json(args) << ": " << done.err;
  }
  EXPECT_EQ(run({"ptir"}).status, 2);
  EXPECT_EQ(run({"ptir", "run"}).status, 2);
  EXPECT_EQ(run({"ptir", "run", source, "--dump", "poem"}).status, 2);
  EXPECT_EQ(run({"ptir", "run", "--help"}).status, 0);
}

constexpr const char* kFusedProgram = R"({"version":1,"feeds":[0,4],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5},"result_id":1,"mode_sensitive":true},
{"step_id":1,"op_name":"elementwise_binary","input_ids":[0,4],"attrs":{"op":"add"},"result_id":2,"mode_sensitive":false}],
"outputs":{"y":1},"state_in":[4],"state_out":[{"state":4,"value":2}],"meta":[{"id":4,"dtype":"f32","shape":[4]}]})";

TEST_F(Program, RunsAFusedProgramInBothModes) {
  const std::string source = file("drop.json", kFusedProgram);
  const std::string x = "0=" + file("x.npy", npy("<f4", "4,", elements<float>({1, 2, 3, 4})));
  const std::string w = "%4=" + file("w.npy", npy("<f4", "4,", elements<float>({10, 20, 30, 40})));
  const std::vector<std::string> call{"fused", "run", source, "--feed", x, "--feed", w};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = call;
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const Outcome evaluation = with({});
  EXPECT_EQ(evaluation.status, 0) << evaluation.err;
  EXPECT_EQ(evaluation.out, "y: f32 [4] = [1.0,2.0,3.0,4.0]\nstate.4: f32 [4] = [10.0,20.0,30.0,40.0]\n");
  std::set<std::string> draws;
  for (const std::string seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const Outcome training = with({"--training", "--seed", seed});
    EXPECT_EQ(training.status, 0) << training.err;
    EXPECT_NE(training.out.find("state.4: f32 [4] = [11.0,22.0,33.0,44.0]"), std::string::npos) << training.out;
    EXPECT_EQ(with({"--training", "--seed", seed, "--backend", "reference"}).out, training.out);
    draws.insert(training.out);
  }
  EXPECT_GT(draws.size(), 3u);
  const Outcome code = with({"--dump", "c"});
  EXPECT_EQ(code.status, 0) << code.err;
  EXPECT_NE(code.out.find("void *arena, int training) {"), std::string::npos) << code.out;
  EXPECT_NE(code.out.find("if (training == 0)"), std::string::npos) << code.out;
  EXPECT_EQ(with({"--dump", "dot"}).status, 2);
  EXPECT_EQ(run({"fused", "run", source, "--feed", x}).status, 1);
  const std::string wide = "0=" + file("wide.npy", npy("<f4", "3,", elements<float>({1, 2, 3})));
  const Outcome broken = run({"fused", "run", source, "--feed", wide, "--feed", w});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("step 1 (elementwise_binary)"), std::string::npos) << broken.err;
}

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
            "zrt: invalid_packet: not_on_compute_queue: dword 2, SET_CONTEXT_REG belongs to the graphics queue "
            "(at byte 8)\n");
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

TEST_F(Program, RunsARecordedRing) {
  const fs::path golden = ZRT_SHARED_DIR "/golden/pm4";
  if (!fs::exists(golden)) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  const Outcome done = run({"pm4", "run", golden / "gfx1201-mv_q8_dot"});
  EXPECT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_TRUE(done.out.ends_with("\nmatch\n")) << done.out;
  const json rounded = run_json({"pm4", "run", golden / "gfx1100-softmax", "--json"});
  EXPECT_EQ(rounded["match"], true);
  EXPECT_EQ(rounded["dispatches"], 1);
  EXPECT_GT(rounded["wave_instructions"], 100);
  // The same with another expectation.
  const fs::path copy = path("case");
  fs::copy(golden / "gfx1201-vadd", copy);
  fs::permissions(copy / "buffer.after.bin", fs::perms::owner_all);
  std::string after = contents(copy / "buffer.after.bin");
  after[16384] ^= 1;
  std::ofstream(copy / "buffer.after.bin", std::ios::binary) << after;
  EXPECT_EQ(run({"pm4", "run", copy}).status, 0) << "a float that is rounded otherwise";
  after[0] ^= 1;
  std::ofstream(copy / "buffer.after.bin", std::ios::binary) << after;
  const Outcome wrong = run({"pm4", "run", copy});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.out.find("buffer: byte 0 holds "), std::string::npos) << wrong.out;
  EXPECT_TRUE(wrong.out.ends_with("\nno match\n"));
  EXPECT_EQ(run({"pm4", "run", path("none")}).status, 1);
  fs::permissions(copy / "case.json", fs::perms::owner_all);
  std::ofstream(copy / "case.json") << "{}";
  EXPECT_EQ(run({"pm4", "run", copy}).status, 1);
}

TEST_F(Program, ProbesAModelledCard) {
  const Outcome both = run({"pm4", "probe", "--device", "emulated-gfx1201"});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_TRUE(both.out.starts_with("user queue: yes: gfx1201, 4 compute units")) << both.out;
  EXPECT_TRUE(both.out.ends_with("\nchosen: user queue\n")) << both.out;
  const Outcome old = run({"pm4", "probe", "--device", "emulated-gfx1100", "--kernel", "6.12"});
  EXPECT_EQ(old.status, 0) << old.err;
  EXPECT_TRUE(old.out.starts_with("user queue: no: amdgpu of renderD128 has version 3.59, ")) << old.out;
  EXPECT_NE(old.out.find("\n/dev/kfd: yes: gfx1100, "), std::string::npos) << old.out;
  EXPECT_TRUE(old.out.ends_with("\nchosen: /dev/kfd\n")) << old.out;
  EXPECT_EQ(run({"pm4", "probe", "--device", "emulated-gfx906"}).status, 1);
  EXPECT_EQ(run({"pm4", "probe", "--kernel", "5.4"}).status, 2);
  for (const char* const way : {"kfd", "user-queue"}) {
    const Outcome done = run({"pm4", "memtest", "--device", "emulated-gfx1201", "--way", way, "--cycles", "60"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.out.find(": 60 cycles, "), std::string::npos) << done.out;
    EXPECT_TRUE(done.out.ends_with("every byte of video memory is back\n")) << done.out;
    const Outcome tested = run({"pm4", "selftest", "--device", "emulated-gfx1201", "--way", way});
    EXPECT_EQ(tested.status, 0) << tested.err;
    EXPECT_TRUE(tested.out.ends_with(" kernels, each as it should be\n")) << tested.out;
  }
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
