// SPDX-License-Identifier: Apache-2.0
// zrt/ops/state.hpp: state classes, what a lifecycle event does to each, and state descriptors.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>
#include <zrt/core/kv_pages.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// How state lives (runtime contract, StateLifecycle).
enum class StateLifecycle : std::uint8_t {
  none,       ///< the op has no state
  kv_paged,   ///< pages of kPageTokens positions from a shared pool, named by a slot's page list
  recurrent,  ///< one block per slot, rewritten by every token
};
inline constexpr std::size_t kStateLifecycles = 3;

/// What happens to a slot over its life.
enum class StateEvent : std::uint8_t { alloc, reset, reuse, evict, clone_for_fork, deinit };
inline constexpr std::size_t kStateEvents = 6;

/// What the state store does to a slot's state when an event comes.
enum class StateAction : std::uint8_t {
  nothing,           ///< memory and contents stay
  claim_slot_block,  ///< the slot's fixed block becomes its own
  zero_block,        ///< the slot's block is filled with zeros
  drop_pages,        ///< every page of the list loses one reference; unreferenced pages return to the pool
  save_then_drop,    ///< contents go to the caller's snapshot, then the memory is given up
  share_pages,       ///< full pages gain a reference; the last, partly filled page is copied
  copy_block,        ///< the block is copied
};

/// Lifecycle class × event -> action (runtime contract A9.6). Both the store and its tests read this.
inline constexpr std::array<std::array<StateAction, kStateEvents>, kStateLifecycles> kLifecycleMatrix{{
    //  alloc                          reset                    reuse                    evict                        clone_for_fork             deinit
    {StateAction::nothing, StateAction::nothing, StateAction::nothing, StateAction::nothing, StateAction::nothing,
     StateAction::nothing},
    {StateAction::nothing, StateAction::drop_pages, StateAction::drop_pages, StateAction::save_then_drop,
     StateAction::share_pages, StateAction::drop_pages},
    {StateAction::claim_slot_block, StateAction::zero_block, StateAction::zero_block, StateAction::save_then_drop,
     StateAction::copy_block, StateAction::nothing},
}};

[[nodiscard]] constexpr StateAction action(StateLifecycle lifecycle, StateEvent event) noexcept {
  return kLifecycleMatrix[static_cast<std::size_t>(lifecycle)][static_cast<std::size_t>(event)];
}

/// What a graph says of one piece of state.
///
/// kv_paged: extents are {kv heads, key dim, value dim, window}, dtype one of kPageTypes, `group` the cache
/// group whose page list names its pages. recurrent: extents are the dims of one slot's block, f32.
struct StateInfo {
  StateLifecycle lifecycle = StateLifecycle::none;
  DType dtype = DType::f32;
  std::uint8_t group = 0;
  std::uint8_t reserved = 0;
  std::array<std::uint32_t, 4> extents{};
  friend constexpr bool operator==(const StateInfo&, const StateInfo&) = default;
};

/// Positions of a kv_paged state that a row sees, its own included; 0: all. States of one cache group have one window.
[[nodiscard]] constexpr std::uint32_t window_of(const StateInfo& state) noexcept {
  return state.lifecycle == StateLifecycle::kv_paged ? state.extents[3] : 0;
}
/// The first page with a position that rows at `position` and later see through a window. No row needs those before it.
[[nodiscard]] constexpr std::uint32_t first_page(std::uint32_t window, std::uint32_t position) noexcept {
  return window != 0 && position >= window ? (position - window + 1) / kPageTokens : 0;
}

/// True when lifecycle and element type are ones that this build has a name for.
[[nodiscard]] constexpr bool is_known(const StateInfo& state) noexcept {
  return static_cast<std::size_t>(state.lifecycle) < kStateLifecycles &&
         is_dtype(static_cast<std::uint8_t>(state.dtype));
}

/// Bytes of one head's keys or values, `dims` numbers a token, in a page: whole blocks for each token.
[[nodiscard]] constexpr CheckedSize page_bytes(DType dtype, std::uint32_t dims) noexcept {
  const DTypeInfo& type = info(dtype);
  const std::uint64_t blocks = (std::uint64_t{dims} + type.block_elems - 1) / type.block_elems;
  return CheckedSize(kPageTokens) * CheckedSize(blocks) * CheckedSize(type.block_bytes);
}

/// Bytes of one unit: a page (kv_paged) or a slot's block (recurrent).
[[nodiscard]] constexpr CheckedSize unit_bytes(const StateInfo& state) noexcept {
  const CheckedSize element = info(state.dtype).block_bytes;
  switch (state.lifecycle) {
    case StateLifecycle::none:
      return 0;
    case StateLifecycle::kv_paged:
      return CheckedSize(state.extents[0]) *
             (page_bytes(state.dtype, state.extents[1]) + page_bytes(state.dtype, state.extents[2]));
    case StateLifecycle::recurrent: {
      CheckedSize count = element;
      for (std::uint32_t extent : state.extents) count *= CheckedSize(extent == 0 ? 1 : extent);
      return count;
    }
  }
  return 0;
}

/// Devices align the memory that they give to this many bytes.
inline constexpr std::uint16_t kMaxStateAlign = 64;
/// True for a power of two up to kMaxStateAlign.
[[nodiscard]] constexpr bool is_state_align(std::uint16_t bytes) noexcept {
  return bytes != 0 && bytes <= kMaxStateAlign && (bytes & (bytes - 1u)) == 0;
}

/// One piece of state as a plan names it (runtime contract, StateDescriptor).
struct StateDescriptor {
  std::uint8_t id = 0;
  std::uint64_t size_bytes = 0;    ///< of one unit
  std::uint16_t align_bytes = 64;  ///< see is_state_align
  bool zero_init = false;
  StateLifecycle lifecycle = StateLifecycle::none;
  StateInfo info{};
  friend constexpr bool operator==(const StateDescriptor&, const StateDescriptor&) = default;
};

}  // namespace zrt::inline ZRT_ABI
