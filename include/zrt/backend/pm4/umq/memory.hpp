// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/memory.hpp: memory of the GPU from one of three heaps, through a render node.
#pragma once

#include <zrt/backend/pm4/placed_memory.hpp>
#include <zrt/backend/pm4/umq/gem_buffer.hpp>

namespace zrt::inline ZRT_ABI::pm4::umq {

using pm4::GpuAccess;
using pm4::Heap;

[[nodiscard]] constexpr GemCreate gem_create(Heap heap, std::uint64_t bytes) noexcept {
  GemCreate create{.bo_size = bytes, .alignment = kPageBytes};
  switch (heap) {
    case Heap::device_local:
      create.domains = kDomainVram;
      create.domain_flags = kNoCpuAccess;
      break;
    case Heap::bar:
      create.domains = kDomainVram;
      create.domain_flags = kCpuAccessRequired;
      break;
    case Heap::host_visible:
      create.domains = kDomainGtt;
      break;
  }
  return create;
}

/// Memory of the host is in none of the GPU's caches, video memory where `past_caches` says so.
[[nodiscard]] constexpr std::uint32_t va_flags(Heap heap, GpuAccess access, bool past_caches = false) noexcept {
  std::uint32_t flags = kVaRead;
  if (access == GpuAccess::read_write) flags |= kVaWrite;
  if (access == GpuAccess::execute) flags |= kVaExecute;
  if (heap == Heap::host_visible || past_caches) flags |= kVaUncached;
  return flags;
}

/// Memory at one address for GPU and host; move-only. The device outlives it.
template <OperatingSystem Os> class Memory : public PlacedMemory<Os> {
 public:
  using Device = umq::Device<Os>;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap<PlacedMemory<Os>>(*this, other);
    std::swap(device_, other.device_);
    std::swap(buffer_, other.buffer_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~Memory() {
    if (mapped_) (void)give_back(*device_, kGemVa, mapping(VaOperation::unmap, 0));
    // Addresses that the GPU still has must be nobody else's.
    if (!buffer_.close()) this->keep_addresses();
  }

  /// Allocates `bytes`, rounded up to pages, and maps them for the GPU, and for the host where the heap says so. Memory
  /// of the host is 0, video memory holds anything.
  ///
  /// Errors: Errc::invalid_argument for no bytes, size_overflow, out_of_memory; else as system_failure().
  [[nodiscard]] static Result<Memory> allocate(const Device& device, Heap heap, std::uint64_t bytes,
                                               GpuAccess access) noexcept {
    return make(device, heap, bytes, access, false);
  }
  /// The same in none of the GPU's caches, for what the command processor reads and writes beside them.
  [[nodiscard]] static Result<Memory> allocate_uncached(const Device& device, Heap heap, std::uint64_t bytes,
                                                        GpuAccess access) noexcept {
    return make(device, heap, bytes, access, true);
  }

 private:
  [[nodiscard]] static Result<Memory> make(const Device& device, Heap heap, std::uint64_t bytes, GpuAccess access,
                                           bool past_caches) noexcept {
    const auto size = PlacedMemory<Os>::whole_pages(bytes);
    if (!size) return pass(size);
    if (heap != Heap::host_visible) {
      // Where video memory is full, the driver takes the host's, without a word.
      const auto available = device.available_memory(heap);
      if (!available) return pass(available);
      if (*size > *available)
        return fail(Errc::out_of_memory, "video memory has ", *available, " bytes left, ", *size, " are allocated");
    }
    Memory memory;
    memory.device_ = &device;
    if (auto r = memory.take_addresses(device.os(), heap, *size); !r) return pass(r);
    if (memory.address() + *size > device.address_end())
      return fail(Errc::unsupported_device, "the process has addresses up to ", memory.address() + *size,
                  ", the GPU takes those below ", device.address_end());
    auto buffer = GemBuffer<Os>::create(device, gem_create(heap, *size));
    if (!buffer) return pass(buffer);
    memory.buffer_ = std::move(*buffer);
    if (heap != Heap::device_local) {
      const auto offset = memory.buffer_.file_offset();
      if (!offset) return pass(offset);
      if (auto r = memory.show_to_host(device.os(), device.render_file(), *offset); !r) return pass(r);
    }
    if (auto r = memory.map(va_flags(heap, access, past_caches)); !r) return pass(r);
    return memory;
  }

  // Longer than the driver takes to write page tables, even behind other work.
  static constexpr std::uint64_t kMapTimeout = std::uint64_t{10} * 1'000'000'000;

  [[nodiscard]] GemVa mapping(VaOperation operation, std::uint32_t flags) const noexcept {
    return {.handle = buffer_.handle(),
            .operation = operation,
            .flags = flags,
            .va_address = this->address(),
            .map_size = this->bytes()};
  }

  /// Maps for the GPU and waits until the page tables say so: a user queue runs without asking the kernel.
  [[nodiscard]] Result<void> map(std::uint32_t flags) noexcept {
    SyncobjCreate timeline;
    if (auto r = device_->call_with(kSyncobjCreate, timeline); !r) return r;
    const std::uint64_t point = 1;
    GemVa map = mapping(VaOperation::map, flags);
    map.vm_timeline_point = point;
    map.vm_timeline_syncobj_out = timeline.handle;
    auto mapped = device_->call_with(kGemVa, map);
    mapped_ = mapped.has_value();
    if (mapped) {
      SyncobjTimelineWait wait{
          .handles = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&timeline.handle)),
          .points = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&point)),
          .timeout_nsec = static_cast<std::int64_t>(device_->os().now() + kMapTimeout),
          .count_handles = 1,
          .flags = kWaitAll | kWaitForSubmit};
      mapped = device_->call_with(kSyncobjTimelineWait, wait);
    }
    SyncobjDestroy destroy{.handle = timeline.handle};
    const auto destroyed = device_->call_with(kSyncobjDestroy, destroy);
    return mapped ? destroyed : mapped;
  }

  const Device* device_ = nullptr;
  GemBuffer<Os> buffer_{};
  bool mapped_ = false;
};

}  // namespace zrt::inline ZRT_ABI::pm4::umq
