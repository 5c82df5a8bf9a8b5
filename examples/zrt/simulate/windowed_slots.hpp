// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/windowed_slots.hpp: the slots of a model whose rows see a window, kept by an engine's own slot table.
#pragma once

#include "script.hpp"
#include <zrt/exec/host_device.hpp>
#include <zrt/serve/slot_table.hpp>

#include <optional>

namespace simulate {

/// What a slot table needs of a backend: its states lie in the process's own memory.
struct WindowMemory {
  using Device = zrt::exec::HostDevice;
  using State = zrt::HostState;
  using Memory = zrt::Buffer;
};

/// One cache group with a window. A position of its pages holds 32 bits of the position's entry. Slots are claimed, slid,
/// saved and filled as an engine does it (engine/serving.hpp).
class WindowedSlots {
 public:
  using Table = zrt::serve::SlotTable<WindowMemory>;
  using Part = zrt::serve::SlotPart;

  WindowedSlots(const serve::SchedulerLimits& limits, std::uint32_t window)
      : context_(limits.context),
        window_(window),
        pages_per_slot_(zrt::pages_for(limits.context)),
        owners_(limits.slots),
        admitted_(limits.slots),
        audit_(zrt::system_allocator()) {
    note(open(limits));
  }

  /// The first error of the table or of its audit; empty while there is none.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// Hands slots to the requests that a scheduler has in them.
  template <class State> void follow(const State& s) {
    for (std::uint32_t slot = 0; slot < owners_.size() && failure_.empty(); ++slot) {
      const serve::Handle request = s.slots[slot].request;
      if (request == owners_[slot] && (request == 0 || s.work[slot].admitted == admitted_[slot])) continue;
      if (table_->is_used(slot)) note(table_->release(slot));
      owners_[slot] = request;
      admitted_[slot] = s.work[slot].admitted;
      if (request == 0) continue;
      const serve::RequestRow& r = s.requests[serve::row_of(request)];
      note(table_->claim(slot));
      note(table_->reserve_windows(slot, std::min(r.prompt + r.most, context_)));
    }
    check();
  }
  void save(Part part, std::uint32_t slot, std::uint32_t position, std::vector<std::byte>& to) {
    to.resize(static_cast<std::size_t>(table_->bytes_of(part, position)));
    note(table_->save(part, slot, position, to));
  }
  void restore(Part part, std::uint32_t slot, std::uint32_t position, const std::vector<std::byte>& from) {
    note(table_->restore(part, slot, position, from));
  }

  /// Slides a slot to a run that begins at `position`.
  void advance(std::uint32_t slot, std::uint32_t position) {
    note(table_->advance(slot, position));
    check();
  }
  void write(std::uint32_t slot, std::uint32_t position, std::uint64_t entry) {
    if (std::uint32_t* const at = element(slot, position)) *at = bits_of(entry);
  }
  /// Whether a row at `position` finds that of position `p`, where it sees it.
  [[nodiscard]] bool shows(std::uint32_t slot, std::uint32_t position, std::uint32_t p, std::uint64_t entry) {
    if (p > position || position - p >= window_) return true;
    const std::uint32_t* const at = element(slot, p);
    return at != nullptr && *at == bits_of(entry);
  }
  [[nodiscard]] std::uint32_t first_seen(std::uint32_t position) const {
    return position + 1 > window_ ? position + 1 - window_ : 0;
  }

 private:
  [[nodiscard]] static std::uint32_t bits_of(std::uint64_t entry) { return static_cast<std::uint32_t>(mixed(entry)); }

  [[nodiscard]] zrt::Result<void> open(const serve::SchedulerLimits& limits) {
    const zrt::StateInfo info{zrt::StateLifecycle::kv_paged, zrt::DType::f32, 0, 0, {1, 1, 1, window_}};
    const auto bytes = zrt::unit_bytes(info).get("a state");
    if (!bytes) return zrt::pass(bytes);
    if (auto r = plan_.states.push_back(
            {.id = 0, .size_bytes = *bytes, .lifecycle = zrt::StateLifecycle::kv_paged, .info = info});
        !r)
      return r;
    const zrt::exec::ExecutorSizes sizes{.slots = limits.slots,
                                         .prefill_tokens = limits.step_tokens,
                                         .pages = limits.pages,
                                         .pages_per_slot = pages_per_slot_};
    auto groups = zrt::exec::cache_groups(plan_.states.span(), sizes, zrt::system_allocator());
    if (!groups) return zrt::pass(groups);
    groups_ = std::move(*groups);
    auto states = zrt::exec::StateStore<WindowMemory>::make(plan_, device_, groups_.span(), limits.slots);
    if (!states) return zrt::pass(states);
    states_.emplace(std::move(*states));
    auto table = Table::make(*states_, device_, groups_.span(), limits.slots, pages_per_slot_, zrt::system_allocator());
    if (!table) return zrt::pass(table);
    table_.emplace(std::move(*table));
    return audit_.reserve(groups_[0].pages);
  }

  /// The place of a position in the slot's pages, or null where it has none.
  [[nodiscard]] std::uint32_t* element(std::uint32_t slot, std::uint32_t position) {
    const std::uint32_t id = table_->pages()[slot * pages_per_slot_ + position / zrt::kPageTokens];
    if (id >= groups_[0].pages) return nullptr;
    return reinterpret_cast<std::uint32_t*>(states_->state(0).unit(id)) + position % zrt::kPageTokens;
  }
  void check() {
    note(table_->each_window([this](const serve::WindowPages& pages) { return audit_.run(pages); }));
  }
  void note(const zrt::Result<void>& done) {
    if (!done && failure_.empty()) failure_ = std::string(done.error().text());
  }

  std::uint32_t context_;
  std::uint32_t window_;
  std::uint32_t pages_per_slot_;
  zrt::plan::ExecutionPlan plan_{};
  zrt::exec::HostDevice device_{};
  zrt::Vector<zrt::exec::CacheGroup> groups_{zrt::system_allocator()};
  std::optional<zrt::exec::StateStore<WindowMemory>> states_{};
  std::optional<Table> table_{};
  std::vector<serve::Handle> owners_;
  std::vector<std::uint64_t> admitted_;
  serve::WindowAudit audit_;
  std::string failure_{};
};

}  // namespace simulate
