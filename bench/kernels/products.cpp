// SPDX-License-Identifier: Apache-2.0
// bench/kernels/products.cpp: weights of every type times activations, by the kernels of every variant that this
// machine runs, on one thread and out of its caches.
//
// A row's name is products/TYPE/VARIANT/rows/N. Counters: `ops`, products and additions per second; `of_peak`, their
// share of what the variant's strongest instructions reach in registers (int8, or f32 where activations stay f32); and
// `bytes`, the weights that are read per second.
#include "operands.hpp"
#include "peak_loops.hpp"
#include "processor_seconds.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace bench;

constexpr std::uint32_t kRows[]{1, 4, 16, 64, 512};

/// Operations per second of a loop over registers: the best of ten stretches.
double measured_peak(program::PeakLoop loop) {
  double best = 0.0;
  for (int i = 0; i < 10; ++i) {
    const double start = processor_seconds();
    const double operations = loop(program::kPeakRounds);
    best = std::max(best, operations / (processor_seconds() - start));
  }
  return best;
}

void products(benchmark::State& state, const cpu::KernelSet& set, const cpu::WeightKernels& kernels, double peak) {
  const Matrix matrix(kernels);
  const Rows rows(static_cast<std::uint32_t>(state.range(0)));
  std::vector<float> y(std::size_t{rows.activations.rows} * kOutputs);
  for ([[maybe_unused]] auto _ : state) {
    matrix.multiply(set, kernels, rows, y.data());
    benchmark::ClobberMemory();
  }
  const double times = static_cast<double>(state.iterations());
  const double ops = 2.0 * kOutputs * kCols * static_cast<double>(rows.activations.rows) * times;
  state.counters["ops"] = benchmark::Counter(ops, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(ops / peak, benchmark::Counter::kIsRate);
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(matrix.bytes()) * times, benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  const cpu::Isa highest = cpu::detect_isa();
  for (const cpu::KernelSet* set : cpu::kKernelSets<cpu::AllWeightTypes, cpu::AllVariants>) {
    if (set == nullptr || set->isa > highest) continue;
    const double int8 = measured_peak(program::int8_loop(cpu::name(set->isa)));
    const double f32 = measured_peak(program::f32_loop(cpu::name(set->isa)));
    for (const cpu::WeightKernels& kernels : set->weights) {
      if (kernels.packed == nullptr && set->isa == cpu::Isa::amx) continue;  // v4's
      const std::string name =
          "products/" + std::string(zrt::name(kernels.dtype)) + "/" + std::string(cpu::name(set->isa)) + "/rows";
      auto* const row =
          benchmark::RegisterBenchmark(name.c_str(), products, *set, kernels, kernels.packed ? int8 : f32);
      for (const std::uint32_t rows : kRows) row->Arg(rows);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
