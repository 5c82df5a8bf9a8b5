// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_model.cpp: an ONNX file opened and run by the one type that a host needs.
#include <zrt/compiled/programs.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <support/onnx_file.hpp>
#include <vector>

namespace onnx_model_test {
namespace {

using namespace zrt;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;

using Model = OnnxModel<TensorBackend>;

/// An input whose one axis is a symbol.
std::string open_input(std::string_view name, std::string_view symbol) {
  const std::string shape = field(1, field(2, symbol));
  return field(11, field(1, name) + field(2, field(1, field(1, kFloat) + field(2, shape))));
}

TEST(OnnxModel, RunsAFileWhoseOperatorsNeedKernelsOfTheirOwn) {
  // Sin and Floor are custom calls.
  const std::string file =
      model(open_input("x", "N") + node("Sin", {"x"}, {"s"}) + node("Floor", {"s"}, {"y"}) + output("y"));
  const ir::onnx::NamedExtent extents[]{{"N", 3}};
  auto made = Model::read(std::as_bytes(std::span(file)), {.extents = extents, .threads = 2});
  ASSERT_TRUE(made) << made.error().text();
  Model moved = std::move(*made);
  ASSERT_EQ(moved.inputs(), 1u);
  ASSERT_EQ(moved.outputs(), 1u);
  EXPECT_EQ(moved.input_name(0), "x");
  EXPECT_EQ(moved.output_name(0), "y");
  EXPECT_EQ(moved.output_type(0), (TensorType{DType::f32, {3}}));
  const std::vector<float> x{1, -1, 4};
  std::vector<float> y(3, 7);
  const ConstTensorView in[]{{DType::f32, {3}, std::as_bytes(std::span(x))}};
  const TensorView out[]{{DType::f32, {3}, std::as_writable_bytes(std::span(y))}};
  ASSERT_TRUE(moved.run(in, out));
  EXPECT_EQ(y, (std::vector<float>{0, -1, -1}));
}

TEST(OnnxModel, CopiesNothingThatLiesInItsMemory) {
  const std::string file = model(input("x", kFloat, {3}) + node("Neg", {"x"}, {"s"}) + node("Sin", {"s"}, {"t"}) +
                                 node("Abs", {"t"}, {"u"}) + node("Floor", {"u"}, {"y"}) + output("y"));
  auto made = Model::read(std::as_bytes(std::span(file)), {.keep_inputs = true});
  ASSERT_TRUE(made) << made.error().text();
  const Span<std::byte> x = made->input_memory(0);
  const Span<std::byte> y = made->output_memory(0);
  ASSERT_EQ(x.size(), 3 * sizeof(float));
  ASSERT_EQ(y.size(), 3 * sizeof(float));
  const float given[]{0.0f, 1.5f, 4.7f};
  std::memcpy(x.data(), given, sizeof given);
  const ConstTensorView in[]{{DType::f32, {3}, x}};
  const TensorView out[]{{DType::f32, {3}, y}};
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(made->run(in, out));
    EXPECT_EQ(std::memcmp(x.data(), given, sizeof given), 0);
    float found[3];
    std::memcpy(found, y.data(), sizeof found);
    for (const float each : found) EXPECT_EQ(each, 0.0f);
  }
  // Tensors that lie elsewhere are copied as ever.
  std::vector<float> other(3, 7);
  const TensorView copied[]{{DType::f32, {3}, std::as_writable_bytes(std::span(other))}};
  ASSERT_TRUE(made->run(in, copied));
  EXPECT_EQ(other, (std::vector<float>{0, 0, 0}));
}

TEST(OnnxModel, TakesTheValuesThatDecideAShape) {
  const std::string file = model(input("x", kFloat, {4}) + input("shape", kInt64, {2}) +
                                 node("Reshape", {"x", "shape"}, {"y"}) + output("y"));
  const std::vector<std::int64_t> shape{2, 2};
  const NamedTensor values[]{{"shape", {DType::si64, {2}, std::as_bytes(std::span(shape))}}};
  const auto made = Model::read(std::as_bytes(std::span(file)), {.values = values});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->inputs(), 1u);
  EXPECT_EQ(made->output_type(0), (TensorType{DType::f32, {2, 2}}));
}

TEST(OnnxModel, GivesLabelsByTheirNumbers) {
  constexpr std::int64_t kStrings = 8;
  const std::string labels =
      field(5, field(1, std::int64_t{2}) + field(2, kStrings) + field(8, "labels") + field(6, "cat") + field(6, "dog"));
  const std::string file =
      model(input("scores", kFloat, {2}) + input("name", kStrings, {1}) + labels +
                node("ArgMax", {"scores"}, {"best"}, {integer("keepdims", 0)}) +
                node("Gather", {"labels", "best"}, {"label"}) + node("Equal", {"label", "name"}, {"right"}) +
                output("label", kStrings, {}) + output("right"),
            19);
  EXPECT_EQ(Model::read(std::as_bytes(std::span(file))).error().text(),
            "tensor labels: tensors of strings need ReadOptions::strings");
  ir::onnx::ModelStrings strings;
  auto made = Model::read(std::as_bytes(std::span(file)), {.strings = &strings});
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(strings.inputs.size(), 1u);
  EXPECT_EQ(strings.inputs[0], 1u);
  ASSERT_EQ(strings.outputs.size(), 1u);
  EXPECT_EQ(strings.outputs[0], 0u);
  for (const char* fed : {"dog", "hamster"}) {
    const std::vector<float> scores{1, 2};
    const std::int64_t name = *strings.table.number_of(fed);
    std::int64_t label = -1;
    std::uint8_t right = 7;
    const ConstTensorView in[]{{DType::f32, {2}, std::as_bytes(std::span(scores))},
                               {DType::si64, {1}, std::as_bytes(std::span(&name, 1))}};
    const TensorView out[]{{DType::si64, {}, std::as_writable_bytes(std::span(&label, 1))},
                           {DType::i1, {1}, std::as_writable_bytes(std::span(&right, 1))}};
    ASSERT_TRUE(made->run(in, out));
    EXPECT_EQ(strings.table[label], "dog");
    EXPECT_EQ(right, fed == std::string("dog") ? 1 : 0);
  }
}

TEST(OnnxModel, NamesTheExtentThatIsOpen) {
  const std::string file = model(open_input("x", "N") + node("Sin", {"x"}, {"y"}) + output("y"));
  const auto made = Model::read(std::as_bytes(std::span(file)));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Errc::shape_mismatch);
  EXPECT_EQ(made.error().text(), "input x has an open extent on axis 0, N; name its number in OnnxOptions::extents");
  const std::string nameless =
      model(field(11, field(1, "x") + field(2, field(1, field(1, kFloat) + field(2, field(1, ""))))) +
            node("Sin", {"x"}, {"y"}) + output("y"));
  EXPECT_EQ(Model::read(std::as_bytes(std::span(nameless))).error().text(),
            "input x has an open extent on axis 0, which the file must name or give");
  EXPECT_EQ(Model::open("/nowhere/model.onnx").error().code(), Errc::io_error);
}

}  // namespace
}  // namespace onnx_model_test
