// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/compare.hpp: comparison of pairs of elements.
#pragma once

#include <zrt/backend/cpu/typed_elements.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Compare> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Compare>& c, const PrimitiveSet& set) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, set, set.compare, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::Compare>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        with_kind<ops::kCompareKinds>(c.params.kind, [&](auto kind) {
          map_share<T, std::uint64_t>(
              dtype, c.out[0], step, worker,
              [](T a, T b) -> std::uint64_t { return ops::Compare::apply(decltype(kind)::value, a, b) ? 1 : 0; },
              c.in[0], c.in[1]);
        });
    });
  }
};
static_assert(RecordsPrimitive<ops::Compare>);

}  // namespace zrt::inline ZRT_ABI::cpu
