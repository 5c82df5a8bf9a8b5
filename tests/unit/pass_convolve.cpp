// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_convolve.cpp: products of patches become convolutions, to the same bits and without the patches.
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

/// One convolution and no patches, in the plan or in the memory.
void expect_convolve(const char* what, const BuildProgram& build, const std::vector<Shape>& shapes = kInput) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.count("convolve"), 1u);
  EXPECT_EQ(r.count("extract_patches") + r.count("dot_general") + r.count("linear"), 0u);
  EXPECT_EQ(r.plain.size() - 1, static_cast<std::size_t>(std::count_if(
                                    r.plain.begin(), r.plain.end(), [](auto& op) { return op != "extract_patches"; })));
  EXPECT_EQ(r.worst, 0.0);
  constexpr std::uint64_t kPatchBytes = 2 * kPlaces * kPatch * sizeof(float);
  EXPECT_GE(r.plain_arena_bytes, kPatchBytes);
  EXPECT_LT(r.arena_bytes, kPatchBytes);
}
void expect_none(const char* what, const std::vector<Shape>& shapes, const BuildProgram& build) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.count("convolve"), 0u);
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

TEST(FuseConvolve, NearMisses) {
  expect_none("the patches are read elsewhere", kInput, [](B& b, const In& in) {
    const T all = patches(b, in[0]);
    return b.dot(all, numbers(b, {kPatch, 5}, 1)) + b.reduce_sum(all, {-1}, true);
  });
  expect_none("contracted over places", kInput, [](B& b, const In& in) {
    return b.dot_general(patches(b, in[0]), numbers(b, {5, 20}, 1), {.contract_lhs = {1}, .contract_rhs = {1}});
  });
  expect_none("patches cut into halves", kInput, [](B& b, const In& in) {
    return b.dot(b.reshape(patches(b, in[0]), {2, 20, 11, 2, kPatch / 2}), numbers(b, {kPatch / 2, 5}, 1));
  });
  expect_none("another order of the sum", kInput, [](B& b, const In& in) {
    const T rows = b.reshape(patches(b, in[0]), {2 * kPlaces, 6, 1, 4});
    return b.dot_general(rows, numbers(b, {1, 3, 4, 6}, 1),
                         {.batch_lhs = {2}, .batch_rhs = {0}, .contract_lhs = {3, 1}, .contract_rhs = {2, 3}});
  });
  static constexpr std::int64_t kCube[]{2, 2, 2};
  static constexpr std::int64_t kOnes[]{1, 1, 1};
  static constexpr std::int64_t kNone[]{0, 0, 0};
  expect_none("three spatial axes", {{1, 4, 4, 4, 2}}, [](B& b, const In& in) {
    const T all = b.extract_patches(
        in[0], {.size = kCube, .strides = kOnes, .low = kNone, .high = kNone, .base_dilation = {}, .dilation = kOnes});
    return b.dot(all, numbers(b, {16, 5}, 1));
  });
}

}  // namespace
}  // namespace pass_convolve_test
