// SPDX-License-Identifier: Apache-2.0
// tests/unit/gguf.cpp: what was written into a GGUF file is read back, by mapping, span and reader.
// test-set: smoke brief
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tools/gguf_bad_files.hpp>
#include <tools/gguf_walk.hpp>
#include <unistd.h>
#include <vector>

namespace gguf_test {
namespace {

using zrt::DType;
using zrt::Errc;
using zrt::model::GgufFile;
using zrt::model::GgufValue;
using zrt::model::GgufValueType;
using zrt::test::Bytes;
using zrt::test::GgufWriter;
using zrt::test::MemoryReader;

std::span<const std::byte> view(const Bytes& bytes) { return bytes; }

// A file in the temporary folder that is removed again.
class TemporaryFile {
 public:
  explicit TemporaryFile(const Bytes& bytes) {
    path_ = testing::TempDir() + "zrt_gguf_XXXXXX";
    const int file = ::mkstemp(path_.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<::ssize_t>(bytes.size()));
    ::close(file);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <class T> void expect_list(const GgufFile& file, std::string_view key, std::vector<T> expected) {
  const auto list = file.list<T>(key);
  ASSERT_TRUE(list.has_value()) << list.error().text();
  ASSERT_EQ(list->size(), expected.size()) << key;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((*list)[i], static_cast<T>(expected[i])) << key << " " << i;
}

void expect_full(const GgufFile& file, std::uint32_t version) {
  EXPECT_EQ(file.version(), version);
  EXPECT_EQ(file.alignment(), 32u);
  ASSERT_EQ(file.entries().size(), 28u);
  EXPECT_EQ(file.entries()[0].key, "general.architecture");
  EXPECT_EQ(file.get<std::string_view>("general.architecture").value(), "llama");
  EXPECT_EQ(file.get<std::uint8_t>("v.u8").value(), 200);
  EXPECT_EQ(file.get<std::int8_t>("v.i8").value(), -100);
  EXPECT_EQ(file.get<std::uint16_t>("v.u16").value(), 60000);
  EXPECT_EQ(file.get<std::int16_t>("v.i16").value(), -30000);
  EXPECT_EQ(file.get<std::uint32_t>("v.u32").value(), 4000000000u);
  EXPECT_EQ(file.get<std::int32_t>("v.i32").value(), -2000000000);
  EXPECT_EQ(file.get<std::uint64_t>("v.u64").value(), ~std::uint64_t{0});
  EXPECT_EQ(file.get<std::int64_t>("v.i64").value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(file.get<float>("v.f32").value(), 1.5f);
  EXPECT_EQ(file.get<double>("v.f32").value(), 1.5);
  EXPECT_EQ(file.get<double>("v.f64").value(), 1e300);
  EXPECT_TRUE(file.get<bool>("v.bool").value());
  EXPECT_EQ(file.get<std::string_view>("v.string").value(), "text");
  expect_list<std::uint8_t>(file, "a.u8", {1, 2});
  expect_list<std::int64_t>(file, "a.i8", {-1, 2});
  expect_list<std::uint64_t>(file, "a.u16", {1, 2});
  expect_list<std::int32_t>(file, "a.i16", {-1, 2});
  expect_list<std::uint16_t>(file, "a.u32", {1, 2});
  expect_list<std::int8_t>(file, "a.i32", {-1, 2});
  expect_list<std::int32_t>(file, "a.u64", {1, 2});
  expect_list<std::int32_t>(file, "a.i64", {-1, 2});
  expect_list<float>(file, "a.f32", {0.5f, 2.0f});
  expect_list<float>(file, "a.f64", {0.25f, 2.0f});
  expect_list<bool>(file, "a.bool", {true, false});
  expect_list<std::string_view>(file, "a.string", {"one", "", "three"});
  expect_list<float>(file, "a.empty", {});

  const auto nested = file.list<GgufValue>("a.nested");
  ASSERT_TRUE(nested.has_value());
  ASSERT_EQ(nested->size(), 3u);
  const zrt::Allocator memory = zrt::system_allocator();
  EXPECT_EQ((*nested)[0].list<int>(memory).value()[1], 8);
  EXPECT_EQ((*nested)[1].list<std::string_view>(memory).value()[0], "x");
  EXPECT_EQ(file.find("a.nested")->element(2).value().element(0).value().as<int>().value(), 7);
  EXPECT_EQ(file.find("a.string")->element(2).value().as<std::string_view>().value(), "three");
  EXPECT_EQ(file.find("a.f64")->element(1).value().as<double>().value(), 2.0);

  ASSERT_EQ(file.tensors().size(), 4u);
  const auto* q = file.find_tensor("t.q4_0");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q, &file.tensors()[1]);
  EXPECT_EQ(q->rank, 4u);
  EXPECT_EQ(q->dims, (std::array<std::uint64_t, 4>{64, 1, 1, 2}));
  EXPECT_EQ(q->elems, 128u);
  EXPECT_EQ(q->bytes, 72u);
  EXPECT_EQ(q->type.name(), "Q4_0");
  EXPECT_EQ(q->type.dtype, DType::q4_0);
  const auto* scalar = file.find_tensor("t.scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(scalar->rank, 0u);
  EXPECT_EQ(scalar->elems, 1u);
  EXPECT_EQ(scalar->bytes, 8u);
  for (const auto& tensor : file.tensors()) {
    Bytes copy(static_cast<std::size_t>(tensor.bytes));
    ASSERT_TRUE(file.read_tensor(tensor, copy).has_value());
    if (tensor.name == "t.q4_0") {
      EXPECT_EQ(copy, Bytes(72, std::byte{3}));
    }
    if (file.has_data()) {
      const auto data = file.data(tensor);
      ASSERT_EQ(data.size(), copy.size());
      EXPECT_EQ(std::memcmp(data.data(), copy.data(), copy.size()), 0);
    } else {
      EXPECT_TRUE(file.data(tensor).empty());
    }
  }
  const auto* f32 = file.find_tensor("t.f32");
  ASSERT_NE(f32, nullptr);
  std::byte last[4];
  ASSERT_TRUE(file.read_tensor(*f32, last, 28).has_value());
  EXPECT_EQ(std::bit_cast<float>(last), 8.0f);
  EXPECT_EQ(file.read_tensor(*f32, last, 29).error().code(), Errc::invalid_argument);
  EXPECT_EQ(file.read_tensor(*f32, last, ~std::uint64_t{0}).error().code(), Errc::invalid_argument);
}

TEST(Gguf, ReadsBackWhatWasWritten) {
  for (std::uint32_t version : {2u, 3u}) {
    const Bytes bytes = zrt::test::full_gguf(version).build();
    const auto file = GgufFile::open(view(bytes));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    EXPECT_EQ(file->file_bytes(), bytes.size());
    expect_full(*file, version);
    // The data is not copied.
    EXPECT_EQ(file->data(file->tensors()[0]).data(), bytes.data() + file->data_offset());
  }
}

TEST(Gguf, ReadsThroughAReaderInBoundedPieces) {
  Bytes bytes = zrt::test::full_gguf().build();
  MemoryReader memory{view(bytes)};
  const auto file = GgufFile::open(memory.reader());
  ASSERT_TRUE(file.has_value()) << file.error().text();
  expect_full(*file, 3);

  GgufWriter large;
  large.add("s", std::string(3 * zrt::model::kGgufPieceBytes, 'x'));
  large.add_f32("t", {1 << 20}, std::vector<float>(1 << 20, 1.0f));
  bytes = large.build();
  MemoryReader pieces{view(bytes)};
  const auto read = GgufFile::open(pieces.reader());
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(pieces.reads, 4u);
  EXPECT_LE(pieces.read_bytes, 4 * zrt::model::kGgufPieceBytes);  // the tensor's 4 MiB stay unread
  EXPECT_EQ(read->get<std::string_view>("s").value().size(), 3 * zrt::model::kGgufPieceBytes);
}

TEST(Gguf, ReaderFailuresAreErrors) {
  const Bytes bytes = zrt::test::full_gguf().build();
  MemoryReader none{view(bytes), 0};
  EXPECT_EQ(GgufFile::open(none.reader()).error().code(), Errc::io_error);
  MemoryReader one{view(bytes), 1};
  const auto file = GgufFile::open(one.reader());
  ASSERT_TRUE(file.has_value());
  std::byte few[4];
  const auto read = file->read_tensor(file->tensors()[0], few);
  EXPECT_EQ(read.error().code(), Errc::io_error);
  EXPECT_EQ(read.error().offset(), file->data_offset());
  EXPECT_EQ(GgufFile::open(zrt::model::GgufReader{}).error().code(), Errc::invalid_argument);
  // A reader that claims more than it has fails at the first byte that is not there.
  MemoryReader liar{view(bytes)};
  liar.claimed_extra = std::uint64_t{1} << 50;
  EXPECT_EQ(GgufFile::open(liar.reader()).error().code(), Errc::io_error);
}

TEST(Gguf, ReaderIndexHasALimit) {
  // A header whose only entry is an array of 2^40 bytes: nothing of it is loaded, as it would pass the limit.
  GgufWriter::Marks marks;
  Bytes bytes = GgufWriter().add_array<std::uint8_t>("a", {}).build(&marks);
  zrt::test::patch(bytes, marks.at("value a") + 4, std::uint64_t{1} << 40);
  bytes.resize(zrt::model::kGgufPieceBytes);
  MemoryReader memory{view(bytes)};
  memory.claimed_extra = std::uint64_t{1} << 41;
  const auto file = GgufFile::open(memory.reader());
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code(), Errc::limit_exceeded) << file.error().text();
  EXPECT_EQ(memory.reads, 1u);
}

TEST(Gguf, MapsAFileAndMoves) {
  const TemporaryFile temporary(zrt::test::full_gguf().build());
  auto opened = GgufFile::open(temporary.path());
  ASSERT_TRUE(opened.has_value()) << opened.error().text();
  expect_full(*opened, 3);
  const std::string_view name = opened->tensors()[1].name;
  const auto* value = opened->find("v.string");
  GgufFile moved = std::move(*opened);
  EXPECT_EQ(name, "t.q4_0");
  EXPECT_EQ(moved.find("v.string"), value);
  expect_full(moved, 3);
  auto second = GgufFile::open(temporary.path().c_str());
  ASSERT_TRUE(second.has_value());
  *second = std::move(moved);
  expect_full(*second, 3);
  EXPECT_EQ(second->find("v.string"), value);

  // Every plain element type lies aligned in a mapping.
  for (const auto& tensor : second->tensors())
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data(tensor).data()) % 32, 0u);
}

TEST(Gguf, PathsThatCannotBeOpened) {
  const auto missing = GgufFile::open("no/such/file.gguf");
  EXPECT_EQ(missing.error().code(), Errc::io_error);
  EXPECT_EQ(missing.error().text(), "cannot open 'no/such/file.gguf': no such file");
  EXPECT_EQ(GgufFile::open(testing::TempDir()).error().code(), Errc::io_error);
  EXPECT_EQ(GgufFile::open(std::string_view("a\0b", 3)).error().code(), Errc::invalid_argument);
  EXPECT_EQ(GgufFile::open(static_cast<const char*>(nullptr)).error().code(), Errc::invalid_argument);
  EXPECT_EQ(GgufFile::open(std::string(100000, 'a')).error().code(), Errc::io_error);
  const TemporaryFile empty(Bytes{});
  EXPECT_EQ(GgufFile::open(empty.path()).error().code(), Errc::truncated_file);
}

TEST(Gguf, MetadataErrorsNameTheKey) {
  const Bytes bytes = zrt::test::full_gguf().build();
  const auto file = GgufFile::open(view(bytes)).value();
  const auto expect = [](const auto& result, Errc code, std::string_view text) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(zrt::name(result.error().code()), zrt::name(code));
    EXPECT_EQ(result.error().text(), text);
  };
  expect(file.get<int>("absent"), Errc::missing_metadata, "metadata 'absent' is absent");
  expect(file.list<int>("absent"), Errc::missing_metadata, "metadata 'absent' is absent");
  expect(file.array("absent"), Errc::missing_metadata, "metadata 'absent' is absent");
  expect(file.get<int>("v.string"), Errc::invalid_metadata, "metadata 'v.string': integer expected, string found");
  expect(file.get<int>("v.f32"), Errc::invalid_metadata, "metadata 'v.f32': integer expected, f32 found");
  expect(file.get<int>("v.bool"), Errc::invalid_metadata, "metadata 'v.bool': integer expected, bool found");
  expect(file.get<int>("a.i32"), Errc::invalid_metadata, "metadata 'a.i32': integer expected, array found");
  expect(file.get<bool>("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': bool expected, u8 found");
  expect(file.get<float>("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': floating-point number expected, u8 found");
  expect(file.get<std::string_view>("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': string expected, u8 found");
  expect(file.array("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': array expected, u8 found");
  expect(file.strings("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': array expected, u8 found");
  expect(file.strings("a.u8"), Errc::invalid_metadata, "metadata 'a.u8': string expected, u8 found");
  expect(file.get<float>("v.f64"), Errc::invalid_metadata, "metadata 'v.f64': an f64 outside the range of f32 found");
  expect(file.get<std::int8_t>("v.u8"), Errc::invalid_metadata, "metadata 'v.u8': 200 found, -128 to 127 expected");
  expect(file.get<std::uint8_t>("v.i8"), Errc::invalid_metadata, "metadata 'v.i8': -100 found, 0 to 255 expected");
  expect(file.get<std::uint64_t>("v.i64"), Errc::invalid_metadata,
         "metadata 'v.i64': -9223372036854775808 found, 0 to 18446744073709551615 expected");
  expect(file.get<std::int64_t>("v.u64"), Errc::invalid_metadata,
         "metadata 'v.u64': 18446744073709551615 found, -9223372036854775808 to "
         "9223372036854775807 expected");
  expect(file.get_or<int>("v.string", 3), Errc::invalid_metadata,
         "metadata 'v.string': integer expected, string found");
  EXPECT_EQ(file.get_or<int>("absent", 3).value(), 3);
  EXPECT_EQ(file.get_or<int>("v.u8", 3).value(), 200);
  expect(file.find("a.u8")->element(2), Errc::invalid_argument,
         "element 2 of a metadata value with 2 elements was asked for");
  expect(file.find("v.u8")->element(0), Errc::invalid_argument,
         "element 0 of a metadata value with 0 elements was asked for");
  EXPECT_EQ(file.find("v.u"), nullptr);
  EXPECT_EQ(file.find(""), nullptr);
  EXPECT_EQ(file.find_tensor("t"), nullptr);
  EXPECT_EQ(file.array("a.string")->element_type(), GgufValueType::string);
  EXPECT_EQ(file.array("a.string")->count(), 3u);
}

TEST(Gguf, InfinityAndNanSurviveTheWayToFloat) {
  const Bytes bytes = GgufWriter()
                          .add("inf", -std::numeric_limits<double>::infinity())
                          .add("nan", std::numeric_limits<double>::quiet_NaN())
                          .build();
  const auto file = GgufFile::open(view(bytes)).value();
  EXPECT_EQ(file.get<float>("inf").value(), -std::numeric_limits<float>::infinity());
  const float nan = file.get<float>("nan").value();
  EXPECT_NE(nan, nan);
}

TEST(Gguf, AlignmentMovesTheData) {
  for (std::uint32_t alignment : {8u, 16u, 64u, 4096u}) {
    const Bytes bytes = GgufWriter().align(alignment).add_f32("a", {1}, {1}).add_f32("b", {1}, {2}).build();
    const auto file = GgufFile::open(view(bytes));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    EXPECT_EQ(file->alignment(), alignment);
    EXPECT_EQ(file->data_offset() % alignment, 0u);
    EXPECT_EQ(file->tensors()[1].offset, alignment);
    float value = 0;
    std::memcpy(&value, file->data(file->tensors()[1]).data(), sizeof(value));
    EXPECT_EQ(value, 2.0f);
  }
}

TEST(Gguf, FilesWithoutTensorsOrMetadataOpen) {
  for (const Bytes& bytes : {GgufWriter().build(), GgufWriter(2).add("a", 1).build()}) {
    const auto file = GgufFile::open(view(bytes));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    EXPECT_TRUE(file->tensors().empty());
  }
}

TEST(Gguf, TensorsMayLieInAnyOrderAndLeaveGaps) {
  GgufWriter::Marks marks;
  Bytes bytes =
      GgufWriter().add_f32("a", {8}, std::vector<float>(8)).add_f32("b", {8}, std::vector<float>(8)).build(&marks);
  zrt::test::patch(bytes, marks.at("offset a"), std::uint64_t{96});
  zrt::test::patch(bytes, marks.at("offset b"), std::uint64_t{0});
  bytes.resize(bytes.size() + 64);
  const auto file = GgufFile::open(view(bytes));
  ASSERT_TRUE(file.has_value()) << file.error().text();
  EXPECT_EQ(file->data(file->tensors()[0]).data(), bytes.data() + file->data_offset() + 96);
}

TEST(Gguf, EveryTypeHasTheSizesOfItsDType) {
  for (const auto& type : zrt::model::kGgmlTypes) {
    EXPECT_EQ(zrt::model::find_ggml_type(type.id), &type);
    EXPECT_EQ(zrt::model::find_ggml_type(type.dtype), &type);
    EXPECT_TRUE(zrt::model::removed_ggml_type(type.id).empty());
    const Bytes bytes =
        GgufWriter().add_tensor("t", type.id, {type.block_elems() * 2u, 3}, Bytes(type.block_bytes() * 6u)).build();
    const auto file = GgufFile::open(view(bytes));
    ASSERT_TRUE(file.has_value()) << type.name() << ": " << file.error().text();
    EXPECT_EQ(file->tensors()[0].bytes, type.block_bytes() * 6u);
    EXPECT_EQ(file->tensors()[0].type.name(), type.name());
  }
  EXPECT_EQ(zrt::model::kGgmlTypes.size(), 34u);
  EXPECT_EQ(zrt::model::find_ggml_type(DType::ui8), nullptr);
}

TEST(Gguf, ManyNamesAreFound) {
  GgufWriter writer;
  for (int i = 0; i < 60000; ++i) writer.add("key." + std::to_string(i * 7919 % 60000), i);
  const Bytes bytes = writer.build();
  const auto file = GgufFile::open(view(bytes)).value();
  for (int i = 0; i < 60000; i += 997) EXPECT_EQ(file.get<int>("key." + std::to_string(i * 7919 % 60000)).value(), i);
}

TEST(Gguf, BytesThatChangeWhileTheFileIsOpenCostAnError) {
  GgufWriter::Marks marks;
  Bytes bytes = zrt::test::full_gguf().build(&marks);
  const auto file = GgufFile::open(view(bytes)).value();
  zrt::test::patch(bytes, marks.at("value a.string") + 12, ~std::uint64_t{0});
  EXPECT_EQ(file.strings("a.string").error().code(), Errc::truncated_file);
  EXPECT_EQ(file.find("a.string")->element(1).error().code(), Errc::truncated_file);
  zrt::test::patch(bytes, marks.at("value a.nested") + 12, 99u);
  EXPECT_EQ(file.list<GgufValue>("a.nested").error().code(), Errc::invalid_file);
  zrt::test::patch(bytes, marks.at("value a.bool") + 13, std::uint8_t{9});
  EXPECT_EQ(file.list<bool>("a.bool").error().code(), Errc::invalid_metadata);
}

}  // namespace
}  // namespace gguf_test
