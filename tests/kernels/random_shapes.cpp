// SPDX-License-Identifier: Apache-2.0
// tests/kernels/random_shapes.cpp: CPU kernels give their references' bits over random shapes, types, positions and pages.
// test-set: full
#include <kernels/harness.hpp>

namespace random_shapes_test {
namespace {

using namespace cpu_kernels;
using quant::Act;
using zrt::HostCall;

constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0};

TEST(CpuKernelsProperty, Linear) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Case pick(seed);
    const DType type = kTypes[pick.number(0, 4)];
    const bool blocks = zrt::is_block(type);
    const std::uint32_t rows = pick.number(0, 2) == 0 ? 1 : pick.number(1, 40);
    const std::uint32_t cols = blocks ? 32 * pick.number(1, 40) : pick.number(1, 300);
    const std::uint32_t outputs = pick.number(1, 80);
    Case c(seed, rows);
    HostCall<ops::Linear> l{{c.reals(Shape{Dim(1, kRows), cols}, c.number(0, 1) == 0 ? 1e-3f : 50.0f)},
                            {c.tensor(DType::f32, Shape{Dim(1, kRows), outputs})},
                            {c.matrix(type, outputs, cols), {}},
                            {},
                            {blocks && c.number(0, 3) != 0 ? Act::q8_32 : Act::none, {}}};
    if (c.number(0, 1) == 0) l.w[1] = c.vector(outputs);
    c.check(l);
  }
}

TEST(CpuKernelsProperty, AttentionAfterRotation) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    Case pick(seed);
    const std::uint32_t kv_heads = pick.number(1, 3);
    const std::uint32_t heads = kv_heads * pick.number(1, 6);
    const std::uint32_t key_dim = 2 * pick.number(1, 40);
    const std::uint32_t value_dim = pick.number(1, 90);
    const std::uint32_t slots = pick.number(1, 3);
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t i = 0; i < slots; ++i) lengths.push_back(pick.number(0, 2) == 0 ? 0 : pick.number(0, 700));
    Case c(seed, pick.number(1, 12));
    Pages pages;
    const zrt::HostState state = pages.make(
        c, slots, lengths, zrt::kPageTypes[c.number(0, static_cast<std::uint32_t>(zrt::kPageTypes.size()) - 1)],
        kv_heads, key_dim, value_dim);

    HostCall<ops::RmsNormFusedRopeKvWrite> turn{};
    turn.in = {c.reals(Shape{Dim(1, kRows), heads * key_dim}), c.reals(Shape{Dim(1, kRows), kv_heads * key_dim}),
               c.reals(Shape{Dim(1, kRows), kv_heads * value_dim}), c.tensor(DType::si32, Shape{Dim(1, kRows)})};
    for (std::uint32_t t = 0; t < c.step.tokens; ++t)
      turn.in[3].as<std::int32_t>()[t] = static_cast<std::int32_t>(c.step.positions[t]);
    turn.out[0] = c.tensor(DType::f32, turn.in[0].type.shape);
    if (c.number(0, 1) == 0) turn.w = {c.vector(key_dim), c.vector(key_dim), {}};
    turn.state = state;
    turn.params.kv = {kv_heads, key_dim, value_dim};
    turn.params.rope.head_dim = key_dim;
    turn.params.rope.n_rot = 2 * c.number(0, key_dim / 2);
    turn.params.rope.style = c.number(0, 1) == 0 ? ops::RopeStyle::neox : ops::RopeStyle::interleaved;
    c.check(turn);

    HostCall<ops::FlashAttnBatched> attend{
        {turn.in[0]}, {c.tensor(DType::f32, Shape{Dim(1, kRows), heads * value_dim})}, {}, state, {}};
    attend.params = {heads,
                     kv_heads,
                     key_dim,
                     value_dim,
                     0.2f,
                     c.number(0, 2) == 0 ? 15.0f : 0.0f,
                     c.number(0, 2) == 0 ? c.number(1, 600) : 0};
    if (attend.params.window == 0 && c.number(0, 1) == 0) attend.params.chunk = c.number(1, 600);
    if (c.number(0, 2) == 0) attend.w[0] = c.vector(heads);
    c.check(attend);
  }
}

TEST(CpuKernelsProperty, RowsOfAnyLength) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Case c(seed, seed % 7);
    const std::uint32_t dim = c.number(1, 150);
    const Shape shape{Dim(1, kRows), dim * c.number(1, 3)};
    c.check(HostCall<ops::RmsNorm>{
        {c.reals(shape)}, {c.tensor(DType::f32, shape)}, {c.vector(dim)}, {}, {1e-6f, 0.0f, dim}});
    c.check(HostCall<ops::Softmax>{{c.reals(shape, 40.0f)}, {c.tensor(DType::f32, shape)}, {}, {}, {}});
    c.check(HostCall<ops::GreedyToken>{{c.reals(shape)}, {c.tensor(DType::si32, Shape{Dim(1, kRows)})}, {}, {}, {}});
    const auto act = zrt::Activation{static_cast<std::uint8_t>(c.number(0, zrt::kActivations - 1u))};
    c.check(HostCall<ops::GatedAct>{
        {c.reals(shape, 100.0f), c.reals(shape)}, {c.tensor(DType::f32, shape)}, {}, {}, {act}});
  }
}

}  // namespace
}  // namespace random_shapes_test
