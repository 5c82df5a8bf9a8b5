// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_values.cpp: what ONNX nodes compute where no node test asks: sums of narrow floats, einsums that
// broadcast.
#include <zrt/core/cast.hpp>
#include <zrt/ir/onnx.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <support/onnx_file.hpp>
#include <support/run_program.hpp>
#include <vector>

namespace onnx_values_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;
using zrt::test::onnx_file::text;

constexpr std::int64_t kHalf = 10, kBFloat = 16;

/// `values` as a tensor of that type.
HostValue host(const std::vector<float>& values, DType dtype, std::initializer_list<std::uint32_t> extents) {
  HostValue x{{dtype, {}}, std::vector<std::byte>(bytes_of(dtype, values.size()))};
  for (const std::uint32_t extent : extents) x.type.shape = x.type.shape.appended(extent);
  cast_elements(DType::f32, reinterpret_cast<const std::byte*>(values.data()), dtype, x.bytes.data(), 0, values.size());
  return x;
}
std::vector<float> floats(const HostValue& x) {
  std::vector<float> values(x.bytes.size() / info(x.type.dtype).block_bytes);
  cast_elements(x.type.dtype, x.bytes.data(), DType::f32, reinterpret_cast<std::byte*>(values.data()), 0,
                values.size());
  return values;
}
HostValue as(const HostValue& x, DType dtype) {
  HostValue y{{dtype, x.type.shape}, {}};
  const std::vector<float> values = floats(x);
  y.bytes.resize(bytes_of(dtype, values.size()));
  cast_elements(DType::f32, reinterpret_cast<const std::byte*>(values.data()), dtype, y.bytes.data(), 0, values.size());
  return y;
}

/// What a model gives, on CpuBackend and ReferenceBackend; nothing where it is refused.
std::vector<ProgramRun> runs(const std::string& file, const std::vector<HostValue>& inputs) {
  const auto program = ir::onnx::read(std::as_bytes(std::span(file)));
  EXPECT_TRUE(program) << program.error().text();
  std::vector<ProgramRun> all;
  if (program) all = {run_program(*program, inputs), run_program_on_cpu(*program, inputs)};
  for (const ProgramRun& run : all) {
    EXPECT_FALSE(run.refused) << run.refused->text();
    EXPECT_FALSE(run.failed) << run.failed->text();
  }
  return all;
}

/// Nodes whose result is z, of x [1, 4, 32, 32] around 100 * `scale` and g [4], both of one type.
struct Narrow {
  const char* what;
  float scale;
  std::string nodes;
};
const std::string kZeros = numbers("at", {3}, {1, 32, 32}) + node("ConstantOfShape", {"at"}, {"zeros"}) +
                           node("Cast", {"zeros"}, {"target"}, {integer("to", kInt64)});
const std::vector<Narrow> kNarrow{
    {"ReduceMean", 4, node("ReduceMean", {"x"}, {"z"}, {integers("axes", {2, 3})})},
    {"ReduceL2", 4, node("ReduceL2", {"x"}, {"z"}, {integers("axes", {2, 3})})},
    {"ReduceLogSum", 4, node("ReduceLogSum", {"x"}, {"z"}, {integers("axes", {2, 3})})},
    {"ReduceLogSumExp", 1, node("ReduceLogSumExp", {"x"}, {"z"}, {integers("axes", {2, 3})})},
    {"ReduceSumSquare", 0x1p-20f, node("ReduceSumSquare", {"x"}, {"z"}, {integers("axes", {2, 3})})},
    {"Mean", 128, node("Mean", {"x", "x", "x", "x", "x", "x"}, {"z"})},
    {"GlobalAveragePool", 4, node("GlobalAveragePool", {"x"}, {"z"})},
    {"AveragePool", 4, node("AveragePool", {"x"}, {"z"}, {integers("kernel_shape", {30, 30})})},
    {"LRN", 4, node("LRN", {"x"}, {"z"}, {integer("size", 3)})},
    {"InstanceNormalization", 4, node("InstanceNormalization", {"x", "g", "g"}, {"z"})},
    {"LayerNormalization", 4, node("LayerNormalization", {"x", "one"}, {"z"})},
    {"LayerNormalization over two axes", 4,
     node("LayerNormalization", {"x", "one", "one"}, {"z"}, {integer("axis", 2)})},
    {"MeanVarianceNormalization", 4, node("MeanVarianceNormalization", {"x"}, {"z"})},
    {"BatchNormalization", 4, node("BatchNormalization", {"x", "g", "g", "g", "g"}, {"z"})},
    {"BatchNormalization of a batch", 4,
     node("BatchNormalization", {"x", "g", "g", "g", "g"}, {"z", "mean", "variance"}, {integer("training_mode", 1)})},
    {"Softmax", 0x1p-6f, node("Softmax", {"x"}, {"z"})},
    {"LogSoftmax", 0x1p-6f, node("LogSoftmax", {"x"}, {"z"})},
    {"SoftmaxCrossEntropyLoss", 4, kZeros + node("SoftmaxCrossEntropyLoss", {"x", "target"}, {"z"})},
    {"NegativeLogLikelihoodLoss", 4, kZeros + node("NegativeLogLikelihoodLoss", {"x", "target"}, {"z"})},
};

std::vector<float> around(float scale) {
  std::vector<float> x(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * (100 + 40 * std::sin(0.7f * static_cast<float>(i)));
  return x;
}

TEST(OnnxValues, SumsOfNarrowFloatsAreTakenInF32) {
  for (const auto& [number, dtype] : {std::pair{kHalf, DType::f16}, std::pair{kBFloat, DType::bf16}})
    for (const Narrow& c : kNarrow) {
      SCOPED_TRACE(c.what + std::string(" of ") + std::string(name(dtype)));
      const HostValue x = host(around(c.scale), dtype, {1, 4, 32, 32});
      const HostValue g = host({1, 2, 3, 4}, dtype, {4});
      const auto file = [&](std::int64_t type) {
        const std::string one = node("Cast", {"sized"}, {"one"}, {integer("to", type)});
        return model(input("x", type, {1, 4, 32, 32}) + input("g", type, {4}) + numbers("sized", {1}, {1}) + one +
                         c.nodes + output("z"),
                     17);
      };
      const auto wide = runs(file(kFloat), {as(x, DType::f32), as(g, DType::f32)});
      const auto found = runs(file(number), {x, g});
      ASSERT_EQ(found.size(), 2u);
      ASSERT_EQ(wide.size(), 2u);
      const std::vector<float> expected = floats(wide[0].outputs[0]);
      for (const ProgramRun& run : found) {
        ASSERT_EQ(run.outputs[0].type.dtype, dtype);
        const std::vector<float> got = floats(run.outputs[0]);
        ASSERT_EQ(got.size(), expected.size());
        // The rounding of the result and no more: half a unit in the last place, and half of the least number.
        const float unit = dtype == DType::f16 ? 0x1p-11f : 0x1p-8f;
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], unit * 1.01f * std::abs(expected[i]) + 0x1p-24f) << i;
      }
    }
}

TEST(OnnxValues, MomentsOfALayerLeaveInTheTypeOfTheStash) {
  const HostValue x = host(around(4), DType::f16, {1, 4, 32, 32});
  const HostValue one = host(std::vector<float>(32, 1), DType::f16, {32});
  const auto file = [](std::int64_t type, std::int64_t moments, const std::vector<std::string>& attributes) {
    return model(input("x", type, {1, 4, 32, 32}) + input("g", type, {32}) +
                 node("LayerNormalization", {"x", "g", "g"}, {"y", "mean", "inverse"}, attributes) +
                 output("y", type, {1, 4, 32, 32}) + output("mean", moments, {1, 4, 32, 1}) +
                 output("inverse", moments, {1, 4, 32, 1}));
  };
  const auto wide = runs(file(kFloat, kFloat, {}), {as(x, DType::f32), as(one, DType::f32)});
  const auto half = runs(file(kHalf, kFloat, {}), {x, one});
  ASSERT_EQ(wide.size(), 2u);
  ASSERT_EQ(half.size(), 2u);
  for (const std::size_t run : {0u, 1u})
    for (const std::size_t moment : {1u, 2u})
      EXPECT_EQ(half[run].outputs[moment].bytes, wide[run].outputs[moment].bytes);
  const auto brief = runs(file(kHalf, kBFloat, {integer("stash_type", kBFloat)}), {x, one});
  ASSERT_EQ(brief.size(), 2u);
  EXPECT_EQ(brief[0].outputs[1].bytes, as(wide[0].outputs[1], DType::bf16).bytes);
  const std::string odd = file(kHalf, kFloat, {integer("stash_type", kInt64)});
  const auto refused = ir::onnx::read(std::as_bytes(std::span(odd)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "node 0 (LayerNormalization): stash_type is si64, expected a float");
}

TEST(OnnxValues, MoreElementsThanF16Counts) {
  for (const auto& nodes : {node("GlobalAveragePool", {"x"}, {"z"}), node("ReduceMean", {"x"}, {"z"})}) {
    const auto found = runs(model(input("x", kHalf, {1, 1, 512, 512}) + nodes + output("z", kHalf, {1, 1, 1, 1})),
                            {host(std::vector<float>(512 * 512, 3), DType::f16, {1, 1, 512, 512})});
    for (const ProgramRun& run : found) EXPECT_EQ(floats(run.outputs[0]), std::vector<float>{3});
  }
  const HostValue even = host(std::vector<float>(70000), DType::f16, {1, 70000});
  const auto first = [&](const std::string& op) {
    std::vector<float> values;
    for (const ProgramRun& run : runs(model(input("x", kHalf, {1, 70000}) + op + output("z")), {even}))
      values.push_back(floats(run.outputs[0])[0]);
    return values;
  };
  EXPECT_EQ(first(node("Softmax", {"x"}, {"z"})), (std::vector<float>{0x1.ep-17f, 0x1.ep-17f}));
  EXPECT_EQ(first(node("ReduceLogSumExp", {"x"}, {"z"})), (std::vector<float>{11.15625f, 11.15625f}));
}

TEST(OnnxValues, ABatchNormHasParametersOfOtherTypesThanX) {
  const HostValue x = host(around(0.01f), DType::f16, {1, 4, 32, 32});
  const HostValue g = host({1, 2, 3, 4}, DType::f32, {4});
  for (const bool training : {false, true}) {
    // Scale and bias of one type, mean and variance of another.
    const auto file = [&](std::int64_t type, std::int64_t affine) {
      const std::vector<std::string> results =
          training ? std::vector<std::string>{"y", "mean", "variance"} : std::vector<std::string>{"y"};
      return model(
          input("x", type, {1, 4, 32, 32}) + input("g", affine, {4}) + input("m", kFloat, {4}) +
          node("BatchNormalization", {"x", "g", "g", "m", "m"}, results, {integer("training_mode", training ? 1 : 0)}) +
          output("y", type, {1, 4, 32, 32}) + (training ? output("mean", kFloat, {4}) : ""));
    };
    const auto wide = runs(file(kFloat, kFloat), {as(x, DType::f32), g, g});
    ASSERT_EQ(wide.size(), 2u);
    for (const auto& [affine, scale] : {std::pair{kFloat, g}, std::pair{kHalf, as(g, DType::f16)}}) {
      const auto found = runs(file(kHalf, affine), {x, scale, g});
      ASSERT_EQ(found.size(), 2u);
      for (const std::size_t run : {0u, 1u}) {
        EXPECT_EQ(found[run].outputs[0].bytes, as(wide[run].outputs[0], DType::f16).bytes);
        if (training) {
          EXPECT_EQ(found[run].outputs[1].bytes, wide[run].outputs[1].bytes);
        }
      }
    }
  }
  const std::string odd = model(input("x", kFloat, {1, 4}) + input("g", kInt64, {4}) +
                                node("BatchNormalization", {"x", "g", "g", "g", "g"}, {"z"}) + output("z"));
  const auto refused = ir::onnx::read(std::as_bytes(std::span(odd)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "node 0 (BatchNormalization): input 3 is of si64, expected a float");
}

/// Extents of two operands of at most four axes, and those that both are expanded to.
struct Product {
  const char* equation;
  std::vector<std::int64_t> x, y, whole_x, whole_y;
};
std::string list(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string bytes = field(1, static_cast<std::int64_t>(values.size())) + field(2, kInt64) + field(8, name);
  for (const std::int64_t value : values) bytes += field(7, value);
  return field(5, bytes);
}
std::string input_of(std::string_view name, const std::vector<std::int64_t>& extents) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += field(1, field(1, extent));
  return field(11, field(1, name) + field(2, field(1, field(1, kFloat) + field(2, shape))));
}

TEST(OnnxValues, AnEinsumBroadcastsAxesOfOne) {
  const std::vector<Product> products{
      {"...ij,...jk->...ik", {1, 2, 3}, {5, 3, 4}, {5, 2, 3}, {5, 3, 4}},
      {"bij,bjk->bik", {5, 2, 3}, {1, 3, 4}, {5, 2, 3}, {5, 3, 4}},
      {"bhqd,bhkd->bhqk", {2, 1, 3, 4}, {2, 5, 6, 4}, {2, 5, 3, 4}, {2, 5, 6, 4}},
      {"bhqd,bhkd->bhqk", {1, 5, 3, 1}, {2, 1, 6, 4}, {2, 5, 3, 4}, {2, 5, 6, 4}},
      {"ij,jk->ik", {2, 1}, {3, 4}, {2, 3}, {3, 4}},
      {"ij,jk", {2, 3}, {1, 4}, {2, 3}, {3, 4}},
      {"i...,...->i...", {2, 3}, {1}, {2, 3}, {3}},
      {"ii,ij->ij", {3, 3}, {1, 4}, {3, 3}, {3, 4}},
  };
  for (const Product& p : products) {
    SCOPED_TRACE(p.equation);
    const auto value = [](const std::vector<std::int64_t>& extents, float step) {
      HostValue v{{DType::f32, {}}, {}};
      std::vector<float> values{0};
      std::size_t count = 1;
      for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
      values.resize(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<float>(i + 1));
      v = host(values, DType::f32, {});
      for (const std::int64_t extent : extents)
        v.type.shape = v.type.shape.appended(static_cast<std::uint32_t>(extent));
      return v;
    };
    const std::vector<HostValue> inputs{value(p.x, 0.7f), value(p.y, 1.3f)};
    const std::string ends = input_of("x", p.x) + input_of("y", p.y) + output("z");
    const std::vector<std::string> equation{text("equation", p.equation)};
    const auto found = runs(model(ends + node("Einsum", {"x", "y"}, {"z"}, equation)), inputs);
    const auto wanted =
        runs(model(ends + list("wx", p.whole_x) + list("wy", p.whole_y) + node("Expand", {"x", "wx"}, {"ex"}) +
                   node("Expand", {"y", "wy"}, {"ey"}) + node("Einsum", {"ex", "ey"}, {"z"}, equation)),
             inputs);
    ASSERT_EQ(found.size(), 2u);
    ASSERT_EQ(wanted.size(), 2u);
    for (const std::size_t run : {0u, 1u}) {
      EXPECT_EQ(found[run].outputs[0].type.shape, wanted[run].outputs[0].type.shape);
      const std::vector<float> got = floats(found[run].outputs[0]), expected = floats(wanted[run].outputs[0]);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
    }
  }
  const std::string odd = model(input("x", kFloat, {2, 2}) + input("y", kFloat, {3, 4}) +
                                node("Einsum", {"x", "y"}, {"z"}, {text("equation", "ij,jk->ik")}) + output("z"));
  const auto refused = ir::onnx::read(std::as_bytes(std::span(odd)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "node 0 (Einsum): equation: axes of one label have 2 and 3 elements, expected as many or 1");
}

}  // namespace
}  // namespace onnx_values_test
