// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/recorder.hpp: what the CPU's adapters record into.
#pragma once

#include <zrt/backend/cpu/packed_store.hpp>
#include <zrt/backend/cpu/projection.hpp>
#include <zrt/exec/host_recorder.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A HostRecorder that knows the weight types of the engine's variant.
class Recorder : public exec::HostRecorder {
 public:
  /// `uses` keeps what the program multiplies by in packed form.
  Recorder(const WeightTable& weights, exec::HostRecorder recorder, Vector<PackedStore::Use>& uses,
           const ThreadHook& threads) noexcept
      : HostRecorder(recorder), weights_(&weights), uses_(&uses), threads_(threads) {}

  /// Packs into `store` from now on.
  void share(PackedStore& store) noexcept { store_ = &store; }

  /// Returns the kernels of a weight's type.
  ///
  /// Errors: Errc::unsupported_weight_type, naming the type.
  [[nodiscard]] Result<const WeightKernels*> kernels_of(const HostWeight& w) const noexcept {
    const WeightKernels* row = weights_->find(w.dtype);
    if (row == nullptr)
      return fail(Errc::unsupported_weight_type, "cpu: weights of type ", name(w.dtype), " are not computed");
    return row;
  }

  /// Chooses the function that multiplies by `w` under the plan's rounding, and packs `w` if that is how it multiplies;
  /// `bias` may be absent. Matrices of `matrix_rows` rows, 0 for all, lie one after the other.
  [[nodiscard]] Result<Projection> projection(const HostWeight& w, const HostWeight& bias, quant::Act act,
                                              std::uint32_t matrix_rows = 0) noexcept {
    auto row = kernels_of(w);
    if (!row) return pass(row);
    Projection p{w, {}, nullptr, nullptr, bias.f32(), act};
    if (act == quant::Act::none) {
      p.dot = (*row)->dot;
    } else if (act != (*row)->act) {
      return fail(Errc::unsupported_weight_type, "cpu: weights of type ", name(w.dtype),
                  " do not meet activations rounded per ", quant::group_elems(act));
    } else if ((*row)->packed == nullptr) {
      p.dot = (*row)->dot_rounded;
    } else {
      auto use = store_->use(w, *(*row)->packed, matrix_rows, threads_);
      if (!use) return pass(use);
      p.packed = use->weight();
      p.dot_packed = weights_->dot_packed;
      if (auto r = uses_->push_back(std::move(*use)); !r) return pass(r);
    }
    return p;
  }

 private:
  const WeightTable* weights_;
  PackedStore* store_ = nullptr;
  Vector<PackedStore::Use>* uses_;
  ThreadHook threads_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
