// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/gather.hpp: elements chosen by index along an axis.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/indexed_places.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/gather.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Gather> {
  static constexpr Loops loops = Loops::scalar;

  static Result<void> record(Recorder& r, const HostCall<ops::Gather>& c) noexcept {
    if (info(c.in[0].type.dtype).block_elems != 1) return r.push(&gather<0>, c);
    switch (info(c.in[0].type.dtype).block_bytes) {
      case 1:
        return r.push(&gather<1>, c);
      case 2:
        return r.push(&gather<2>, c);
      case 4:
        return r.push(&gather<4>, c);
      case 8:
        return r.push(&gather<8>, c);
      default:
        return r.push(&gather<16>, c);
    }
  }

 private:
  /// Elements of y are split; those of kBytes = 0 bytes have 4 bits.
  template <std::size_t kBytes>
  static void gather(const HostCall<ops::Gather>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::byte* x = c.in[0].data;
    std::byte* y = c.out[0].data;
    const DType dtype = c.in[0].type.dtype;
    const Range part = split(c.out[0].elements(step), 64, worker);
    bool violated = false;
    const auto each = [&](std::uint64_t i, std::uint64_t place) noexcept {
      const bool found = place != ops::kNowhere;
      violated = violated || !found;
      constexpr std::byte kZero[16]{};
      if constexpr (kBytes == 0)
        copy_elements(dtype, found ? x : kZero, found ? place : 0, y, i, 1);
      else
        std::memcpy(y + i * kBytes, found ? x + place * kBytes : kZero, kBytes);
    };
    for_each_indexed(c.in[0], c.in[1], c.params.axis, step, part.first, part.last, each);
    if (violated) step.violated(worker);
  }
};
static_assert(Records<ops::Gather>);

}  // namespace zrt::inline ZRT_ABI::cpu
