// SPDX-License-Identifier: Apache-2.0
// tests/support/zrt_program.hpp: runs the program zrt, or another one of the build, in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace zrt::test {

/// The model of the repository.
inline const std::string kModel = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

/// What a process left: its status (-1: a signal), stdout and stderr.
struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Program : public testing::Test {
 protected:
  Program() {
    std::string pattern = (std::filesystem::temp_directory_path() / "zrt_program_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Program() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
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

  /// `environment` is variables with values, parted by spaces. `device` takes the place of stdout, which then is not read
  /// back.
  [[nodiscard]] Outcome run_program(const std::string& name, std::vector<std::string> args,
                                    const std::string& environment = {}, const std::string& device = {}) const {
    args.insert(args.begin(), ZRT_BIN_DIR "/" + name);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    std::istringstream parted(environment);
    std::vector<std::string> variables{std::istream_iterator<std::string>(parted), {}};
    std::vector<char*> env;
    for (std::string& variable : variables) env.push_back(variable.data());
    env.push_back(nullptr);
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

  [[nodiscard]] nlohmann::json run_json(const std::vector<std::string>& args) const {
    const Outcome done = run(args);
    EXPECT_EQ(done.status, 0) << done.err;
    return nlohmann::json::parse(done.out, nullptr, false);
  }
  /// The same of a command that prints one object per line.
  [[nodiscard]] nlohmann::json run_json_lines(const std::vector<std::string>& args) const {
    const Outcome done = run(args);
    EXPECT_EQ(done.status, 0) << done.err;
    nlohmann::json lines = nlohmann::json::array();
    std::istringstream text(done.out);
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line, nullptr, false));
    return lines;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace zrt::test
