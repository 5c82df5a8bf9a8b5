// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/event_page.hpp: the signal event of a queue, and the page by which interrupts name events.
#pragma once

#include <zrt/backend/pm4/kfd/memory.hpp>
#include <zrt/backend/pm4/kfd/queue.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// An event that the GPU signals: it writes the event's number into its slot of the event page, then interrupts.
template <OperatingSystem Os> struct SignalEvent {
  Event<Os> event;
  std::uint64_t slot = 0;  ///< its address for the GPU

  /// A process has one event page, which the kernel takes with the first signal event and keeps until the process ends:
  /// so the operating system knows it from then on, for every queue.
  ///
  /// Errors: those of Memory and of Event.
  [[nodiscard]] static Result<SignalEvent> create(const Device<Os>& device) noexcept {
    EventPage& page = device.os().event_page();
    const MutexLock lock(page.mutex);
    CreateEvent arguments{.event_type = EventType::signal, .auto_reset = 1};
    if (page.address != 0) return of(device, arguments, page.address);
    auto memory = Memory<Os>::allocate(device, Heap::host_visible, kEventPageBytes, GpuAccess::read_write);
    if (!memory) return pass(memory);
    arguments.event_page_offset = memory->handle();
    auto made = of(device, arguments, memory->address());
    // The kernel takes the page before it makes the event: a call that fails may have left it taken.
    if (!made && !memory->is_kept_by_kernel()) return made;
    page.address = memory->address();
    memory->leave_to_process();
    return made;
  }

 private:
  [[nodiscard]] static Result<SignalEvent> of(const Device<Os>& device, const CreateEvent& arguments,
                                              std::uint64_t page) noexcept {
    auto event = Event<Os>::create(device, arguments);
    if (!event) return pass(event);
    const std::uint64_t slot = page + std::uint64_t{event->slot()} * 8;
    return SignalEvent{std::move(*event), slot};
  }
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
