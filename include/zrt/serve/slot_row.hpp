// SPDX-License-Identifier: Apache-2.0
// zrt/serve/slot_row.hpp: the place of a running request in the machine.
#pragma once

#include <zrt/serve/handle.hpp>

#include <cstddef>
#include <type_traits>

namespace zrt::inline ZRT_ABI::serve {

enum class SlotStage : std::uint32_t { free, prefill, decode };

/// What a device may read of a slot: the slot table of the runtime document (section 18.13).
///
/// The rest of that table has places of its own. A page list is a row of a table, because its length is the model's. How a
/// token is drawn stands in the rows of a batch (exec::Batch::requests), which experts count in registers of the plan. A
/// client that does not read is the request's affair (RequestRow). A request that was cancelled, preempted or is done has
/// left its slot before the next step, so a slot has no such stage.
struct SlotRow {
  Handle tenant = 0;
  Handle session = 0;
  Handle request = 0;
  SlotStage stage = SlotStage::free;
  std::uint32_t model = 0;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t generated_tokens = 0;
  std::uint32_t position = 0;            ///< tokens whose keys and values are in the pages
  std::uint32_t speculative_tokens = 0;  ///< guesses in the run that is in the making
  std::uint32_t pages = 0;
  std::uint32_t prefix_pages = 0;  ///< of these, found in the tree at admission
  std::uint32_t priority = 0;      ///< ServiceClass
  std::uint32_t adapter = 0;

  [[nodiscard]] friend bool operator==(const SlotRow&, const SlotRow&) noexcept = default;
};
static_assert(sizeof(SlotRow) == 64 && offsetof(SlotRow, stage) == 24 && offsetof(SlotRow, position) == 40 &&
              offsetof(SlotRow, pages) == 48 && std::is_trivially_copyable_v<SlotRow>);

/// What only the scheduler knows of a slot.
struct SlotWork {
  std::uint32_t request = kNone;
  std::uint32_t charge = 0;      ///< pages that count against the tenant, listed or set aside
  std::uint32_t in_tree = 0;     ///< leading pages of the list that are nodes of the prefix tree
  std::uint32_t load = kNone;    ///< the checkpoint that its first run loads
  std::uint32_t shelf = kNone;   ///< the row of the shelf that its first run loads
  std::uint32_t entered_at = 0;  ///< position at admission
  std::uint64_t admitted = 0;    ///< step
  std::uint32_t idle = 0;        ///< steps in which its client or its tenant's rate held it up, less others
  bool complete_charge = false;  ///< all pages that it can need are set aside
  bool floor = false;            ///< holds the slot that lower classes are sure of
};

}  // namespace zrt::inline ZRT_ABI::serve
