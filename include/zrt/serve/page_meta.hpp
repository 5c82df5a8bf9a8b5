// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_meta.hpp: what a device and an audit want to know of a page.
#pragma once

#include <zrt/core/kv_pages.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zrt::inline ZRT_ABI::serve {

/// Who finds a prefix: a tenant (its handle), a group (its number under kGroupScope), or the request that computed it and
/// nobody else (its handle under kRequestScope).
using PrefixScope = std::uint64_t;
inline constexpr PrefixScope kGroupScope = std::uint64_t{1} << 63;
inline constexpr PrefixScope kRequestScope = std::uint64_t{1} << 62;

/// One row per page, in the layout that a kernel may read.
struct PageMeta {
  PrefixScope scope = 0;           ///< 0: of nobody
  std::uint32_t references = 0;    ///< page lists that name it
  std::uint32_t owner_slot = ~0u;  ///< the slot that may write it; ~0: nobody, because it is shared
  std::uint32_t tokens = 0;        ///< positions that hold keys and values
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PageMeta) == 24 && offsetof(PageMeta, references) == 8 && offsetof(PageMeta, owner_slot) == 12 &&
              offsetof(PageMeta, tokens) == 16 && std::is_trivially_copyable_v<PageMeta>);

}  // namespace zrt::inline ZRT_ABI::serve
