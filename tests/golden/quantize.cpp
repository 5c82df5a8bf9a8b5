// SPDX-License-Identifier: Apache-2.0
// tests/golden/quantize.cpp: what is written as each weight type, beside what llama.cpp writes.
#include <zrt/model/quantize.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace quantize_test {
namespace {

using namespace zrt;

const std::filesystem::path kShared = ZRT_SHARED_DIR;

/// A file of golden/quant: rows, and what llama.cpp's blocks for them stand for.
struct Rows {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> in;
  std::vector<float> theirs;
};

Rows read_rows(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::int32_t head[9]{};
  constexpr std::size_t kHead = 4 + sizeof head + 16;
  if (bytes.size() < kHead) return {};
  std::memcpy(head, bytes.data() + 4, sizeof head);
  Rows rows{static_cast<std::size_t>(head[2]), static_cast<std::size_t>(head[3]), {}, {}};
  rows.in.resize(rows.rows * rows.columns);
  rows.theirs.resize(rows.in.size());
  const std::size_t values = rows.in.size() * sizeof(float);
  const std::size_t first = kHead + rows.columns * sizeof(float);
  const std::size_t second = first + values + rows.rows * static_cast<std::size_t>(head[6]);
  if (bytes.size() < second + values) return {};
  std::memcpy(rows.in.data(), bytes.data() + first, values);
  std::memcpy(rows.theirs.data(), bytes.data() + second, values);
  return rows;
}

double distance(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(sum);
}

// Of all rows, one of numbers near 1e-5, where scales are subnormal, is 1 % worse in IQ2_S; all others are no worse.
TEST(QuantizeGolden, LeavesNoMoreErrorThanLlamaCppsBlocks) {
  if (!std::filesystem::exists(kShared / "golden/quant")) GTEST_SKIP() << "NOT RUN: there is no golden data";
  std::size_t types = 0;
  for (const quant::TypeFacts& type : quant::kTypeFactsOf<quant::OwnTypes>) {
    const quant::Encode encode = quant::find_encoder(type.dtype);
    if (encode == nullptr || type.dtype == DType::f32) continue;
    ++types;
    std::string file(name(type.dtype));
    if (file.ends_with("_k")) file.back() = 'K';
    const Rows rows = read_rows(kShared / "golden/quant" / (file + ".bin"));
    ASSERT_NE(rows.rows, 0u) << file;
    const std::vector<float> weight(rows.columns, 1.0f);
    std::vector<std::byte> blocks(rows.columns * 4);
    std::vector<float> ours(rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r) {
      const float* x = rows.in.data() + r * rows.columns;
      encode(x, weight.data(), rows.columns, blocks.data());
      quant::find(type.dtype)->dequantise(blocks.data(), rows.columns, ours.data());
      EXPECT_LE(distance(x, ours.data(), rows.columns),
                1.02 * distance(x, rows.theirs.data() + r * rows.columns, rows.columns))
          << file << " row " << r;
    }
  }
  EXPECT_EQ(types, 26u);
}

TEST(QuantizeGolden, GivesTensorsTheTypesOfLlamaCppsMixtures) {
  if (!std::filesystem::exists(kShared / "golden/arch")) GTEST_SKIP() << "NOT RUN: there is no golden data";
  for (const char* model : {"llama", "qwen3", "qwen3moe"})
    for (const char* type : {"q4_0", "q8_0", "q4_k_m"}) {
      const std::string path = (kShared / "golden/arch" / (std::string(model) + "-" + type + ".gguf")).string();
      const auto file = model::GgufFile::open(path);
      ASSERT_TRUE(file) << file.error().text();
      const auto mixed = model::MixedModel::of(*file);
      ASSERT_TRUE(mixed);
      const auto types =
          model::choose_types(*model::find_file_type(type), *mixed, {}, file->tensors(), system_allocator());
      for (std::size_t i = 0; i < file->tensors().size(); ++i)
        EXPECT_EQ(name((*types)[i]), name(file->tensors()[i].type.dtype)) << path << " " << file->tensors()[i].name;
    }
}

/// Quantises a trained model and compares each tensor with what llama.cpp's program made of it.
TEST(QuantizeGolden, ATrainedModelLosesNoMoreThanInLlamaCppsFile) {
  if (!std::filesystem::exists(kShared / "models/bard-f32.gguf")) GTEST_SKIP() << "NOT RUN: there are no models";
  const auto floats = model::GgufFile::open((kShared / "models/bard-f32.gguf").string());
  ASSERT_TRUE(floats) << floats.error().text();
  for (const char* type : {"q4_0", "q8_0", "q4_k_m"}) {
    const std::string path = (kShared / "models" / (std::string("bard-") + type + ".gguf")).string();
    const auto theirs = model::GgufFile::open(path);
    ASSERT_TRUE(theirs) << theirs.error().text();
    std::vector<std::byte> written;
    const model::ByteSink sink{&written, [](void* to, Span<const std::byte> bytes) noexcept -> Result<void> {
                                 auto& all = *static_cast<std::vector<std::byte>*>(to);
                                 all.insert(all.end(), bytes.begin(), bytes.end());
                                 return {};
                               }};
    const auto done = model::Quantizer(*floats, *model::find_file_type(type), {}).write(sink);
    ASSERT_TRUE(done) << done.error().text();
    const auto ours = model::GgufFile::open(Span<const std::byte>(written.data(), written.size()));
    ASSERT_TRUE(ours) << ours.error().text();
    EXPECT_EQ(written.size() / 4096, theirs->file_bytes() / 4096) << type;
    for (const model::GgufTensor& t : floats->tensors()) {
      const model::GgufTensor* a = ours->find_tensor(t.name);
      const model::GgufTensor* b = theirs->find_tensor(t.name);
      ASSERT_TRUE(a != nullptr && b != nullptr) << t.name;
      ASSERT_EQ(a->type.dtype, b->type.dtype) << type << " " << t.name;
      std::vector<float> exact(t.elems), x(t.elems), y(t.elems);
      quant::find(DType::f32)->dequantise(floats->data(t).data(), t.elems, exact.data());
      quant::find(a->type.dtype)->dequantise(ours->data(*a).data(), t.elems, x.data());
      quant::find(b->type.dtype)->dequantise(theirs->data(*b).data(), t.elems, y.data());
      EXPECT_LE(distance(exact.data(), x.data(), t.elems), 1.001 * distance(exact.data(), y.data(), t.elems))
          << type << " " << t.name;
    }
  }
}

}  // namespace
}  // namespace quantize_test
