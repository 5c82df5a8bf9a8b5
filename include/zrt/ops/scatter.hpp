// SPDX-License-Identifier: Apache-2.0
// zrt/ops/scatter.hpp: updates combined into a tensor one after the other.
#pragma once

#include <zrt/ops/accumulate.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

enum class ScatterKind : std::uint8_t { add, maximum, minimum, replace };
/// As programs name them.
inline constexpr auto kScatterNames = std::to_array<std::string_view>({"add", "max", "min", "replace"});

/// Memory for a tensor of `type` in its domain.
[[nodiscard]] constexpr CheckedSize scatter_scratch(const TensorType& type, const Extents& bounds) noexcept {
  return type.shape.elements(bounds) * CheckedSize(domain_bytes(type.dtype));
}

/// `value` and one update more.
template <DomainValue T> [[nodiscard]] constexpr T combine(ScatterKind kind, T value, T update) noexcept {
  if (kind == ScatterKind::add) return plus(value, update);
  return update != update || (kind == ScatterKind::maximum ? update > value : update < value) ? update : value;
}

/// Writes x to y with updates combined into it in the domain of their type, rounded once at the end.
///
/// `each(put)` calls `put(i, place)` for update i and the element of x that it goes to, in the order in
/// which they apply. The worker's scratch holds scatter_scratch bytes. `kind` is not replace.
template <class Each>
void scatter(ScatterKind kind, const HostTensor& x, const HostTensor& updates, const HostTensor& y,
             const ExecutionContext& step, const Worker& worker, Each&& each) noexcept {
  visit_domain(x.type.dtype, [&]<class T>(std::type_identity<T>) {
    const ElementFunctions<T>& type = element_functions<T>(x.type.dtype);
    const std::uint64_t elements = x.elements(step);
    T* values = reinterpret_cast<T*>(worker.scratch.data());
    type.unpack(x.data, 0, elements, values);
    each([&](std::uint64_t i, std::uint64_t place) {
      T update;
      type.unpack(updates.data, i, 1, &update);
      values[place] = combine(kind, values[place], update);
    });
    type.pack(values, 0, elements, y.data);
  });
}

}  // namespace zrt::inline ZRT_ABI::ops
