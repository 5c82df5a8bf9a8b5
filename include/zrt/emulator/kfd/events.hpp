// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/kfd/events.hpp: what a process waits for in the modelled kernel.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/emulator/kfd/buffers.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// The events of a process, and the page by which the GPU says which of them an interrupt meant.
class Events {
 public:
  Events(Buffers& buffers, SyscallRefusal& refuse, const Allocator& allocator) noexcept
      : buffers_(buffers), refuse_(refuse), events_(allocator) {}

  [[nodiscard]] pm4::SystemValue create(pm4::kfd::CreateEvent& c) noexcept {
    if (c.event_id != 0 || c.event_slot_index != 0 || c.event_trigger_data != 0)
      return refuse_(EINVAL, "CREATE_EVENT: fields that come out are not 0");
    const bool signal = c.event_type == pm4::kfd::EventType::signal;
    if (!signal && c.event_type != pm4::kfd::EventType::memory && c.event_type != pm4::kfd::EventType::hw_exception)
      return refuse_(EINVAL, "CREATE_EVENT: type ", static_cast<std::uint32_t>(c.event_type), " is not modelled");
    if (c.event_page_offset != 0) {
      if (page_ != 0) return refuse_(EINVAL, "CREATE_EVENT: the process has an event page");
      const BufferObject* const page = buffers_.find(c.event_page_offset);
      if (page == nullptr || (page->flags & pm4::kfd::kGtt) == 0 || page->bytes < pm4::kfd::kEventPageBytes)
        return refuse_(EINVAL, "CREATE_EVENT: the event page is GTT of ", pm4::kfd::kEventPageBytes, " bytes");
      page_ = c.event_page_offset;
      std::memset(slots().data(), 0xff, pm4::kfd::kEventPageBytes);
    }
    if (refused_with_ != 0) return refuse_(refused_with_, "the failure that was asked for");
    if (signal && page_ == 0) return refuse_(EINVAL, "CREATE_EVENT: signals without an event page are not modelled");
    std::uint32_t slot = 1;
    while (signal && find(slot) != nullptr) ++slot;
    if (slot == pm4::kfd::kEventSlots) return refuse_(ENOSPC, "CREATE_EVENT: every slot is taken");
    const std::uint32_t id = signal ? slot : next_other_;
    if (!events_.push_back({id, c.event_type, c.auto_reset != 0, false, {}}))
      return refuse_(ENOMEM, "CREATE_EVENT: the model has no memory");
    if (signal)
      write_little(slots().data() + slot * 8, kUnsignalled);
    else
      ++next_other_;
    c.event_id = id;
    c.event_slot_index = signal ? id : 0;
    return 0;
  }

  /// Makes every event fail with that errno once the page that came with it is taken; 0 makes none fail.
  void refuse_behind_page(int error) noexcept { refused_with_ = error; }

  [[nodiscard]] pm4::SystemValue destroy(const pm4::kfd::EventById& e) noexcept {
    Event* const event = find(e.event_id);
    if (event == nullptr) return refuse_(EINVAL, "DESTROY_EVENT: there is no event ", e.event_id);
    *event = events_.back();
    events_.pop_back();
    return 0;
  }
  [[nodiscard]] pm4::SystemValue set(const pm4::kfd::EventById& e, bool signalled) noexcept {
    Event* const event = find(e.event_id);
    if (event == nullptr || event->type != pm4::kfd::EventType::signal)
      return refuse_(EINVAL, signalled ? "SET" : "RESET", "_EVENT: there is no signal ", e.event_id);
    event->signalled = signalled;
    return 0;
  }

  /// Whether the wait is over: writes the data of the events that were signalled.
  [[nodiscard]] pm4::SystemValue poll(pm4::kfd::WaitEvents& w, bool& over) noexcept {
    if (w.num_events == 0 || w.num_events > pm4::kfd::kEventSlots || w.events_ptr == 0)
      return refuse_(EINVAL, "WAIT_EVENTS: ", w.num_events, " events");
    auto* const list = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(w.events_ptr));
    std::uint32_t signalled = 0;
    for (const bool take : {false, true}) {
      if (take) over = w.wait_for_all != 0 ? signalled == w.num_events : signalled != 0;
      if (take && !over) break;
      for (std::uint32_t i = 0; i < w.num_events; ++i) {
        pm4::kfd::EventData data;
        std::memcpy(&data, list + i * sizeof data, sizeof data);
        Event* const event = find(data.event_id);
        if (event == nullptr) return refuse_(EINVAL, "WAIT_EVENTS: there is no event ", data.event_id);
        if (!event->signalled) continue;
        if (!take) ++signalled;
        if (!take) continue;
        data.fault = event->fault;
        std::memcpy(list + i * sizeof data, &data, sizeof data);
        if (event->auto_reset) event->signalled = false;
      }
    }
    w.wait_result = over ? pm4::kfd::WaitResult::complete : pm4::kfd::WaitResult::timeout;
    return 0;
  }

  /// An interrupt of the GPU: the slots that were written name their events.
  void interrupt() noexcept {
    if (page_ == 0) return;
    for (Event& event : events_) {
      if (event.type != pm4::kfd::EventType::signal) continue;
      std::byte* const slot = slots().data() + event.id * 8;
      if (read_little<std::uint64_t>(slot) == kUnsignalled) continue;
      write_little(slot, kUnsignalled);
      event.signalled = true;
    }
  }
  /// Signals every event of that type.
  void raise(pm4::kfd::EventType type, const pm4::kfd::MemoryFault& fault) noexcept {
    for (Event& event : events_) {
      if (event.type != type) continue;
      event.signalled = true;
      event.fault = fault;
    }
  }

  /// The handle of the event page; 0 without one.
  [[nodiscard]] std::uint64_t page() const noexcept { return page_; }
  [[nodiscard]] std::size_t count() const noexcept { return events_.size(); }

 private:
  struct Event {
    std::uint32_t id = 0;
    pm4::kfd::EventType type = pm4::kfd::EventType::signal;
    bool auto_reset = false;
    bool signalled = false;
    pm4::kfd::MemoryFault fault{};
  };
  static constexpr std::uint64_t kUnsignalled = ~std::uint64_t{0};

  [[nodiscard]] Event* find(std::uint32_t id) noexcept {
    for (Event& event : events_)
      if (event.id == id) return &event;
    return nullptr;
  }
  [[nodiscard]] Span<std::byte> slots() noexcept {
    return ProcessMemory::bytes(buffers_.find(page_)->address, pm4::kfd::kEventPageBytes);
  }

  Buffers& buffers_;
  SyscallRefusal& refuse_;
  Vector<Event> events_;
  std::uint64_t page_ = 0;
  int refused_with_ = 0;
  std::uint32_t next_other_ = 0x40000000;
};

}  // namespace zrt::inline ZRT_ABI::emulator
