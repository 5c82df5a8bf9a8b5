// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/elementwise_unary.hpp: one function applied to every element.
#pragma once

#include <zrt/backend/cpu/typed_elements.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ElementwiseUnary> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseUnary>& c, const PrimitiveSet& set) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, set, set.unary, &typed);
  }

 private:
  /// f64 and integers.
  static void typed(const HostCall<ops::ElementwiseUnary>& c, const ExecutionContext& step,
                    const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      constexpr auto kKinds = std::integral<T> ? std::uint8_t{2} : ops::kUnaryKinds;
      // Integers have the first two.
      static_assert(static_cast<std::uint8_t>(ops::UnaryKind::abs) == 1);
      if constexpr (!std::same_as<T, float>)
        with_kind<kKinds>(c.params.kind, [&](auto kind) {
          map_share<T>(
              dtype, c.out[0], step, worker, [](T x) { return ops::ElementwiseUnary::apply(decltype(kind)::value, x); },
              c.in[0]);
        });
    });
  }
};
static_assert(RecordsPrimitive<ops::ElementwiseUnary>);

}  // namespace zrt::inline ZRT_ABI::cpu
