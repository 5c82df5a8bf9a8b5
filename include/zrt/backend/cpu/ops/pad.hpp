// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/pad.hpp: a tensor with a value around it and between its elements.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/ops/pad.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The value everywhere, and behind a fence the elements of x.
template <> struct Adapter<ops::Pad> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Pad>& c) noexcept {
    if (auto filled = r.push(&fill, c); !filled) return filled;
    return r.push(&place, c);
  }

 private:
  static void fill(const HostCall<ops::Pad>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto* value = reinterpret_cast<const std::byte*>(c.params.value.data());
    fill_elements(c.out[0].type.dtype, value, c.out[0].data, c.out[0].elements(step), step, worker);
  }
  static void place(const HostCall<ops::Pad>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    copy_box(c.out[0].type.dtype, c.in[0].data, c.out[0].data, ops::Pad::box(c, step), step, worker);
  }
};
static_assert(Records<ops::Pad>);

}  // namespace zrt::inline ZRT_ABI::cpu
