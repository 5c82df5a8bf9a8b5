// SPDX-License-Identifier: Apache-2.0
// tests/golden/onnx_wire.cpp: the fields of an ONNX file's messages against those that protozero reads.
#include <zrt/ir/onnx/wire.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>

namespace onnx_wire_test {
namespace {

using namespace zrt::ir::onnx;
namespace fs = std::filesystem;

/// Messages of messages that are looked into; ONNX nests eight deep in a plain model.
constexpr int kDepth = 8;

/// Calls `read` and says whether it ended without an exception of protozero's.
template <class F> bool succeeds(F&& read) {
  try {
    read();
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

/// The number at `at` over all its 64 bits; nothing where there is none.
bool number_at(std::string_view at, std::uint64_t& value, std::string_view& rest) {
  const char* begin = at.data();
  if (!succeeds([&] { value = protozero::decode_varint(&begin, at.data() + at.size()); })) return false;
  rest = at.substr(static_cast<std::size_t>(begin - at.data()));
  return true;
}

/// True where the field at `at` is one that protozero reads otherwise than the format says: it keeps 32 bits of
/// keys and lengths. Fields with numbers from 19000 to 19999, which no message may define, it refuses.
bool is_read_otherwise(std::string_view at) {
  std::uint64_t key = 0;
  std::uint64_t length = 0;
  std::string_view rest;
  if (!number_at(at, key, rest)) return false;
  if (key > 0xffff'ffff || (key >> 3 >= 19000 && key >> 3 <= 19999)) return true;
  return (key & 7) == 2 && number_at(rest, length, rest) && length > 0xffff'ffff;
}

struct Tally {
  std::size_t fields = 0;
  std::size_t refused = 0;
};

/// Reads `message` by both, and what every run of bytes in it holds, as a message again.
void compare(std::string_view message, int depth, Tally& tally) {
  WireReader ours(message);
  protozero::pbf_reader theirs(message.data(), message.size());
  std::string_view rest = message;
  while (!rest.empty()) {
    if (is_read_otherwise(rest)) return;
    const auto field = ours.next();
    std::uint32_t number = 0;
    auto type = protozero::pbf_wire_type::unknown;
    std::uint64_t value = 0;
    std::string_view bytes;
    const bool read = succeeds([&] {
      ASSERT_TRUE(theirs.next());
      number = theirs.tag();
      type = theirs.wire_type();
      switch (type) {
        case protozero::pbf_wire_type::varint:
          value = theirs.get_uint64();
          break;
        case protozero::pbf_wire_type::fixed64:
          value = theirs.get_fixed64();
          break;
        case protozero::pbf_wire_type::fixed32:
          value = theirs.get_fixed32();
          break;
        default: {
          const auto view = theirs.get_view();
          bytes = {view.data(), view.size()};
        }
      }
    });
    ASSERT_EQ(field.has_value(), read);
    if (!read) {
      ++tally.refused;
      return;
    }
    ++tally.fields;
    ASSERT_EQ(field->number, number);
    ASSERT_EQ(static_cast<unsigned>(field->type), static_cast<unsigned>(type));
    ASSERT_EQ(field->value, value);
    ASSERT_EQ(field->bytes.size(), bytes.size());
    if (field->type == WireType::bytes) {
      ASSERT_EQ(field->bytes.data(), bytes.data());
      if (depth != 0) compare(bytes, depth - 1, tally);
    }
    rest = message.substr(message.size() - theirs.length());
    ASSERT_EQ(rest.empty(), ours.at_end());
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// The numbers of `list`, taken as a packed list.
void compare_packed(std::string_view list) {
  WireReader ours(list);
  for (std::string_view rest = list; !rest.empty();) {
    std::uint64_t value = 0;
    const bool read = number_at(rest, value, rest);
    const auto number = ours.varint();
    ASSERT_EQ(number.has_value(), read);
    if (!read) break;
    ASSERT_EQ(*number, value);
  }
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The files of a folder and those below it, whole, cut at each byte, and with each byte changed.
Tally compare_folder(const fs::path& folder, std::size_t largest_changed) {
  Tally tally;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::string file = bytes_of(entry.path());
    compare(file, kDepth, tally);
    compare_packed(file);
    if (file.size() > largest_changed) continue;
    for (std::size_t i = 0; i < file.size() && !testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE(i);
      // A copy of its own, so that a byte read beyond the end is seen by the address sanitizer.
      compare(std::string(file, 0, i), kDepth, tally);
      const char kept = file[i];
      for (const unsigned change : {0x01u, 0x08u, 0x80u, 0xffu}) {
        file[i] = static_cast<char>(static_cast<unsigned char>(kept) ^ change);
        compare(file, kDepth, tally);
      }
      file[i] = kept;
    }
    if (testing::Test::HasFatalFailure()) break;
  }
  return tally;
}

TEST(OnnxWire, ReadsTheFieldsThatProtozeroReads) {
  const Tally own = compare_folder(fs::path(ZRT_TEST_DATA_DIR) / "onnx", 0);
  EXPECT_GT(own.fields, 10'000u);
}

TEST(OnnxWire, RefusesWhatProtozeroRefuses) {
  const fs::path folder = "/usr/share/libonnx-testdata/data/node";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is missing; install libonnx-testdata (./dev setup)";
  const Tally changed = compare_folder(folder, 200);
  EXPECT_GT(changed.fields, 100'000u);
  EXPECT_GT(changed.refused, 10'000u);
}

TEST(OnnxWire, KeysAndLengthsCountOverAllTheirBits) {
  // Protozero takes the length modulo 2^32 and reads three bytes.
  const std::string length(
      "\x0a\x83\x80\x80\x80\x10"
      "abc",
      9);
  EXPECT_FALSE(WireReader(length).next());
  EXPECT_TRUE(succeeds([&] {
    protozero::pbf_reader theirs(length);
    theirs.next();
    EXPECT_EQ(theirs.get_view().size(), 3u);
  }));
}

}  // namespace
}  // namespace onnx_wire_test
