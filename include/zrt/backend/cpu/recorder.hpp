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
      auto packed = pack(w, *(*row)->packed, matrix_rows == 0 ? w.rows : matrix_rows);
      if (!packed) return pass(packed);
      p.packed = *packed;
      p.dot_packed = weights_->dot_packed;
    }
    return p;
  }

 private:
  /// Packs a weight into memory of the program.
  [[nodiscard]] Result<PackedWeight> pack(const HostWeight& w, const PackedType& type,
                                          std::uint32_t matrix_rows) noexcept {
    if (w.rows == 0) matrix_rows = 1;
    const std::uint64_t groups = PackedWeight::groups(matrix_rows);
    const std::uint64_t group_bytes = std::uint64_t{w.cols} / type.form.elems() * type.form.block_bytes();
    const auto bytes = narrow<std::size_t>(
        (CheckedSize(w.rows / matrix_rows) * CheckedSize(groups) * CheckedSize(group_bytes)).raw(), "a packed weight");
    if (!bytes) return pass(bytes);
    auto memory = table(*bytes);
    if (!memory) return pass(memory);
    std::byte* to = memory->data();
    for (std::uint32_t matrix = 0; matrix < w.rows; matrix += matrix_rows)
      for (std::uint32_t n = 0; n < matrix_rows; n += kPackedRows, to += group_bytes) {
        const std::byte* rows[kPackedRows];
        // Lanes beyond the last row repeat it; nothing reads what they give.
        for (std::uint32_t r = 0; r < kPackedRows; ++r)
          rows[r] = w.row(std::uint64_t{matrix} + (n + r < matrix_rows ? n + r : matrix_rows - 1));
        type.pack(rows, w.cols, to);
      }
    return PackedWeight{memory->data(), &type.form, w.cols, matrix_rows, group_bytes};
  }

  const WeightTable* weights_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
