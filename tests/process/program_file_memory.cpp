// SPDX-License-Identifier: Apache-2.0
// tests/process/program_file_memory.cpp: commands that write models take little memory, and tell a terminal how far they are.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <support/zrt_program.hpp>
#include <sys/resource.h>
#include <tools/hub_folder.hpp>

namespace program_file_memory_test {
namespace {

namespace fs = std::filesystem;
using zrt::test::HubJson;
using zrt::test::Outcome;

/// What a process may have of its own: code and mapped files, as the source is, do not count.
constexpr rlim_t kLimit = 32u << 20;
constexpr std::uint64_t kLarge = 64u << 20;

class ProgramFileMemory : public zrt::test::Program {
 protected:
  [[nodiscard]] Outcome run_bounded(const std::vector<std::string>& args, rlim_t limit = kLimit) const {
    rlimit before{};
    EXPECT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
    const rlimit small{limit, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_DATA, &small), 0);
    const Outcome done = run(args);
    EXPECT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
    return done;
  }
  /// Makes a model of many small tensors.
  [[nodiscard]] Outcome make_large(const std::string& to, const std::string& type, unsigned layers = 64) const {
    return run_bounded({"make-model", "--arch", "llama", "--shape", "tiny", "--set",
                        "block_count=" + std::to_string(layers), "--type", type, "--out", to});
  }
  /// A text of more than a hundred tokens.
  [[nodiscard]] std::string text_file() const {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "To be, or not to be, that is the question.\n";
    return file("text", text);
  }
};

TEST_F(ProgramFileMemory, MakeModelAndQuantizeHoldATensorAndNoModel) {
  const Outcome made = make_large(path("large.gguf"), "bf16");
  ASSERT_EQ(made.status, 0) << made.err;
  ASSERT_GT(fs::file_size(path("large.gguf")), kLarge);
  const Outcome other =
      run_bounded({"quantize", "--model", path("large.gguf"), "--type", "f16", "--out", path("other.gguf")});
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_GT(fs::file_size(path("other.gguf")), kLarge);
}

// The values of 64 tokens are 82 MiB here, whatever the model's type: the step has fewer.
TEST_F(ProgramFileMemory, ImatrixHoldsAStepAndNoModel) {
  constexpr rlim_t kStepAndSums = 64u << 20;
  const Outcome made = make_large(path("large.gguf"), "f32", 128);
  ASSERT_EQ(made.status, 0) << made.err;
  ASSERT_GT(fs::file_size(path("large.gguf")), 3 * kStepAndSums);
  const auto step_tokens = [&](const std::string& model, rlim_t limit) {
    const Outcome sums = run_bounded({"imatrix", "--model", model, "--data", text_file(), "--context", "64", "--chunks",
                                      "1", "--threads", "1", "--json", "--out", path("sums.gguf")},
                                     limit);
    EXPECT_EQ(sums.status, 0) << sums.err;
    return sums.status == 0 ? HubJson::parse(sums.out)["step_tokens"].get<unsigned>() : 0u;
  };
  EXPECT_EQ(step_tokens(path("large.gguf"), kStepAndSums), 16u);
  ASSERT_EQ(make_large(path("small.gguf"), "f32", 2).status, 0);
  EXPECT_EQ(step_tokens(path("small.gguf"), kStepAndSums), 64u);
}

/// The row's folder with more layers, whose tensors are holes of a file.
void write_large_folder(const zrt::test::HubFolder& folder, const fs::path& data) {
  HubJson row = HubJson::parse(zrt::test::contents(data / "qwen3.json"));
  constexpr unsigned kLayers = 12;
  constexpr unsigned kInner = 32768;
  HubJson header = HubJson::object();
  std::uint64_t end = 0;
  const auto add = [&](const std::string& name, const HubJson& shape) {
    std::uint64_t bytes = 2;
    for (const HubJson& extent : shape) bytes *= extent.get<std::uint64_t>();
    header[name] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {end, end + bytes}}};
    end += bytes;
  };
  for (const HubJson& tensor : row["tensors"]) {
    HubJson shape = tensor[1];
    for (HubJson& extent : shape)
      if (extent == row["config"]["intermediate_size"]) extent = kInner;
    const std::string name = tensor[0].get<std::string>();
    const auto layer = name.find(".0.");
    if (layer == name.npos && name.find(".1.") == name.npos) add(name, shape);
    for (unsigned i = 0; layer != name.npos && i < kLayers; ++i)
      add(name.substr(0, layer) + "." + std::to_string(i) + name.substr(layer + 2), shape);
  }
  row["config"]["num_hidden_layers"] = kLayers;
  row["config"]["intermediate_size"] = kInner;
  row["tensors"] = HubJson::array();
  folder.write_row(data, row);
  const std::string text = zrt::test::safetensors_of(header.dump(), "");
  folder.write("model.safetensors", text);
  fs::resize_file(fs::path(folder.path()) / "model.safetensors", text.size() + end);
}

TEST_F(ProgramFileMemory, ConvertHoldsATensorAndNoModel) {
  const zrt::test::HubFolder folder("memory");
  write_large_folder(folder, fs::path(ZRT_TEST_DATA_DIR) / "hub");
  ASSERT_GT(fs::file_size(fs::path(folder.path()) / "model.safetensors"), kLarge);
  const Outcome made = run_bounded({"convert", "--model", folder.path(), "--out", path("made.gguf")});
  EXPECT_EQ(made.status, 0) << made.err;
}

/// The bytes of the largest file that a process writes and that has no name.
std::uintmax_t written_unnamed(pid_t process) {
  std::uintmax_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    const std::string target = fs::read_symlink(entry, gone).string();
    const auto size = gone ? 0 : fs::file_size(entry, gone);
    if (!gone && target.ends_with(" (deleted)")) bytes = std::max(bytes, size);
  }
  return bytes;
}

TEST_F(ProgramFileMemory, AFileThatGrewLeavesNothingWhenItsProcessIsKilled) {
  const int unnamed = open(path("").c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (unnamed < 0) GTEST_SKIP() << "NOT RUN: the folder has no files without a name";
  close(unnamed);
  const std::string target = path("made.gguf");
  const auto names = [&] { return std::distance(fs::directory_iterator(path("")), fs::directory_iterator()); };
  const auto before = names();
  const pid_t child = fork();
  if (child == 0) {
    (void)execl(ZRT_BIN_DIR "/zrt", "zrt", "make-model", "--arch", "llama", "--shape", "tiny", "--set",
                "block_count=128", "--type", "q4_k_m", "--out", target.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (written_unnamed(child) == 0 && waitpid(child, &status, WNOHANG) == 0) usleep(1000);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(names(), before);
}

/// Runs zrt with a terminal as stderr and returns what that showed.
std::string shown_by(std::vector<std::string> args) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(terminal, 0);
  EXPECT_EQ(grantpt(terminal), 0);
  EXPECT_EQ(unlockpt(terminal), 0);
  const std::string name = ptsname(terminal);
  args.insert(args.begin(), ZRT_BIN_DIR "/zrt");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    (void)dup2(open("/dev/null", O_WRONLY), 1);
    (void)dup2(open(name.c_str(), O_RDWR | O_NOCTTY), 2);
    (void)execv(argv[0], argv.data());
    _exit(127);
  }
  std::string text;
  std::array<char, 4096> bytes{};
  // Without a writer a terminal is at its end by an error.
  for (ssize_t count = 0; (count = read(terminal, bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(count));
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  close(terminal);
  return text;
}

TEST_F(ProgramFileMemory, ATerminalShowsHowFarItIs) {
  const std::string model = path("made.gguf");
  const std::string erased = "\r\033[K";
  const auto expect_progress = [&](const std::string& text) {
    const auto first = text.find(erased);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find_first_of("0123456789"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(erased)) << text;
  };
  expect_progress(shown_by({"make-model", "--arch", "qwen3", "--shape", "tiny", "--type", "f16", "--out", model}));
  expect_progress(shown_by({"quantize", "--model", model, "--type", "q8_0", "--out", path("small.gguf")}));
  expect_progress(
      shown_by({"imatrix", "--model", model, "--data", text_file(), "--context", "32", "--out", path("sums.gguf")}));
  const zrt::test::HubFolder folder("progress");
  const fs::path data = fs::path(ZRT_TEST_DATA_DIR) / "hub";
  folder.write_row(data, HubJson::parse(zrt::test::contents(data / "qwen3.json")));
  expect_progress(shown_by({"convert", "--model", folder.path(), "--out", path("converted.gguf")}));
}

}  // namespace
}  // namespace program_file_memory_test
