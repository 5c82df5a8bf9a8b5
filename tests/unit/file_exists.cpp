// SPDX-License-Identifier: Apache-2.0
// tests/unit/file_exists.cpp: what lies at a path, and what does not.
#include <zrt/core/file_exists.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace file_exists_test {
namespace {

using namespace zrt;

TEST(FileExists, IsTrueOfWhateverBearsTheName) {
  const auto folder = std::filesystem::temp_directory_path() / ("zrt_file_exists_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "file") << "x";
  std::filesystem::create_symlink(folder / "nothing", folder / "link");
  const auto there = [&](const std::string& name) {
    const auto found = file_exists((folder / name).string(), system_allocator());
    EXPECT_TRUE(found) << found.error().text();
    return found && *found;
  };
  EXPECT_TRUE(there("."));
  EXPECT_TRUE(there("file"));
  EXPECT_TRUE(there("link")) << "a link to nothing is something";
  EXPECT_FALSE(there("nothing"));
  EXPECT_FALSE(there("file/below")) << "a file has nothing below it";
  std::filesystem::remove_all(folder);
}

TEST(FileExists, APathHasNoZeroByte) {
  EXPECT_EQ(file_exists(std::string_view("a\0b", 3), system_allocator()).error().code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace file_exists_test
