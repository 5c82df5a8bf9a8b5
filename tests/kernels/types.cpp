// SPDX-License-Identifier: Apache-2.0
// tests/kernels/types.cpp: the CPU's loops for other types than f32 beside the references, at sizes that all workers share.
// test-set: smoke threads
#include <kernels/harness.hpp>

namespace types_test {
namespace {

namespace cpu = zrt::cpu;
namespace ops = zrt::ops;
using zrt::Dim;
using zrt::DType;
using zrt::HostCall;
using zrt::HostTensor;
using zrt::Shape;

/// The loops of these kernels are the same in every variant.
struct Case : cpu_kernels::Case {
  explicit Case(std::uint32_t seed, std::uint32_t rows = 0) : cpu_kernels::Case(seed, rows) { one_variant = true; }
};

/// One type of each domain, and narrower ones.
constexpr DType kTypes[]{DType::f32, DType::f16, DType::fp8_e4m3, DType::f64, DType::si4, DType::ui16, DType::si64};

/// Random numbers of up to `span`, as near as the type has them.
HostTensor numbers(Case& c, DType dtype, Shape shape, float span = 7.0f) {
  const HostTensor from = c.reals(shape, span);
  const HostTensor to = c.tensor(dtype, shape);
  zrt::cast_elements(DType::f32, from.data, dtype, to.data, 0, from.elements(c.step));
  return to;
}

/// Any bits.
HostTensor bits(Case& c, DType dtype, Shape shape) {
  const HostTensor t = c.tensor(dtype, shape);
  for (std::uint64_t i = 0; i < zrt::bytes_of(dtype, t.elements(c.step)); ++i)
    t.data[i] = static_cast<std::byte>(c.number(0, 255));
  return t;
}

TEST(CpuTyped, Folds) {
  for (const DType dtype : kTypes) {
    Case c(1);
    const HostTensor x = numbers(c, dtype, {3, 21, 70});
    for (std::uint8_t kind = 0; kind < ops::kReduceKinds; ++kind)
      for (const unsigned axes : {2u, 5u, 6u}) {
        Shape y;
        for (std::size_t axis = 0; axis < 3; ++axis)
          if ((axes >> axis & 1) == 0) y = y.appended(x.type.shape[axis]);
        const DType accumulator = zrt::default_accumulator(dtype);
        c.check(HostCall<ops::Reduce>{
            {x},
            {c.tensor(dtype, y)},
            {},
            {},
            {static_cast<ops::ReduceKind>(kind), 0, static_cast<std::uint8_t>(axes), accumulator, dtype}});
      }
    for (const std::uint8_t axis : std::initializer_list<std::uint8_t>{0, 1, 2}) {
      Shape y;
      for (std::uint8_t a = 0; a < 3; ++a)
        if (a != axis) y = y.appended(x.type.shape[a]);
      c.check(HostCall<ops::ArgMax>{{x}, {c.tensor(DType::si32, y)}, {}, {}, {axis, 0, DType::si32}});
    }
    Shape some{3, 21, 70};
    some.dims[1] = 9;
    for (const std::uint8_t largest : std::initializer_list<std::uint8_t>{0, 1})
      c.check(HostCall<ops::TopK>{
          {x}, {c.tensor(dtype, some), c.tensor(DType::si64, some)}, {}, {}, {9, 1, largest, DType::si64, 0}});
  }
}

TEST(CpuTyped, Windows) {
  for (const DType dtype : kTypes) {
    Case c(2);
    const DType accumulator = zrt::default_accumulator(dtype);
    for (std::uint8_t kind = 0; kind < ops::kReduceKinds; ++kind) {
      // Channels last, so that neighbours are folded side by side, then not.
      ops::ReduceWindowParams p{{1, 3, 5, 1}, {1, 2, 1, 1}, {0, 1, 0, 0}, {0, 1, 2, 0}, {1, 2, 1, 1},
                                {1, 1, 2, 1}, {},           accumulator,  dtype,        4};
      p.kind = static_cast<ops::ReduceKind>(kind);
      c.check(
          HostCall<ops::ReduceWindow>{{numbers(c, dtype, {2, 6, 9, 40})}, {c.tensor(dtype, {2, 6, 3, 40})}, {}, {}, p});
      p.strides[3] = 3;
      p.window[3] = 2;
      c.check(
          HostCall<ops::ReduceWindow>{{numbers(c, dtype, {2, 6, 9, 40})}, {c.tensor(dtype, {2, 6, 3, 13})}, {}, {}, p});
    }
  }
}

TEST(CpuTyped, Products) {
  for (const DType dtype : kTypes) {
    Case c(3);
    // lhs [K, M, B, L], rhs [L, B, K, N]: no operand is a matrix as it lies.
    ops::DotGeneralParams p;
    p.batch_count = 1;
    p.contract_count = 2;
    p.batch_lhs[0] = 2;
    p.batch_rhs[0] = 1;
    p.contract_lhs = {0, 3};
    p.contract_rhs = {2, 0};
    p.accum_dtype = zrt::default_accumulator(dtype);
    for (const DType out : {dtype, DType::f32}) {
      p.out_dtype = out;
      p.alpha = p.accum_dtype == DType::f32 && out == DType::f32 ? 0.3f : 1.0f;
      c.check(HostCall<ops::DotGeneral>{{numbers(c, dtype, {7, 19, 2, 5}), numbers(c, dtype, {5, 2, 7, 21})},
                                        {c.tensor(out, {2, 19, 21})},
                                        {},
                                        {},
                                        p});
    }
    if (!zrt::is_float(dtype)) continue;
    for (const std::uint8_t axis : std::initializer_list<std::uint8_t>{0, 1}) {
      const std::uint32_t features = axis == 0 ? 21 : 150;
      const HostTensor x = numbers(c, dtype, {21, 150});
      c.check(HostCall<ops::LayerNorm>{{x, numbers(c, dtype, {features}), numbers(c, dtype, {features})},
                                       {c.tensor(dtype, {21, 150})},
                                       {},
                                       {},
                                       {1e-5, axis, {}}});
    }
  }
}

TEST(CpuTyped, Elements) {
  for (const DType dtype : kTypes) {
    Case c(4);
    const Shape shape{11, 67};
    const HostTensor x = numbers(c, dtype, shape);
    const HostTensor z = numbers(c, dtype, shape);
    const HostTensor truth = c.tensor(DType::i1, shape);
    for (std::uint8_t kind = 0; kind < (zrt::is_float(dtype) ? ops::kUnaryKinds : 2); ++kind)
      c.check(HostCall<ops::ElementwiseUnary>{{dtype == DType::f16 ? numbers(c, dtype, shape, 900.0f) : x},
                                              {x},
                                              {},
                                              {},
                                              {static_cast<ops::UnaryKind>(kind)}});
    const bool powers = zrt::is_float(dtype) && dtype != DType::f64;
    for (std::uint8_t kind = 0; kind < ops::kBinaryKinds - (powers ? 0 : 1); ++kind)
      c.check(HostCall<ops::ElementwiseBinary>{{x, z}, {z}, {}, {}, {static_cast<ops::BinaryKind>(kind)}});
    for (std::uint8_t kind = 0; kind < ops::kCompareKinds; ++kind)
      c.check(HostCall<ops::Compare>{{x, z}, {truth}, {}, {}, {static_cast<ops::CompareKind>(kind)}});
    for (std::uint64_t i = 0; i < 11 * 67; ++i) truth.data[i] = static_cast<std::byte>(c.number(0, 2));
    c.check(HostCall<ops::Select>{{truth, x, z}, {z}, {}, {}, {}});
    c.check(HostCall<ops::Clamp>{{x, z, numbers(c, dtype, shape)}, {x}, {}, {}, {}});
    c.check(HostCall<ops::Iota>{{}, {x}, {}, {}, {zrt::ShapeParams::of(shape), 0, dtype, {}}});
    c.check(HostCall<ops::Iota>{{}, {x}, {}, {}, {zrt::ShapeParams::of(shape), 1, dtype, {}}});
    for (const DType to : {DType::f16, DType::ui4, DType::f64})
      c.check(HostCall<ops::Cast>{{x}, {c.tensor(to, shape)}, {}, {}, {to}});
    if (!zrt::is_float(dtype)) continue;
    const ops::RandomParams random{c.number(0, 99), 1, zrt::ShapeParams::of(shape), dtype, {}};
    c.check(HostCall<ops::RngUniform>{{}, {x}, {}, {}, random});
    c.check(HostCall<ops::RngNormal>{{}, {x}, {}, {}, random});
    const HostTensor seed = bits(c, DType::si64, {});
    c.check(HostCall<ops::RngNormal>{{seed}, {x}, {}, {}, {0, 1, zrt::ShapeParams::of(shape), dtype, {}}});
  }
}

/// From any bits of any type: NaN, infinities, subnormals and the ends of ranges among them.
TEST(CpuTyped, Casts) {
  Case c(9);
  std::vector<HostTensor> tensors, results;
  for (const zrt::DTypeInfo& type : zrt::kDTypes) {
    if (!zrt::is_computed(type.dtype)) continue;
    HostTensor x = bits(c, type.dtype, {151});
    if (type.dtype == DType::i1)
      for (std::uint64_t i = 0; i < 151; ++i) x.data[i] &= std::byte{1};
    tensors.push_back(x);
    results.push_back(c.tensor(type.dtype, {151}));
  }
  for (const HostTensor& x : tensors)
    for (const HostTensor& y : results) c.check(HostCall<ops::Cast>{{x}, {y}, {}, {}, {y.type.dtype}});
}

TEST(CpuTyped, Quantization) {
  for (const DType integer : {DType::si4, DType::ui8, DType::si32, DType::si64})
    for (const DType real : {DType::f32, DType::bf16, DType::f64})
      for (const std::uint8_t per_axis : std::initializer_list<std::uint8_t>{0, 1}) {
        Case c(5);
        const Shape shape{9, 33, 5};
        const Shape scales = per_axis != 0 ? Shape{33} : Shape{};
        const auto scale = [&]() {
          const HostTensor t = c.reals(scales);
          for (std::uint64_t i = 0; i < t.elements(c.step); ++i) t.as<float>()[i] = 0.25f + 0.1f * c.real();
          return t;
        };
        const HostTensor x = numbers(c, real, shape, 1e3f);
        const HostTensor q = numbers(c, integer, shape, 90.0f);
        const HostTensor zero = c.integers(scales, 9);
        const auto params = [&](DType to) { return ops::QuantizationParams{to, per_axis, per_axis, 0}; };
        c.check(HostCall<ops::Quantize>{{x, scale(), zero}, {c.tensor(integer, shape)}, {}, {}, params(integer)});
        c.check(HostCall<ops::Dequantize>{{q, scale(), zero}, {c.tensor(real, shape)}, {}, {}, params(real)});
        c.check(HostCall<ops::Requantize>{
            {q, scale(), zero, scale(), zero}, {c.tensor(DType::si8, shape)}, {}, {}, params(DType::si8)});
      }
}

TEST(CpuTyped, Scatters) {
  for (const DType dtype : kTypes) {
    Case c(6);
    const HostTensor x = numbers(c, dtype, {30, 17});
    const HostTensor rows = c.integers({50}, 40);  // some lie outside
    const HostTensor updates = numbers(c, dtype, {50, 17});
    ops::ScatterAddParams p;
    p.update_window_dims[0] = 1;
    p.update_window_count = p.inserted_window_count = p.scatter_dims_count = p.index_vector_dim = 1;
    c.check(HostCall<ops::ScatterAdd>{{x, rows, updates}, {c.tensor(dtype, {30, 17})}, {}, {}, p});
    const HostTensor places = c.integers({50, 17}, 30);
    for (const auto kind : {ops::ScatterKind::add, ops::ScatterKind::maximum, ops::ScatterKind::minimum})
      c.check(HostCall<ops::ScatterReduce>{{x, places, updates}, {x}, {}, {}, {0, kind, {}}});
    for (std::uint8_t kind = 0; kind < ops::kReduceKinds; ++kind)
      c.check(HostCall<ops::SegmentReduce>{
          {updates, rows},
          {c.tensor(dtype, {30, 17})},
          {},
          {},
          {30, static_cast<ops::ReduceKind>(kind), zrt::default_accumulator(dtype), 0, 0}});
  }
}

/// f32 kernels that have scratch for some workers, with more of them.
TEST(CpuTyped, WorkersWithoutScratchOfTheirOwn) {
  Case c(7);
  c.check(HostCall<ops::Attention>{{c.reals({2, 70, 130}), c.reals({2, 9, 130}), c.reals({2, 9, 130})},
                                   {c.tensor(DType::f32, {2, 70, 130})},
                                   {},
                                   {},
                                   {0.3f, false, {}}});
  ops::ConvolveParams p;
  p.patches = {{3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 2}, {}, 2};
  p.rows = zrt::ShapeParams::of({3, 10, 27, 30});
  p.dot.contract_lhs = {3};
  p.dot.contract_rhs = {1};
  p.dot.contract_count = 1;
  c.check(HostCall<ops::Convolve>{
      {c.reals({3, 19, 28, 5}), c.reals({4, 30})}, {c.tensor(DType::f32, {3, 10, 27, 4})}, {}, {}, p});
}

}  // namespace
}  // namespace types_test
