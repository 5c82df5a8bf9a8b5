// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/name_order.hpp: finds entries by name through one sorted list of their indices.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/span.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::detail {

// The order of items by their member `Name`. A hash table is no choice here: a file could be made so
// that all of its names collide, and opening it would take quadratic time.
template <class Item, std::string_view Item::* Name> class NameOrder {
 public:
  explicit NameOrder(const Allocator& allocator) noexcept : order_(allocator) {}

  // Sorts; gives the index of an item whose name an earlier item bears, or kAbsent.
  [[nodiscard]] Result<std::uint32_t> build(Span<const Item> items) noexcept {
    if (auto r = order_.resize(items.size()); !r) return pass(r);
    for (std::size_t i = 0; i < items.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
    heap_sort(order_.span(), [items](std::uint32_t a, std::uint32_t b) noexcept {
      const int by_name = (items[a].*Name).compare(items[b].*Name);
      return by_name != 0 ? by_name < 0 : a < b;
    });
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (items[order_[i - 1]].*Name == items[order_[i]].*Name) return order_[i];
    return kAbsent;
  }

  // Returns the item called `name`, or null. `items` are those that were sorted.
  [[nodiscard]] const Item* find(Span<const Item> items, std::string_view name) const noexcept {
    const std::uint32_t* at = std::lower_bound(
        order_.begin(), order_.end(), name,
        [items](std::uint32_t i, std::string_view wanted) noexcept { return items[i].*Name < wanted; });
    return at != order_.end() && items[*at].*Name == name ? &items[*at] : nullptr;
  }

  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

 private:
  Vector<std::uint32_t> order_;
};

}  // namespace zrt::inline ZRT_ABI::model::detail

ZRT_LOAD_TIME_END
