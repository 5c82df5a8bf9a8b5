// SPDX-License-Identifier: Apache-2.0
// tests/golden/importance.cpp: what the matrices of a model are multiplied with, against llama.cpp's sums.
#include <zrt/model/importance.hpp>
#include <zrt/model/importance_writer.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/trace/input_squares.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <support/engines.hpp>
#include <tools/gguf_writer.hpp>
#include <vector>

namespace importance_test {
namespace {

using namespace zrt;

const std::string kFolder = std::string(ZRT_TEST_DATA_DIR) + "/peer/";

/// One matrix of a tensor.
struct Squares {
  std::uint64_t rows = 0;
  std::vector<double> sums;
};
using ByMatrix = std::map<std::pair<std::string, std::uint32_t>, Squares>;

/// What tools/peer_imatrix.py wrote.
ByMatrix read_squares(const std::string& name) {
  ByMatrix squares;
  std::ifstream in(kFolder + name + ".squares");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string tensor;
    std::uint32_t matrix = 0;
    Squares one;
    words >> tensor >> matrix >> one.rows;
    one.sums.assign(std::istream_iterator<double>(words), {});
    squares[{tensor, matrix}] = one;
  }
  return squares;
}

std::vector<std::uint32_t> prompt_of(const std::string& name) {
  std::ifstream in(kFolder + name + ".bin", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::uint32_t> head(5);
  std::memcpy(head.data(), all.data(), 20);
  std::vector<std::uint32_t> prompt(head[2]);
  std::memcpy(prompt.data(), all.data() + 20, 4 * prompt.size());
  return prompt;
}

/// An engine that keeps its values, and the sums of it.
struct Summed {
  Summed(const std::string& name, test::On on) : file(model::GgufFile::open(kFolder + name + ".gguf")) {
    EngineOptions options;
    options.context = 128;
    options.chunk = 32;
    options.kv_type = DType::f32;
    options.keep_values = true;
    engine = *test::open_engine(on, kFolder + name + ".gguf", options);
    squares.emplace(*trace::InputSquares::make(engine->validated(), model::weight_source(*file), system_allocator()));
  }

  [[nodiscard]] ByMatrix sums() const {
    ByMatrix all;
    for (const trace::WeightSquares& weight : squares->weights()) {
      const std::string tensor(model::TensorRows::of(weight.name).tensor);
      for (std::uint32_t m = 0; m < weight.matrices; ++m) {
        const auto row = squares->sums(weight).subspan(std::size_t{m} * weight.columns, weight.columns);
        all[{tensor, m}] = {squares->counts(weight)[m], {row.begin(), row.end()}};
      }
    }
    return all;
  }

  Result<model::GgufFile> file;
  std::unique_ptr<test::HostEngine> engine;
  std::optional<trace::InputSquares> squares;
};

/// `bound` is the largest share by which the sums of a matrix may differ, all together.
void expect_near(const ByMatrix& found, const ByMatrix& expected, double bound) {
  for (const auto& [key, value] : found) EXPECT_TRUE(expected.contains(key)) << key.first;
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(found.contains(key)) << key.first;
    const Squares& one = found.at(key);
    EXPECT_EQ(one.rows, value.rows) << key.first << " matrix " << key.second;
    ASSERT_EQ(one.sums.size(), value.sums.size()) << key.first;
    double off = 0;
    double all = 1e-30;
    for (std::size_t i = 0; i < one.sums.size(); ++i) {
      off += std::abs(one.sums[i] - value.sums[i]);
      all += value.sums[i];
    }
    EXPECT_LT(off / all, bound) << key.first << " matrix " << key.second;
  }
}

class InputSquares : public testing::TestWithParam<const char*> {};

TEST_P(InputSquares, AreThoseOfLlamaCpp) {
  const ByMatrix expected = read_squares(GetParam());
  ASSERT_FALSE(expected.empty());
  const std::vector<std::uint32_t> prompt = prompt_of(GetParam());
  // llama.cpp's gelu is a table of f16; all else is the rounding of two orders of sums.
  const double bound = std::string_view(GetParam()) == "gemma4-moe" ? 4e-3 : 2e-5;
  for (const test::On on : {test::On::cpu, test::On::reference}) {
    Summed run(GetParam(), on);
    ASSERT_TRUE(run.squares->feed(prompt));
    expect_near(run.sums(), expected, bound);
  }
}

TEST_P(InputSquares, ASequenceInStepsAndOneAfterItAddUp) {
  const std::vector<std::uint32_t> prompt = prompt_of(GetParam());
  const std::span<const std::uint32_t> all(prompt);
  Summed whole(GetParam(), test::On::cpu);
  ASSERT_TRUE(whole.squares->feed(all));
  Summed steps(GetParam(), test::On::cpu);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(steps.squares->restart());
    ASSERT_TRUE(steps.squares->feed(all.first(15)));
    ASSERT_TRUE(steps.squares->feed(all.subspan(15)));
  }
  const ByMatrix once = whole.sums();
  for (const auto& [key, twice] : steps.sums()) {
    EXPECT_EQ(twice.rows, 2 * once.at(key).rows) << key.first;
    // The same values in the same order, but for a last rounding of each sum.
    for (std::size_t i = 0; i < twice.sums.size(); ++i)
      ASSERT_NEAR(twice.sums[i], 2 * once.at(key).sums[i], 1e-12 * twice.sums[i]) << key.first;
  }
}

INSTANTIATE_TEST_SUITE_P(Peer, InputSquares,
                         testing::Values("deepseek2-v3", "gemma4-moe", "granitehybrid-moe", "qwen35moe", "falcon-h1",
                                         "ernie4_5"));

TEST(InputSquaresErrors, AnEngineThatKeepsNoValuesAndTooManyTokens) {
  EngineOptions options;
  options.context = 16;
  options.chunk = 16;
  const auto file = model::GgufFile::open(kFolder + "ernie4_5.gguf");
  const auto plain = test::open_engine(test::On::reference, kFolder + "ernie4_5.gguf", options);
  const auto none = trace::InputSquares::make((*plain)->validated(), model::weight_source(*file), system_allocator());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Errc::invalid_argument);
  Summed run("ernie4_5", test::On::reference);
  std::vector<std::uint32_t> tokens(32, 1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run.squares->feed(tokens));
  EXPECT_EQ(run.squares->feed(tokens).error().code(), Errc::capacity_exceeded);
  tokens.resize(100);
  EXPECT_EQ(run.squares->feed(tokens).error().code(), Errc::invalid_argument);
}

TEST(ImportanceFile, IsReadAsItWasWritten) {
  const std::vector<double> sums{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint64_t> counts{2, 0};
  model::TensorSquares tensor{"blk.0.ffn_up_exps.weight", 3, 2, {sums.data(), 6}, {counts.data(), 2}};
  test::Bytes bytes;
  const model::ByteSink sink{&bytes, [](void* to, Span<const std::byte> more) noexcept {
                               static_cast<test::Bytes*>(to)->insert(static_cast<test::Bytes*>(to)->end(), more.begin(),
                                                                     more.end());
                               return Result<void>{};
                             }};
  ASSERT_TRUE(model::write_importance({&tensor, 1}, {"text.txt", 7, 512}, sink, system_allocator()));
  const auto file = model::GgufFile::open(Span<const std::byte>(bytes.data(), bytes.size()));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->get<std::string_view>("general.type").value(), "imatrix");
  EXPECT_EQ(file->strings("imatrix.datasets").value()[0], "text.txt");
  EXPECT_EQ(file->get<std::uint32_t>("imatrix.chunk_count").value(), 7u);
  EXPECT_EQ(file->get<std::uint32_t>("imatrix.chunk_size").value(), 512u);
  std::vector<float> weights(6);
  ASSERT_TRUE(model::Importance(*file).read(tensor.name, 3, 2, {weights.data(), 6}));
  // The second matrix met nothing.
  EXPECT_EQ(weights, (std::vector<float>{0.5f, 1.0f, 1.5f, 1.0f, 1.0f, 1.0f}));
  tensor.matrices = 3;
  EXPECT_EQ(model::write_importance({&tensor, 1}, {}, sink, system_allocator()).error().code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace importance_test
