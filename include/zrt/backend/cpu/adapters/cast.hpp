// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/cast.hpp: elements as another type.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/ops/cast.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Cast> {
  static Result<void> record(Recorder& r, const HostCall<ops::Cast>& c) noexcept {
    return r.push(&run_elements<ops::Cast>, c);
  }
};
static_assert(Records<ops::Cast>);

}  // namespace zrt::inline ZRT_ABI::cpu
