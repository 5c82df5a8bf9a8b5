// SPDX-License-Identifier: Apache-2.0
// bench/kernels/numerics.cpp: what it costs that every sum has one order: the library's kernels beside loops whose
// order the compiler chooses (-O3 -ffast-math -march=native), in turn, on one thread.
//
// A ratio is the free order's time over the fixed order's: below 1 the fixed order costs something.
#include "free_order.hpp"
#include "operands.hpp"
#include "processor_seconds.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace bench;

constexpr int kPairs = 41;

/// Seconds of one call, of as many as take 2 ms.
template <class F> double seconds_of(const F& f) {
  const double start = processor_seconds();
  double calls = 0.0;
  do {
    f();
    calls += 1.0;
  } while (processor_seconds() - start < 2e-3);
  return (processor_seconds() - start) / calls;
}

template <class Fixed, class Free>
void compare(const std::string& what, double ops, const Fixed& fixed, const Free& free) {
  std::array<double, kPairs> ratio{}, of_fixed{}, of_free{};
  for (std::size_t i = 0; i < kPairs; ++i) {
    of_fixed[i] = seconds_of(fixed);
    of_free[i] = seconds_of(free);
    ratio[i] = of_free[i] / of_fixed[i];
  }
  for (auto* each : {&ratio, &of_fixed, &of_free}) std::sort(each->begin(), each->end());
  std::printf("%-24s %8.1f %8.1f Gop/s   %.2f (%.2f-%.2f)\n", what.c_str(), ops / of_fixed[kPairs / 2] / 1e9,
              ops / of_free[kPairs / 2] / 1e9, ratio[kPairs / 2], ratio[kPairs / 4], ratio[kPairs * 3 / 4]);
}

void norm(cpu::Isa isa, const zrt::ops::RmsNormParams& p, const float* x, const float* weight, float* y) {
#if ZRT_HAS_V4
  if (isa >= cpu::Isa::v4) return cpu::v4::norm_run(p, x, weight, y);
#endif
#if ZRT_HAS_V3
  if (isa >= cpu::Isa::v3) return cpu::v3::norm_run(p, x, weight, y);
#endif
#if ZRT_HAS_V1
  cpu::v1::norm_run(p, x, weight, y);
#endif
}

}  // namespace

int main() {
  const cpu::KernelSet* const set = cpu::kernels_for(
      cpu::detect_isa(), cpu::kKernelSets<cpu::WeightTypes<DType::f32, DType::q8_0>, cpu::AllVariants>);
  std::printf("%s, one thread, %u outputs of %u products\n", std::string(cpu::name(set->isa)).c_str(), kOutputs, kCols);
  std::printf("%-24s %8s %8s         free / fixed\n", "kernel", "fixed", "free");
  const cpu::WeightKernels& f32 = *set->find(DType::f32);
  const cpu::WeightKernels& q8 = *set->find(DType::q8_0);
  const Matrix plain(f32), packed(q8);
  std::vector<std::uint8_t> q(std::size_t{kOutputs} * kCols, 200);
  std::vector<float> scale(q.size() / 32, 1e-3f), weight(kCols, 1.0f), normed(kCols);
  for (const std::uint32_t count : {1u, 4u, 16u, 64u}) {
    const Rows rows(count);
    std::vector<float> y(std::size_t{count} * kOutputs), dx(rows.d);
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= 128.0f * static_cast<float>(rows.sum[i]);
    const double ops = 2.0 * kOutputs * kCols * count;
    const std::string of_rows = ", rows " + std::to_string(count);
    compare(
        "products of f32" + of_rows, ops, [&] { plain.multiply(*set, f32, rows, y.data()); },
        [&] { free_order::products_of_f32(plain.f32(), rows.x.data(), kOutputs, kCols, count, y.data()); });
    compare(
        "products of q8_0" + of_rows, ops, [&] { packed.multiply(*set, q8, rows, y.data()); },
        [&] {
          free_order::products_of_q8_0(q.data(), scale.data(), rows.q.data(), rows.d.data(), dx.data(), kOutputs, kCols,
                                       count, y.data());
        });
  }
  zrt::ops::RmsNormParams p{};
  p.dim = kCols;
  p.eps = 1e-5f;
  const Rows row(1);
  compare(
      "rms_norm", 4.0 * kCols, [&] { norm(set->isa, p, row.x.data(), weight.data(), normed.data()); },
      [&] { free_order::rms_norm(row.x.data(), weight.data(), kCols, p.eps, normed.data()); });
  return 0;
}
