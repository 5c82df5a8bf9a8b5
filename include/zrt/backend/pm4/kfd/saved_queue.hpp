// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/saved_queue.hpp: a queue of /dev/kfd with the area where its waves are saved.
#pragma once

#include <zrt/backend/pm4/kfd/memory.hpp>
#include <zrt/backend/pm4/kfd/queue.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// A queue and its save area, of the size that the kernel compares.
template <OperatingSystem Os> struct SavedQueue {
  Memory<Os> save;
  Queue<Os> queue;

  /// `arguments` lack the save area alone. Where kernels differ in its size and this one does not tell its own, the larger
  /// one comes first, which holds the waves whatever a kernel compares; and the other where the kernel refuses it. Errors:
  /// those of context_save(), Memory and Queue.
  [[nodiscard]] static Result<SavedQueue> create(const Device<Os>& device, const CreateQueue& arguments) noexcept {
    if (!has_two_save_areas(device.node().queue())) return create(device, arguments, VectorRegisters::first);
    auto made = create(device, arguments, VectorRegisters::larger);
    if (made || made.error().code() == Errc::out_of_memory) return made;
    return create(device, arguments, VectorRegisters::first);
  }

 private:
  [[nodiscard]] static Result<SavedQueue> create(const Device<Os>& device, CreateQueue arguments,
                                                 VectorRegisters registers) noexcept {
    const auto area = context_save(device.node().queue(), registers);
    if (!area) return pass(area);
    auto save = Memory<Os>::allocate(device, Heap::device_local, area->mapping_bytes, GpuAccess::read_write);
    if (!save) return pass(save);
    arguments.ctx_save_restore_address = save->address();
    arguments.ctx_save_restore_size = area->save_bytes;
    arguments.ctl_stack_size = area->ctl_stack_bytes;
    auto queue = Queue<Os>::create(device, arguments);
    if (!queue) return pass(queue);
    return SavedQueue{std::move(*save), std::move(*queue)};
  }
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
