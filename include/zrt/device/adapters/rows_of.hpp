// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/rows_of.hpp: rows of a table by index: embedding, and take of f32 rows.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/device/adapters/product_kernels.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/take.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Errors: Errc::unimplemented for rows that are given.
template <> struct Adapter<ops::Embedding> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Embedding>& c) noexcept {
    if (c.in[1].present())
      return fail(Errc::unimplemented, "the device takes tokens alone, not rows of given embeddings");
    if (auto r = expect_pieces(c.w[0]); !r) return r;
    const Name kernel = Name::of("embedding_", name(c.w[0].dtype));
    KernelCall call(kernel.view());
    call.buffer(c.in[0]).matrix(c.w[0]).buffer(c.out[0]).fault();
    call.value(c.w[0].rows).value(c.w[0].cols).value(c.params.scale);
    return recorder.push(call.grid(StepCount(c.w[0].cols).over(256), StepCount::elements(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::Embedding>);

/// Errors: Errc::unimplemented for anything but f32 rows and si32 indices.
template <> struct Adapter<ops::Take> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Take>& c) noexcept {
    const Shape& x = c.in[0].type.shape;
    if (c.in[0].type.dtype != DType::f32 || c.in[1].type.dtype != DType::si32 || x.rank != 2 || x[1].symbol != 0)
      return fail(Errc::unimplemented, "the device takes rows of f32 matrices by si32 indices alone");
    KernelCall call("take_rows_f32");
    call.buffer(c.in[1]).buffer(c.in[0]).buffer(c.out[0]).fault();
    call.value(StepCount::rows(x)).value(x[1].extent);
    return recorder.push(call.grid(StepCount(x[1].extent).over(256), StepCount::elements(c.in[1].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::Take>);

}  // namespace zrt::inline ZRT_ABI::device
