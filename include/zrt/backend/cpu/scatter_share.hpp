// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/scatter_share.hpp: updates combined into a tensor, whose elements are split over workers.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/scatter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// Writes x to y with the updates combined into it, in the order in which `each(put)` calls `put(i, place)` for
/// update i and its element of x.
///
/// Every worker goes through all updates and takes those of its own elements, so that each sum has one order. The
/// scratch of the instruction holds ops::scatter_scratch bytes. `kind` is not replace.
template <class Each>
void scatter_share(ops::ScatterKind kind, const HostTensor& x, const HostTensor& updates, const HostTensor& y,
                   const ExecutionContext& step, const Worker& worker, Each&& each) noexcept {
  const Range part = split(x.elements(step), 64, worker);
  const std::uint64_t count = part.last - part.first;
  visit_domain(x.type.dtype, [&]<class T>(std::type_identity<T>) {
    const ElementFunctions<T>& type = element_functions<T>(x.type.dtype);
    T* values = reinterpret_cast<T*>(worker.scratch.data()) + part.first;
    if (count != 0) type.unpack(x.data, part.first, count, values);
    each([&](std::uint64_t i, std::uint64_t place) {
      if (place - part.first >= count) return;
      T update;
      type.unpack(updates.data, i, 1, &update);
      T& value = values[place - part.first];
      value = ops::combine(kind, value, update);
    });
    if (count != 0) type.pack(values, part.first, count, y.data);
  });
}

}  // namespace zrt::inline ZRT_ABI::cpu
