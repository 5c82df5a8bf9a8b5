// SPDX-License-Identifier: Apache-2.0
// tests/property/passes.cpp: random programs give with the passes what they give without them.
#include <zrt/ir/ptir/lower.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <support/fusion_program.hpp>
#include <support/random_program.hpp>
#include <support/run_plan.hpp>

namespace passes_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace ptir = zrt::ir::ptir;

std::vector<HostValue> random_inputs(const ptir::Program& program, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HostValue> inputs;
  for (const ptir::Parameter& p : program.regions[0].parameters) {
    HostValue value{{p.type.dtype, {}}, {}};
    for (const ptir::Dim dim : p.type.shape.view())
      value.type.shape =
          value.type.shape.appended(dim.is_constant() ? static_cast<std::uint32_t>(dim.constant())
                                    : dim.is_symbol() ? static_cast<std::uint32_t>(1 + (dim.symbol() + seed) % 4)
                                                      : static_cast<std::uint32_t>(random() % 5));
    value.bytes.resize(bytes_of(value.type.dtype, value.type.shape.elements({}).raw()));
    for (std::byte& byte : value.bytes)
      byte = static_cast<std::byte>(value.type.dtype == DType::i1 ? random() % 2 : random() % 256);
    inputs.push_back(std::move(value));
  }
  return inputs;
}

TEST(Passes, RandomProgramsOfEveryOperationKeepTheirBits) {
  std::size_t ran = 0;
  std::size_t changed = 0;
  for (std::uint32_t seed = 0; seed < 12000; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_program(seed, 1 + seed % 16);
    ASSERT_TRUE(program) << program.error().text();
    const auto inputs = random_inputs(*program, seed);
    const ProgramRun with = run_program(*program, inputs);
    const ProgramRun without = run_program(*program, inputs, 1, std::uint64_t{1} << 32, false);
    ASSERT_EQ(with.refused.has_value(), without.refused.has_value())
        << (with.refused ? with.refused->text() : without.refused->text());
    if (with.refused) {
      EXPECT_EQ(with.refused->code(), without.refused->code());
      continue;
    }
    ASSERT_EQ(with.failed.has_value(), without.failed.has_value());
    if (with.failed) {
      EXPECT_EQ(with.failed->code(), without.failed->code());
    }
    ASSERT_EQ(with.outputs.size(), without.outputs.size());
    for (std::size_t i = 0; i < with.outputs.size(); ++i) {
      EXPECT_EQ(with.outputs[i].type, without.outputs[i].type);
      EXPECT_EQ(with.outputs[i].bytes, without.outputs[i].bytes) << "output " << i;
    }
    ++ran;
    changed += with.ops != without.ops ? 1u : 0u;
  }
  std::printf("%zu of 12000 random programs ran, the passes changed the plans of %zu\n", ran, changed);
  EXPECT_GT(ran, 2000u);
  EXPECT_GE(changed, 10u);
}

/// Programs of f32 [rows, features] made of the blocks that the passes look for, whole or spoilt, over
/// values that others read too.
class RandomBlocks {
 public:
  RandomBlocks(PtirBuilder& b, PtirTensor x, std::uint32_t seed) : b_(b), random_(seed) { values_.push_back(x); }

  void step() {
    const PtirTensor x = pick();
    const PtirTensor y = pick();
    switch (draw(20)) {
      case 0:
        return keep(0.5 * (x + y));
      case 1:
        return keep(b_.tanh(x * y));
      case 2:
        return keep(b_.softmax(wrapped(x)));
      case 3:
        return keep(x / wrapped(b_.exp(-maybe(wrapped(x))) + 1.0));
      case 4:
        return keep(0.5 * x * wrapped(b_.erf(maybe(x) * 0.7071067811865476) + 1.0));
      case 5:
        return keep(0.5 * x * (b_.tanh(0.7978845608028654 * (x + 0.044715 * (x * maybe(x) * x))) + 1.0));
      case 6:
      case 7: {
        const PtirTensor c = coin() ? x : maybe(x) - b_.reduce_sum(x, {-1}, true) / double{kFeatures};
        const PtirTensor scale = b_.rsqrt(b_.reduce_sum(c * maybe(c), {-1}, true) / double{kFeatures} + 1e-2);
        keep(wrapped(c) * scale);
        keep(values_.back() * vector());
        return keep(values_.back() + vector());
      }
      case 8:
      case 9:
        return keep(b_.tanh(b_.dot(x, matrix()) + vector()));
      case 10:
        return keep(b_.dot_general(
            wrapped(b_.softmax(0.5 * b_.dot_general(x, maybe(y), {.contract_lhs = {1}, .contract_rhs = {1}})), kRows),
            y, {.contract_lhs = {1}, .contract_rhs = {0}}));
      case 11: {
        const auto half = [&](const PtirTensor& of, std::int64_t start) {
          return b_.slice(of, {0, start}, {kRows, kFeatures / 2});
        };
        const PtirTensor a = half(x, 0);
        const PtirTensor c = half(maybe(x), kFeatures / 2);
        const auto [cos, sin] = waves();
        return keep(b_.concat({a * cos - c * sin, c * cos + (draw(5) == 0 ? c : a) * sin}, -1));
      }
      case 12:
      case 13:
        return keep(masked(x, maybe(x), y));
      case 14:
      case 15:
        return keep(patches(x));
      case 16: {
        // A number times a projection, before or behind it.
        const PtirTensor projected = b_.dot(coin() ? 0.25 * x : x, matrix());
        return keep(b_.tanh((coin() ? projected + vector() : projected) * (draw(3) == 0 ? 1.0 : 0.5)));
      }
      case 17:
        // A bias of the rows or of the features, whose sum others may read.
        keep(x + (coin() ? vector() : b_.constant({kRows, 1}, random_floats(kRows, draw(3)))));
        return keep(b_.maximum(values_.back(), b_.scalar(DType::f32, 0.0)));
      case 18:
        return keep(
            b_.dot_general(b_.tanh(0.3 * b_.dot_general(x, maybe(y), {.contract_lhs = {1}, .contract_rhs = {1}})), y,
                           {.contract_lhs = {1}, .contract_rhs = {0}}));
      default:
        return keep(b_.exp(b_.minimum(x, vector())));
    }
  }
  /// Everything that no other block came to read, and one that others read.
  void finish() {
    b_.result(values_.back());
    b_.result(pick());
  }

  static constexpr std::uint32_t kRows = 6;
  static constexpr std::uint32_t kFeatures = 8;

 private:
  std::uint32_t draw(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }
  bool coin() { return draw(2) == 0; }
  PtirTensor pick() { return values_[random_() % values_.size()]; }
  /// `x`, now and then behind what changes nothing.
  PtirTensor wrapped(const PtirTensor& x, std::int64_t columns = kFeatures) {
    switch (draw(12)) {
      case 0:
        return b_.cast(x, DType::f32);
      case 1:
        return b_.stop_gradient(x);
      case 2:
        return b_.reshape(b_.reshape(x, {columns, kRows}), {kRows, columns});
      case 3:
        return b_.concat({b_.broadcast_to(x, {kRows, columns})}, 0);
      default:
        return x;
    }
  }
  /// Mostly `x`, else something that spoils the block.
  PtirTensor maybe(const PtirTensor& x) { return draw(5) == 0 ? pick() : x; }
  void keep(const PtirTensor& x) { values_.push_back(x); }
  PtirTensor vector() { return b_.constant({kFeatures}, random_floats(kFeatures, draw(3))); }
  /// Attention whose scores are hidden by a mask: added or chosen, causal or any with a key for each query.
  PtirTensor masked(const PtirTensor& q, const PtirTensor& k, const PtirTensor& v) {
    const bool causal = draw(3) != 0;
    const bool adds = coin();
    const float hidden = coin() ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::lowest();
    std::vector<float> numbers;
    std::vector<std::uint8_t> seen;
    for (std::uint32_t row = 0; row < kRows; ++row)
      for (std::uint32_t column = 0; column < kRows; ++column) {
        const bool sees = causal ? column <= row : column == 0 || draw(3) != 0;
        seen.push_back(sees ? 1 : 0);
        numbers.push_back(sees ? 0.0f : hidden);
      }
    const PtirTensor scores = 0.5 * b_.dot_general(q, k, {.contract_lhs = {1}, .contract_rhs = {1}});
    const PtirTensor shown = adds ? scores + b_.constant({kRows, kRows}, numbers)
                                  : b_.select(b_.constant({DType::i1, {kRows, kRows}}, std::as_bytes(std::span(seen))),
                                              scores, b_.scalar(DType::f32, double{hidden}));
    return b_.dot_general(b_.softmax(shown), v, {.contract_lhs = {1}, .contract_rhs = {0}});
  }
  /// x as a plane under a window of 3 by 3, or of 2 by 2 over holes, or its rows as channels under one of 3.
  PtirTensor patches(const PtirTensor& x) {
    static constexpr std::int64_t kThree[]{3, 3}, kTwo[]{2, 2}, kOne[]{1, 1}, kAlong[]{3, 1}, kBefore[]{1, 0};
    if (draw(3) == 0) {
      const PtirTensor rows = b_.reshape(x, {1, kRows, 1, kFeatures});
      const PtirTensor p = b_.extract_patches(
          rows,
          {.size = kAlong, .strides = kOne, .low = kBefore, .high = kBefore, .base_dilation = {}, .dilation = kOne});
      return b_.tanh(b_.reshape(
          b_.dot(p, b_.constant({3 * kFeatures, kFeatures}, random_floats(3 * kFeatures * kFeatures, draw(3)))),
          {kRows, kFeatures}));
    }
    const bool holes = coin();
    const PtirTensor p = b_.extract_patches(b_.reshape(x, {1, kRows, kFeatures, 1}), {.size = holes ? kTwo : kThree,
                                                                                      .strides = kOne,
                                                                                      .low = kOne,
                                                                                      .high = kOne,
                                                                                      .base_dilation = {},
                                                                                      .dilation = holes ? kTwo : kOne});
    const std::uint32_t side = holes ? 2 : 3;
    const std::uint32_t patch = side * side;
    const std::vector<float> w = random_floats(patch, draw(3));
    switch (draw(5)) {
      case 0:  // the weights first, and the patches read once more
        return b_.reshape(
            b_.dot_general(b_.constant({patch}, w), p, {.contract_lhs = {0}, .contract_rhs = {3}}) +
                b_.dot(b_.reshape(p, {kRows, kFeatures, patch}), b_.constant({patch}, random_floats(patch, draw(3)))),
            {kRows, kFeatures});
      case 1:  // columns of the window before its rows
        return b_.reshape(b_.dot_general(b_.reshape(p, {kRows, kFeatures, side, side}), b_.constant({side, side}, w),
                                         {.contract_lhs = {3, 2}, .contract_rhs = {0, 1}}),
                          {kRows, kFeatures});
      case 2:  // rows of the window, summed, as channels
        return b_.reduce_sum(
            b_.dot(b_.reshape(p, {kRows, kFeatures, side, side}), b_.constant({side}, random_floats(side, draw(3)))),
            {-1}, false);
      case 3:  // cast there and back
        return b_.cast(b_.reshape(b_.dot(b_.cast(b_.cast(p, DType::f16), DType::f32), b_.constant({patch, 1}, w)),
                                  {kRows, kFeatures}),
                       DType::f32);
      default:
        return b_.reshape(b_.dot(p, b_.constant({patch, 1}, w)), {kRows, kFeatures});
    }
  }
  /// Cosines and sines of positions and pairs.
  std::pair<PtirTensor, PtirTensor> waves() {
    std::vector<float> cosines;
    std::vector<float> sines;
    for (std::uint32_t t = 0; t < kRows; ++t)
      for (std::uint32_t i = 0; i < kFeatures / 2; ++i) {
        const float angle = static_cast<float>(t) * static_cast<float>(std::pow(100.0, -2.0 * i / kFeatures));
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
      }
    return {b_.constant({kRows, kFeatures / 2}, cosines), b_.constant({kRows, kFeatures / 2}, sines)};
  }
  PtirTensor matrix() {
    return b_.constant({kFeatures, kFeatures}, random_floats(std::size_t{kFeatures} * kFeatures, draw(3)));
  }

  PtirBuilder& b_;
  std::mt19937 random_;
  std::vector<PtirTensor> values_;
};

TEST(Passes, RandomProgramsOfBlocksKeepTheirValues) {
  std::map<std::string, std::size_t> fused;
  std::array<double, 6> worst{};  // by blocks
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    PtirBuilder b;
    RandomBlocks blocks(b, b.parameter({DType::f32, {RandomBlocks::kRows, RandomBlocks::kFeatures}}), seed);
    for (std::uint32_t i = 0; i <= seed % 6; ++i) blocks.step();
    blocks.finish();
    const auto program = b.finish();
    ASSERT_TRUE(program) << program.error().text();
    const std::vector<HostValue> inputs{random_value({RandomBlocks::kRows, RandomBlocks::kFeatures}, seed)};
    const ProgramRun with = run_program(*program, inputs);
    const ProgramRun without = run_program(*program, inputs, 1, std::uint64_t{1} << 32, false);
    ASSERT_FALSE(with.refused) << with.refused->text();
    ASSERT_FALSE(without.refused) << without.refused->text();
    for (const std::string& op : with.ops) ++fused[op];
    for (std::size_t i = 0; i < with.outputs.size(); ++i) {
      const auto found = floats_of(with.outputs[i]);
      const auto wanted = floats_of(without.outputs[i]);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (std::isnan(wanted[k]) || std::isinf(wanted[k])) continue;
        const double off = std::fabs(double{found[k]} - double{wanted[k]}) / std::fmax(1.0, std::fabs(wanted[k]));
        worst[seed % 6] = std::fmax(worst[seed % 6], off);
        // Three times what was measured; one block is well within what docs/passes.md states of each pass.
        ASSERT_LE(off, seed % 6 == 0 ? 1e-6 : 1e-5) << "output " << i << '[' << k;
      }
    }
  }
  for (std::size_t i = 0; i < worst.size(); ++i) std::printf("%zu blocks: within %g\n", i + 1, worst[i]);
  for (const auto& [op, count] : fused) std::printf("%s: %zu\n", op.c_str(), count);
  for (const char* op :
       {"attention", "softmax", "gated_act", "bias_act", "rms_norm", "layer_norm", "linear", "rope", "convolve"})
    EXPECT_GT(fused[op], 20u) << op;
}

}  // namespace
}  // namespace passes_test
