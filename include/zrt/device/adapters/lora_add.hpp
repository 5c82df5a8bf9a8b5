// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/lora_add.hpp: rows down to the rank of their adapters, then up, onto what they were.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/device/adapters/product_kernels.hpp>
#include <zrt/ops/lora_add.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Errors: those of expect_pieces().
template <> struct Adapter<ops::LoraAdd> {
  using O = ops::LoraAdd;

  /// What the rows are at the rank of their adapters.
  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    return hidden_bytes(c.in[0].type.shape, bounds, c.w[1].shape.last().extent);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const std::uint32_t rank = c.w[1].cols;
    const std::uint64_t hidden =
        Workspace(recorder.scratch()).take(hidden_bytes(c.in[0].type.shape, recorder.bounds().extents, rank));
    if (auto r = multiply(recorder, c, c.w[0], c.in[0].address, 0, hidden); !r) return r;
    return multiply(recorder, c, c.w[1], hidden, c.in[1].address, c.out[0].address);
  }

 private:
  static CheckedSize hidden_bytes(const Shape& x, const Extents& bounds, std::uint32_t rank) noexcept {
    return Workspace::part(most_rows(x, bounds) * rank * sizeof(float));
  }

  /// Records the product of each row of `x` with its adapter's matrix, added to `y` where that is not 0.
  static Result<void> multiply(Recorder& recorder, const Call<Operands, O>& c, const Weight& matrices, std::uint64_t x,
                               std::uint64_t y, std::uint64_t sum) noexcept {
    if (auto r = expect_pieces(matrices); !r) return r;
    const std::uint32_t adapters = c.w[0].rows / c.w[1].cols, rows = matrices.rows / adapters;
    KernelCall call("lora_rows");
    call.buffer(matrices).buffer(x).buffer(c.in[2]).buffer(y).buffer(sum).fault();
    call.value(rows).value(matrices.cols).value(adapters);
    return recorder.push(call.grid(StepCount(rows).over(kVectorRows), StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::LoraAdd> && HasScratch<ops::LoraAdd>);

}  // namespace zrt::inline ZRT_ABI::device
