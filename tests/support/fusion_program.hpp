// SPDX-License-Identifier: Apache-2.0
// tests/support/fusion_program.hpp: one program with and without the passes: what it gives, and what its plan holds.
#pragma once

#include <zrt/ir/ptir/builder.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <support/run_program.hpp>
#include <vector>

namespace zrt::test {

using PtirBuilder = ir::ptir::Builder;
using PtirTensor = ir::ptir::Tensor;

/// Writes a program of f32 tensors: `build` takes its inputs and gives its result.
using BuildProgram = std::function<PtirTensor(PtirBuilder&, const std::vector<PtirTensor>&)>;

/// Numbers in [-2, 2], the same for the same seed.
[[nodiscard]] inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> data(count);
  for (float& x : data) x = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
  return data;
}

[[nodiscard]] inline HostValue random_value(const Shape& shape, std::uint32_t seed) {
  const std::vector<float> data = random_floats(shape.elements({}).raw(), seed);
  const auto bytes = std::as_bytes(std::span(data));
  return {{DType::f32, shape}, {bytes.begin(), bytes.end()}};
}

[[nodiscard]] inline std::vector<float> floats_of(const HostValue& value) {
  std::vector<float> data(value.bytes.size() / sizeof(float));
  if (!data.empty()) std::memcpy(data.data(), value.bytes.data(), value.bytes.size());
  return data;
}

/// What a program became, and how far its result moved.
struct FusionResult {
  std::vector<std::string> ops;    ///< of the plan with the passes
  std::vector<std::string> plain;  ///< of the plan without them
  std::size_t chains = 0;          ///< with the passes
  std::uint64_t arena_bytes = 0;   ///< with the passes
  std::uint64_t plain_arena_bytes = 0;
  double worst = 0;  ///< largest |with - without| / max(1, |without|)
  std::vector<float> values;

  [[nodiscard]] std::size_t count(std::string_view op) const {
    std::size_t found = 0;
    for (const std::string& each : ops) found += each == op ? 1u : 0u;
    return found;
  }
};

/// Builds a program for inputs of these shapes and runs it with and without the passes.
[[nodiscard]] inline FusionResult fuse(const std::vector<Shape>& shapes, const BuildProgram& build) {
  FusionResult result;
  PtirBuilder b;
  std::vector<PtirTensor> in;
  std::vector<HostValue> values;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ir::ptir::Shape shape;
    for (std::uint8_t axis = 0; axis < shapes[i].rank; ++axis) shape.append(shapes[i][axis].extent);
    in.push_back(b.parameter({DType::f32, shape}));
    values.push_back(random_value(shapes[i], 100 + static_cast<std::uint32_t>(i)));
  }
  b.result(build(b, in));
  const auto program = b.finish();
  EXPECT_TRUE(program) << (program ? "" : program.error().text());
  if (!program) return result;
  const ProgramRun with = run_program(*program, values, 2);
  const ProgramRun without = run_program(*program, values, 1, std::uint64_t{1} << 32, false);
  EXPECT_FALSE(with.refused) << with.refused->text();
  EXPECT_FALSE(without.refused) << without.refused->text();
  EXPECT_FALSE(with.failed || without.failed);
  if (with.refused || without.refused) return result;
  result.ops = with.ops;
  result.plain = without.ops;
  result.chains = with.chains;
  result.arena_bytes = with.arena_bytes;
  result.plain_arena_bytes = without.arena_bytes;
  EXPECT_EQ(with.outputs[0].type, without.outputs[0].type);
  result.values = floats_of(with.outputs[0]);
  const std::vector<float> expected = floats_of(without.outputs[0]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double found = result.values[i];
    const double wanted = expected[i];
    if (std::isnan(found) && std::isnan(wanted)) continue;
    if (found == wanted) continue;
    const double off = std::fabs(found - wanted) / std::fmax(1.0, std::fabs(wanted));
    result.worst = off <= result.worst ? result.worst : off;  // a NaN stays
  }
  return result;
}

}  // namespace zrt::test
