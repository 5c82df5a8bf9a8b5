// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/recorder.hpp: what the CPU's adapters record into.
#pragma once

#include <zrt/backend/cpu/kernel_set.hpp>
#include <zrt/backend/cpu/scratch.hpp>
#include <zrt/exec/host_recorder.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A HostRecorder that knows the kernels of the engine's variant.
class Recorder : public exec::HostRecorder {
 public:
  Recorder(const KernelSet& kernels, exec::HostProgram& program, Vector<Buffer>& tables, Allocator allocator) noexcept
      : HostRecorder(program, tables, allocator), kernels_(&kernels) {}

  Recorder(const KernelSet& kernels, exec::HostRecorder recorder) noexcept
      : HostRecorder(recorder), kernels_(&kernels) {}

  [[nodiscard]] const KernelSet& kernels() const noexcept { return *kernels_; }

  /// Returns the kernels of a weight's type.
  ///
  /// Errors: Errc::unsupported_weight_type, naming the type.
  [[nodiscard]] Result<const WeightKernels*> kernels_of(const HostWeight& w) const noexcept {
    const WeightKernels* row = kernels_->find(w.dtype);
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
  const KernelSet* kernels_;
};

/// Computes a rotation's angles per position, padded to whole lanes, in memory of the program.
[[nodiscard]] inline Result<const float*> rope_table(Recorder& r, const ops::RopeParams& p,
                                                     const HostWeight& factors) noexcept {
  const std::uint32_t pairs = p.n_rot / 2;
  if (pairs == 0) return nullptr;
  auto memory = r.table(align_up(pairs, 16) * sizeof(float));
  if (!memory) return pass(memory);
  auto* frequency = reinterpret_cast<float*>(memory->data());
  for (std::uint32_t i = 0; i < pairs; ++i) frequency[i] = ops::rope_frequency(p, factors.f32(), i);
  return frequency;
}

}  // namespace zrt::inline ZRT_ABI::cpu
