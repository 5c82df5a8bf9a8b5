// SPDX-License-Identifier: Apache-2.0
// tests/static/state_lifecycle.cpp: what every class of state promises, whatever a request does.
#include <zrt/ops/state.hpp>

#include <type_traits>

namespace {

using namespace zrt;
using enum StateAction;
using enum StateEvent;
using L = StateLifecycle;

constexpr bool everywhere(StateLifecycle lifecycle, StateAction wanted) {
  for (std::size_t event = 0; event < kStateEvents; ++event)
    if (action(lifecycle, static_cast<StateEvent>(event)) != wanted) return false;
  return true;
}
constexpr bool gives_up_pages(StateEvent event) {
  return action(L::kv_paged, event) == drop_pages || action(L::kv_paged, event) == save_then_drop;
}

// Keys and values of long contexts pass 4 GiB.
static_assert(std::is_same_v<decltype(StateDescriptor::size_bytes), std::uint64_t>);

static_assert(everywhere(L::none, nothing), "an op without state has nothing to keep");

// A request that ends, however it ends, leaves no page behind; one that is evicted can come back.
static_assert(gives_up_pages(reset) && gives_up_pages(reuse) && gives_up_pages(evict) && gives_up_pages(deinit));
static_assert(action(L::kv_paged, evict) == save_then_drop && action(L::recurrent, evict) == save_then_drop);
// Pages come as positions need them, not with the slot.
static_assert(action(L::kv_paged, alloc) == nothing && action(L::recurrent, alloc) == claim_slot_block);
// A recycled slot knows nothing of its last request.
static_assert(action(L::recurrent, reset) == zero_block && action(L::recurrent, reuse) == zero_block);
// A fork copies what will be written and shares the rest.
static_assert(action(L::kv_paged, clone_for_fork) == share_pages && action(L::recurrent, clone_for_fork) == copy_block);

}  // namespace
