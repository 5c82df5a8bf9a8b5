// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_convolve.cpp: products of patches become convolutions, to the same bits and without the patches.
#include <zrt/ir/ptir/text.hpp>

#include <algorithm>
#include <support/fusion_program.hpp>

namespace pass_convolve_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;

constexpr std::int64_t kSize[]{3, 2};
constexpr std::int64_t kStrides[]{1, 2};
constexpr std::int64_t kLow[]{1, 0};
constexpr std::int64_t kHigh[]{1, 1};
constexpr std::int64_t kDilation[]{1, 1};
// x [2, 20, 21, 4]: 20 x 11 places, patches of 24 elements.
constexpr std::int64_t kPlaces = 20 * 11;
constexpr std::int64_t kPatch = 6 * 4;
const std::vector<Shape> kInput{{2, 20, 21, 4}};

T patches(B& b, const T& x) {
  return b.extract_patches(
      x, {.size = kSize, .strides = kStrides, .low = kLow, .high = kHigh, .base_dilation = {}, .dilation = kDilation});
}
T numbers(B& b, const ir::ptir::Shape& shape, std::uint32_t seed) {
  return b.constant(shape, random_floats(static_cast<std::size_t>(shape.constant_elements().raw()), seed));
}

/// Convolutions and no patches, in the plan or in the memory.
void expect_convolve(const char* what, const BuildProgram& build, const std::vector<Shape>& shapes = kInput,
                     std::size_t count = 1, bool f32 = true) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.count("convolve"), count);
  EXPECT_EQ(r.count("extract_patches") + r.count("dot_general") + r.count("linear"), 0u);
  EXPECT_EQ(std::count(r.plain.begin(), r.plain.end(), "extract_patches"), 1);
  EXPECT_EQ(r.worst, 0.0);
  constexpr std::uint64_t kPatchBytes = 2 * kPlaces * kPatch * sizeof(float);
  EXPECT_LT(r.arena_bytes, r.plain_arena_bytes);
  if (!(shapes[0] == kInput[0]) || !f32) return;
  EXPECT_GE(r.plain_arena_bytes, kPatchBytes);
  EXPECT_LT(r.arena_bytes, kPatchBytes);
}
void expect_patches(const char* what, const BuildProgram& build, std::size_t convolutions = 0) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(kInput, build);
  EXPECT_EQ(r.count("convolve"), convolutions);
  EXPECT_EQ(r.count("extract_patches"), 1u);
  EXPECT_EQ(r.worst, 0.0);
}

TEST(FuseConvolve, ItsForms) {
  expect_convolve("patches times [patch, out]",
                  [](B& b, const In& in) { return b.dot(patches(b, in[0]), numbers(b, {kPatch, 5}, 1)); });
  expect_convolve("patches times [out, patch]", [](B& b, const In& in) {
    return b.dot_general(patches(b, in[0]), numbers(b, {5, kPatch}, 1), {.contract_lhs = {3}, .contract_rhs = {1}});
  });
  expect_convolve("all places as rows, weights of the step",
                  [](B& b, const In& in) {
                    const T rows = b.reshape(patches(b, in[0]), {2 * kPlaces, kPatch});
                    return b.reshape(b.dot(rows, in[1]), {2, kPlaces, 5});
                  },
                  {{2, 20, 21, 4}, {kPatch, 5}});
  for (const std::int64_t groups : {1, 2, 4})
    expect_convolve("groups of channels, as ONNX is read", [groups](B& b, const In& in) {
      const std::int64_t each = 4 / groups;
      const T rows = b.reshape(patches(b, in[0]), {2 * kPlaces, 6, groups, each});
      const T w = b.reshape(numbers(b, {4, each, 3, 2}, 1), {groups, each, each, 6});
      const T y =
          b.dot_general(rows, w, {.batch_lhs = {2}, .batch_rhs = {0}, .contract_lhs = {1, 3}, .contract_rhs = {3, 2}});
      return b.transpose(b.reshape(y, {groups, 2, kPlaces, each}), {1, 0, 3, 2});
    });
}

TEST(FuseConvolve, SumsOverPlanes) {
  expect_convolve("channels that lie as planes, in groups, summed before the window",
                  [](B& b, const In& in) {
                    const T rows = b.reshape(patches(b, in[0]), {2, 2, 2, kPlaces, 6});
                    const T y = b.dot_general(
                        numbers(b, {2, 3, 2, 6}, 1), rows,
                        {.batch_lhs = {0}, .batch_rhs = {1}, .contract_lhs = {2, 3}, .contract_rhs = {2, 4}});
                    return b.transpose(y, {2, 0, 1, 3});
                  },
                  {{8, 20, 21, 1}});
}

TEST(FuseConvolve, WeightsOfAnyForm) {
  expect_convolve("the weights first", [](B& b, const In& in) {
    return b.dot_general(numbers(b, {kPatch, 5}, 1), patches(b, in[0]), {.contract_lhs = {0}, .contract_rhs = {3}});
  });
  expect_convolve("the weights first, the groups batched over, the channels summed first", [](B& b, const In& in) {
    const T rows = b.reshape(patches(b, in[0]), {2, kPlaces, 3, 2, 2, 2});
    return b.dot_general(numbers(b, {2, 3, 5, 2, 2}, 1), rows,
                         {.batch_lhs = {4}, .batch_rhs = {4}, .contract_lhs = {0, 1, 3}, .contract_rhs = {5, 2, 3}});
  });
  expect_convolve("one channel, without an axis",
                  [](B& b, const In& in) { return b.dot(patches(b, in[0]), numbers(b, {kPatch}, 1)); });
  expect_convolve("two axes of channels",
                  [](B& b, const In& in) { return b.dot(patches(b, in[0]), numbers(b, {kPatch, 2, 2}, 1)); });
  expect_convolve("every axis of the window and the channels contracted by itself", [](B& b, const In& in) {
    const T rows = b.reshape(patches(b, in[0]), {2, 20, 11, 3, 2, 4});
    return b.dot_general(rows, numbers(b, {3, 2, 4, 5}, 1), {.contract_lhs = {3, 4, 5}, .contract_rhs = {0, 1, 2}});
  });
  expect_convolve("the channels before the window, as PyTorch unfolds", [](B& b, const In& in) {
    const T apart = b.reshape(patches(b, in[0]), {2, kPlaces, 6, 4});
    const T rows = b.reshape(b.transpose(apart, {0, 3, 2, 1}), {2, kPatch, kPlaces});
    return b.dot_general(numbers(b, {5, kPatch}, 1), rows, {.contract_lhs = {1}, .contract_rhs = {1}});
  });
  expect_convolve("places that a transpose moved", [](B& b, const In& in) {
    return b.dot(b.transpose(patches(b, in[0]), {2, 0, 1, 3}), numbers(b, {kPatch, 5}, 1));
  });
  expect_convolve("weights of their own for each place of an axis", [](B& b, const In& in) {
    return b.dot_general(patches(b, in[0]), numbers(b, {20, kPatch, 3}, 1),
                         {.batch_lhs = {1}, .batch_rhs = {0}, .contract_lhs = {3}, .contract_rhs = {1}});
  });
  expect_convolve("the window alone is summed", [](B& b, const In& in) {
    return b.dot(b.transpose(b.reshape(patches(b, in[0]), {2, kPlaces, 6, 4}), {0, 1, 3, 2}), numbers(b, {6, 3}, 1));
  });
  expect_convolve("patches cast twice, a half precision between", [](B& b, const In& in) {
    const T cast = b.cast(b.reshape(b.cast(patches(b, in[0]), DType::bf16), {2, kPlaces, kPatch}), DType::f32);
    return b.dot(b.transpose(cast, {1, 0, 2}), numbers(b, {kPatch, 5}, 1));
  });
  expect_convolve(
      "two products of the same patches",
      [](B& b, const In& in) {
        const T all = patches(b, in[0]);
        return b.dot(all, numbers(b, {kPatch, 5}, 1)) + b.tanh(b.dot(all, numbers(b, {kPatch, 5}, 2)));
      },
      kInput, 2);
}

TEST(FuseConvolve, OneToSixSpatialAxes) {
  static constexpr std::int64_t kTwo[]{2, 2, 2, 2, 2, 2}, kOnes[]{1, 1, 1, 1, 1, 1}, kNone[]{0, 0, 0, 0, 0, 0};
  for (std::uint8_t axes = 1; axes <= 6; ++axes) {
    Shape x{2};
    for (std::uint8_t i = 0; i < axes; ++i) x = x.appended(Dim(axes < 4 ? 5 : 2));
    const auto first = [axes](const std::int64_t* list) { return std::span(list, axes); };
    expect_convolve("spatial axes",
                    [&](B& b, const In& in) {
                      const T all = b.extract_patches(in[0], {.size = first(kTwo),
                                                              .strides = first(kOnes),
                                                              .low = first(kOnes),
                                                              .high = first(kNone),
                                                              .base_dilation = {},
                                                              .dilation = first(kOnes)});
                      return b.dot(all, numbers(b, {std::int64_t{3} << axes, 4}, 1));
                    },
                    {x.appended(3)});
  }
}

TEST(FuseConvolve, EveryTypeOfNumbers) {
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::fp8_e4m3, DType::si32, DType::ui8})
    expect_convolve(
        name(dtype).data(),
        [dtype](B& b, const In& in) {
          const T w = b.cast(numbers(b, {kPatch, 5}, 1), dtype);
          return b.cast(b.dot(patches(b, b.cast(in[0], dtype)), w), DType::f32);
        },
        kInput, 1, false);
}

TEST(FuseConvolve, PaddingIsCastAsThePatchesAre) {
  const auto program = ir::ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[1, 4, 3], %1 w: f32[6, 2]) {
  %2 = extract_patches(%0) {window = [2], strides = [1], pad_low = [1], pad_high = [2], dilation = [1], pad_value = f32[] {0.3}}: f32[1, 6, 6]
  %3 = cast(%2) {dtype = bf16}: bf16[1, 6, 6]
  %4 = cast(%3) {dtype = f32}: f32[1, 6, 6]
  %5 = dot_general(%4, %1) {batch_lhs = [], batch_rhs = [], contract_lhs = [2], contract_rhs = [0]}: f32[1, 6, 2]
  return %5: f32[1, 6, 2]
}
)");
  ASSERT_TRUE(program) << program.error().text();
  const std::vector<HostValue> inputs{random_value({1, 4, 3}, 1), random_value({6, 2}, 2)};
  const ProgramRun with = run_program(*program, inputs);
  const ProgramRun without = run_program(*program, inputs, 1, std::uint64_t{1} << 32, false);
  ASSERT_FALSE(with.refused) << with.refused->text();
  EXPECT_EQ(std::count(with.ops.begin(), with.ops.end(), "convolve"), 1);
  EXPECT_EQ(std::count(with.ops.begin(), with.ops.end(), "extract_patches"), 0);
  EXPECT_EQ(with.outputs[0].bytes, without.outputs[0].bytes);
}

TEST(FuseConvolve, NearMisses) {
  expect_patches(
      "whoever else reads the patches has them written",
      [](B& b, const In& in) {
        const T all = patches(b, in[0]);
        return b.dot(all, numbers(b, {kPatch, 5}, 1)) + b.reduce_sum(all, {-1}, true);
      },
      1);
  expect_patches("a sum over all places", [](B& b, const In& in) {
    const T rows = b.reshape(patches(b, in[0]), {2 * kPlaces, kPatch});
    return b.dot_general(rows, numbers(b, {2 * kPlaces, 5}, 1), {.contract_lhs = {0}, .contract_rhs = {0}});
  });
  expect_patches("patches that are computed with first",
                 [](B& b, const In& in) { return b.dot(b.tanh(patches(b, in[0])), numbers(b, {kPatch, 5}, 1)); });
}

}  // namespace
}  // namespace pass_convolve_test
