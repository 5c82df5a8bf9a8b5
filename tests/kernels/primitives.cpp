// SPDX-License-Identifier: Apache-2.0
// tests/kernels/primitives.cpp: the CPU's kernels for tensor programs, beside the references, at the sizes of their tiles.
// test-set: smoke
#include <kernels/harness.hpp>
#include <limits>

namespace primitives_test {
namespace {

using namespace cpu_kernels;
using zrt::HostCall;
using zrt::HostTensor;

/// Numbers of all sizes among zeros of both signs, infinities and NaN.
HostTensor odd_reals(Case& c, Shape shape) {
  HostTensor t = c.reals(shape, 4.0f);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kOdd[]{0.0f, -0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40f, 100.0f};
  for (std::uint64_t i = 0; i < t.elements(c.step); ++i)
    if (const std::uint32_t draw = c.number(0, 20); draw < std::size(kOdd)) t.as<float>()[i] = kOdd[draw];
  return t;
}

TEST(CpuPrimitives, Elements) {
  for (const std::uint32_t n : {0u, 1u, 16u, 77u, 300u}) {
    Case c(n);
    const Shape shape{n};
    const HostTensor x = odd_reals(c, shape);
    const HostTensor z = odd_reals(c, shape);
    for (std::uint8_t kind = 0; kind < ops::kUnaryKinds; ++kind)
      c.check(HostCall<ops::ElementwiseUnary>{{x}, {x}, {}, {}, {static_cast<ops::UnaryKind>(kind)}});
    for (std::uint8_t kind = 0; kind < ops::kBinaryKinds; ++kind)
      c.check(HostCall<ops::ElementwiseBinary>{{x, z}, {z}, {}, {}, {static_cast<ops::BinaryKind>(kind)}});
    const HostTensor truth = c.tensor(DType::i1, shape);
    for (std::uint8_t kind = 0; kind < ops::kCompareKinds; ++kind)
      c.check(HostCall<ops::Compare>{{x, z}, {truth}, {}, {}, {static_cast<ops::CompareKind>(kind)}});
    for (std::uint32_t i = 0; i < n; ++i) truth.data[i] = static_cast<std::byte>(c.number(0, 2));
    c.check(HostCall<ops::Select>{{truth, x, z}, {x}, {}, {}, {}});
    c.check(HostCall<ops::Clamp>{{x, z, c.reals(shape)}, {x}, {}, {}, {}});
    c.check(HostCall<ops::Cast>{{x}, {c.tensor(DType::si4, shape)}, {}, {}, {DType::si4}});
    for (const DType half : {DType::f16, DType::bf16}) {
      const HostTensor narrow = c.tensor(half, shape);
      c.check(HostCall<ops::Cast>{{x}, {narrow}, {}, {}, {half}});
      // Any bits, NaN and subnormals among them.
      for (std::uint32_t i = 0; i < 2 * n; ++i) narrow.data[i] = static_cast<std::byte>(c.number(0, 255));
      c.check(HostCall<ops::Cast>{{narrow}, {c.tensor(DType::f32, shape)}, {}, {}, {DType::f32}});
      c.check(HostCall<ops::Cast>{{narrow}, {c.tensor(DType::f64, shape)}, {}, {}, {DType::f64}});
    }
  }
}

TEST(CpuPrimitives, BiasAndActivation) {
  for (const Shape& shape : {Shape{0}, Shape{3, 5}, Shape{2, 40, 17}, Shape{2, 3, 700}, Shape{1, 2100, 1}})
    for (std::uint8_t axis = 0; axis < shape.rank; ++axis)
      for (std::uint8_t act = 0; act < zrt::kActivations; ++act) {
        Case c(act);
        const HostTensor x = odd_reals(c, shape);
        const HostTensor bias = odd_reals(c, Shape{shape[axis]});
        c.check(HostCall<ops::BiasAct>{{x, bias}, {x}, {}, {}, {static_cast<zrt::Activation>(act), axis}});
      }
}

TEST(CpuPrimitives, Reductions) {
  for (const std::uint32_t n : {0u, 1u, 15u, 16u, 33u, 200u}) {
    Case c(n);
    for (std::uint8_t kind = 0; kind < ops::kReduceKinds; ++kind)
      for (const unsigned axes : {0u, 1u, 2u, 4u, 6u, 7u}) {
        const HostTensor x = kind == 0 ? c.reals({3, 5, n}) : odd_reals(c, {3, 5, n});
        HostCall<ops::Reduce> call{
            {x}, {}, {}, {}, {static_cast<ops::ReduceKind>(kind), 0, static_cast<std::uint8_t>(axes)}};
        Shape y;
        for (std::size_t axis = 0; axis < 3; ++axis)
          if ((axes >> axis & 1) == 0) y = y.appended(x.type.shape[axis]);
        call.out[0] = c.tensor(DType::f32, y);
        c.check(call);
      }
    const HostTensor x = c.reals({7, n});
    c.check(HostCall<ops::LayerNorm>{{x, c.reals({n}), c.reals({n})}, {x}, {}, {}, {1e-5, 1, 0}});
    const HostTensor across = c.reals({n, 7});
    c.check(HostCall<ops::LayerNorm>{{across, c.reals({n}), c.reals({n})}, {across}, {}, {}, {1e-5, 0, 0}});
  }
}

/// lhs [2, M, K] or [2, K, M], and rhs [2, K, N] or [2, N, K].
TEST(CpuPrimitives, Products) {
  for (const std::uint32_t m : {1u, 7u, 61u})
    for (const std::uint32_t n : {1u, 70u})
      for (const std::uint32_t k : {0u, 16u, 37u})
        for (const unsigned layout : {0u, 1u, 2u, 3u}) {
          Case c(m * 1000 + n * 10 + k);
          const bool lhs_last = (layout & 1) == 0;
          const bool rhs_last = (layout & 2) == 0;
          ops::DotGeneralParams p;
          p.batch_count = p.contract_count = 1;
          p.contract_lhs[0] = lhs_last ? 2 : 1;
          p.contract_rhs[0] = rhs_last ? 2 : 1;
          p.alpha = k == 16 ? 1.0f : -0.3f;
          c.check(HostCall<ops::DotGeneral>{{c.reals(lhs_last ? Shape{2, m, k} : Shape{2, k, m}),
                                             c.reals(rhs_last ? Shape{2, n, k} : Shape{2, k, n})},
                                            {c.tensor(DType::f32, {2, m, n})},
                                            {},
                                            {},
                                            p});
        }
}

/// Heads that lie inside rows: lhs [S, H, D] and rhs [T, H, D] give [H, S, T].
TEST(CpuPrimitives, ProductsOfHeads) {
  Case c(3);
  ops::DotGeneralParams p;
  p.batch_count = p.contract_count = 1;
  p.batch_lhs[0] = p.batch_rhs[0] = 1;
  p.contract_lhs[0] = p.contract_rhs[0] = 2;
  c.check(HostCall<ops::DotGeneral>{
      {c.reals({9, 3, 20}), c.reals({33, 3, 20})}, {c.tensor(DType::f32, {3, 9, 33})}, {}, {}, p});
}

/// Past a tile of queries, a step and a segment of keys, and the heads that the kernel takes.
TEST(CpuPrimitives, Attention) {
  struct Sizes {
    std::uint32_t queries, keys, dim;
  };
  for (const Sizes& size :
       {Sizes{1, 65, 20}, Sizes{19, 19, 128}, Sizes{17, 530, 5}, Sizes{3, 1, 130}, Sizes{70, 9, 130}})
    for (const bool causal : {false, true})
      for (const bool masked : {false, true}) {
        const auto [queries, keys, dim] = size;
        Case c(queries + keys * 100 + dim);
        HostCall<ops::Attention> call{{c.reals({2, queries, dim}), c.reals({2, keys, dim}), c.reals({2, keys, dim})},
                                      {c.tensor(DType::f32, {2, queries, dim})},
                                      {},
                                      {},
                                      {0.3f, causal, {}}};
        if (masked) {
          call.in[3] = c.reals({queries, keys});
          for (std::uint64_t i = 0; i < std::uint64_t{queries} * keys; ++i)
            if (c.number(0, 3) == 0) call.in[3].as<float>()[i] = -std::numeric_limits<float>::infinity();
        }
        c.check(call);
      }
}

/// Windows that hang over every edge, side by side in x and apart, and more blocks of rows than a convolution has
/// workers with scratch.
TEST(CpuPrimitives, Convolve) {
  struct Axis {
    std::uint32_t extent, window, stride, low, high, dilation;
  };
  const std::vector<std::vector<Axis>> windows{
      {{41, 3, 1, 1, 1, 1}},
      {{9, 5, 2, 7, 4, 1}},
      {{21, 3, 1, 1, 1, 1}, {23, 3, 1, 1, 1, 1}},
      {{7, 2, 1, 0, 3, 2}, {8, 4, 3, 2, 2, 2}},
      {{4, 2, 1, 1, 0, 1}, {5, 1, 1, 0, 0, 1}, {6, 3, 1, 2, 2, 1}},
  };
  for (const auto& axes : windows)
    for (const std::uint32_t groups : {1u, 3u}) {
      Case c(static_cast<std::uint32_t>(axes.size()) * 10 + groups);
      constexpr std::uint32_t kChannels = 5, kOut = 4;
      ops::ConvolveParams p;
      p.patches.spatial = static_cast<std::uint32_t>(axes.size());
      const float padding = 0.75f;
      std::memcpy(p.patches.pad_value.data(), &padding, sizeof padding);
      Shape x{2}, places{2};
      std::uint32_t window = 1;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const Axis& a = axes[i];
        p.patches.window[i] = a.window;
        p.patches.strides[i] = a.stride;
        p.patches.pad_low[i] = a.low;
        p.patches.pad_high[i] = a.high;
        p.patches.dilation[i] = a.dilation;
        x = x.appended(a.extent);
        places = places.appended((a.extent + a.low + a.high - (a.window - 1) * a.dilation - 1) / a.stride + 1);
        window *= a.window;
      }
      const auto rank = places.rank;
      if (groups == 1) {
        p.rows = zrt::ShapeParams::of(places.appended(window * kChannels));
        p.dot.contract_lhs = {rank};
        p.dot.contract_rhs = {1};
        p.dot.contract_count = 1;
        c.check(HostCall<ops::Convolve>{{c.reals(x.appended(kChannels)), c.reals({kOut, window * kChannels})},
                                        {c.tensor(DType::f32, places.appended(kOut))},
                                        {},
                                        {},
                                        p});
        continue;
      }
      p.rows = zrt::ShapeParams::of(places.appended(window).appended(groups).appended(kChannels));
      p.dot.batch_lhs = {static_cast<std::uint8_t>(rank + 1)};
      p.dot.batch_count = 1;
      p.dot.contract_lhs = {rank, static_cast<std::uint8_t>(rank + 2)};
      p.dot.contract_rhs = {2, 3};
      p.dot.contract_count = 2;
      Shape y{groups};
      for (std::uint8_t i = 0; i < rank; ++i) y = y.appended(places[i]);
      c.check(
          HostCall<ops::Convolve>{{c.reals(x.appended(groups * kChannels)), c.reals({groups, kOut, window, kChannels})},
                                  {c.tensor(DType::f32, y.appended(kOut))},
                                  {},
                                  {},
                                  p});
    }
}

}  // namespace
}  // namespace primitives_test
