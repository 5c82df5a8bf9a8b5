// SPDX-License-Identifier: Apache-2.0
// tests/unit/gguf_alloc.cpp: every allocation of the GGUF reader may fail, and none is larger than the file.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <tools/gguf_bad_files.hpp>
#include <tools/gguf_counting_allocator.hpp>
#include <tools/gguf_walk.hpp>
#include <vector>

namespace gguf_alloc_test {
namespace {

using zrt::Errc;
using zrt::model::GgufFile;
using zrt::test::Bytes;
using zrt::test::CountingAllocator;
using zrt::test::GgufWriter;
using zrt::test::MemoryReader;

// Opens by `open` and reads lists, failing one allocation after the other until none is left.
template <class Open> void fail_every_allocation(Open open) {
  const auto use = [&open](const zrt::Allocator& allocator) -> zrt::Result<std::size_t> {
    const auto file = open(allocator);
    if (!file) return zrt::pass(file);
    const auto strings = file->strings("a.string");
    if (!strings) return zrt::pass(strings);
    const auto numbers = file->template list<float>("a.f64");
    if (!numbers) return zrt::pass(numbers);
    return strings->size() + numbers->size();
  };
  for (std::uint64_t n = 0;; ++n) {
    ASSERT_LT(n, 1000u);
    CountingAllocator counting;
    counting.fail_at = n;
    {
      const auto result = use(counting.hook());
      if (counting.made <= n) {
        ASSERT_TRUE(result.has_value()) << result.error().text();
        EXPECT_EQ(*result, 5u);
        EXPECT_GT(n, 5u);
        return;
      }
      ASSERT_FALSE(result.has_value()) << n;
      EXPECT_EQ(zrt::name(result.error().code()), zrt::name(Errc::out_of_memory)) << n;
    }
    EXPECT_EQ(counting.live, 0u) << n;
  }
}

// Many entries and tensors, so that every list grows more than once; the last tensor's data lies first.
Bytes grown_file() {
  GgufWriter writer = zrt::test::full_gguf();
  for (int i = 0; i < 100; ++i) writer.add("k" + std::to_string(i), i);
  for (int i = 0; i < 40; ++i) writer.add_f32("t" + std::to_string(i), {8}, std::vector<float>(8));
  return writer.build();
}

TEST(GgufAlloc, EveryAllocationMayFailWithASpan) {
  const Bytes bytes = grown_file();
  fail_every_allocation([&](const zrt::Allocator& a) { return GgufFile::open(std::span<const std::byte>(bytes), a); });
}

TEST(GgufAlloc, EveryAllocationMayFailWithAReader) {
  const Bytes bytes = grown_file();
  fail_every_allocation([&](const zrt::Allocator& a) {
    MemoryReader memory{std::span<const std::byte>(bytes)};
    return GgufFile::open(memory.reader(), a);
  });
}

TEST(GgufAlloc, EveryAllocationMayFailWithAMapping) {
  const std::string path = testing::TempDir() + "zrt_gguf_alloc.gguf";
  GgufWriter writer = zrt::test::full_gguf();
  ASSERT_TRUE(writer.save(path));
  fail_every_allocation([&](const zrt::Allocator& a) { return GgufFile::open(path, a); });
  std::remove(path.c_str());
}

TEST(GgufAlloc, MemoryFollowsTheIndexAndNotTheHeader) {
  for (const auto& bad : zrt::test::bad_gguf_files()) {
    CountingAllocator span, reader;
    EXPECT_FALSE(GgufFile::open(std::span<const std::byte>(bad.bytes), span.hook()).has_value());
    EXPECT_LE(span.peak, 16 * bad.bytes.size() + 2048) << bad.name;
    MemoryReader memory{std::span<const std::byte>(bad.bytes)};
    EXPECT_FALSE(GgufFile::open(memory.reader(), reader.hook()).has_value());
    EXPECT_LE(reader.peak, 20 * bad.bytes.size() + 2048) << bad.name;
    EXPECT_EQ(span.live + reader.live, 0u);
  }
}

TEST(GgufAlloc, MemoryDoesNotFollowTensorData) {
  const Bytes bytes = GgufWriter().add_f32("t", {1 << 20}, std::vector<float>(1 << 20)).build();
  CountingAllocator counting;
  MemoryReader memory{std::span<const std::byte>(bytes)};
  EXPECT_TRUE(GgufFile::open(memory.reader(), counting.hook()).has_value());
  EXPECT_LE(counting.peak, zrt::model::kGgufPieceBytes + 4096);
}

}  // namespace
}  // namespace gguf_alloc_test
