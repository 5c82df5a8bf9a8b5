// SPDX-License-Identifier: Apache-2.0
// tests/process/alloc_graphs.cpp: every allocation of reading ONNX and of making programs that train may fail, and all
// of them are asked of the hook.
#include <zrt/ir/fused/optimise.hpp>
#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <support/memory_call.hpp>
#include <support/onnx_file.hpp>

// --- what is asked of the C library behind the hook's back --------------------------------------------

namespace {
bool watching = false;
std::uint64_t direct = 0;

void note(MemoryCall call) noexcept {
  if (call == MemoryCall::allocate && watching) ++direct;
}
}  // namespace

#include "memory_hooks.hpp"

namespace {

using namespace zrt;
using namespace zrt::test::onnx_file;
namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;

/// Counts what lives and fails the allocation number `fail_at`.
struct Memory {
  std::uint64_t fail_at = ~std::uint64_t{0};
  std::uint64_t made = 0;
  std::size_t live = 0;

  Allocator hook() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto* self = static_cast<Memory*>(context);
              if (self->made++ == self->fail_at) return nullptr;
              self->live += bytes;
              const bool watched = std::exchange(watching, false);
              void* memory = system_allocator().allocate(nullptr, bytes, alignment);
              watching = watched;
              return memory;
            },
            [](void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<Memory*>(context)->live -= bytes;
              system_allocator().release(nullptr, memory, bytes, alignment);
            }};
  }
};

using Work = Result<void> (*)(const Allocator& allocator);

/// Fails each allocation of `work` in turn.
void fail_each(Work work) {
  Memory memory;
  direct = 0;
  watching = true;
  const auto done = work(memory.hook());
  watching = false;
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(direct, 0u) << "calls of malloc that go round the hook";
  EXPECT_EQ(memory.live, 0u);
  EXPECT_GT(memory.made, 100u);
  for (std::uint64_t n = 0; n < memory.made; ++n) {
    Memory failing;
    failing.fail_at = n;
    watching = true;
    const auto result = work(failing.hook());
    watching = false;
    ASSERT_FALSE(result) << "allocation " << n << " of " << memory.made;
    ASSERT_EQ(result.error().code(), Errc::out_of_memory) << "allocation " << n << ": " << result.error().text();
    ASSERT_EQ(failing.live, 0u) << "allocation " << n;
  }
  EXPECT_EQ(direct, 0u) << "calls of malloc that go round the hook";
}

/// Operators that make tables, lists and regions while they are read.
std::string model_with_tables() {
  const std::string x = input("x", kFloat, {1, 2, 8, 8}) + input("i", kInt64, {1, 2, 4, 4}) +
                        input("r", kFloat, {3, 1, 4}) + input("w", kFloat, {1, 16, 4}) +
                        input("u", kFloat, {1, 16, 4}) + input("k", kFloat, {2, 2, 3, 3}) + input("p", kBool, {});
  const std::string known = numbers("zero", {}, {0}) + numbers("two", {}, {2}) + numbers("nine", {}, {9}) +
                            numbers("size", {4}, {1, 2, 6, 6}) + numbers("pads", {8}, {0, 0, 1, 1, 0, 0, 1, 1}) +
                            numbers("one", {1}, {1}) + numbers("three", {1}, {3}) + numbers("seven", {1}, {7}) +
                            numbers("shape", {2}, {2, 3}) + node("Cast", {"two"}, {"yes"}, {integer("to", kBool)});
  const std::string branch = node("Relu", {"x"}, {"b"}) + output("b");
  const std::string loop = node("Add", {"t", "t"}, {"s"}) + node("Identity", {"c"}, {"d"}) + input("t", kInt64, {}) +
                           input("c", kBool, {}) + output("d") + output("s");
  return model(
      x + known + node("Range", {"zero", "nine", "two"}, {"range"}) +
      node("Concat", {"range", "one"}, {"joined"}, {integer("axis", 0)}) +
      node("Slice", {"x", "one", "seven", "three", "three"}, {"strided"}) +
      node("ConstantOfShape", {"shape"}, {"filled"}) +
      node("AveragePool", {"x"}, {"mean"}, {integers("kernel_shape", {2, 2}), integers("strides", {2, 2})}) +
      node("MaxUnpool", {"mean", "i"}, {"plane"}, {integers("kernel_shape", {2, 2}), integers("strides", {2, 2})}) +
      node("Resize", {"x", "", "", "size"}, {"linear"}, {text("mode", "linear")}) +
      node("Resize", {"x", "", "", "size"}, {"near"}) + node("Pad", {"x", "pads"}, {"edged"}, {text("mode", "edge")}) +
      node("ConvTranspose", {"x", "k"}, {"wide"}) +
      node("Einsum", {"strided"}, {"sum"}, {text("equation", "nchw->c")}) +
      node("If", {"p"}, {"either"}, {graph_in("then_branch", branch), graph_in("else_branch", branch)}) +
      node("Loop", {"two", "yes"}, {"stack"}, {graph_in("body", loop)}) +
      node("LSTM", {"r", "w", "u"}, {"states"}, {integer("hidden_size", 4)}) + node("HannWindow", {"nine"}, {"hann"}) +
      output("joined") + output("strided") + output("filled") + output("plane") + output("linear") + output("near") +
      output("edged") + output("wide") + output("sum") + output("either") + output("stack") + output("states") +
      output("hann"));
}

TEST(AllocGraphs, ReadingOnnxSurvivesEveryFailure) {
  static const std::string file = model_with_tables();
  fail_each([](const Allocator& allocator) -> Result<void> {
    ir::onnx::ReadOptions options;
    options.allocator = allocator;
    const auto program = ir::onnx::read(std::as_bytes(std::span(file)), options);
    return program ? Result<void>() : pass(program);
  });
}

TEST(AllocGraphs, MakingAProgramThatTrainsSurvivesEveryFailure) {
  fail_each([](const Allocator& allocator) -> Result<void> {
    const fused::FusedProgram empty(allocator);
    fused::Graft start(empty, {});
    ptir::Builder& b = start.builder();
    const ptir::TensorType rows{DType::f32, {4, 3}}, vector{DType::f32, {3}};
    const ptir::Tensor x = start.feed(rows), w = start.feed({DType::f32, {3, 3}});
    const std::array<ptir::Tensor, 4> norm{start.feed(vector), start.feed(vector), start.feed(vector),
                                           start.feed(vector)};
    Vector<ptir::Tensor> dropped(allocator), normal(allocator);
    const std::array drop{ptir::Attribute::real(0.5), ptir::Attribute::integer(7), ptir::Attribute{}};
    start.mode_step("dropout", {&x, 1}, drop, {&rows, 1}, dropped);
    if (b.failed()) return std::unexpected<Error>(b.error());
    const std::array scaled{ptir::Attribute::integer(-1), ptir::Attribute::real(1e-5), ptir::Attribute::real(0.1)};
    const std::array<ptir::Tensor, 5> in{dropped[0], norm[0], norm[1], norm[2], norm[3]};
    const std::array types{rows, vector, vector};
    start.mode_step("batch_norm", in, scaled, types, normal);
    if (b.failed()) return std::unexpected<Error>(b.error());
    const ptir::Tensor y = b.tanh(b.dot_general(normal[0], w, {.contract_lhs = {-1}, .contract_rhs = {0}}));
    ir::gradient::Numbers axes;
    for (const std::int64_t axis : {0, 1}) axes.append(axis);
    const auto body = b.region("body", [&] {
      const ptir::Tensor h = b.parameter(vector), row = b.parameter(vector);
      b.result(b.tanh(h * row));
      b.result(h + row);
    });
    const ptir::Results cells = b.scan(body, 1, 1, {norm[0], y});
    const ptir::Tensor loss = ir::gradient::Expressions::sum(y * cells[1] + cells[0], axes, false);
    start.output("loss", loss);
    const fused::ValueId loss_id = start.id_of(loss), w_id = start.id_of(w), norm_id = start.id_of(norm[0]);
    const auto forward = start.finish();
    if (!forward) return pass(forward);
    std::array<fused::FeedType, 6> feeds;
    for (std::size_t i = 0; i < feeds.size(); ++i)
      feeds[i] = {forward->feeds[i], i == 0 ? rows : i == 1 ? ptir::TensorType{DType::f32, {3, 3}} : vector};
    fused::Graft back(*forward, feeds);
    const std::array of{w_id, norm_id};
    const auto gradients = ir::gradient::differentiate(back, loss_id, of);
    if (!gradients) return pass(gradients);
    const auto slots = ir::train::update(back, ir::train::AdamW{.rate = 1e-3}, of, gradients->span());
    if (!slots) return pass(slots);
    const auto training = back.finish();
    if (!training) return pass(training);
    const auto smaller = fused::optimise(*training);
    return smaller ? Result<void>() : pass(smaller);
  });
}

}  // namespace
