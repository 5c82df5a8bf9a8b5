// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/placed_memory.hpp: addresses that a process holds for memory of the GPU, and how the host sees it.
#pragma once

#include <zrt/backend/pm4/heap.hpp>
#include <zrt/backend/pm4/os_handles.hpp>
#include <zrt/core/checked.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Where memory lies, at one address for GPU and host; the base of each driver's memory. The addresses go last: they are
/// in use until the driver's part is freed.
template <OperatingSystem Os> class PlacedMemory {
 public:
  /// For the GPU, and for the host where it sees the memory.
  [[nodiscard]] std::uint64_t address() const noexcept { return place_.address(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return place_.bytes(); }
  [[nodiscard]] Heap heap() const noexcept { return heap_; }
  /// The bytes for the host; none in Heap::device_local.
  [[nodiscard]] Span<std::byte> span() const noexcept {
    if (heap_ == Heap::device_local) return {};
    return place_.span();
  }

 protected:
  PlacedMemory() = default;

  /// Errors: Errc::invalid_argument for no bytes, size_overflow.
  [[nodiscard]] static Result<std::uint64_t> whole_pages(std::uint64_t bytes) noexcept {
    if (bytes == 0) return fail(Errc::invalid_argument, "memory of 0 bytes is allocated");
    return CheckedSize(bytes).aligned(kPageBytes).get("an allocation");
  }
  /// Takes addresses before the GPU gets them, so that nothing else comes to lie there. Errors as system_failure().
  [[nodiscard]] Result<void> take_addresses(Os& os, Heap heap, std::uint64_t bytes) noexcept {
    auto place = Mapping<Os>::make(os, {.bytes = bytes}, "addresses");
    if (!place) return pass(place);
    place_ = std::move(*place);
    heap_ = heap;
    return {};
  }
  /// Maps what a driver's file has at `offset` for the host. Errors as system_failure().
  [[nodiscard]] Result<void> show_to_host(Os& os, int file, std::uint64_t offset) const noexcept {
    const SystemValue at = os.map(
        {.address = address(), .bytes = bytes(), .protection = Protection::read_write, .file = file, .offset = offset});
    if (at < 0) return system_failure(at, "mapping", "memory of the GPU");
    return {};
  }
  /// The memory stays with the process for all that its owner goes: its addresses must be nobody else's.
  void keep_addresses() noexcept { place_.keep(); }

 private:
  Mapping<Os> place_{};
  Heap heap_ = Heap::device_local;
};

}  // namespace zrt::inline ZRT_ABI::pm4
