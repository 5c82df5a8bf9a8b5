// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/normed_projection.hpp: a norm and the projections of its result.
#pragma once

#include <zrt/device/adapters/norm.hpp>
#include <zrt/device/adapters/projection.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The activations of a block's projections: normed once, and rounded once for each way that its weights want.
class NormedRows {
 public:
  /// Workspace for a norm of `x` and the roundings in `acts`.
  template <std::size_t n>
  [[nodiscard]] static constexpr CheckedSize scratch(const Shape& x, const Extents& bounds,
                                                     const std::array<quant::Act, n>& acts) noexcept {
    const CheckedSize rows = most_rows(x, bounds);
    const std::uint32_t cols = x.last().extent;
    CheckedSize bytes = Workspace::part(rows * cols * 4);
    for (std::size_t i = 0; i < n; ++i)
      if (is_new(acts, i)) bytes += ActivationRows::scratch(rows, cols, acts[i]);
    return bytes;
  }

  /// Records the norm of `x` and the roundings; rows(act) gives what came of each.
  template <std::size_t n>
  [[nodiscard]] Result<void> record(Recorder& recorder, const Tensor& x, const Weight& norm,
                                    const ops::RmsNormParams& params, const std::array<quant::Act, n>& acts,
                                    Workspace& workspace) noexcept {
    static_assert(n <= kMost);
    const Shape& shape = x.type.shape;
    const CheckedSize most = most_rows(shape, recorder.bounds().extents);
    const std::uint32_t cols = shape.last().extent;
    const std::uint64_t normed = workspace.take(most * cols * 4);
    if (auto r = record_norm(recorder, x.address, norm, normed, params, StepCount::elements(shape)); !r) return r;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_new(acts, i)) continue;
      const auto rounded = round_rows(recorder, normed, StepCount::rows(shape), most, cols, acts[i], workspace);
      if (!rounded) return pass(rounded);
      rows_[count_++] = *rounded;
    }
    return {};
  }

  [[nodiscard]] const ActivationRows& rows(quant::Act act) const noexcept {
    std::size_t i = 0;
    while (i + 1 < count_ && rows_[i].act != act) ++i;
    return rows_[i];
  }

 private:
  static constexpr std::size_t kMost = 3;

  template <std::size_t n>
  [[nodiscard]] static constexpr bool is_new(const std::array<quant::Act, n>& acts, std::size_t i) noexcept {
    for (std::size_t k = 0; k < i; ++k)
      if (acts[k] == acts[i]) return false;
    return true;
  }

  std::array<ActivationRows, kMost> rows_{};
  std::size_t count_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::device
