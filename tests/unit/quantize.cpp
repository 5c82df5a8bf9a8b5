// SPDX-License-Identifier: Apache-2.0
// tests/unit/quantize.cpp: blocks and files that are written: what is read of them, and what is refused.
#include <zrt/exec/thread_pool.hpp>
#include <zrt/model/importance_dat.hpp>
#include <zrt/model/quantize.hpp>

#include <boost/mp11/algorithm.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <tools/gguf_writer.hpp>
#include <vector>

namespace quantize_test {
namespace {

using namespace zrt;
using test::Bytes;

template <class L> class Blocks : public testing::Test {};
template <class List> struct TestTypes;
template <class... L> struct TestTypes<boost::mp11::mp_list<L...>> {
  using type = testing::Types<L...>;
};
template <class L> using IsWritable = boost::mp11::mp_bool<quant::WritableLayout<L>>;
using Writable = boost::mp11::mp_copy_if<quant::OwnTypes, IsWritable>;
struct TypeNames {
  template <class L> static std::string GetName(int) { return std::string(name(L::kDType)); }
};
TYPED_TEST_SUITE(Blocks, TestTypes<Writable>::type, TypeNames);

/// A block of random bytes whose scales are finite.
template <class L> Bytes random_block(std::mt19937& random) {
  Bytes block(L::kBytes);
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  for (std::uint32_t run = 0; run < L::kElems / L::kRun; ++run) L::store_scale(block.data(), run, 0.125f);
  if constexpr (L::kHasOffset) L::store_offset(block.data(), -0.25f);
  return block;
}

TYPED_TEST(Blocks, WhatIsReadOfABlockWritesItsValuesAgain) {
  using L = TypeParam;
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    const Bytes block = random_block<L>(random);
    Bytes again(L::kBytes);
    for (std::uint32_t run = 0; run < L::kElems / L::kRun; ++run)
      L::store_scale(again.data(), run, L::scale(block.data(), run));
    if constexpr (L::kHasOffset) L::store_offset(again.data(), L::offset(block.data(), 0));
    if constexpr (L::kPart < L::kRun) L::store_factors(L::factors_of(block.data()), again.data());
    std::vector<std::int8_t> q(L::kElems);
    L::unpack(block.data(), q.data());
    L::pack(q.data(), again.data());
    std::vector<float> before(L::kElems);
    std::vector<float> after(L::kElems);
    L::dequantise(block.data(), L::kElems, before.data());
    L::dequantise(again.data(), L::kElems, after.data());
    for (std::uint32_t k = 0; k < L::kElems; ++k) ASSERT_EQ(before[k], after[k]) << "value " << k << " of block " << i;
  }
}

TYPED_TEST(Blocks, ValuesOfATypeAreWrittenExactly) {
  using L = TypeParam;
  std::mt19937 random(11);
  const std::vector<float> weight(L::kElems, 1.0f);
  for (int i = 0; i < 20; ++i) {
    Bytes block = random_block<L>(random);
    // A ternary pair has a fourth code, which no writer uses.
    std::vector<std::int8_t> q(L::kElems);
    L::unpack(block.data(), q.data());
    for (std::int8_t& integer : q) integer = L::Integers::nearest(integer);
    L::pack(q.data(), block.data());
    std::vector<float> x(L::kElems);
    std::vector<float> y(L::kElems);
    L::dequantise(block.data(), L::kElems, x.data());
    Bytes again(L::kBytes);
    quant::encode_blocks<L>(x.data(), weight.data(), L::kElems, again.data());
    L::dequantise(again.data(), L::kElems, y.data());
    double error = 0;
    double energy = 0;
    for (std::uint32_t k = 0; k < L::kElems; ++k) {
      error += std::pow(static_cast<double>(x[k] - y[k]), 2);
      energy += std::pow(static_cast<double>(x[k]), 2);
    }
    // Steps are a quarter of a value or more in the coarsest types, so an error of a step would show.
    EXPECT_LE(error, 2e-3 * energy) << i;
  }
}

TYPED_TEST(Blocks, NumbersWithoutSenseStayDefined) {
  using L = TypeParam;
  const std::vector<float> weight(L::kElems, 1.0f);
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f, 1e-44f, 0.0f}) {
    std::vector<float> x(L::kElems, 1.0f);
    x[5] = odd;
    Bytes block(L::kBytes);
    quant::encode_blocks<L>(x.data(), weight.data(), L::kElems, block.data());
    std::fill(x.begin(), x.end(), odd);
    quant::encode_blocks<L>(x.data(), weight.data(), L::kElems, block.data());
  }
}

// --- types of a grid ---------------------------------------------------------------------------------

template <class L> class GridBlocks : public testing::Test {};
template <class L> using IsGrid = boost::mp11::mp_bool<quant::GridLayout<L>>;
using OfGrids = boost::mp11::mp_copy_if<quant::OwnTypes, IsGrid>;
TYPED_TEST_SUITE(GridBlocks, TestTypes<OfGrids>::type, TypeNames);

// What a block of the type stands for is written with (nearly) its values: entries, signs and factors all have to be
// found again. A part of small numbers beside large ones may take another scale.
TYPED_TEST(GridBlocks, ValuesOfATypeAreFoundAgain) {
  using L = TypeParam;
  std::mt19937 random(13);
  const std::vector<float> weight(L::kElems, 1.0f);
  for (int i = 0; i < 4; ++i) {
    Bytes block(L::kBytes);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    if constexpr (L::kDType == DType::iq1_m)
      for (std::size_t word = 0; word < 4; ++word) block[49 + 2 * word] &= std::byte{0x0f};
    L::store_scale(block.data(), 0, 0.125f);
    std::vector<float> x(L::kElems);
    std::vector<float> y(L::kElems);
    L::dequantise(block.data(), L::kElems, x.data());
    Bytes again(L::kBytes);
    quant::encode_grid<L>(x.data(), weight.data(), L::kElems, again.data());
    L::dequantise(again.data(), L::kElems, y.data());
    double error = 0;
    double energy = 0;
    for (std::uint32_t k = 0; k < L::kElems; ++k) {
      error += std::pow(static_cast<double>(x[k] - y[k]), 2);
      energy += std::pow(static_cast<double>(x[k]), 2);
    }
    // An entry in the wrong place would cost 3 % and more.
    EXPECT_LE(error, 1e-2 * energy) << i;
  }
}

TYPED_TEST(GridBlocks, NumbersWithoutSenseStayDefined) {
  using L = TypeParam;
  const std::vector<float> weight(L::kElems, 1.0f);
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-44f}) {
    std::vector<float> x(L::kElems, 1.0f);
    x[5] = odd;
    Bytes block(L::kBytes);
    quant::encode_grid<L>(x.data(), weight.data(), L::kElems, block.data());
  }
}

// --- files --------------------------------------------------------------------------------------------

/// Keeps what is written, and fails once there are `room` bytes.
struct Sink {
  Bytes bytes;
  std::size_t room = std::numeric_limits<std::size_t>::max();

  model::ByteSink hook() {
    return {this, [](void* context, Span<const std::byte> part) noexcept -> Result<void> {
              auto& self = *static_cast<Sink*>(context);
              if (self.bytes.size() + part.size() > self.room) return fail(Errc::io_error, "the disk is full");
              self.bytes.insert(self.bytes.end(), part.begin(), part.end());
              return {};
            }};
  }
};

Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

model::GgufFile open(const Bytes& bytes) {
  auto file = model::GgufFile::open(Span<const std::byte>(bytes.data(), bytes.size()));
  EXPECT_TRUE(file) << file.error().text();
  return std::move(*file);
}

const std::string kModel = std::string(ZRT_TEST_DATA_DIR) + "/../../examples/models/bard-q8_0.gguf";
const std::string kFloats = std::string(ZRT_TEST_DATA_DIR) + "/peer/granite.gguf";

TEST(GgufWriter, CopiesAFileByteForByte) {
  for (const std::string& path : {kModel, kFloats}) {
    const Bytes bytes = read_bytes(path);
    const model::GgufFile file = open(bytes);
    Sink sink;
    model::GgufWriter writer(sink.hook(), system_allocator(), file.alignment());
    for (const model::GgufEntry& entry : file.entries()) ASSERT_TRUE(writer.add(entry));
    for (const model::GgufTensor& t : file.tensors())
      ASSERT_TRUE(writer.add_tensor(t.name, t.type, Span(t.dims).first(t.rank)));
    ASSERT_TRUE(writer.begin());
    EXPECT_EQ(writer.finish().error().code(), Errc::invalid_argument);
    for (const model::GgufTensor& t : file.tensors()) ASSERT_TRUE(writer.write(file.data(t)));
    ASSERT_TRUE(writer.finish());
    EXPECT_TRUE(sink.bytes == bytes) << path;
    EXPECT_EQ(writer.write(Span<const std::byte>(bytes.data(), 1)).error().code(), Errc::invalid_argument);
  }
}

TEST(GgufWriter, RefusesRowsThatAreNoWholeBlocks) {
  Sink sink;
  model::GgufWriter writer(sink.hook(), system_allocator());
  const std::uint64_t dims[] = {48, 2};
  const auto refused = writer.add_tensor("odd", *model::find_ggml_type(DType::q4_0), dims);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "tensor 'odd': rows of 48 elements are no whole blocks of 32");
  const std::uint64_t huge[] = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  EXPECT_EQ(writer.add_tensor("huge", *model::find_ggml_type(DType::f32), huge).error().code(), Errc::size_overflow);
}

Bytes quantized(const Bytes& bytes, std::string_view type, const model::QuantizeOptions& options = {}) {
  const model::GgufFile file = open(bytes);
  Sink sink;
  const auto written = model::Quantizer(file, *model::find_file_type(type), options).write(sink.hook());
  EXPECT_TRUE(written) << written.error().text();
  return sink.bytes;
}

TEST(Quantizer, EveryFileTypeGivesAFileOfItsTypes) {
  const Bytes bytes = read_bytes(kFloats);
  for (const model::FileType& type : model::kFileTypes) {
    const Bytes written = quantized(bytes, type.name);
    const model::GgufFile file = open(written);
    ASSERT_EQ(file.tensors().size(), open(bytes).tensors().size());
    if (type.number != model::kNoFileType) {
      EXPECT_EQ(file.get<std::uint32_t>("general.file_type").value_or(0), type.number) << type.name;
    }
    std::size_t changed = 0;
    for (const model::GgufTensor& t : file.tensors()) changed += t.type.dtype != DType::f32 ? 1u : 0u;
    EXPECT_EQ(changed != 0, type.type != DType::f32) << type.name;
  }
}

/// A model of one tensor of two matrices, [256, 4, 2].
Bytes two_matrices(const std::string& name = "blk.0.ffn_up_exps.weight") {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  w.add("llama.block_count", std::uint32_t{1});
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(256 * 4 * 2);
  for (float& x : values) x = normal(random);
  w.add_f32(name, {256, 4, 2}, values);
  return w.build();
}
/// An importance matrix that says that `columns` columns from `first[m]` on matter in matrix m.
Bytes importance(std::size_t columns, std::vector<std::size_t> first,
                 const std::string& name = "blk.0.ffn_up_exps.weight") {
  std::vector<float> sums(columns * first.size(), 1.0f);
  for (std::size_t m = 0; m < first.size(); ++m)
    for (std::size_t i = first[m]; i < first[m] + 8; ++i) sums[m * columns + i] = 1000.0f;
  test::GgufWriter w;
  w.add("general.type", "imatrix");
  w.add_f32(name + ".in_sum2", {columns, first.size()}, sums);
  w.add_f32(name + ".counts", {1, first.size()}, std::vector<float>(first.size(), 2.0f));
  return w.build();
}

TEST(Quantizer, AnImportanceMatrixChangesTypes) {
  const Bytes bytes = two_matrices("blk.0.ffn_down_exps.weight");
  const Bytes matters = importance(256, {16, 208}, "blk.0.ffn_down_exps.weight");
  const model::GgufFile importance_file = open(matters);
  model::QuantizeOptions options;
  EXPECT_EQ(open(quantized(bytes, "iq3_xxs")).tensors()[0].type.dtype, DType::q3_k);
  options.importance = &importance_file;
  EXPECT_EQ(open(quantized(bytes, "iq3_xxs", options)).tensors()[0].type.dtype, DType::iq3_xxs);
  options.pure = true;
  EXPECT_EQ(open(quantized(bytes, "q4_k_m", options)).tensors()[0].type.dtype, DType::q4_k);
}

TEST(Quantizer, ManyWorkersWriteTheSameBytes) {
  const Bytes bytes = read_bytes(kFloats);
  exec::ThreadPool pool(system_allocator());
  ASSERT_TRUE(pool.start(3));
  model::QuantizeOptions options;
  options.threads = pool.hook();
  EXPECT_TRUE(quantized(bytes, "q4_k_m") == quantized(bytes, "q4_k_m", options));
}

TEST(Quantizer, TakesBlocksOnlyWhenItIsToldTo) {
  const Bytes bytes = read_bytes(kModel);
  const model::GgufFile file = open(bytes);
  Sink sink;
  const auto refused = model::Quantizer(file, *model::find_file_type("q4_0"), {}).write(sink.hook());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::unsupported_weight_type);
  EXPECT_NE(refused.error().text().find("is q8_0, expected f32, f16 or bf16"), std::string_view::npos);
  EXPECT_TRUE(sink.bytes.empty());
  model::QuantizeOptions options;
  options.from_blocks = true;
  const Bytes written = quantized(bytes, "q4_0", options);
  EXPECT_LT(written.size(), bytes.size());
}

TEST(Quantizer, RefusesWhatIsNotFinite) {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  w.add("llama.block_count", std::uint32_t{1});
  std::vector<float> values(64, 1.0f);
  values[40] = std::numeric_limits<float>::quiet_NaN();
  w.add_f32("blk.0.ffn_up.weight", {32, 2}, values);
  const Bytes bytes = w.build();
  const model::GgufFile file = open(bytes);
  Sink sink;
  const auto refused = model::Quantizer(file, *model::find_file_type("q8_0"), {}).write(sink.hook());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "tensor 'blk.0.ffn_up.weight': row 1 holds a value that is not finite");
}

/// A model of one matrix of two rows of 256 numbers, those of the last near `last`.
Bytes two_rows(float last) {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  w.add("llama.block_count", std::uint32_t{1});
  std::vector<float> values(512, 1.0f);
  for (std::size_t i = 256; i < 512; ++i) values[i] = last * (i % 2 == 0 ? -1.0f : 1.0f);
  w.add_f32("blk.0.ffn_up.weight", {256, 2}, values);
  return w.build();
}

TEST(Quantizer, RefusesWhatTheTypeCannotHold) {
  for (const model::FileType& type : model::kFileTypes)
    for (const float last : {2e3f, 3e4f, 7e4f, 1e6f, 3e8f, 3e38f}) {
      const Bytes bytes = two_rows(last);
      const model::GgufFile file = open(bytes);
      Sink sink;
      const auto written = model::Quantizer(file, type, {.pure = true}).write(sink.hook());
      if (!written) {
        EXPECT_EQ(written.error().code(), Errc::invalid_file);
        EXPECT_EQ(written.error().text(), "tensor 'blk.0.ffn_up.weight': row 1 holds a value that " +
                                              std::string(name(type.type)) + " cannot hold");
        continue;
      }
      const model::GgufFile made = open(sink.bytes);
      std::vector<float> y(512);
      quant::find(type.type)->dequantise(made.data(made.tensors()[0]).data(), 512, y.data());
      EXPECT_NEAR(y.back() / last, 1.0f, 0.4f) << type.name << " of " << last;
      EXPECT_TRUE(info(type.type).block_elems == 1 || last < 3e8f || type.type == DType::mxfp4) << type.name;
    }
  const Bytes f16 = two_rows(7e4f);
  Sink sink;
  EXPECT_FALSE(model::Quantizer(open(f16), *model::find_file_type("f16"), {}).write(sink.hook()));
}

TEST(Quantizer, TakesNoPartOfAModel) {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  w.add("llama.block_count", std::uint32_t{1});
  w.add("split.count", std::uint16_t{3});
  const Bytes bytes = w.build();
  Sink sink;
  const auto refused = model::Quantizer(open(bytes), *model::find_file_type("q8_0"), {}).write(sink.hook());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "split.count is 3, expected a model in one file: join its parts first");
}

/// The squared error of columns first..first+7 of a matrix of two_matrices.
double error_of(const Bytes& written, std::size_t matrix, std::size_t first) {
  const Bytes model = two_matrices();
  const model::GgufFile exact = open(model);
  const model::GgufFile file = open(written);
  const model::GgufTensor& t = file.tensors()[0];
  std::vector<float> x(t.elems), y(t.elems);
  quant::find(DType::f32)->dequantise(exact.data(exact.tensors()[0]).data(), t.elems, x.data());
  quant::find(t.type.dtype)->dequantise(file.data(t).data(), t.elems, y.data());
  double sum = 0;
  for (std::size_t row = 4 * matrix; row < 4 * matrix + 4; ++row)
    for (std::size_t i = row * 256 + first; i < row * 256 + first + 8; ++i)
      sum += std::pow(static_cast<double>(x[i] - y[i]), 2);
  return sum;
}

TEST(Quantizer, ColumnsThatMatterAreNearer) {
  const Bytes bytes = importance(256, {16, 208});
  const model::GgufFile matters = open(bytes);
  model::QuantizeOptions options;
  options.importance = &matters;
  for (const char* type : {"q4_0", "q4_k_s", "q2_k_s", "iq2_xxs", "iq1_s"}) {
    const Bytes plain = quantized(two_matrices(), type);
    const Bytes weighed = quantized(two_matrices(), type, options);
    EXPECT_LT(error_of(weighed, 0, 16), error_of(plain, 0, 16)) << type;
    EXPECT_LT(error_of(weighed, 1, 208), error_of(plain, 1, 208)) << type;
  }
}

// Two matrices of four columns, once as [columns, matrices] and once in a row with one count.
TEST(Importance, OneCountMayStandForAllMatrices) {
  const std::vector<float> sums{2, 4, 6, 8, 10, 12, 14, 16};
  for (const bool each : {true, false}) {
    test::GgufWriter w;
    if (each) {
      w.add_f32("a.in_sum2", {4, 2}, sums);
      w.add_f32("a.counts", {1, 2}, {2.0f, 2.0f});
    } else {
      w.add_f32("a.in_sum2", {8, 1}, sums);
      w.add_f32("a.counts", {1, 1}, {2.0f});
    }
    const Bytes bytes = w.build();
    const model::GgufFile file = open(bytes);
    std::vector<float> weight(8);
    const auto read = model::Importance(file).read("a", 4, 2, weight);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(weight, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  }
}

/// Numbers of 32 bits and texts with their length in front, as imatrix.dat has them.
struct DatWriter {
  std::string bytes;

  DatWriter& number(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> 8 * i & 255u));
    return *this;
  }
  DatWriter& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes += value;
    return *this;
  }
  DatWriter& entry(std::string_view name, std::uint32_t count, const std::vector<float>& sums) {
    text(name).number(count).number(static_cast<std::uint32_t>(sums.size()));
    for (const float sum : sums) number(std::bit_cast<std::uint32_t>(sum));
    return *this;
  }
  [[nodiscard]] Span<const std::byte> span() const {
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  }
};

TEST(Importance, OlderFilesSayTheSame) {
  DatWriter dat;
  dat.number(2).entry("a", 2, {2, 4, 6, 8, 10, 12, 14, 16}).entry("b", 0, {3, 5});
  for (const bool whole : {false, true}) {
    if (whole) dat.number(7).text("a text");
    EXPECT_FALSE(model::is_gguf(dat.span()));
    Sink sink;
    const auto done = model::write_importance_of_dat(dat.span(), sink.hook(), system_allocator());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_TRUE(model::is_gguf(sink.bytes));
    const model::GgufFile file = open(sink.bytes);
    EXPECT_EQ(file.find("imatrix.chunk_count")->as<std::uint32_t>().value(), whole ? 7u : 0u);
    std::vector<float> weight(8);
    ASSERT_TRUE(model::Importance(file).read("a", 4, 2, weight));
    EXPECT_EQ(weight, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
    weight.resize(2);
    ASSERT_TRUE(model::Importance(file).read("b", 2, 1, weight));
    EXPECT_EQ(weight, (std::vector<float>{3, 5})) << "what was met 0 times is divided by nothing";
  }
}

TEST(Importance, OlderFilesThatBreakTheirFormatAreRefusedWithThePlace) {
  const DatWriter whole = DatWriter().number(1).entry("a", 2, {2, 4}).number(3).text("t");
  constexpr std::size_t kEntries = 4 + 4 + 1 + 4 + 4 + 8;
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    Sink sink;
    const auto done = model::write_importance_of_dat(whole.span().first(size), sink.hook(), system_allocator());
    EXPECT_EQ(done.has_value(), size >= kEntries) << size;
    if (!done) {
      EXPECT_EQ(done.error().code(), Errc::truncated_file);
      EXPECT_LE(done.error().offset(), size);
    }
  }
  for (const DatWriter& bad :
       {DatWriter().number(0), DatWriter().number(0x80000000u), DatWriter().number(1).number(0),
        DatWriter().number(1).entry("a", 0xffffffffu, {1}), DatWriter().number(1).text("a").number(1).number(0),
        DatWriter().number(1).entry(std::string(200, 'a'), 1, {1})}) {
    Sink sink;
    const auto done = model::write_importance_of_dat(bad.span(), sink.hook(), system_allocator());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Errc::invalid_file) << done.error().text();
  }
}

TEST(Quantizer, RefusesAnImportanceMatrixOfAnotherModel) {
  const Bytes bytes = two_rows(1);
  const Bytes other = importance(256, {0, 0});
  const model::GgufFile matters = open(other);
  model::QuantizeOptions options;
  options.importance = &matters;
  Sink sink;
  const auto refused = model::Quantizer(open(bytes), *model::find_file_type("q4_0"), options).write(sink.hook());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("names none of the model's matrices"), std::string_view::npos);
}

TEST(Quantizer, RefusesAnImportanceMatrixOfOtherSizes) {
  for (const Bytes& bytes : {importance(128, {0, 0}), importance(256, {0, 0, 0})}) {
    const model::GgufFile matters = open(bytes);
    model::QuantizeOptions options;
    options.importance = &matters;
    const Bytes model = two_matrices();
    const model::GgufFile file = open(model);
    Sink sink;
    const auto refused = model::Quantizer(file, *model::find_file_type("q4_0"), options).write(sink.hook());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::shape_mismatch);
    EXPECT_NE(refused.error().text().find("expected 512"), std::string_view::npos) << refused.error().text();
  }
}

TEST(Quantizer, PassesOnTheErrorsOfTheSink) {
  const Bytes bytes = read_bytes(kFloats);
  const model::GgufFile file = open(bytes);
  const std::size_t whole = quantized(bytes, "q8_0").size();
  for (std::size_t room = 0; room < whole; room += whole / 37) {
    Sink sink;
    sink.room = room;
    const auto refused = model::Quantizer(file, *model::find_file_type("q8_0"), {}).write(sink.hook());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text(), "the disk is full");
  }
}

}  // namespace
}  // namespace quantize_test
