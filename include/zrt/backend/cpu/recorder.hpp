// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/recorder.hpp: what the CPU's adapters record into.
#pragma once

#include <zrt/backend/cpu/projection.hpp>
#include <zrt/exec/host_recorder.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A HostRecorder that knows the weight types of the engine's variant.
class Recorder : public exec::HostRecorder {
 public:
  Recorder(const WeightTable& weights, exec::HostProgram& program, Vector<Buffer>& tables, Allocator allocator) noexcept
      : HostRecorder(program, tables, allocator), weights_(&weights) {}

  Recorder(const WeightTable& weights, exec::HostRecorder recorder) noexcept
      : HostRecorder(recorder), weights_(&weights) {}

  /// Returns the kernels of a weight's type.
  ///
  /// Errors: Errc::unsupported_weight_type, naming the type.
  [[nodiscard]] Result<const WeightKernels*> kernels_of(const HostWeight& w) const noexcept {
    const WeightKernels* row = weights_->find(w.dtype);
    if (row == nullptr)
      return fail(Errc::unsupported_weight_type, "cpu: weights of type ", name(w.dtype), " are not computed");
    return row;
  }

  /// Chooses the function that multiplies by `w` under the plan's rounding; `bias` may be absent.
  [[nodiscard]] Result<Projection> projection(const HostWeight& w, const HostWeight& bias,
                                              quant::Act act) const noexcept {
    auto row = kernels_of(w);
    if (!row) return pass(row);
    const DotRows dot = act == quant::Act::none ? (*row)->dot : act == (*row)->act ? (*row)->dot_rounded : nullptr;
    if (dot == nullptr)
      return fail(Errc::unsupported_weight_type, "cpu: weights of type ", name(w.dtype),
                  " do not meet activations rounded per ", quant::group_elems(act));
    return Projection{w, dot, bias.f32(), act};
  }

 private:
  const WeightTable* weights_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
