// SPDX-License-Identifier: Apache-2.0
// tests/kernels/model_ops.cpp: every CPU kernel gives the bits of its op's reference, edge cases.
// test-set: smoke
#include <zrt/backend/cpu.hpp>
#include <zrt/ops/catalog.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/set.hpp>

#include <kernels/harness.hpp>
#include <limits>

namespace model_ops_test {
namespace {

using namespace cpu_kernels;
using quant::Act;
using zrt::Activation;
using zrt::HostCall;

// Every op of the catalog is claimed, left out by name, or runs as what it expands to.
template <class O>
using Stated =
    std::bool_constant<boost::mp11::mp_contains<cpu::Claims, O>::value +
                           boost::mp11::mp_contains<zrt::CpuBackend::Unsupported, O>::value +
                           (zrt::Runs<zrt::CpuBackend, O> && !boost::mp11::mp_contains<cpu::Claims, O>::value) ==
                       1>;
static_assert(boost::mp11::mp_all_of<ops::Catalog, Stated>::value);

constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0};
bool blocks(DType type) { return zrt::is_block(type); }

TEST(CpuKernels, Norms) {
  for (const std::uint32_t dim : {1u, 5u, 16u, 48u, 100u}) {
    for (const std::uint32_t rows : {0u, 1u, 7u}) {
      Case c(dim + rows, rows);
      const Shape shape{Dim(1, kRows), 2 * dim};
      HostCall<ops::RmsNorm> norm{{c.reals(shape)}, {c.tensor(DType::f32, shape)}, {}, {}, {1e-5f, 0.0f, dim}};
      c.check(norm);
      norm.w[0] = c.vector(dim);
      norm.params.weight_offset = 1.0f;
      c.check(norm);
      norm.out = norm.in;
      c.check(norm);
      HostCall<ops::ResidualRmsNorm> both{{c.reals(shape), c.reals(shape)}, {}, norm.w, {}, {{0.7f}, norm.params}};
      both.out = both.in;
      c.check(both);
      both.out = {c.tensor(DType::f32, shape), c.tensor(DType::f32, shape)};
      c.check(both);
    }
  }
}

TEST(CpuKernels, Elementwise) {
  for (const std::uint32_t cols : {1u, 16u, 77u, 200u}) {
    Case c(cols, 3);
    const Shape shape{Dim(1, kRows), cols};
    HostCall<ops::ResidualAdd> add{{c.reals(shape), c.reals(shape)}, {c.tensor(DType::f32, shape)}, {}, {}, {0.3f}};
    c.check(add);
    add.out[0] = add.in[1];
    c.check(add);
    for (std::uint8_t kind = 0; kind < zrt::kActivations; ++kind) {
      HostCall<ops::GatedAct> gate{
          {c.reals(shape, 20.0f), c.reals(shape)}, {c.tensor(DType::f32, shape)}, {}, {}, {Activation{kind}}};
      c.check(gate);
      gate.in[1] = {};
      gate.out = {gate.in[0]};
      c.check(gate);
    }
  }
}

TEST(CpuKernels, EmbeddingAndTake) {
  for (const DType type : kTypes) {
    const std::uint32_t cols = blocks(type) ? 96 : 75;
    Case c(1, 6);
    HostCall<ops::Embedding> e{{c.integers(Shape{Dim(1, kRows)}, 8)},
                               {c.tensor(DType::f32, Shape{Dim(1, kRows), cols})},
                               {c.matrix(type, 9, cols)},
                               {},
                               {0.37f}};
    c.check(e);
    // Ids outside the table read row 0 and mark the step.
    e.in[0].as<std::int32_t>()[2] = 9;
    e.in[0].as<std::int32_t>()[4] = -1;
    c.check(e);
  }
  Case c(2, 5);
  HostCall<ops::Take> t{{c.reals(Shape{7, 3, 5}), c.integers(Shape{Dim(1, kRows)}, 6)},
                        {c.tensor(DType::f32, Shape{Dim(1, kRows), 3, 5})},
                        {},
                        {},
                        {}};
  c.check(t);
  t.in[1].as<std::int32_t>()[3] = 7;
  c.check(t);
  HostCall<ops::Reshape> r{
      {t.in[0]}, {c.tensor(DType::f32, Shape{21, 5})}, {}, {}, {zrt::ShapeParams::of(Shape{21, 5})}};
  c.check(r);
  r.out = r.in;
  c.check(r);
}

TEST(CpuKernels, Linear) {
  for (const DType type : kTypes) {
    for (const bool rounded : {false, true}) {
      if (rounded && !blocks(type)) continue;
      const Act act = rounded ? Act::q8_32 : Act::none;
      for (const std::uint32_t rows : {0u, 1u, 2u, 4u, 6u, 11u, 140u}) {
        for (const std::uint32_t outputs : {1u, 16u, 37u, 96u}) {
          if (rows == 140 && outputs != 37) continue;
          const std::uint32_t cols = blocks(type) ? (outputs == 37 ? 576u : 96u) : (outputs == 37 ? 203u : 64u);
          Case c(rows * 100 + outputs, rows);
          HostCall<ops::Linear> l{{c.reals(Shape{Dim(1, kRows), cols})},
                                  {c.tensor(DType::f32, Shape{Dim(1, kRows), outputs})},
                                  {c.matrix(type, outputs, cols), {}},
                                  {},
                                  {act, {}}};
          c.check(l);
          l.w[1] = c.vector(outputs);
          c.check(l);
        }
      }
    }
  }
}

/// Every weight type with blocks: a table of embeddings, and products of few and of many rows.
TEST(CpuKernels, EveryBlockType) {
  for (const quant::TypeFacts& facts : quant::kTypeFactsOf<quant::Types>) {
    if (!blocks(facts.dtype)) continue;
    SCOPED_TRACE(zrt::name(facts.dtype));
    const std::uint32_t elems = zrt::info(facts.dtype).block_elems;
    for (const std::uint32_t cols : {elems, (elems < 256 ? 640 / elems : 3) * elems}) {
      Case e(cols, 4);
      e.check(HostCall<ops::Embedding>{{e.integers(Shape{Dim(1, kRows)}, 4)},
                                       {e.tensor(DType::f32, Shape{Dim(1, kRows), cols})},
                                       {e.matrix(facts.dtype, 5, cols)},
                                       {},
                                       {0.37f}});
      for (const Act act : {Act::none, facts.act})
        for (const std::uint32_t rows : {1u, 3u, 19u}) {
          Case c(rows + cols, rows);
          c.check(HostCall<ops::Linear>{{c.reals(Shape{Dim(1, kRows), cols})},
                                        {c.tensor(DType::f32, Shape{Dim(1, kRows), 21})},
                                        {c.matrix(facts.dtype, 21, cols), {}},
                                        {},
                                        {act, {}}});
        }
    }
    // The largest codes beside the largest activations: sums in few bits have room for them.
    for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
      Case c(static_cast<std::uint32_t>(byte), 5);
      const std::uint32_t cols = elems < 256 ? 640 : 512;
      const zrt::HostWeight w = c.matrix(facts.dtype, 18, cols);
      auto* blocks_of = const_cast<std::byte*>(w.data);
      for (std::uint64_t at = 0; at < 18 * w.row_bytes; at += zrt::info(facts.dtype).block_bytes) {
        std::memset(blocks_of + at, byte, zrt::info(facts.dtype).block_bytes);
        zrt::test::set_scales(facts.dtype, blocks_of + at, 0.01f, 0.02f);
      }
      const zrt::HostTensor x = c.reals(Shape{Dim(1, kRows), cols});
      for (std::uint32_t i = 0; i < 5 * cols; ++i) x.as<float>()[i] = i / cols % 2 == 0 ? 2.0f : -2.0f;
      for (std::uint32_t i = 0; i < cols; i += 2) x.as<float>()[i] = -2.0f;
      c.check(
          HostCall<ops::Linear>{{x}, {c.tensor(DType::f32, Shape{Dim(1, kRows), 18})}, {w, {}}, {}, {facts.act, {}}});
    }
  }
}

TEST(CpuKernels, BlocksOf256) {
  for (const DType type : {DType::q4_k, DType::q5_k, DType::q6_k}) {
    for (const Act act : {Act::none, Act::q8_256}) {
      for (const std::uint32_t rows : {1u, 3u, 17u, 66u, 130u, 530u}) {
        for (const std::uint32_t cols : {256u, 768u}) {
          if (rows == 530 && cols != 256) continue;
          Case c(rows + cols, rows);
          const HostCall<ops::Linear> l{{c.reals(Shape{Dim(1, kRows), cols})},
                                        {c.tensor(DType::f32, Shape{Dim(1, kRows), 21})},
                                        {c.matrix(type, 21, cols), {}},
                                        {},
                                        {act, {}}};
          c.check(l);
        }
      }
    }
    Case c(7, 6);
    const HostCall<ops::Embedding> e{{c.integers(Shape{Dim(1, kRows)}, 8)},
                                     {c.tensor(DType::f32, Shape{Dim(1, kRows), 512})},
                                     {c.matrix(type, 9, 512)},
                                     {},
                                     {0.37f}};
    c.check(e);
  }
}

TEST(CpuKernels, LinearSpecialActivations) {
  for (const std::uint32_t rows : {1u, 9u}) {
    for (const DType type : {DType::q8_0, DType::q4_0}) {
      Case c(rows, rows);
      const std::uint32_t cols = 128;
      HostCall<ops::Linear> l{{c.reals(Shape{Dim(1, kRows), cols})},
                              {c.tensor(DType::f32, Shape{Dim(1, kRows), 32})},
                              {c.matrix(type, 32, cols), {}},
                              {},
                              {Act::q8_32, {}}};
      float* x = l.in[0].as<float>();
      for (std::uint32_t i = 0; i < 32; ++i) x[i] = 0.0f;
      for (std::uint32_t i = 32; i < 64; ++i) x[i] = 1e-38f;
      for (std::uint32_t i = 64; i < 96; ++i) x[i] = (i % 2 != 0 ? 127.0f : -126.5f) / 64.0f;
      c.check(l);
      x[100] = std::numeric_limits<float>::infinity();
      c.check(l);
      x[100] = std::numeric_limits<float>::quiet_NaN();
      c.check(l);
    }
  }
}

TEST(CpuKernels, FusedProjections) {
  for (const std::uint32_t rows : {0u, 1u, 5u, 130u}) {
    Case c(rows, rows);
    const std::uint32_t cols = 128;
    HostCall<ops::RmsNormFusedQkv> q{};
    q.in[0] = c.reals(Shape{Dim(1, kRows), cols});
    q.out = {c.tensor(DType::f32, Shape{Dim(1, kRows), 64}), c.tensor(DType::f32, Shape{Dim(1, kRows), 32}),
             c.tensor(DType::f32, Shape{Dim(1, kRows), 24})};
    q.params.norm = {1e-6f, 1.0f, cols};
    q.w = {c.vector(cols),
           c.matrix(DType::q8_0, 64, cols),
           c.matrix(DType::q4_0, 32, cols),
           c.matrix(DType::f16, 24, cols),
           c.vector(64),
           {},
           c.vector(24)};
    c.check(q);
    q.params.act_q = q.params.act_k = Act::q8_32;
    q.params.norm.dim = 64;
    q.w[0] = c.vector(64);
    c.check(q);
    for (std::uint8_t kind = 0; kind < zrt::kActivations; ++kind) {
      HostCall<ops::RmsNormFusedMlpGateUp> g{};
      g.in[0] = q.in[0];
      g.out[0] = c.tensor(DType::f32, Shape{Dim(1, kRows), 200});
      g.params.norm = {1e-6f, 0.0f, cols};
      g.params.gated.act = Activation{kind};
      g.params.act_gate = kind % 2 == 0 ? Act::q8_32 : Act::none;
      g.params.act_up = kind < 2 ? Act::q8_32 : Act::none;
      g.w = {c.vector(cols), c.matrix(DType::q8_0, 200, cols),
             c.matrix(kind < 2 ? DType::q4_0 : DType::f32, 200, cols)};
      // Without biases, with either, with both.
      if (kind % 2 != 0) g.w[3] = c.vector(200);
      if (kind % 4 > 1) g.w[4] = c.vector(200);
      c.check(g);
    }
  }
}

TEST(CpuKernels, LmHead) {
  for (const float cap : {0.0f, 30.0f}) {
    for (const float scale : {1.0f, 0.25f}) {
      Case c(3, 3);
      HostCall<ops::LmHead> h{{c.reals(Shape{Dim(1, kRows), 64})},
                              {c.tensor(DType::f32, Shape{Dim(1, kRows), 333})},
                              {c.matrix(DType::q8_0, 333, 64)},
                              {},
                              {scale, cap, Act::q8_32, {}}};
      c.check(h);
      h.params.act = Act::none;
      c.check(h);
    }
  }
}

TEST(CpuKernels, Rope) {
  for (const ops::RopeStyle style : {ops::RopeStyle::interleaved, ops::RopeStyle::neox}) {
    for (const std::uint32_t turned : {0u, 2u, 20u, 32u, 64u}) {
      Case c(turned, 4);
      const Shape shape{Dim(1, kRows), 3 * 64};
      HostCall<ops::Rope> r{
          {c.reals(shape), c.integers(Shape{Dim(1, kRows)}, 100000)}, {c.tensor(DType::f32, shape)}, {}, {}, {}};
      r.params.head_dim = 64;
      r.params.n_rot = turned;
      r.params.style = style;
      c.check(r);
      r.out[0] = r.in[0];
      r.params.scaling = ops::RopeScaling::yarn;
      r.params.factor = 4.0f;
      r.params.original_context = 2048;
      if (turned != 0) r.w[0] = c.vector(turned / 2);
      for (std::uint32_t i = 0; i < turned / 2; ++i) const_cast<float*>(r.w[0].f32())[i] = 1.0f + static_cast<float>(i);
      c.check(r);
    }
  }
}

TEST(CpuKernels, KvWrite) {
  for (const DType type : zrt::kPageTypes) {
    for (const std::uint32_t rows : {0u, 1u, 9u}) {
      Case c(rows, rows);
      Pages pages;
      const std::uint32_t key_dim = 40, value_dim = 24, heads = 3;
      const zrt::HostState state = pages.make(c, 2, {13, 30}, type, heads, key_dim, value_dim);
      HostCall<ops::KvWriteBatched> w{
          {c.reals(Shape{Dim(1, kRows), heads * key_dim}), c.reals(Shape{Dim(1, kRows), heads * value_dim})},
          {},
          {},
          state,
          {heads, key_dim, value_dim}};
      c.check(w);
      HostCall<ops::RmsNormFusedRopeKvWrite> f{};
      f.in = {c.reals(Shape{Dim(1, kRows), 2 * heads * key_dim}), w.in[0], w.in[1],
              c.integers(Shape{Dim(1, kRows)}, 5000)};
      f.out = {c.tensor(DType::f32, Shape{Dim(1, kRows), 2 * heads * key_dim})};
      f.state = state;
      f.params.kv = w.params;
      f.params.rope.head_dim = key_dim;
      f.params.rope.n_rot = 36;
      c.check(f);
      f.params.rope.style = ops::RopeStyle::neox;
      f.w[0] = c.vector(key_dim);
      c.check(f);
      f.w[1] = c.vector(key_dim);
      f.out[0] = f.in[0];
      c.check(f);
    }
  }
}

struct AttentionCase {
  std::uint32_t rows, heads, kv_heads, key_dim, value_dim, window;
  float soft_cap;
  bool sinks;
  std::vector<std::uint32_t> lengths;
  std::uint32_t chunk = 0;
};
void check_attention(const AttentionCase& a, DType type, std::uint32_t seed) {
  Case c(seed, a.rows);
  Pages pages;
  HostCall<ops::FlashAttnBatched> f{};
  f.state =
      pages.make(c, static_cast<std::uint32_t>(a.lengths.size()), a.lengths, type, a.kv_heads, a.key_dim, a.value_dim);
  f.in[0] = c.reals(Shape{Dim(1, kRows), a.heads * a.key_dim});
  f.out[0] = c.tensor(DType::f32, Shape{Dim(1, kRows), a.heads * a.value_dim});
  f.params = {a.heads, a.kv_heads, a.key_dim, a.value_dim, 0.3f, a.soft_cap, a.window, a.chunk};
  if (a.sinks) f.w[0] = c.vector(a.heads);
  c.check(f);
}

TEST(CpuKernels, Attention) {
  for (const DType type : zrt::kPageTypes) {
    check_attention({0, 2, 2, 16, 16, 0, 0.0f, false, {0}}, type, 1);
    check_attention({1, 2, 2, 16, 16, 0, 0.0f, false, {0}}, type, 2);
    check_attention({3, 4, 4, 24, 40, 0, 0.0f, true, {0, 62, 1100}}, type, 3);
    check_attention({1, 7, 1, 64, 128, 0, 20.0f, false, {700}}, type, 4);
    check_attention({9, 8, 2, 32, 72, 0, 0.0f, false, {500, 40}}, type, 5);
    check_attention({70, 2, 2, 16, 20, 0, 0.0f, false, {0}}, type, 6);
    check_attention({12, 2, 2, 16, 80, 33, 5.0f, true, {507, 3}}, type, 7);
    check_attention({6, 6, 2, 16, 16, 600, 0.0f, false, {1000, 599}}, type, 8);
    check_attention({5, 4, 1, 16, 16, 1, 0.0f, false, {63}}, type, 9);
    check_attention({9, 2, 2, 16, 24, 0, 0.0f, true, {45, 510, 0}, 48}, type, 10);
    check_attention({6, 6, 2, 16, 16, 0, 3.0f, false, {1197}, 600}, type, 11);
  }
}

TEST(CpuKernels, SoftmaxAndGreedyToken) {
  for (const std::uint32_t cols : {1u, 15u, 16u, 64u, 333u}) {
    Case c(cols, 4);
    const Shape shape{Dim(1, kRows), cols};
    HostCall<ops::Softmax> s{{c.reals(shape, 30.0f)}, {c.tensor(DType::f32, shape)}, {}, {}, {}};
    float* x = s.in[0].as<float>();
    for (std::uint32_t i = 0; i < cols; ++i) x[i] = std::numeric_limits<float>::quiet_NaN();
    if (cols > 20) {
      x[cols + 3] = x[cols + 19] = 50.0f;
      x[2 * cols + 1] = std::numeric_limits<float>::quiet_NaN();
      for (std::uint32_t i = 0; i < cols; ++i) x[3 * cols + i] = i < 3 ? x[0] : -std::numeric_limits<float>::infinity();
    }
    c.check(s);
    HostCall<ops::GreedyToken> a{{s.in[0]}, {c.tensor(DType::si32, Shape{Dim(1, kRows)})}, {}, {}, {}};
    c.check(a);
  }
}

/// A call of sample over `vocabulary` logits, each row with a request of its own.
HostCall<ops::Sample> sampled(Case& c, std::uint32_t vocabulary, std::uint32_t entries) {
  const Shape list{Dim(1, kRows), entries};
  return {{c.reals(Shape{Dim(1, kRows), vocabulary}, 8.0f),
           c.tensor(DType::ui32, Shape{Dim(1, kRows), ops::kSampleRequestWords}), c.integers(list, vocabulary),
           c.integers(list, vocabulary), c.reals(list)},
          {c.tensor(DType::si32, Shape{Dim(1, kRows)})},
          {},
          {},
          {}};
}
void request(const HostCall<ops::Sample>& s, std::uint32_t row, const ops::SampleRequest& r) {
  std::memcpy(s.in[1].data + row * sizeof r, &r, sizeof r);
}

TEST(CpuKernels, Sample) {
  const std::uint32_t rows = 13;
  Case c(5, rows);
  const HostCall<ops::Sample> s = sampled(c, 300, 4);
  for (std::uint32_t row = 0; row < rows; ++row) {
    ops::SampleRequest r;
    r.active = row != 4;
    r.seed_low = row;
    r.temperature = row % 3 == 0 ? 0.0f : 0.9f;
    r.top_k = row % 4 == 0 ? 20 : 0;
    r.top_p = row % 5 == 0 ? 0.8f : 1.0f;
    r.history = row % 2 == 0 ? 0 : 4;
    r.biases = row == 6 ? 2 : 0;
    r.repetition_penalty = 1.3f;
    if (row == 11) r.history = 9;
    request(s, row, r);
  }
  c.check(s);
}

/// Every way to find the first candidates, at the sizes where one takes over from the other.
TEST(CpuKernels, SampleFromManyCandidates) {
  const std::uint32_t rows = 8;
  for (const std::uint32_t vocabulary : {1u, 16u, 127u, 128u, 159u, 161u, 1023u, 1024u, 2048u, 5003u}) {
    for (const std::uint32_t top_k : {0u, 1u, 40u, 64u, 65u, 512u, 513u, 5000u}) {
      Case c(vocabulary + top_k, rows);
      const HostCall<ops::Sample> s = sampled(c, vocabulary, 40);
      float* x = s.in[0].as<float>();
      for (std::uint32_t i = 0; i < vocabulary; ++i) {
        x[i] *= 12.0f;                                             // most have no part in a sum
        x[1 * vocabulary + i] = static_cast<float>(i % 7) * 0.5f;  // few values
        x[2 * vocabulary + i] = i < vocabulary / 2 ? x[2 * vocabulary] : x[2 * vocabulary] - 1.0f;
        x[3 * vocabulary + i] = static_cast<float>(i) * 1e-3f;                              // the largest at the end
        x[4 * vocabulary + i] = i % 64 == 5 ? 9.0f + static_cast<float>(i) * 1e-3f : 0.0f;  // in one group
        if (i % 3 == 0) x[5 * vocabulary + i] = std::numeric_limits<float>::quiet_NaN();
        x[6 * vocabulary + i] = std::numeric_limits<float>::quiet_NaN();
        x[7 * vocabulary + i] = i % 2 == 0 ? 0.0f : -0.0f;
      }
      for (std::uint32_t row = 0; row < rows; ++row) {
        ops::SampleRequest r;
        r.active = 1;
        r.seed_low = vocabulary * row + top_k;
        r.temperature = vocabulary % 3 == 0 ? 2.5f : 0.8f;
        r.top_k = top_k;
        r.top_p = top_k % 2 == 0 ? 0.95f : 1.0f;
        r.min_p = top_k % 3 == 0 ? 0.0f : 0.05f;
        r.history = row % 2 == 0 ? 40 : 0;
        r.biases = row % 4 == 0 ? 40 : 0;
        r.frequency_penalty = 0.1f;
        r.presence_penalty = 0.2f;
        r.repetition_penalty = 1.1f;
        request(s, row, r);
      }
      c.check(s);
    }
  }
}

/// Without top-k few candidates decide, unless a sum ends so near to what it is compared with that all must be ordered.
TEST(CpuKernels, SampleFromAll) {
  const std::uint32_t rows = 16;
  for (const std::uint32_t vocabulary : {1024u, 2047u}) {
    for (const float top_p : {1.0f, 0.95f, 0.5f})
      for (const float min_p : {0.0f, 0.05f}) {
        Case c(vocabulary + static_cast<std::uint32_t>(8 * top_p + 99 * min_p), rows);
        const HostCall<ops::Sample> s = sampled(c, vocabulary, 4);
        float* x = s.in[0].as<float>();
        for (std::uint32_t i = 0; i < vocabulary; ++i) {
          x[0 * vocabulary + i] = 1.5f;  // sums are whole numbers, and so is half of them
          x[1 * vocabulary + i] = i % 2 == 0 ? 1.5f : 1.0f;
          x[2 * vocabulary + i] = i % 100 == 7 ? 1.5f : std::numeric_limits<float>::quiet_NaN();
          x[3 * vocabulary + i] = i % 100 == 7 ? 1.5f : -std::numeric_limits<float>::infinity();
          x[4 * vocabulary + i] = i == 70 ? 0x1p17f : 0.0f;
          x[5 * vocabulary + i] += 20.0f / static_cast<float>(i + 1);
          x[6 * vocabulary + i] = 5.0f + 1e-5f * x[6 * vocabulary + i];
          for (std::uint32_t row = 7; row < rows; ++row) x[row * vocabulary + i] *= 0.25f * static_cast<float>(row);
        }
        for (std::uint32_t row = 0; row < rows; ++row) {
          ops::SampleRequest r;
          r.active = 1;
          r.seed_low = vocabulary * row + static_cast<std::uint32_t>(16 * top_p);
          r.temperature = row % 3 == 0 ? 0.8f : row % 3 == 1 ? 1.0f : 2.5f;
          r.top_k = row % 5 == 0 ? vocabulary : 0;
          r.top_p = top_p;
          r.min_p = min_p;
          r.min_keep = row % 4 == 0 ? 20 : 1;
          request(s, row, r);
        }
        c.check(s);
      }
  }
}

TEST(CpuKernels, UnknownWeightTypeIsNamed) {
  Case c(1, 1);
  cpu::Device device;
  cpu::Program program(device);
  cpu::DeviceRecorder recorder(program, device);
  ASSERT_TRUE(recorder.begin({}));
  HostCall<ops::Linear> l{{c.reals(Shape{1, 256})}, {c.tensor(DType::f32, Shape{1, 1})}, {}, {}, {}};
  l.w[0] = {c.bytes(288), DType::q8_1, 1, 256, 288};
  const auto recorded = cpu::record<ops::Linear, cpu::AllVariants>(recorder, l, device.kernels());
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code(), zrt::Errc::unsupported_weight_type);
  EXPECT_NE(recorded.error().text().find("q8_1"), std::string_view::npos);
}

}  // namespace
}  // namespace model_ops_test
