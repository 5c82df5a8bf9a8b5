// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/attention.hpp: rotation with page write, and attention over pages, against the ops'
// references; launches are those of ops.hpp.
#pragma once

#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>

#include <algorithm>
#include <support/kernel_checks/ops.hpp>

namespace zrt::test::kernel_checks {

inline HostWeight weight_of(const std::vector<float>& values) {
  const auto cols = static_cast<std::uint32_t>(values.size());
  if (values.empty()) return {};
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, 1, cols, cols * 4};
}
template <class Launch> void input_or_absent(Launch& m, const std::vector<float>& values) {
  values.empty() ? m.absent() : static_cast<void>(m.input(values));
}

/// Heads of a model, and pages of a few slots in any order.
struct Pages {
  std::uint32_t heads, kv_heads, key_dim, value_dim;
  DType dtype;
  std::vector<std::uint32_t> slots, positions, table;
  std::uint32_t pages_per_slot = 0;
  std::vector<std::byte> bytes;
  HostState state;
  ExecutionContext step;

  Pages(std::mt19937& random, std::array<std::uint32_t, 4> sizes, DType type, std::vector<std::uint32_t> at,
        std::vector<std::uint32_t> slot_of = {})
      : heads(sizes[0]),
        kv_heads(sizes[1]),
        key_dim(sizes[2]),
        value_dim(sizes[3]),
        dtype(type),
        slots(slot_of),
        positions(at) {
    const auto tokens = static_cast<std::uint32_t>(positions.size());
    if (slots.empty())
      for (std::uint32_t t = 0; t < tokens; ++t) slots.push_back(tokens - 1 - t);
    pages_per_slot = *std::max_element(positions.begin(), positions.end()) / kPageTokens + 1;
    table.resize(std::size_t{tokens} * pages_per_slot);
    for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = i;
    std::shuffle(table.begin(), table.end(), random);
    const std::size_t elements = table.size() * kPageTokens * kv_heads * (key_dim + value_dim);
    const std::vector<float> values = reals(random, elements);
    state.info = {StateLifecycle::kv_paged, dtype, 0, 0, {kv_heads, key_dim, value_dim, 0}};
    state.units = static_cast<std::uint32_t>(table.size());
    state.unit_bytes = unit_bytes(state.info).raw();
    bytes.resize(state.units * state.unit_bytes);
    state.data = bytes.data();
    const KvPage page = KvPage::of(state.info);
    const float* next = values.data();
    for (std::uint32_t i = 0; i < state.units * kPageTokens; ++i)
      for (std::uint32_t head = 0; head < kv_heads; ++head, next += key_dim + value_dim) {
        page.store_key(state.unit(i / kPageTokens), head, i % kPageTokens, next);
        page.store_value(state.unit(i / kPageTokens), head, i % kPageTokens, next + key_dim);
      }
    step.tokens = tokens;
    step.slots = slots.data();
    step.positions = positions.data();
    step.pages = table.data();
    step.pages_per_slot = pages_per_slot;
    step.slot_count = tokens;
  }
  [[nodiscard]] std::string suffix() const { return "_" + std::string(name(dtype)); }
  [[nodiscard]] std::uint32_t page_bytes() const { return static_cast<std::uint32_t>(state.unit_bytes); }
};

/// Norms, rotation and page write of heads, page types and styles.
template <class Kernels> void check_rotation_and_page_write(Kernels&& kernels) {
  std::mt19937 random(1);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool normed : {false, true})
      for (const bool neox : {false, true}) {
        SCOPED_TRACE(testing::Message() << name(dtype) << " normed " << normed << " neox " << neox);
        Pages p(random, {4, 2, normed ? 96u : 70u, 33}, dtype, {0, 5, 31, 300});
        const std::uint32_t tokens = p.step.tokens;
        // What heads are rotated by need not be the step's positions; from 2^20 on angles are reduced in integers.
        std::vector<std::int32_t> turns{3, 1 << 20, (1 << 24) + 31, 0x7fffff35};
        std::vector<float> q = reals(random, tokens * p.heads * p.key_dim, 2.0f),
                           k = reals(random, tokens * p.kv_heads * p.key_dim, 2.0f),
                           v = reals(random, tokens * p.kv_heads * p.value_dim), want(q.size());
        const std::vector<float> q_norm = normed ? reals(random, p.key_dim) : std::vector<float>(),
                                 k_norm = normed ? reals(random, p.key_dim) : std::vector<float>();
        ops::RmsNormFusedRopeKvWriteParams params;
        params.eps = 1e-6f;
        params.weight_offset = neox ? 1.0f : 0.0f;
        params.kv = {p.kv_heads, p.key_dim, p.value_dim};
        params.rope.head_dim = p.key_dim;
        params.rope.n_rot = neox ? 64 : p.key_dim;
        params.rope.magnitude = 1.25f;
        params.rope.style = neox ? ops::RopeStyle::neox : ops::RopeStyle::interleaved;
        std::vector<float> frequencies(params.rope.n_rot / 2);
        for (std::uint32_t i = 0; i < frequencies.size(); ++i)
          frequencies[i] = ops::rope_frequency(params.rope, nullptr, i);

        std::vector<std::byte> pages = p.bytes;
        std::vector<float> y = q;
        auto m = kernels.launch("rope_kv_write" + p.suffix());
        const std::uint32_t at = m.output(y);
        m.input(k);
        m.input(v);
        m.input(turns);
        m.input(p.positions);
        m.input(p.slots);
        m.input(p.table);
        m.input(frequencies);
        input_or_absent(m, q_norm);
        input_or_absent(m, k_norm);
        m.same_as(at);
        m.output(pages);
        for (const std::uint32_t n : {p.heads, p.kv_heads, p.key_dim, p.value_dim, params.rope.n_rot, neox ? 1u : 0u})
          m.push(n);
        for (const float f : {params.rope.magnitude, params.eps, params.weight_offset}) m.push(f);
        m.push(p.pages_per_slot);
        m.push(p.page_bytes());
        m.run(p.heads + 2 * p.kv_heads, tokens);

        std::vector<std::byte> scratch(p.kv_heads * p.key_dim * 4);
        HostCall<ops::RmsNormFusedRopeKvWrite> call{};
        call.in = {tensor(q, DType::f32, Shape{tokens, p.heads * p.key_dim}),
                   tensor(k, DType::f32, Shape{tokens, p.kv_heads * p.key_dim}),
                   tensor(v, DType::f32, Shape{tokens, p.kv_heads * p.value_dim}),
                   tensor(turns, DType::si32, Shape{tokens})};
        call.out[0] = tensor(want, DType::f32, Shape{tokens, p.heads * p.key_dim});
        call.w = {weight_of(q_norm), weight_of(k_norm), {}};
        call.state = p.state;
        call.params = params;
        ops::RmsNormFusedRopeKvWrite::reference(call, p.step, Worker{0, 1, 0, scratch});
        expect_same(y, want);
        EXPECT_EQ(pages, p.bytes);
      }
}

/// Attention of random queries over pages, against the op's reference.
template <class Kernels>
void expect_attention(Kernels&& kernels, std::mt19937& random, Pages& p, bool has_sinks, float soft_cap,
                      std::uint32_t window, std::uint32_t chunk) {
  const std::uint32_t tokens = p.step.tokens;
  std::vector<float> q = reals(random, tokens * p.heads * p.key_dim, 3.0f);
  const std::vector<float> sinks = has_sinks ? reals(random, p.heads, 3.0f) : std::vector<float>();
  std::vector<float> got(tokens * p.heads * p.value_dim), want(got.size());
  auto m = kernels.launch("paged_attention" + p.suffix());
  m.input(q);
  input_or_absent(m, sinks);
  m.input(p.positions);
  m.input(p.slots);
  m.input(p.table);
  m.input(p.bytes);
  m.output(got);
  for (const std::uint32_t n : {p.heads, p.kv_heads, p.key_dim, p.value_dim}) m.push(n);
  m.push(0.4f);
  m.push(soft_cap);
  m.push(window);
  m.push(p.pages_per_slot);
  m.push(p.page_bytes());
  m.push(chunk);
  m.run(p.heads, tokens);
  HostCall<ops::FlashAttnBatched> call{{tensor(q, DType::f32, Shape{tokens, p.heads * p.key_dim})},
                                       {tensor(want, DType::f32, Shape{tokens, p.heads * p.value_dim})},
                                       {weight_of(sinks)},
                                       p.state,
                                       {p.heads, p.kv_heads, p.key_dim, p.value_dim, 0.4f, soft_cap, window, chunk}};
  ops::FlashAttnBatched::reference(call, p.step, Worker{});
  expect_same(got, want);
}

/// Attention over pages of each type, of tokens of several slots.
template <class Kernels> void check_paged_attention(Kernels&& kernels) {
  std::mt19937 random(2);
  struct Case {
    std::array<std::uint32_t, 4> sizes;
    std::vector<std::uint32_t> positions;
    float soft_cap;
    std::uint32_t window;
    bool sinks;
    std::vector<std::uint32_t> slots{};
    std::uint32_t chunk = 0;
  };
  const Case cases[] = {{{4, 2, 64, 64}, {0, 17, 63, 130}, 0.0f, 0, false},
                        {{2, 1, 40, 150}, {600}, 5.0f, 0, true},
                        {{3, 3, 8, 5}, {1100, 520}, 0.0f, 100, false},
                        // A token of slot 2, and chunks of the prompts of slots 0 and 3, over the border of a step.
                        {{4, 2, 16, 16}, {70, 0, 1, 2, 62, 63, 64, 65}, 0.0f, 0, false, {2, 0, 0, 0, 3, 3, 3, 3}},
                        // The first and the last of a chunk, and one that began in the segment before.
                        {{2, 1, 16, 24}, {47, 48, 95, 517}, 0.0f, 0, true, {}, 48}};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << " " << c.sizes[2]);
      Pages p(random, c.sizes, dtype, c.positions, c.slots);
      expect_attention(kernels, random, p, c.sinks, c.soft_cap, c.window, c.chunk);
    }
}

}  // namespace zrt::test::kernel_checks
