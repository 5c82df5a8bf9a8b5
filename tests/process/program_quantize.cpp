// SPDX-License-Identifier: Apache-2.0
// tests/process/program_quantize.cpp: zrt quantize beside other files: names, links, devices and full disks.
#include <zrt/model/gguf/file.hpp>

#include <set>
#include <support/zrt_program.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

namespace program_quantize_test {
namespace {

namespace fs = std::filesystem;
using zrt::test::contents;
using zrt::test::Outcome;

const std::string kFloats = ZRT_TEST_DATA_DIR "/peer/granite.gguf";

class ProgramQuantize : public zrt::test::Program {
 protected:
  [[nodiscard]] Outcome quantize(const std::string& from, const std::string& to,
                                 const std::string& type = "q8_0") const {
    return run({"quantize", "--model", from, "--type", type, "--out", to});
  }
  /// The names in the test's folder but for those of the outcome.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(path(""))) found.insert(entry.path().filename().string());
    found.erase("stdout");
    found.erase("stderr");
    return found;
  }
};

TEST_F(ProgramQuantize, TouchesNoOtherFile) {
  const std::string source = path("out.part");
  fs::copy_file(kFloats, source);
  ASSERT_EQ(quantize(source, path("out")).status, 0);
  EXPECT_EQ(contents(source), contents(kFloats));
  fs::create_symlink("out", path("link"));
  ASSERT_EQ(quantize(source, path("link"), "q4_0").status, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("link")), contents(path("out")));
  EXPECT_EQ(names(), (std::set<std::string>{"link", "out", "out.part"}));
}

TEST_F(ProgramQuantize, MayReplaceItsSource) {
  const std::string model = path("model");
  fs::copy_file(kFloats, model);
  ASSERT_EQ(quantize(model, path("apart")).status, 0);
  ASSERT_EQ(quantize(model, model).status, 0);
  EXPECT_EQ(contents(model), contents(path("apart")));
}

TEST_F(ProgramQuantize, LeavesWhatIsNoFileAlone) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& target : {path("pipe"), std::string("/dev/null"), path("")}) {
    const Outcome refused = quantize(kFloats, target);
    EXPECT_EQ(refused.status, 1) << target;
    EXPECT_EQ(refused.err, "zrt: io_error: cannot write " + target + ": it is no regular file\n");
  }
  EXPECT_EQ(names(), (std::set<std::string>{"pipe"}));
}

TEST_F(ProgramQuantize, ANameThatIsTooLongIsRefusedBeforeTheWork) {
  const std::string target = path(std::string(250, 'x'));
  const Outcome refused = quantize(kFloats, target);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(refused.err.starts_with("zrt: io_error: cannot write ")) << refused.err;
  EXPECT_EQ(names(), std::set<std::string>{});
}

TEST_F(ProgramQuantize, AnErrorLeavesNothingAndNamesTheTarget) {
  const std::string target = file("old", "old");
  const rlimit before = [] {
    rlimit limit{};
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    return limit;
  }();
  // Children inherit the limit and that its signal is ignored, so that a write past it is an error.
  const rlimit small{4096, before.rlim_max};
  (void)signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Outcome full = quantize(kFloats, target);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(full.status, 1);
  EXPECT_EQ(full.err, "zrt: io_error: cannot write " + target + ": File too large\n");
  EXPECT_EQ(contents(target), "old");
  EXPECT_EQ(names(), (std::set<std::string>{"old"}));
}

}  // namespace
}  // namespace program_quantize_test
