// SPDX-License-Identifier: Apache-2.0
// tests/unit/gguf_bad_files.cpp: every bad file gives its typed error, and no change of a byte gives worse.
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <set>
#include <string>
#include <tools/gguf_bad_files.hpp>
#include <tools/gguf_walk.hpp>

namespace gguf_bad_files_test {
namespace {

using zrt::Errc;
using zrt::model::GgufFile;
using zrt::test::Bytes;

// An error's text without its numbers, quoted names and names of types: what is left is its sentence.
std::string shape(const zrt::Error& error) {
  static const std::set<std::string> types = [] {
    std::set<std::string> names;
    for (const auto& type : zrt::model::kGgmlTypes) names.emplace(type.name());
    for (std::uint32_t id = 0; id < 64; ++id) names.emplace(zrt::model::removed_ggml_type(id));
    for (const auto& type : zrt::model::detail::kGgufValueTypes) names.emplace(type.name);
    return names;
  }();
  std::string out(zrt::name(error.code()));
  out += ':';
  std::string word;
  bool quoted = false;
  for (char c : std::string(error.text()) + ' ') {
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty())
      out += std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? "N" : types.contains(word) ? "T" : word;
    word.clear();
    out += c;
  }
  return out;
}

// A copy that ends where its allocation ends, so that AddressSanitizer sees every byte read past it.
class Exact {
 public:
  explicit Exact(const Bytes& bytes) : size_(bytes.size()), data_(new std::byte[bytes.size() + 1]) {
    // The spare byte lies in front, to have one for the empty file.
    for (std::size_t i = 0; i < size_; ++i) data_[i + 1] = bytes[i];
  }
  [[nodiscard]] std::span<const std::byte> span() const { return {data_.get() + 1, size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

TEST(GgufBadFiles, EachGivesItsError) {
  const auto files = zrt::test::bad_gguf_files();
  EXPECT_GE(files.size(), 200u);
  std::set<std::string> names, shapes;
  for (const auto& bad : files) {
    EXPECT_TRUE(names.insert(bad.name).second) << bad.name;
    const Exact bytes(bad.bytes);
    const auto file = GgufFile::open(bytes.span());
    ASSERT_FALSE(file.has_value()) << bad.name;
    const std::string text(file.error().text());
    EXPECT_EQ(zrt::name(file.error().code()), zrt::name(bad.code)) << bad.name << ": " << text;
    EXPECT_NE(text.find(bad.text), text.npos) << bad.name << ": " << text;
    EXPECT_NE(file.error().offset(), zrt::Error::kNoOffset) << bad.name << ": " << text;
    EXPECT_LE(file.error().offset(), bad.bytes.size()) << bad.name << ": " << text;
    shapes.insert(shape(file.error()));

    zrt::test::MemoryReader memory{bytes.span()};
    const auto read = GgufFile::open(memory.reader());
    ASSERT_FALSE(read.has_value()) << bad.name;
    EXPECT_EQ(read.error().text(), file.error().text()) << bad.name;
    EXPECT_EQ(read.error().offset(), file.error().offset()) << bad.name;
  }
  EXPECT_GE(shapes.size(), 30u);
  RecordProperty("files", static_cast<int>(files.size()));
  RecordProperty("distinct_errors", static_cast<int>(shapes.size()));
  std::string all;
  for (const auto& one : shapes) all += one + "\n";
  RecordProperty("errors", all);
}

TEST(GgufBadFiles, EveryTruncationIsAnError) {
  for (const Bytes& whole : {zrt::test::small_gguf(2), zrt::test::full_gguf().build()}) {
    const auto file = GgufFile::open(std::span<const std::byte>(whole));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    // Behind the last tensor there is only padding, which may be absent.
    const auto& last = file->tensors().back();
    const auto needed = static_cast<std::size_t>(file->data_offset() + last.offset + last.bytes);
    for (std::size_t size = 0; size < needed; ++size) {
      const Exact bytes(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      const auto cut = GgufFile::open(bytes.span());
      ASSERT_FALSE(cut.has_value()) << size;
      EXPECT_EQ(zrt::name(cut.error().code()), zrt::name(Errc::truncated_file)) << size << ": " << cut.error().text();
      EXPECT_LE(cut.error().offset(), size);
    }
    EXPECT_TRUE(GgufFile::open(std::span<const std::byte>(whole).first(needed)).has_value());
  }
}

TEST(GgufBadFiles, EveryChangeOfOneByteOpensOrGivesAnError) {
  Bytes bytes = zrt::test::small_gguf();
  std::size_t opened = 0, refused = 0;
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::byte original = bytes[at];
    for (unsigned value = 0; value < 256; ++value) {
      if (static_cast<std::byte>(value) == original) continue;
      bytes[at] = static_cast<std::byte>(value);
      const Exact exact(bytes);
      const auto file = GgufFile::open(exact.span());
      if (file) {
        ++opened;
        total += zrt::test::walk(*file);
      } else {
        ++refused;
        ASSERT_NE(file.error().code(), Errc::ok);
        ASSERT_NE(file.error().code(), Errc::out_of_memory);
        ASSERT_FALSE(file.error().text().empty());
        ASSERT_LE(file.error().offset(), bytes.size()) << file.error().text();
      }
    }
    bytes[at] = original;
  }
  EXPECT_GT(opened, 0u);
  EXPECT_GT(refused, opened / 4);
  EXPECT_NE(total, 0u);
}

}  // namespace
}  // namespace gguf_bad_files_test
