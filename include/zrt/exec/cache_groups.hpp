// SPDX-License-Identifier: Apache-2.0
// zrt/exec/cache_groups.hpp: the cache groups of a plan: their windows, and how many pages each needs.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/executor_sizes.hpp>
#include <zrt/ops/state.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// States whose pages one list per slot names. Behind a window a slot gives pages back and takes others, so it never has
/// more than `slot_pages` at a time, however long its sequence is.
struct CacheGroup {
  std::uint32_t window = 0;      ///< positions that a row sees, its own included; 0: all
  std::uint32_t slot_pages = 0;  ///< most pages of a slot at a time; 0 where no state has the group's number
  std::uint32_t pages = 0;       ///< of each state
};

/// Pages that rows of one step touch at most: those of the step, and what the first of them sees through a window.
[[nodiscard]] constexpr std::uint64_t pages_of_step(std::uint32_t window, std::uint32_t rows) noexcept {
  // That many consecutive positions, the first of which may be the last of its page.
  const std::uint64_t positions = std::uint64_t{window} - 1 + rows;
  return (positions + kPageTokens - 2) / kPageTokens + 1;
}

/// The cache groups of `states`, by number; none for states without pages.
///
/// Errors: Errc::invalid_state for states of one group with different windows; out_of_memory.
[[nodiscard]] inline Result<Vector<CacheGroup>> cache_groups(Span<const StateDescriptor> states,
                                                             const ExecutorSizes& sizes,
                                                             const Allocator& allocator) noexcept {
  Vector<CacheGroup> groups(allocator);
  for (const StateDescriptor& d : states) {
    if (d.lifecycle != StateLifecycle::kv_paged) continue;
    if (d.info.group >= groups.size())
      if (auto r = groups.resize(d.info.group + std::size_t{1}); !r) return pass(r);
    CacheGroup& group = groups[d.info.group];
    const std::uint32_t window = window_of(d.info);
    if (group.slot_pages != 0 && group.window != window)
      return fail(Errc::invalid_state, "state ", unsigned{d.id}, " of cache group ", unsigned{d.info.group},
                  " has a window of ", window, ", expected ", group.window, ", which others of its group have");
    group = {window, sizes.pages_per_slot, sizes.pages};
    if (window == 0) continue;
    const std::uint64_t most = pages_of_step(window, sizes.prefill_tokens);
    if (most < group.slot_pages) group.slot_pages = static_cast<std::uint32_t>(most);
    const auto pages = narrow<std::uint32_t>((CheckedSize(group.slot_pages) * CheckedSize(sizes.slots)).raw(),
                                             "the number of a window's pages");
    if (!pages) return pass(pages);
    group.pages = *pages;
  }
  return groups;
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
