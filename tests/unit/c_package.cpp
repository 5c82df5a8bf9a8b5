// SPDX-License-Identifier: Apache-2.0
// tests/unit/c_package.cpp: a program as a package of C: source, header, weights as a file and as an object, threads.
#include <zrt/ir/ptir/builder.hpp>

#include <gtest/gtest.h>

#include <c_programs.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <support/run_program.hpp>
#include <unistd.h>

namespace c_package_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace fs = std::filesystem;
namespace ptir = zrt::ir::ptir;

ptir::Tensor weights(ptir::Builder& b, ptir::Shape shape, std::mt19937& random) {
  std::vector<float> values(shape.constant_elements().raw());
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return b.literal({DType::f32, shape}, as_bytes(Span<const float>(values)));
}

/// A convolution and two layers, with a threshold of few bytes between them.
Result<ptir::Program> network() {
  static constexpr std::int64_t kSize[]{3, 3}, kOnes[]{1, 1}, kNone[]{0, 0};
  std::mt19937 random(5);
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {2, 18, 18, 4}}, "x");
  const auto patches = b.extract_patches(
      x, {.size = kSize, .strides = kOnes, .low = kNone, .high = kNone, .base_dilation = {}, .dilation = kOnes});
  const auto seen = b.maximum(b.dot(patches, weights(b, {36, 24}, random)), b.constant(0.0f));
  const auto flat = b.reshape(seen, {2, 16 * 16 * 24});
  b.result(b.name(b.dot(flat, weights(b, {16 * 16 * 24, 10}, random)) + weights(b, {10}, random), "y"));
  return b.finish();
}

constexpr const char* kDriver = R"(#include "net.h"
#include <stdio.h>
#include <stdlib.h>

struct turn { int backwards; unsigned calls; };
static void in_turn(void *context, void (*task)(void *, unsigned, unsigned), void *argument) {
  struct turn *const turn = (struct turn *)context;
  ++turn->calls;
  for (unsigned i = 0; i < 3; ++i) task(argument, turn->backwards ? 2 - i : i, 3);
}
static unsigned char *read_file(const char *path, size_t bytes) {
  FILE *const file = fopen(path, "rb");
  unsigned char *const data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (file == 0 || data == 0 || fread(data, 1, bytes, file) != bytes || fgetc(file) != EOF) exit(3);
  fclose(file);
  return data;
}
int main(int argc, char **argv) {
  unsigned char *const x = read_file("x.bin", X_BYTES);
  unsigned char *const mapped = read_file("net.weights", (size_t)net_weights_bytes);
  unsigned char *const arena = malloc((size_t)net_arena_bytes);
  float y[20];
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  for (int way = 0; way < 4; ++way) {
    struct turn turn = {way == 3, 0};
    const struct zrt_threads threads = {&turn, 3, in_turn};
    const void *const weights = way == 0 ? (const void *)mapped : (const void *)net_weights;
    for (int i = 0; i < 20; ++i) y[i] = -1;
    if (net(inputs, outputs, arena, weights, 0, way < 2 ? 0 : &threads) != 0) return 4;
    if ((way >= 2) != (turn.calls == 2)) return 5;
    if (fwrite(y, sizeof y, 1, stdout) != 1) return 6;
  }
  free(x), free(mapped), free(arena);
  return argc == 1 && argv[0] != 0 ? 0 : 7;
}
)";

void write(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

/// What a command says on both outputs, after "failed: " where it fails.
std::string said_by(const fs::path& folder, const std::string& command) {
  const int status = std::system(("cd " + folder.string() + " && (" + command + ") >said 2>&1").c_str());
  std::stringstream words;
  words << std::ifstream(folder / "said", std::ios::binary).rdbuf();
  return (status == 0 ? "" : "failed: ") + words.str();
}

TEST(CPackage, RunsWithItsWeightsMappedLinkedAndOnThreads) {
  const auto program = network();
  ASSERT_TRUE(program) << program.error().text();
  const ptir::Shape shapes[]{{2, 18, 18, 4}};
  const auto package = engines::to_c_package(*program, shapes, true, {.name = "net"});
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_LT(package->source.view().size(), 12000u) << package->source.view();
  EXPECT_GE(package->weights.size(), 4u * (36 * 24 + 16 * 16 * 24 * 10));
  EXPECT_NE(package->source.view().find("zrt_part_1_of_net("), std::string_view::npos);

  HostValue x{{DType::f32, {2, 18, 18, 4}}, {}};
  std::mt19937 random(9);
  std::vector<float> values(2 * 18 * 18 * 4);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  x.bytes.assign(as_bytes(Span<const float>(values)).begin(), as_bytes(Span<const float>(values)).end());
  const ProgramRun run = run_program(*program, std::span(&x, 1));
  ASSERT_TRUE(!run.refused && !run.failed);

  const fs::path folder = fs::temp_directory_path() / ("zrt_c_package_" + std::to_string(getpid()));
  fs::create_directories(folder);
  write(folder / "net.c", package->source.view());
  write(folder / "net.h", package->header.view());
  write(folder / "net_weights.S", package->assembly.view());
  write(folder / "net.weights", {reinterpret_cast<const char*>(package->weights.data()), package->weights.size()});
  write(folder / "x.bin", {reinterpret_cast<const char*>(x.bytes.data()), x.bytes.size()});
  write(folder / "main.c", kDriver);
  write(folder / "header.cpp",
        "#include \"net.h\"\nint (*of_header)(const void *const *, void *const *, void *, const "
        "void *, int, const struct zrt_threads *) = &net;\n");
  const std::string of_run(reinterpret_cast<const char*>(run.outputs[0].bytes.data()), run.outputs[0].bytes.size());
  const std::string expected = of_run + of_run + of_run + of_run;
  const std::string strict = " -Wall -Wextra -Werror -pedantic -DX_BYTES=" + std::to_string(x.bytes.size());
  for (const std::string compiler : {"gcc", "clang-19"})
    for (const std::string flags : {" -O1", " -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"}) {
      SCOPED_TRACE(compiler + flags);
      ASSERT_EQ(said_by(folder, compiler + " -std=c99" + strict + flags + " -c net.c && " + compiler + " -std=c11" +
                                    strict + flags + " main.c net.o net_weights.S -lm -o run"),
                "");
      EXPECT_TRUE(said_by(folder, "./run") == expected);
    }
  EXPECT_EQ(said_by(folder, "g++ -std=c++98 -fsyntax-only -Wall -Wextra -Werror header.cpp"), "");
  fs::remove_all(folder);
}

TEST(CPackage, RefusesANameThatIsNone) {
  const auto program = network();
  ASSERT_TRUE(program);
  const ptir::Shape shapes[]{{2, 18, 18, 4}};
  for (const char* const name : {"a-b", "int", "namespace", "memcpy", "main", "_net", "zrt_part"}) {
    const auto package = engines::to_c_package(*program, shapes, false, {.name = name});
    ASSERT_FALSE(package) << name;
    EXPECT_EQ(package.error().code(), Errc::invalid_argument);
  }
  for (const char* const name : {"nets", "in", "ma", "zrt_net_0123456789abcdef"})
    EXPECT_TRUE(plan::c::may_name_function(name)) << name;
}

TEST(CPackage, IsOfAModuleWithAFormAndAFileOfOneWithout) {
  EXPECT_EQ(plan::c::Module({.weights_apart = false, .threads = true}).finish().error().code(), Errc::invalid_argument);
  EXPECT_EQ(plan::c::Module({.weights_apart = true, .threads = false}).finish().error().code(), Errc::invalid_argument);
  EXPECT_EQ(plan::c::Module().finish_package("net").error().code(), Errc::invalid_argument);
  EXPECT_TRUE(plan::c::Module().finish());
  EXPECT_TRUE(plan::c::Module({.weights_apart = false, .threads = true}).finish_package("net"));
}

}  // namespace
}  // namespace c_package_test
