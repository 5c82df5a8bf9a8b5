// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/clamp.hpp: every element held between two bounds.
#pragma once

#include <zrt/backend/cpu/typed_elements.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Clamp> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Clamp>& c, const PrimitiveSet& set) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, set, set.clamp, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::Clamp>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        map_share<T>(
            dtype, c.out[0], step, worker, [](T x, T low, T high) { return ops::Clamp::apply(x, low, high); }, c.in[0],
            c.in[1], c.in[2]);
    });
  }
};
static_assert(RecordsPrimitive<ops::Clamp>);

}  // namespace zrt::inline ZRT_ABI::cpu
