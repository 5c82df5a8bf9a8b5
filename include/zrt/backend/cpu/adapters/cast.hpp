// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/cast.hpp: elements as another type.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/cast.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Cast> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Cast>& c) noexcept { return r.push(&convert, c); }

 private:
  /// Elements are split.
  static void convert(const HostCall<ops::Cast>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(c.out[0].elements(step), 64, worker);
    cast_elements(c.in[0].type.dtype, c.in[0].data, c.params.dtype, c.out[0].data, part.first, part.last - part.first);
  }
};
static_assert(Records<ops::Cast>);

}  // namespace zrt::inline ZRT_ABI::cpu
