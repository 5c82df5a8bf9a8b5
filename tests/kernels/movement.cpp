// SPDX-License-Identifier: Apache-2.0
// tests/kernels/movement.cpp: the CPU's copies beside the references, past their tiles, words, runs and shares.
// test-set: smoke threads
#include <algorithm>
#include <kernels/harness.hpp>
#include <numeric>

namespace movement_test {
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

/// One type of each size; the elements of si4 share bytes.
constexpr DType kSizes[]{DType::si4, DType::i1, DType::f16, DType::si32, DType::f64, DType::cf64};

/// Any bits, but 0 or 1 for an i1.
HostTensor bits(Case& c, DType dtype, Shape shape) {
  const HostTensor t = c.tensor(dtype, shape);
  for (std::uint64_t i = 0; i < zrt::bytes_of(dtype, t.elements(c.step)); ++i)
    t.data[i] = static_cast<std::byte>(c.number(0, dtype == DType::i1 ? 1 : 255));
  return t;
}

TEST(CpuMovement, Transpose) {
  const Shape shapes[]{{70, 45}, {3, 65, 33}, {1, 67, 2, 40}, {2, 0, 3}, {Dim{1, cpu_kernels::kRows}, 5, 66}};
  for (const DType dtype : kSizes) {
    Case c(1, 37);
    for (const Shape& shape : shapes) {
      const HostTensor x = bits(c, dtype, shape);
      ops::TransposeParams p;
      p.rank = shape.rank;
      std::iota(p.perm.begin(), p.perm.begin() + p.rank, std::uint8_t{0});
      while (std::next_permutation(p.perm.begin(), p.perm.begin() + p.rank)) {
        if (p.rank == 4 && c.number(0, 7) != 0) continue;
        Shape y;
        for (std::size_t axis = 0; axis < p.rank; ++axis) y = y.appended(shape[p.perm[axis]]);
        c.check(HostCall<ops::Transpose>{{x}, {c.tensor(dtype, y)}, {}, {}, p});
      }
    }
  }
}

TEST(CpuMovement, Windows) {
  for (const DType dtype : kSizes) {
    Case c(2, 7);
    const HostTensor x = bits(c, dtype, {9, 6, 67});
    const auto sizes = [](Shape shape) { return zrt::ShapeParams::of(shape); };
    c.check(HostCall<ops::Slice>{{x}, {c.tensor(dtype, {5, 3, 60})}, {}, {}, {{2, 1, 7}, sizes({5, 3, 60})}});
    c.check(HostCall<ops::Slice>{{x}, {c.tensor(dtype, {4, 6, 67})}, {}, {}, {{5, 0, 0}, sizes({4, 6, 67})}});
    const HostTensor start = c.integers({3}, 9);
    c.check(HostCall<ops::DynamicSlice>{{x, start}, {c.tensor(dtype, {5, 3, 60})}, {}, {}, {sizes({5, 3, 60})}});
    const HostTensor update = bits(c, dtype, {4, 2, 33});
    const ops::DynamicWindowParams window{sizes({4, 2, 33})};
    c.check(HostCall<ops::DynamicUpdateSlice>{{x, update, start}, {c.tensor(dtype, {9, 6, 67})}, {}, {}, window});
    c.check(HostCall<ops::DynamicUpdateSlice>{{x, update, start}, {x}, {}, {}, window});
    // Rows that a step may not have.
    const Shape rows{Dim{1, cpu_kernels::kRows}, 5};
    const Shape eight{8, 5};
    const HostTensor some = bits(c, dtype, rows);
    c.check(HostCall<ops::Slice>{{some}, {c.tensor(dtype, eight)}, {}, {}, {{}, sizes(eight)}});
    c.check(HostCall<ops::DynamicSlice>{{some, c.integers({2}, 3)}, {c.tensor(dtype, eight)}, {}, {}, {sizes(eight)}});
  }
}

TEST(CpuMovement, Repeats) {
  for (const DType dtype : kSizes) {
    Case c(3, 5);
    const auto spread = [&](Shape from, Shape to) {
      c.check(HostCall<ops::BroadcastTo>{
          {bits(c, dtype, from)}, {c.tensor(dtype, to)}, {}, {}, {zrt::ShapeParams::of(to)}});
    };
    spread({}, {5000});
    spread({1, 70}, {40, 70});
    spread({33, 1}, {2, 33, 35});
    spread({Dim{1, cpu_kernels::kRows}, 1, 3}, {Dim{1, cpu_kernels::kRows}, 9, 3});
    const HostTensor x = bits(c, dtype, {3, 37});
    c.check(HostCall<ops::Tile>{{x}, {c.tensor(dtype, {6, 111})}, {}, {}, {{2, 3}, 2}});
    c.check(HostCall<ops::Concat>{{x, bits(c, dtype, {3, 1}), x}, {c.tensor(dtype, {3, 75})}, {}, {}, {1}});
    c.check(HostCall<ops::Concat>{{x, bits(c, dtype, {60, 37})}, {c.tensor(dtype, {63, 37})}, {}, {}, {0}});
    ops::PadParams pad{{1, 2}, {0, 3}, {2, 1}, {}, 2};
    pad.value.fill(dtype == DType::i1 ? 1 : 5);
    c.check(HostCall<ops::Pad>{{x}, {c.tensor(dtype, {8, 78})}, {}, {}, pad});
  }
}

TEST(CpuMovement, ByIndex) {
  for (const DType dtype : kSizes) {
    Case c(4);
    const HostTensor x = bits(c, dtype, {3, 19, 7});
    const HostTensor indices = c.integers({3, 40, 7}, 20);  // some lie outside
    c.check(HostCall<ops::Gather>{{x, indices}, {c.tensor(dtype, {3, 40, 7})}, {}, {}, {1}});
    const HostTensor updates = bits(c, dtype, {3, 40, 7});
    const ops::ScatterReduceParams replace{1, ops::ScatterKind::replace, {}};
    c.check(HostCall<ops::ScatterReduce>{{x, indices, updates}, {c.tensor(dtype, {3, 19, 7})}, {}, {}, replace});
    ops::ExtractPatchesParams p{{3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 2}, {}, 2};
    p.pad_value.fill(1);
    c.check(HostCall<ops::ExtractPatches>{{bits(c, dtype, {2, 9, 8, 5})}, {c.tensor(dtype, {2, 5, 7, 30})}, {}, {}, p});
  }
}

}  // namespace
}  // namespace movement_test
