// SPDX-License-Identifier: Apache-2.0
// tests/support/run_plan.hpp: the catalog's tables compiled once, weights by name, and plans run on the host.
#pragma once

#include <zrt/exec/bind.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ir/expand.hpp>
#include <zrt/plan/compiled_plan.hpp>

#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace zrt::test {

/// The catalog's tables. They are made in one source, so that tests include only the ops they name.
[[nodiscard]] const ir::Ops& catalog_ops() noexcept;
/// Every op that has a reference.
[[nodiscard]] const OpSet& reference_claims() noexcept;

using Bytes = std::vector<std::byte>;

/// Named weights: what a model file is to the builder and to bind.
class Weights {
 public:
  void add(std::string name, DType dtype, const Shape& shape, Bytes data) {
    entries_.push_back({std::move(name), dtype, shape, std::move(data)});
  }
  /// A weight of random values, f32 or in blocks whose scales are small.
  void add_random(std::string name, DType dtype, std::uint32_t rows, std::uint32_t cols, std::mt19937& random);

  [[nodiscard]] ir::WeightLookup lookup() const noexcept {
    return {this, [](const void* self, std::string_view name) noexcept -> WeightInfo {
              const Entry* e = static_cast<const Weights*>(self)->find(name);
              return e == nullptr ? WeightInfo{} : WeightInfo{true, e->dtype, e->shape};
            }};
  }
  [[nodiscard]] exec::WeightSource source() const noexcept {
    return {this, [](const void* self, std::string_view name) noexcept -> Result<WeightView> {
              const Entry* e = static_cast<const Weights*>(self)->find(name);
              if (e == nullptr) return fail(Errc::missing_weight, "the model has no tensor ", name);
              return WeightView{e->name, e->dtype, e->shape, e->data};
            }};
  }

 private:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    Bytes data;
  };
  [[nodiscard]] const Entry* find(std::string_view name) const noexcept {
    for (const Entry& e : entries_)
      if (e.name == name) return &e;
    return nullptr;
  }
  std::deque<Entry> entries_;
};

/// `count` values in [-1, 1).
[[nodiscard]] Bytes random_floats(std::size_t count, std::mt19937& random);

/// One step of a plan: its inputs in the plan's order, and the symbols.
struct StepData {
  std::vector<Bytes> inputs;
  Extents bounds{};  ///< memory is planned at these
  Extents actual{};
  plan::Fit fit = plan::Fit::least;
};

/// Inputs of random values for `plan` with its symbols at `actual`.
[[nodiscard]] StepData random_step(const plan::ExecutionPlan& plan, const Extents& bounds, const Extents& actual,
                                   std::mt19937& random);

/// The outputs of ReferenceBackend in the planned arena, in the plan's order.
[[nodiscard]] Result<std::vector<Bytes>> run_planned(const plan::CompiledPlan& compiled,
                                                     const exec::WeightSource& weights, const StepData& run);
/// The same kernels where each register, input and scratch has memory of its own and nothing is reused.
[[nodiscard]] Result<std::vector<Bytes>> run_apart(const plan::CompiledPlan& compiled,
                                                   const exec::WeightSource& weights, const StepData& run);
/// In the planned arena, instruction i on worker i modulo the number of workers: a fence too few shows.
[[nodiscard]] Result<std::vector<Bytes>> run_spread(const plan::CompiledPlan& compiled,
                                                    const exec::WeightSource& weights, const StepData& run,
                                                    const ThreadHook& threads);

/// Logits of every position of one sequence, as ReferenceBackend runs a decoder's plan: the first `prompt` tokens in
/// one prefill step, the others one by one.
[[nodiscard]] Result<std::vector<float>> run_decoder(const plan::CompiledPlan& compiled,
                                                     const exec::WeightSource& weights,
                                                     std::span<const std::int32_t> tokens, std::size_t prompt);

/// Scratch bytes of each instruction on ReferenceBackend.
[[nodiscard]] std::vector<std::uint64_t> reference_scratch(const plan::CompiledPlan& compiled, const Extents& bounds);

}  // namespace zrt::test
