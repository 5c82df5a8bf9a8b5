// SPDX-License-Identifier: Apache-2.0
// tests/property/gguf.cpp: random GGUF files read back as they were written, and damaged ones cost an error.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tools/gguf_walk.hpp>
#include <tools/gguf_writer.hpp>
#include <variant>
#include <vector>

namespace gguf_test {
namespace {

using zrt::model::GgufFile;
using zrt::test::Bytes;
using zrt::test::GgufWriter;
using zrt::test::MemoryReader;

using Random = std::mt19937_64;
using Value = std::variant<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                           std::uint64_t, std::int64_t, float, double, std::string, std::vector<std::int32_t>,
                           std::vector<std::string>>;

struct Expected {
  std::map<std::string, Value> metadata;
  std::map<std::string, Bytes> tensors;
  Bytes file;
};

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

std::string random_text(Random& random) {
  std::string text(below(random, 20), ' ');
  for (char& c : text) c = static_cast<char>(below(random, 256));
  return text;
}

Bytes random_bytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

template <std::size_t I = 0> Value random_value(Random& random, std::size_t which) {
  if constexpr (I + 1 < std::variant_size_v<Value>) {
    if (which != I) return random_value<I + 1>(random, which);
  }
  using T = std::variant_alternative_t<I, Value>;
  if constexpr (std::is_same_v<T, std::string>) {
    return random_text(random);
  } else if constexpr (std::is_same_v<T, std::vector<std::int32_t>>) {
    T list(below(random, 6));
    for (auto& element : list) element = static_cast<std::int32_t>(random());
    return list;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    T list(below(random, 6));
    for (auto& element : list) element = random_text(random);
    return list;
  } else if constexpr (std::is_same_v<T, bool>) {
    return below(random, 2) == 1;
  } else {
    return static_cast<T>(static_cast<std::int64_t>(random()));
  }
}

Expected random_file(Random& random) {
  Expected expected;
  GgufWriter writer(2 + static_cast<std::uint32_t>(below(random, 2)));
  if (below(random, 2) == 1) writer.align(8u << below(random, 6));
  for (std::uint64_t i = below(random, 12); i > 0; --i) {
    const std::string key = "key." + std::to_string(random() % 1000000) + "." + std::to_string(i);
    const Value value = random_value(random, below(random, std::variant_size_v<Value>));
    std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::vector<std::int32_t>> || std::is_same_v<T, std::vector<std::string>>) {
            writer.add_array(key, held);
          } else {
            writer.add(key, held);
          }
        },
        value);
    expected.metadata.emplace(key, value);
  }
  for (std::uint64_t i = below(random, 6); i > 0; --i) {
    const auto& type = zrt::model::kGgmlTypes[below(random, zrt::model::kGgmlTypes.size())];
    std::vector<std::uint64_t> dims{type.block_elems() * (1 + below(random, 3))};
    while (dims.size() < 4 && below(random, 2) == 1) dims.push_back(1 + below(random, 3));
    std::uint64_t elems = 1;
    for (std::uint64_t dim : dims) elems *= dim;
    const std::string name = "tensor." + std::to_string(i);
    Bytes data = random_bytes(random, elems / type.block_elems() * type.block_bytes());
    expected.tensors.emplace(name, data);
    writer.add_tensor(name, type.id, dims, std::move(data));
  }
  expected.file = writer.build();
  return expected;
}

void expect_same(const GgufFile& file, const Expected& expected) {
  for (const auto& [key, value] : expected.metadata) {
    std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::string>) {
            EXPECT_EQ(file.get<std::string_view>(key).value(), held);
          } else if constexpr (std::is_same_v<T, std::vector<std::int32_t>>) {
            const auto list = file.list<std::int32_t>(key).value();
            EXPECT_EQ(T(list.begin(), list.end()), held);
          } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            const auto list = file.strings(key).value();
            EXPECT_EQ(T(list.begin(), list.end()), held);
          } else {
            EXPECT_EQ(file.get<T>(key).value(), held);
          }
        },
        value);
  }
  ASSERT_EQ(file.tensors().size(), expected.tensors.size());
  for (const auto& [name, data] : expected.tensors) {
    const auto* tensor = file.find_tensor(name);
    ASSERT_NE(tensor, nullptr);
    ASSERT_EQ(tensor->bytes, data.size());
    Bytes read(data.size());
    ASSERT_TRUE(file.read_tensor(*tensor, read).has_value());
    EXPECT_EQ(read, data);
  }
}

TEST(GgufProperty, RandomFilesReadBack) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const Expected expected = random_file(random);
    const std::span<const std::byte> bytes(expected.file);
    const auto file = GgufFile::open(bytes);
    ASSERT_TRUE(file.has_value()) << round << ": " << file.error().text();
    expect_same(*file, expected);
    MemoryReader memory{bytes};
    const auto read = GgufFile::open(memory.reader());
    ASSERT_TRUE(read.has_value()) << round << ": " << read.error().text();
    expect_same(*read, expected);
  }
}

TEST(GgufProperty, DamagedFilesOpenOrGiveTheSameErrorBothWays) {
  Random random(2);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes damaged = random_file(random).file;
    for (std::uint64_t n = 1 + below(random, 4); n > 0; --n)
      damaged[below(random, damaged.size())] = static_cast<std::byte>(random());
    if (below(random, 4) == 0) damaged.resize(below(random, damaged.size()));
    const std::span<const std::byte> bytes(damaged);
    const auto file = GgufFile::open(bytes);
    MemoryReader memory{bytes};
    const auto read = GgufFile::open(memory.reader());
    ASSERT_EQ(file.has_value(), read.has_value()) << round;
    if (file) {
      EXPECT_NE(zrt::test::walk(*file), 0u);
      continue;
    }
    ++refused;
    EXPECT_EQ(file.error().text(), read.error().text()) << round;
    EXPECT_LE(file.error().offset(), damaged.size()) << round;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gguf_test
