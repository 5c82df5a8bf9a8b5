// SPDX-License-Identifier: Apache-2.0
// tests/unit/constants.cpp: constants of a program are read where its plan holds them, and are never written.
#include <algorithm>
#include <array>
#include <cstdint>
#include <support/fusion_program.hpp>

namespace constants_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;

constexpr std::int64_t kRows = 64;
constexpr std::uint64_t kBytes = kRows * 32 * sizeof(float);

T table(B& b, std::uint32_t seed) { return b.constant({kRows, 32}, random_floats(kRows * 32, seed)); }
HostValue input() { return random_value({kRows, 32}, 7); }
T x_of(B& b) { return b.parameter({DType::f32, {kRows, 32}}, "x"); }

/// Runs what `b` holds on both backends, three times each, and expects the results of `expected` and an arena of no more
/// than `arena` bytes.
void expect_run(B& b, const std::vector<std::vector<float>>& expected, std::uint64_t arena) {
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().text();
  const std::vector<HostValue> in{input()};
  for (const ProgramRun& run :
       {run_program(*program, in, 3), run_program(*program, in, 3, std::uint64_t{1} << 32, false),
        run_program_on_cpu(*program, in, 3)}) {
    ASSERT_FALSE(run.refused) << run.refused->text();
    ASSERT_FALSE(run.failed) << run.failed->text();
    ASSERT_EQ(run.outputs.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(floats_of(run.outputs[i]), expected[i]) << "output " << i;
    EXPECT_LE(run.arena_bytes, arena);
  }
}

std::vector<float> added(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

TEST(Constants, TakeNoneOfTheArena) {
  B b;
  b.result(b.add(x_of(b), table(b, 1)));
  expect_run(b, {added(floats_of(input()), random_floats(kRows * 32, 1))}, kBytes);
}

TEST(Constants, AreResults) {
  B b;
  const T one = table(b, 1);
  (void)x_of(b);
  b.result(one);
  b.result(b.reshape(one, {32, kRows}));
  b.result(b.slice(one, {2, 0}, {3, 32}));
  const std::vector<float> data = random_floats(kRows * 32, 1);
  expect_run(b, {data, data, {data.begin() + 64, data.begin() + 160}}, kBytes);
}

TEST(Constants, AreNotWrittenOver) {
  constexpr std::array<std::int32_t, 2> places{1, 0};
  // Each op would write its result over an operand that is read for the last time.
  B b;
  const T x = x_of(b);
  const T index = b.constant({DType::si32, {2}}, as_bytes(Span<const std::int32_t>(places)));
  const T row = b.slice(x, {0, 0}, {1, 32});
  b.result(b.add(table(b, 1), x));
  b.result(b.dynamic_update_slice(table(b, 2), row, index));
  b.result(b.stop_gradient(b.mul(b.slice(table(b, 3), {0, 0}, {kRows, 32}), x)));
  std::vector<float> updated = random_floats(kRows * 32, 2);
  const std::vector<float> in = floats_of(input());
  std::copy_n(in.begin(), 32, updated.begin() + 32);
  std::vector<float> product = random_floats(kRows * 32, 3);
  for (std::size_t i = 0; i < product.size(); ++i) product[i] *= in[i];
  expect_run(b, {added(random_floats(kRows * 32, 1), in), updated, product}, 4 * kBytes);
}

TEST(Constants, OfRegionsLieOutsideToo) {
  B b;
  const auto branch = [&b](std::uint32_t seed) {
    return b.region(Name(), [&b, seed] {
      const T x = x_of(b);
      b.result(seed == 1 ? b.add(x, table(b, seed)) : table(b, seed));
    });
  };
  const T x = x_of(b);
  const T always = b.gt(b.reshape(b.slice(x, {0, 0}, {1, 1}), {}), b.scalar(DType::f32, -100.0));
  b.result(b.cond(always, branch(1), branch(2), {x})[0]);
  // x, the result, and one element; each region's own x, the sum over the first one's.
  expect_run(b, {added(floats_of(input()), random_floats(kRows * 32, 1))}, 4 * kBytes + 64);
}

}  // namespace
}  // namespace constants_test
