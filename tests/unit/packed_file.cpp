// SPDX-License-Identifier: Apache-2.0
// tests/unit/packed_file.cpp: packed weights kept in a file: the next start maps them, and nothing wrong is taken.
#include <zrt/core/checksum.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <support/engines.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace packed_file_test {
namespace {

using namespace zrt;
using test::On;
namespace fs = std::filesystem;

class PackedFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("zrt-packed-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    path_ = (folder_ / "model.packed").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static test::ModelFile model(std::uint64_t seed) { return test::tiny_model({.weights = DType::q8_0, .seed = seed}); }
  /// Logits of an engine that keeps its packed weights at `path`.
  static std::vector<float> logits_of(const test::ModelFile& file, std::string_view path) {
    EngineOptions options;
    options.logit_rows = 64;
    options.packed_file = path;
    std::vector<float> all;
    const auto engine = test::open_engine(On::cpu, file.bytes(), options);
    if (!engine) {
      ADD_FAILURE() << engine.error().text();
      return all;
    }
    const auto done = (*engine)->evaluate(
        test::tiny_prompt(64, 20, 21), test::tiny_prompt(64, 4, 22),
        [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    EXPECT_TRUE(done) << done.error().text();
    return all;
  }
  Error refused(const test::ModelFile& file, On on = On::cpu) const {
    EngineOptions options;
    options.packed_file = path_;
    const auto engine = test::open_engine(on, file.bytes(), options);
    EXPECT_FALSE(engine);
    return engine ? Error{} : engine.error();
  }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  /// A number of the file that a new file of the same name does not have.
  std::uint64_t number() const {
    struct stat status{};
    return ::stat(path_.c_str(), &status) == 0 ? status.st_ino : 0;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(PackedFiles, TheNextStartTakesThemAndGivesTheSameBits) {
  const test::ModelFile file = model(3);
  const std::vector<float> expected = logits_of(file, {});
  EXPECT_EQ(logits_of(file, path_), expected) << "packed now";
  const std::string kept = bytes();
  EXPECT_GT(kept.size(), 1000u);
  const std::uint64_t first = number();
  EXPECT_EQ(logits_of(file, path_), expected) << "mapped";
  EXPECT_EQ(number(), first) << "nothing was left to write";
  EXPECT_EQ(bytes(), kept);
  // Weights come from the file: others in it, with their checksums, give other logits.
  std::string changed = kept;
  const auto word = [&](std::size_t at, std::uint64_t* value) { std::memcpy(value, changed.data() + at, 8); };
  const auto sum = [&](std::size_t at, std::size_t count) {
    return checksum({reinterpret_cast<const std::byte*>(changed.data()) + at, count});
  };
  constexpr std::size_t kHead = 32, kEntry = 56;
  std::uint64_t entries = 0, offset = 0, count = 0;
  word(16, &entries);
  word(kHead + 32, &offset);
  word(kHead + 40, &count);
  changed[offset + 5] = static_cast<char>(changed[offset + 5] ^ 0x40);
  const std::uint64_t of_weight = sum(offset, count);
  std::memcpy(changed.data() + kHead + 48, &of_weight, 8);
  const std::uint64_t of_list = sum(kHead, entries * kEntry);
  std::memcpy(changed.data() + 24, &of_list, 8);
  put(changed);
  EXPECT_NE(logits_of(file, path_), expected);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1) << "no part of a file stays";
}

TEST_F(PackedFiles, ADamagedWeightIsPackedAnew) {
  const test::ModelFile file = model(3);
  const std::vector<float> expected = logits_of(file, path_);
  const std::string kept = bytes();
  for (const std::size_t at : {kept.size() - 1, kept.size() / 2, kept.size() * 3 / 4}) {
    std::string damaged = kept;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    put(damaged);
    EXPECT_EQ(logits_of(file, path_), expected) << "byte " << at;
    EXPECT_EQ(bytes(), kept) << "byte " << at;
  }
  put(kept.substr(0, kept.size() / 2));
  EXPECT_EQ(logits_of(file, path_), expected) << "cut";
  EXPECT_EQ(bytes(), kept);
}

TEST_F(PackedFiles, AnotherModelsFileIsReplaced) {
  const test::ModelFile file = model(3);
  const std::vector<float> expected = logits_of(file, {});
  (void)logits_of(model(4), path_);
  const std::string other = bytes();
  EXPECT_EQ(logits_of(file, path_), expected);
  EXPECT_NE(bytes(), other);
  std::string later = other;
  later[7] = '9';  // of a layout that is not known here
  put(later);
  EXPECT_EQ(logits_of(file, path_), expected);
}

TEST_F(PackedFiles, WhatHoldsSomethingElseIsRefusedAndStays) {
  const test::ModelFile file = model(3);
  const std::string text = "notes that somebody still needs, longer than the head of a file of packed weights";
  put(text);
  EXPECT_EQ(refused(file).code(), Errc::invalid_file);
  EXPECT_EQ(bytes(), text);
  put("");
  EXPECT_EQ(refused(file).code(), Errc::invalid_file);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(refused(file).code(), Errc::io_error);
  EXPECT_TRUE(fs::is_directory(path_));
  fs::remove(path_);
  (void)logits_of(file, path_);
  std::string damaged = bytes();
  damaged[40] = static_cast<char>(damaged[40] ^ 1);
  put(damaged);
  EXPECT_EQ(refused(file).code(), Errc::invalid_file) << "a damaged list of weights";
  EXPECT_EQ(bytes(), damaged);
  const Error error = refused(file, On::reference);
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_NE(error.text().find("packs no weights"), std::string_view::npos) << error.text();
}

/// What is at the path may be gone or damaged when an engine comes back.
TEST_F(PackedFiles, AnEvictedEngineComesBack) {
  const test::ModelFile file = model(3);
  const std::vector<float> expected = logits_of(file, path_);
  EngineOptions options;
  options.logit_rows = 64;
  options.packed_file = path_;
  const auto engine = test::open_engine(On::cpu, file.bytes(), options);
  ASSERT_TRUE(engine) << engine.error().text();
  const std::string kept = bytes();
  for (const std::string& there : {kept, std::string("something else"), kept.substr(0, 100), std::string()}) {
    ASSERT_TRUE((*engine)->evict());
    put(there);
    if (there.empty()) fs::remove(path_);
    const auto back = (*engine)->reopen();
    ASSERT_TRUE(back) << back.error().text();
    std::vector<float> all;
    const auto done = (*engine)->evaluate(
        test::tiny_prompt(64, 20, 21), test::tiny_prompt(64, 4, 22),
        [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    EXPECT_TRUE(done) << done.error().text();
    EXPECT_EQ(all, expected);
    EXPECT_EQ(bytes(), there.empty() ? kept : there) << "only what is missing is written";
  }
}

/// A model's file is known by its size and time: edited in one place, it is another.
TEST_F(PackedFiles, AnEditedModelTakesNothingOld) {
  const std::string of_model = (folder_ / "model.gguf").string();
  const auto write_model = [&](std::span<const std::byte> what) {
    std::ofstream(of_model, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(what.data()), static_cast<std::streamsize>(what.size()));
  };
  const auto logits = [&](std::string_view packed) {
    EngineOptions options;
    options.logit_rows = 64;
    options.packed_file = packed;
    const auto engine = test::open_engine(On::cpu, of_model, options);
    std::vector<float> all;
    EXPECT_TRUE(engine && (*engine)->evaluate(test::tiny_prompt(64, 20, 21), test::tiny_prompt(64, 4, 22),
                                              [&](std::uint32_t, std::span<const float> row) {
                                                all.insert(all.end(), row.begin(), row.end());
                                              }));
    return all;
  };
  const test::ModelFile file = model(3);
  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
  write_model(bytes);
  const std::vector<float> before = logits(path_);
  // In the middle of a weight of the last layers, which lie at the end.
  bytes[bytes.size() - 200] ^= std::byte{0x11};
  write_model(bytes);
  const std::vector<float> after = logits({});
  EXPECT_NE(after, before);
  EXPECT_EQ(logits(path_), after);
}

TEST_F(PackedFiles, AFolderThatCannotBeWrittenEndsNothing) {
  const test::ModelFile file = model(3);
  EXPECT_EQ(logits_of(file, "/proc/no-such-folder/model.packed"), logits_of(file, {}));
}

}  // namespace
}  // namespace packed_file_test
