// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/projection.hpp: rows of activations times matrices, rounded where the weight's type wants it.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/device/adapters/product_kernels.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Rows of activations as a product reads them: as they are, or rounded in a workspace.
struct ActivationRows {
  StepCount rows{};
  std::uint32_t cols = 0;
  quant::Act act = quant::Act::none;
  std::uint64_t x = 0;
  std::uint64_t q = 0;  ///< integers, where they are rounded
  std::uint64_t d = 0;  ///< and scales
  bool prompt = false;  ///< there may be more of them than slots

  [[nodiscard]] static constexpr CheckedSize scale_bytes(CheckedSize rows, std::uint32_t cols,
                                                         quant::Act act) noexcept {
    return rows * (cols / group_elems(act)) * 4;
  }
  /// Workspace that rounding takes.
  [[nodiscard]] static constexpr CheckedSize scratch(CheckedSize rows, std::uint32_t cols, quant::Act act) noexcept {
    if (act == quant::Act::none) return 0;
    return Workspace::part(rows * cols) + Workspace::part(scale_bytes(rows, cols, act));
  }
};

/// Records the rounding of f32 rows at `x`, each of `cols`, at most `most` of them.
[[nodiscard]] inline Result<ActivationRows> round_rows(Recorder& recorder, std::uint64_t x, const StepCount& rows,
                                                       CheckedSize most, std::uint32_t cols, quant::Act act,
                                                       Workspace& workspace) noexcept {
  ActivationRows a{.rows = rows, .cols = cols, .act = act, .x = x, .prompt = most.raw() > recorder.bounds().slots};
  if (act == quant::Act::none) return a;
  const std::uint32_t group = group_elems(act);
  if (cols % group != 0)
    return fail(Errc::unimplemented, "the device rounds rows of whole groups of ", group, " elements, not rows of ",
                cols);
  a.q = workspace.take(most * cols);
  a.d = workspace.take(ActivationRows::scale_bytes(most, cols, act));
  const StepCount groups = rows.times(cols / group);
  KernelCall call(act == quant::Act::q8_32 ? "round_activation_q8_32" : "round_activation_q8_256");
  call.buffer(x).buffer(a.q).buffer(a.d);
  // A group of 256 has a workgroup of its own, eight of 32 share one.
  if (act == quant::Act::q8_32)
    call.value(groups).grid(groups.over(8));
  else
    call.grid(groups);
  if (auto r = recorder.push(call); !r) return pass(r);
  return a;
}

/// Records y = W a + bias for each row; the bias may be absent. `beside`: as KernelCall::beside.
[[nodiscard]] inline Result<void> project(Recorder& recorder, const Weight& weight, const Weight& bias,
                                          const ActivationRows& a, std::uint64_t y, bool beside) noexcept {
  const auto kernels = find_product(weight, a.act);
  if (!kernels) return pass(kernels);
  const Name kernel = Name::of(a.prompt ? "matmul_" : "matvec_", name(weight.dtype));
  KernelCall call(kernel.view());
  call.matrix(weight);
  if (a.act == quant::Act::none)
    call.buffer(a.x);
  else
    call.buffer(a.q).buffer(a.d);
  call.buffer(bias).buffer(y).value(weight.rows).value(weight.cols).value(a.rows);
  const StepCount rows(weight.rows);
  if (a.prompt)
    call.grid(rows.over(kMatrixTile), a.rows.over(kMatrixTile));
  else
    call.grid(rows.over(kVectorRows), a.rows.over((*kernels)->tokens));
  if (beside) call.beside();
  return recorder.push(call);
}

}  // namespace zrt::inline ZRT_ABI::device
