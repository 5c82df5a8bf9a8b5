// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/concat.hpp: tensors one after the other along an axis.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/ops/concat.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Concat> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Concat>& c) noexcept { return r.push(&join, c); }

 private:
  /// The pieces of each input are split. 4-bit inputs may meet within a byte of y: one worker moves all of them.
  static void join(const HostCall<ops::Concat>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.out[0].type.dtype;
    const bool shared = info(dtype).block_elems != 1;
    if (shared && worker.index != 0) return;
    Worker mine = worker;
    if (shared) mine.count = 1;
    ops::Concat::for_each_box(c, step, [&](const HostTensor& x, const ops::CopyBox& box) {
      copy_box(dtype, x.data, c.out[0].data, box, step, mine);
    });
  }
};
static_assert(Records<ops::Concat>);

}  // namespace zrt::inline ZRT_ABI::cpu
