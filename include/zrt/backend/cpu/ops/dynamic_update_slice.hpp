// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/dynamic_update_slice.hpp: a tensor with another in a window of it.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// x, unless y lies where it lay, and behind a fence the update.
template <> struct Adapter<ops::DynamicUpdateSlice> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::DynamicUpdateSlice>& c) noexcept {
    if (c.in[0].data != c.out[0].data)
      if (auto copied = r.push(&copy, c); !copied) return copied;
    return r.push(&update, c);
  }

 private:
  static void copy(const HostCall<ops::DynamicUpdateSlice>& c, const ExecutionContext& step,
                   const Worker& worker) noexcept {
    copy_all(c.in[0].type.dtype, c.in[0].data, c.out[0].data, c.in[0].elements(step), step, worker);
  }
  static void update(const HostCall<ops::DynamicUpdateSlice>& c, const ExecutionContext& step,
                     const Worker& worker) noexcept {
    const auto box = ops::DynamicUpdateSlice::box(c, step);
    if (!box) return step.violated(worker);
    copy_box(c.in[0].type.dtype, c.in[1].data, c.out[0].data, *box, step, worker);
  }
};
static_assert(Records<ops::DynamicUpdateSlice>);

}  // namespace zrt::inline ZRT_ABI::cpu
