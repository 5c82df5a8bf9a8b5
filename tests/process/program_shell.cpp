// SPDX-License-Identifier: Apache-2.0
// tests/process/program_shell.cpp: the program beside a shell: pipes, terminals, completion, the manual page, cores and little memory.
#include "../../examples/zrt/cores.hpp"
#include "../../examples/zrt/read_buffer.hpp"
#include <zrt/exec/cores.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <support/zrt_program.hpp>
#include <vector>

namespace program_shell_test {
namespace {

using nlohmann::json;
using zrt::test::contents;
using zrt::test::kModel;
using zrt::test::Outcome;

class ProgramShell : public zrt::test::Program {
 protected:
  /// Runs a line of sh, in which zrt is $Z and the model $M.
  [[nodiscard]] Outcome shell(const std::string& line, const std::string& with = "/bin/sh") const {
    const std::string out = path("out"), err = path("err");
    const std::string script = "Z='" ZRT_BIN_DIR "/zrt'; M='" + kModel + "'; " + line;
    const pid_t child = fork();
    if (child == 0) {
      (void)dup2(open("/dev/null", O_RDONLY), 0);
      (void)dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      (void)dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      execl(with.c_str(), with.c_str(), "-c", script.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }
};

constexpr const char* kGreedy = " -n 12 --temp 0";

TEST_F(ProgramShell, TheVersionIsThePackages) {
  const Outcome done = shell("$Z --version");
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(std::regex_match(done.out, std::regex("zrt [0-9]+\\.[0-9]+\\.[0-9]+\n"))) << done.out;
}

TEST_F(ProgramShell, APromptComesThroughAPipe) {
  const Outcome typed = shell(std::string("$Z generate -m $M -p 'ROMEO:'") + kGreedy);
  ASSERT_EQ(typed.status, 0) << typed.err;
  for (const char* line : {"printf ROMEO: | $Z generate -m $M", "printf ROMEO: | $Z generate -m $M -f -",
                           "printf ROMEO: | (sleep 0.1; $Z generate -m $M --prompt-file -)"}) {
    const Outcome piped =
        shell(std::string(line).replace(std::string(line).find("-m $M"), 5, std::string("-m $M") + kGreedy));
    EXPECT_EQ(piped.status, 0) << piped.err;
    EXPECT_EQ(piped.out, typed.out) << line;
  }
  const Outcome filed = shell(std::string("printf ROMEO: > '") + path("prompt") + "'; $Z generate -m $M" + kGreedy +
                              " < '" + path("prompt") + "'");
  EXPECT_EQ(filed.out, typed.out);
  EXPECT_EQ(shell(std::string("$Z generate --prompt= -m $M") + kGreedy).out,
            shell(std::string("$Z generate --prompt '' -m $M") + kGreedy).out)
      << "an empty value is one";
  // What was asked for by name goes first, and without a pipe there is no prompt.
  EXPECT_EQ(shell(std::string("printf JULIET: | $Z generate -m $M -p ROMEO:") + kGreedy).out, typed.out);
  EXPECT_EQ(shell(std::string("$Z generate -m $M") + kGreedy).status, 0);
}

TEST_F(ProgramShell, EveryTokenIsAnObjectAndTheLastTellsOfTheWhole) {
  const Outcome typed = shell(std::string("$Z generate -m $M -p 'ROMEO:'") + kGreedy);
  const Outcome done = shell(std::string("$Z generate --json -m $M -p 'ROMEO:'") + kGreedy);
  ASSERT_EQ(done.status, 0) << done.err;
  std::vector<json> lines;
  std::istringstream stream(done.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  ASSERT_GE(lines.size(), 13u);
  std::string text;
  std::vector<int> tokens;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_FALSE(lines[i].contains("finish"));
    if (lines[i].contains("token")) tokens.push_back(lines[i]["token"]);
    text += lines[i]["text"].get<std::string>();
  }
  EXPECT_EQ(tokens.size(), 12u);
  EXPECT_EQ(text, typed.out);
  EXPECT_EQ(lines.back()["finish"], "length");
  EXPECT_EQ(lines.back()["text"], typed.out);
  EXPECT_EQ(lines.back()["tokens"], json(tokens));
}

/// The options that --help shows of each command.
std::map<std::string, std::vector<std::string>> options_in_help(const std::function<std::string(std::string)>& help,
                                                                const std::vector<std::string>& commands) {
  std::map<std::string, std::vector<std::string>> found;
  const std::regex option("^ *(?:(-\\w),)?(--[\\w-]+)");
  for (const std::string& command : commands) {
    std::istringstream lines(help(command));
    std::smatch match;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, match, option)) {
        if (match[1].matched) found[command].push_back(match[1]);
        found[command].push_back(match[2]);
      }
  }
  return found;
}

const std::vector<std::string> kSomeCommands{"generate", "logits",     "tokenize",     "inspect",  "plan",
                                             "bench",    "perplexity", "pm4 selftest", "ptir run", "fused run"};

TEST_F(ProgramShell, CompletionAndTheManualAreInStepWithTheOptions) {
  const auto options =
      options_in_help([&](const std::string& c) { return shell("$Z " + c + " --help").out; }, kSomeCommands);
  const Outcome man = shell("$Z man");
  ASSERT_EQ(man.status, 0);
  std::string page = std::regex_replace(man.out, std::regex("\\\\-"), "-");
  std::map<std::string, std::string> scripts;
  for (const char* name : {"bash", "zsh", "fish"}) {
    const Outcome made = shell(std::string("$Z completion ") + name);
    ASSERT_EQ(made.status, 0) << made.err;
    scripts[name] = made.out;
  }
  for (const std::string& command : kSomeCommands) {
    ASSERT_GT(options.at(command).size(), 2u) << command;
    const std::size_t at = page.find(".SS zrt " + command + "\n");
    ASSERT_NE(at, std::string::npos) << command;
    const std::string section = page.substr(at, page.find(".SS", at + 1) - at);
    for (const std::string& option : options.at(command)) {
      EXPECT_NE(section.find(option + "\\fR"), std::string::npos) << command << " " << option;
      EXPECT_NE(scripts["bash"].find(option), std::string::npos) << command << " " << option;
      EXPECT_NE(scripts["zsh"].find("*" + option + "["), std::string::npos) << command << " " << option;
      const std::string in_fish = option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
      EXPECT_NE(scripts["fish"].find(in_fish), std::string::npos) << command << " " << option;
    }
  }
  EXPECT_EQ(shell("$Z completion tcsh").status, 2);
  if (std::filesystem::exists("/usr/bin/groff")) {
    const Outcome shown = shell("$Z man | groff -man -Tascii -ww > /dev/null");
    EXPECT_EQ(shown.status, 0);
    EXPECT_EQ(shown.err, "");
  }
  for (const char* name : {"zsh", "fish"})
    if (std::filesystem::exists(std::string("/usr/bin/") + name)) {
      EXPECT_EQ(shell(std::string("$Z completion ") + name + " | " + name + " -n /dev/stdin").err, "") << name;
    }
}

TEST_F(ProgramShell, BashCompletesCommandsOptionsAndValues) {
  const auto complete = [&](const std::string& words, int at) {
    const Outcome done = shell("eval \"$($Z completion bash)\"; COMP_WORDS=(" + words +
                                   "); COMP_CWORD=" + std::to_string(at) + "; _zrt; printf '%s ' \"${COMPREPLY[@]}\"",
                               "/bin/bash");
    EXPECT_EQ(done.err, "") << words;
    std::istringstream words_of(done.out);
    const std::set<std::string> sorted{std::istream_iterator<std::string>(words_of), {}};
    std::string all;
    for (const std::string& word : sorted) all += word + " ";
    return all;
  };
  EXPECT_EQ(complete("zrt gen", 1), "generate ");
  EXPECT_EQ(complete("zrt --ver", 1), "--version ");
  EXPECT_EQ(complete("zrt pm4 self", 2), "selftest ");
  EXPECT_EQ(complete("zrt generate --max", 2), "--max-tokens ");
  EXPECT_EQ(complete("zrt generate --top", 2), "--top-k --top-p ");
  EXPECT_EQ(complete("zrt generate --kv ''", 3), "bf16 f16 f32 q4_0 q8_0 ");
  EXPECT_EQ(complete("zrt ptir run --fit ''", 4), "best first least ");
  EXPECT_EQ(complete("zrt completion z", 2), "zsh ");
  EXPECT_NE(complete("zrt generate --model " ZRT_SOURCE_DIR "/examples/models/bard", 3).find("bard-q8_0.gguf"),
            std::string::npos);
}

/// A terminal gets colours, unless NO_COLOR or the terminal says no.
TEST_F(ProgramShell, ErrorsAreColouredOnATerminalAlone) {
  if (!std::filesystem::exists("/usr/bin/script"))
    GTEST_SKIP() << "NOT TESTED: there is no script(1) to make a terminal";
  const std::string plain = "zrt: 'sing' is no command of zrt";
  const std::string colour = "\033[1;31mzrt:\033[0m 'sing' is no command of zrt";
  const auto on_terminal = [&](const std::string& environment) {
    return shell("export TERM=xterm; " + environment + " script -qec \"$Z sing\" /dev/null < /dev/null").out;
  };
  EXPECT_EQ(on_terminal("").find(colour), 0u) << on_terminal("");
  EXPECT_EQ(on_terminal("NO_COLOR=1").find(plain), 0u);
  EXPECT_EQ(on_terminal("NO_COLOR=").find(colour), 0u) << "an empty one does not count";
  EXPECT_EQ(on_terminal("TERM=dumb").find(plain), 0u);
  EXPECT_EQ(shell("$Z sing").err.find(plain), 0u);
}

TEST_F(ProgramShell, WrongUsageIsToldInPlainWords) {
  const std::vector<std::pair<std::string, std::string>> calls{
      {"", "zrt needs a command; zrt --help lists what there is"},
      {"generat", "'generat' is no command of zrt; did you mean generate?; zrt --help"},
      {"foo", "'foo' is no command of zrt; zrt --help"},
      {"--foo", "zrt has no option --foo; zrt --help"},
      {"tokenize -m x --decode 1", "zrt tokenize needs one of "},
      {"tokenize -m x", "zrt tokenize needs one of --text,--file; zrt tokenize --help"},
      {"tokenize -m x --text a --file b", "zrt tokenize needs one of --text,--file; zrt tokenize --help"},
      {"pm4 prob", "'prob' is no command of zrt pm4; did you mean probe?; zrt pm4 --help"},
      {"generate -p a", "zrt generate needs --model; zrt generate --help"},
      {"generate -m x --max-token 3", "zrt generate has no option --max-token; did you mean --max-tokens?"},
      {"generate -m x --qqqqqqqqqq 3", "zrt generate has no option --qqqqqqqqqq; zrt generate --help"},
      {"generate -m x word", "'word' is one word too many for zrt generate"},
      {"generate -m x -p a -f b", "exclude each other: give one of them"},
      {"generate -m", "--model needs a value"},
      {"generate -m x -m y", "--model takes at most 1, found 2; zrt generate --help"},
      {"generate -m x --seed= -p a", "--seed: '' is no decimal number"},
      {"generate -m x --backend abacus", "--backend: abacus is none of {cpu,reference,vulkan,pm4,auto}"},
      {"generate -m x --threads 0", "--threads: 0 is outside 1 to 1024"},
      {"generate -m x -n many", "--max-tokens: 'many' is no decimal number"},
  };
  for (const auto& [call, words] : calls) {
    const Outcome done = shell("$Z " + call);
    EXPECT_EQ(done.status, 2) << call;
    EXPECT_NE(done.err.find(words), std::string::npos) << call << ": " << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

TEST_F(ProgramShell, ErrorsOfFilesNameThePath) {
  const std::string cut = file("cut.gguf", contents(kModel).substr(0, 1000));
  const std::vector<std::string> calls{"generate -m /no/such/model.gguf",
                                       "inspect -m /no/such/model.gguf",
                                       "generate -m " + cut,
                                       "inspect -m " + cut,
                                       "plan -m " + cut,
                                       "tokenize --text a -m " + cut,
                                       "generate -m $M -f /no/such/prompt.gguf",
                                       "perplexity -m $M -f /no/such/text.gguf",
                                       "ptir run /no/such/program.gguf",
                                       "fused run /no/such/program.gguf",
                                       "generate -m $M -p a --grammar " + file("bad-grammar.gguf", "root ::= ("),
                                       "generate -m $M -p a --json-schema " + file("bad-schema.gguf", "{"),
                                       "generate -m " + file("empty.gguf", "")};
  for (const std::string& call : calls) {
    const Outcome done = shell("$Z " + call);
    EXPECT_EQ(done.status, 1) << call;
    EXPECT_NE(done.err.find(".gguf"), std::string::npos) << call << ": " << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

TEST_F(ProgramShell, AContextBeyondTheModelsIsWarnedOfAndALongPromptIsToldTheWayOut) {
  const std::string call = std::string("$Z generate -m $M -p ROMEO:") + kGreedy;
  EXPECT_EQ(shell(call).err.find("warning"), std::string::npos);
  const Outcome wide = shell(call + " --context 100000");
  EXPECT_EQ(wide.status, 0);
  EXPECT_EQ(wide.err.find("zrt: warning: the context has 100000 positions, but the model was trained for "), 0u)
      << wide.err;
  EXPECT_EQ(wide.out, shell(call).out);
  const Outcome narrow = shell(call + " --context 2");
  EXPECT_EQ(narrow.status, 1);
  EXPECT_NE(narrow.err.find("zrt: capacity_exceeded: the prompt has "), std::string::npos) << narrow.err;
  EXPECT_NE(narrow.err.find(" tokens, the context holds 2: --context "), std::string::npos) << narrow.err;
}

TEST_F(ProgramShell, WorkersAreAsManyAsCoresUnlessSaidOtherwise) {
  const auto threads = [&](const std::string& before, const std::string& options) {
    const Outcome done = shell(before + " $Z generate --json -m $M -p a -n 1 --temp 0 " + options);
    const std::size_t last = done.out.rfind('\n', done.out.size() - 2);
    return json::parse(done.out.substr(last == std::string::npos ? 0 : last))["threads"].get<std::uint32_t>();
  };
  EXPECT_EQ(threads("", ""), program::default_threads());
  EXPECT_EQ(threads("ZRT_THREADS=3", ""), 3u);
  EXPECT_EQ(threads("ZRT_THREADS=3", "-t 1"), 1u);
  if (std::filesystem::exists("/usr/bin/taskset")) {
    EXPECT_EQ(threads("taskset -c $(taskset -pc $$ | sed 's/.*[:,-] *//') ", ""), 1u) << "one core of the mask";
  }
  const Outcome many = shell("$Z generate -m $M -p a -n 1 --temp 0 -t 1024");
  EXPECT_EQ(many.err.find("zrt: warning: 1024 workers on "), 0u) << many.err;
}

TEST_F(ProgramShell, QuotasOfControlGroupsAreCores) {
  const auto put = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    (void)file(name, text);
  };
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const std::string root = path("");
  EXPECT_EQ(program::cores_of_cgroups(root), none) << "nothing to read";
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(program::cores_of_cgroups(root), none);
  put("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  EXPECT_EQ(program::cores_of_cgroups(root), 3u) << "of the group above, whole cores";
  put("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(program::cores_of_cgroups(root), 1u);
  put("proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/docker/1\n");
  EXPECT_EQ(program::cores_of_cgroups(root), none);
  put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n");
  put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(program::cores_of_cgroups(root), 2u);
  put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(program::cores_of_cgroups(root), none);
  // Two hardware threads of one core count once.
  const std::uint32_t cpus = zrt::exec::usable_cores();
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu)
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        std::to_string(cpu / 2) + "\n");
  EXPECT_LE(program::cores_of_affinity(root), std::max(1u, cpus));
}

TEST_F(ProgramShell, TheBufferThatMeasuresBandwidthFitsTheFreeMemory) {
  const auto put = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    (void)file(name, text);
  };
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::string root = path("");
  put("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:   1048576 kB\n");
  EXPECT_EQ(program::free_memory(root), 1024 * kMiB);
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(program::free_memory(root), 1024 * kMiB);
  put("sys/fs/cgroup/a/memory.max", std::to_string(512 * kMiB) + "\n");
  put("sys/fs/cgroup/a/memory.current", std::to_string(300 * kMiB) + "\n");
  put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file " + std::to_string(100 * kMiB) + "\nactive_file 0\n");
  EXPECT_EQ(program::free_memory(root), 312 * kMiB) << "of the group above; cached files give way";

  const auto bytes = [](std::uint64_t cache, std::uint64_t weights, std::uint64_t free) {
    const auto result = program::read_buffer_bytes(cache * kMiB, weights * kMiB, free * kMiB);
    return result ? *result / kMiB : 0;
  };
  EXPECT_EQ(bytes(32, 5, 8000), 128u);
  EXPECT_EQ(bytes(64, 5, 8000), 256u);
  EXPECT_EQ(bytes(64, 1000, 8000), 1000u) << "the weights, if they are larger";
  EXPECT_EQ(bytes(1152, 5, 100'000), 2304u) << "two caches, not four";
  EXPECT_EQ(bytes(64, 5, 200), 150u) << "what is free, if that is two caches";
  EXPECT_EQ(bytes(64, 5, 160), 0u) << "an error, if it is not";
  EXPECT_EQ(bytes(64, 1000, 1200), 0u);
}

TEST_F(ProgramShell, ABenchWithoutMemoryToMeasureTheMachineIsATypedError) {
  const Outcome done = shell("ulimit -v 120000; exec $Z bench -m $M -p 4 -n 0 -t 1 --batch 1 -r 1");
  EXPECT_EQ(done.status, 1) << done.err;
  EXPECT_EQ(done.err.find("zrt: out_of_memory: "), 0u) << done.err;
  EXPECT_NE(done.err.find("read bandwidth"), std::string::npos) << done.err;
}

/// With less and less memory a command does what it should, or says that there is none; it neither crashes nor hangs.
TEST_F(ProgramShell, LittleMemoryIsATypedError) {
  int refused = 0, done_well = 0;
  for (const std::string call : {"--help", "generate --help", "generate -m $M -p ROMEO: -n 3 -t 2",
                                 "inspect -m $M --json", "plan -m $M", "man"}) {
    // Below this the system cannot map the program, and above it the libraries at first: its loader says so with 127.
    for (int kib = 17'000; kib < 120'000; kib += kib < 24'000 ? 250 : 4'000) {
      const Outcome done = shell("ulimit -v " + std::to_string(kib) + "; exec timeout 60 $Z " + call);
      if (done.status == 127 || done.status == 126) continue;
      if (done.status == 0) {
        ++done_well;
        EXPECT_FALSE(done.out.empty());
        continue;
      }
      ++refused;
      EXPECT_EQ(done.status, 1) << call << " with " << kib << " KiB: " << done.err;
      EXPECT_TRUE(std::regex_search(done.err, std::regex("^zrt: out_of_memory: ")))
          << call << " with " << kib << " KiB: " << done.err;
    }
  }
  EXPECT_GT(done_well, 20);
  EXPECT_GT(refused, 5);
}

/// The buffer that measures the machine's bandwidth is the largest piece of memory of a trace, and comes after the run.
TEST_F(ProgramShell, ATraceIsWrittenWithoutMemoryToMeasureTheMachine) {
  const std::string out = path("little.json");
  const Outcome done = shell("ulimit -v 110000; exec $Z trace -m $M -p a -n 2 -t 1 --buffer 1 -o '" + out + "'");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.err.find("zrt: warning: there is no memory to measure"), 0u) << done.err;
  EXPECT_FALSE(json::parse(contents(out)).at("traceEvents").empty());
}

}  // namespace
}  // namespace program_shell_test
