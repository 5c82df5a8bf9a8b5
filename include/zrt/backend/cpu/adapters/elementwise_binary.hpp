// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/elementwise_binary.hpp: one function applied to pairs of elements.
#pragma once

#include <zrt/backend/cpu/typed_elements.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ElementwiseBinary> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseBinary>& c, const PrimitiveSet& set) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, set, set.binary, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::ElementwiseBinary>& c, const ExecutionContext& step,
                    const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    bool divided_by_zero = false;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        with_kind<ops::kBinaryKinds>(c.params.kind, [&](auto kind) {
          map_share<T>(
              dtype, c.out[0], step, worker,
              [&](T a, T b) { return ops::ElementwiseBinary::apply(decltype(kind)::value, a, b, divided_by_zero); },
              c.in[0], c.in[1]);
        });
    });
    if (divided_by_zero) step.violated(worker);
  }
};
static_assert(RecordsPrimitive<ops::ElementwiseBinary>);

}  // namespace zrt::inline ZRT_ABI::cpu
