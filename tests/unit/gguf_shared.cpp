// SPDX-License-Identifier: Apache-2.0
// tests/unit/gguf_shared.cpp: every GGUF file below ZRT_SHARED_DIR opens and holds what its list says.
// test-set: full
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tools/gguf_walk.hpp>
#include <vector>

namespace gguf_shared_test {

#ifndef ZRT_SHARED_DIR
#error "zrt: compile this test with ZRT_SHARED_DIR, the folder that holds golden/ and models/"
#endif

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using zrt::model::GgufFile;

std::vector<fs::path> files_below(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) {
    ADD_FAILURE() << folder << " is missing: the folder with the golden data is incomplete";
    return found;
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == extension) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// True when the file's value is what the list says; lists write bools as numbers now and then.
bool agrees(const zrt::model::GgufValue& value, const json& expected) {
  if (expected.is_string()) return value.as<std::string_view>().value_or("") == expected.get<std::string>();
  if (expected.is_boolean()) return value.as<bool>().value_or(!expected.get<bool>()) == expected.get<bool>();
  if (expected.is_number()) {
    const double wanted = expected.get<double>();
    if (const auto integer = value.as<std::int64_t>()) return static_cast<double>(*integer) == wanted;
    if (const auto flag = value.as<bool>()) return (*flag ? 1.0 : 0.0) == wanted;
    const auto real = value.as<double>();
    return real && std::abs(*real - wanted) <= 1e-6 * std::abs(wanted);
  }
  if (!expected.is_array() || value.count() != expected.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto element = value.element(i);
    if (!element || !agrees(*element, expected[i])) return false;
  }
  return true;
}

class GgufShared : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(ZRT_SHARED_DIR)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << ZRT_SHARED_DIR;
  }
};

TEST_F(GgufShared, EveryFileOpens) {
  std::size_t opened = 0;
  for (const fs::path& path : files_below(ZRT_SHARED_DIR, ".gguf")) {
    const auto file = GgufFile::open(path.string());
    ASSERT_TRUE(file.has_value()) << path << ": " << file.error().text();
    EXPECT_TRUE(file->get<std::string_view>("general.architecture").has_value()) << path;
    EXPECT_NE(zrt::test::walk(*file), 0u);
    ++opened;
  }
  EXPECT_GE(opened, 40u);
}

TEST_F(GgufShared, TensorsAndMetadataAreThoseOfTheLists) {
  std::size_t compared = 0;
  for (const fs::path& path : files_below(fs::path(ZRT_SHARED_DIR) / "golden" / "arch", ".json")) {
    fs::path model = path;
    model.replace_extension(".gguf");
    if (!fs::exists(model)) continue;
    const json list = json::parse(text_of(path), nullptr, false);
    ASSERT_TRUE(list.is_object()) << path;
    const auto file = GgufFile::open(model.string());
    ASSERT_TRUE(file.has_value()) << file.error().text();
    ASSERT_EQ(file->tensors().size(), list["tensors"].size()) << path;
    for (const json& expected : list["tensors"]) {
      const auto name = expected["name"].get<std::string>();
      const auto* tensor = file->find_tensor(name);
      ASSERT_NE(tensor, nullptr) << path << " " << name;
      EXPECT_EQ(tensor->type.name(), expected["type"].get<std::string>()) << path << " " << name;
      const auto ne = expected["ne"].get<std::vector<std::uint64_t>>();
      ASSERT_EQ(tensor->rank, ne.size()) << path << " " << name;
      for (std::size_t d = 0; d < ne.size(); ++d) EXPECT_EQ(tensor->dims[d], ne[d]) << path << " " << name;
    }
    for (const auto& [key, expected] : list["metadata"].items()) {
      const auto* value = file->find(key);
      ASSERT_NE(value, nullptr) << path << " " << key;
      EXPECT_TRUE(agrees(*value, expected)) << path << " " << key << " " << expected;
    }
    ++compared;
  }
  EXPECT_GE(compared, 30u);
}

TEST_F(GgufShared, QuantisedTypesAreThoseOfTheLists) {
  std::size_t tensors = 0;
  std::set<std::string> types;
  for (const fs::path& path : files_below(fs::path(ZRT_SHARED_DIR) / "golden" / "arch", ".txt")) {
    const std::string stem = path.stem().stem().string();  // NAME.types.txt
    const auto file = GgufFile::open((path.parent_path() / (stem + ".gguf")).string());
    ASSERT_TRUE(file.has_value()) << path << ": " << file.error().text();
    std::istringstream lines(text_of(path));
    for (std::string name, type; lines >> name >> type; ++tensors) {
      const auto* tensor = file->find_tensor(name);
      ASSERT_NE(tensor, nullptr) << path << " " << name;
      EXPECT_EQ(tensor->type.name(), capitals(type)) << path << " " << name;
      types.insert(type);
    }
  }
  EXPECT_GE(tensors, 100u);
  EXPECT_GE(types.size(), 5u);
}

}  // namespace
}  // namespace gguf_shared_test
