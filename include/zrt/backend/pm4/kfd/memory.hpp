// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/memory.hpp: memory of the GPU from one of three heaps.
#pragma once

#include <zrt/backend/pm4/kfd/device.hpp>
#include <zrt/backend/pm4/placed_memory.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

using pm4::GpuAccess;
using pm4::Heap;

[[nodiscard]] constexpr std::uint32_t memory_flags(Heap heap, GpuAccess access) noexcept {
  std::uint32_t flags = kNoSubstitute;
  switch (heap) {
    case Heap::device_local:
      flags |= kVram;
      break;
    case Heap::bar:
      flags |= kVram | kPublic;
      break;
    case Heap::host_visible:
      flags |= kGtt | kCoherent | kUncached;
      break;
  }
  if (access == GpuAccess::read_write) flags |= kWritable;
  if (access == GpuAccess::execute) flags |= kExecutable;
  return flags;
}

/// Memory at one address for GPU and host; move-only. The device outlives it.
template <OperatingSystem Os> class Memory : public PlacedMemory<Os> {
 public:
  using Device = kfd::Device<Os>;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap<PlacedMemory<Os>>(*this, other);
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~Memory() {
    if (mapped_) {
      std::uint32_t id = device_->node().gpu_id;
      (void)give_back(*device_, kUnmapMemory, device_list(id));
    }
    // Addresses that the GPU still has must be nobody else's.
    if (handle_ != 0 && !give_back(*device_, kFreeMemory, FreeMemory{handle_})) this->keep_addresses();
  }

  /// Allocates `bytes`, rounded up to pages, and maps them for the GPU, and for the host where the heap says so. Memory
  /// of the host is 0, video memory holds anything.
  ///
  /// Errors: Errc::invalid_argument for no bytes, size_overflow, out_of_memory; else as system_failure().
  [[nodiscard]] static Result<Memory> allocate(const Device& device, Heap heap, std::uint64_t bytes,
                                               GpuAccess access) noexcept {
    const auto size = PlacedMemory<Os>::whole_pages(bytes);
    if (!size) return pass(size);
    Memory memory;
    memory.device_ = &device;
    if (auto r = memory.take_addresses(device.os(), heap, *size); !r) return pass(r);
    AllocMemory allocation{.va_addr = memory.address(),
                           .size = *size,
                           .gpu_id = device.node().gpu_id,
                           .flags = memory_flags(heap, access)};
    if (auto r = device.call_with(kAllocMemory, allocation); !r) return pass(r);
    memory.handle_ = allocation.handle;
    if (heap != Heap::device_local) {
      if (auto r = memory.show_to_host(device.os(), device.render_file(), allocation.mmap_offset); !r) return pass(r);
    }
    std::uint32_t id = device.node().gpu_id;
    MapMemory map = memory.device_list(id);
    if (auto r = device.call_with(kMapMemory, map); !r) return pass(r);
    if (map.n_success != 1)
      return fail(Errc::io_error, call_name(kMapMemory), " mapped memory on ", map.n_success, " GPUs, 1 expected");
    memory.mapped_ = true;
    return memory;
  }

  /// What the kernel calls it.
  [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }
  /// Whether the kernel keeps it until the process ends. While it is mapped no memory is freed: the kernel says EPERM of
  /// what it keeps, EBUSY of the rest.
  [[nodiscard]] bool is_kept_by_kernel() const noexcept {
    FreeMemory memory{handle_};
    return answer_of_device(device_->os(), device_->calls_file(), kFreeMemory, memory) == -EPERM;
  }
  /// Leaves it where it is until the process ends.
  void leave_to_process() noexcept {
    mapped_ = false;
    handle_ = 0;
    this->keep_addresses();
  }

 private:
  [[nodiscard]] MapMemory device_list(std::uint32_t& id) const noexcept {
    return {.handle = handle_,
            .device_ids_array_ptr = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&id)),
            .n_devices = 1};
  }

  const Device* device_ = nullptr;
  std::uint64_t handle_ = 0;
  bool mapped_ = false;
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
