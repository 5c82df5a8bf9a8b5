// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/transport.hpp: a user queue of the amdgpu driver that takes packets and tells when they are done.
#pragma once

#include <zrt/backend/pm4/fenced_ring.hpp>
#include <zrt/backend/pm4/preamble.hpp>
#include <zrt/backend/pm4/umq/memory.hpp>
#include <zrt/backend/pm4/umq/queue.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::pm4::umq {

using pm4::TransportOptions;

/// What the driver knows of a queue that does not go on. It tells of a file's last fault for ever, without its time: one
/// that was there before the queue was another's, and one more like it is not seen. A new device has none.
template <OperatingSystem Os> struct Losses {
  const Device<Os>* device = nullptr;
  std::uint32_t lost_before = 0;
  GpuvmFault fault_before{};

  /// Errors as Device::ask_for().
  [[nodiscard]] static Result<Losses> from_now_on(const Device<Os>& device) noexcept {
    Losses losses{&device};
    if (auto r = device.ask_for(InfoQuery::vram_lost_counter, losses.lost_before); !r) return pass(r);
    if (auto r = device.ask_for(InfoQuery::gpuvm_fault, losses.fault_before); !r) return pass(r);
    return losses;
  }

  [[nodiscard]] Result<void> operator()(std::uint64_t fence) const noexcept {
    GpuvmFault fault;
    if (const auto asked = device->ask_for(InfoQuery::gpuvm_fault, fault);
        asked && (fault.addr != fault_before.addr || fault.status != fault_before.status))
      return fail(Errc::spec_violation, "the GPU touched memory at ", std::string_view(Hex(fault.addr)),
                  " that it may not ", (fault.status & kFaultWrote) != 0 ? "write" : "read", " (status ",
                  std::string_view(Hex(fault.status)), "); fence ", fence, " is lost");
    std::uint32_t lost = lost_before;
    if (const auto asked = device->ask_for(InfoQuery::vram_lost_counter, lost); asked && lost != lost_before)
      return fail(Errc::unsupported_device, "the GPU was reset; fence ", fence, " is lost");
    return {};
  }

  /// The page of the fault that was there before the queue.
  [[nodiscard]] std::optional<std::uint64_t> old_fault() const noexcept {
    return fault_before.status != 0 ? std::optional(fault_before.addr) : std::nullopt;
  }
};

/// One compute queue; move-only. The device outlives it. See FencedRing for submit() and wait().
template <OperatingSystem Os> class Transport : public FencedRing<Os, Losses<Os>> {
 public:
  using Device = umq::Device<Os>;
  using Memory = umq::Memory<Os>;

  /// Makes the queue with its buffers, each mapped before, and lets its dispatches use every compute unit; that first
  /// submission is waited for.
  ///
  /// Errors: Errc::invalid_argument for a ring of another size; those of Memory, of Queue and of wait().
  [[nodiscard]] static Result<Transport> open(const Device& device, const TransportOptions& options = {}) noexcept {
    if (auto r = check(options); !r) return pass(r);
    const auto losses = Losses<Os>::from_now_on(device);
    if (!losses) return pass(losses);
    auto ring = Memory::allocate(device, Heap::host_visible, options.ring_bytes, GpuAccess::read);
    if (!ring) return pass(ring);
    // A buffer of one page for each pointer: the kernel pins the write pointer's alone, and takes no larger one.
    auto write_pointer = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read);
    if (!write_pointer) return pass(write_pointer);
    auto read_pointer = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read_write);
    if (!read_pointer) return pass(read_pointer);
    auto fence = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read_write);
    if (!fence) return pass(fence);
    auto eop = Memory::allocate_uncached(device, Heap::device_local, device.eop_bytes(), GpuAccess::read_write);
    if (!eop) return pass(eop);
    auto doorbells =
        GemBuffer<Os>::create(device, {.bo_size = kPageBytes, .alignment = kPageBytes, .domains = kDomainDoorbell});
    if (!doorbells) return pass(doorbells);
    const auto offset = doorbells->file_offset();
    if (!offset) return pass(offset);
    auto doorbell_page = Mapping<Os>::make(
        device.os(),
        {.bytes = kPageBytes, .protection = Protection::read_write, .file = device.render_file(), .offset = *offset},
        "doorbells");
    if (!doorbell_page) return pass(doorbell_page);
    const ComputeMqd mqd{.eop_va = eop->address()};
    auto queue = Queue<Os>::create(device, {.op = QueueOperation::create,
                                            .ip_type = kIpCompute,
                                            .doorbell_handle = doorbells->handle(),
                                            .doorbell_offset = kDoorbell,
                                            .queue_va = ring->address(),
                                            .queue_size = options.ring_bytes,
                                            .rptr_va = read_pointer->address(),
                                            .wptr_va = write_pointer->address(),
                                            .mqd = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&mqd)),
                                            .mqd_size = sizeof mqd});
    if (!queue) return pass(queue);
    auto view = Ring::over(
        {reinterpret_cast<std::uint32_t*>(ring->span().data()), static_cast<std::size_t>(options.ring_bytes / 4)},
        reinterpret_cast<std::uint64_t*>(write_pointer->span().data()),
        reinterpret_cast<volatile std::uint64_t*>(doorbell_page->span().data() + kDoorbell * 8));
    if (!view) return pass(view);
    const FencedRing<Os, Losses<Os>> fenced(
        device.os(),
        {.ring = *view,
         .fence = reinterpret_cast<const std::uint64_t*>(fence->span().data()),
         .fence_address = fence->address(),
         .read_pointer = reinterpret_cast<const std::uint64_t*>(read_pointer->span().data()),
         .queue = queue->id(),
         .generation = device.target().generation,
         .timeout = options.timeout},
        *losses);
    Transport transport(device, fenced, std::move(*ring), std::move(*write_pointer), std::move(*read_pointer),
                        std::move(*fence), std::move(*eop), std::move(*doorbells), std::move(*doorbell_page),
                        std::move(*queue));
    if (auto r = transport.use_every_unit(options.timeout); !r) return pass(r);
    return transport;
  }

  /// The packet that executes a buffer of packets, in the form that this queue takes.
  [[nodiscard]] static constexpr IndirectBuffer indirect_buffer(std::uint64_t address, std::uint32_t dwords) noexcept {
    return {.address = address, .dwords = dwords, .inherit_vmid = true};
  }

  [[nodiscard]] const Device& device() const noexcept { return *device_; }

  /// Calls `visit(memory)` for each piece of memory that the queue holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    for (const Memory* memory : {&ring_, &write_pointer_, &read_pointer_, &fence_, &eop_}) visit(*memory);
  }

 private:
  // Which of its page's doorbells the queue has.
  static constexpr std::uint32_t kDoorbell = 4;

  Transport(const Device& device, const FencedRing<Os, Losses<Os>>& fenced, Memory ring, Memory write_pointer,
            Memory read_pointer, Memory fence, Memory eop, GemBuffer<Os> doorbells, Mapping<Os> doorbell_page,
            Queue<Os> queue) noexcept
      : FencedRing<Os, Losses<Os>>(fenced),
        device_(&device),
        ring_(std::move(ring)),
        write_pointer_(std::move(write_pointer)),
        read_pointer_(std::move(read_pointer)),
        fence_(std::move(fence)),
        eop_(std::move(eop)),
        doorbells_(std::move(doorbells)),
        doorbell_page_(std::move(doorbell_page)),
        queue_(std::move(queue)) {}

  template <class Target> [[nodiscard]] Result<void> preamble(std::uint64_t timeout) noexcept {
    std::array<std::uint32_t, 64> packets{};
    std::array<std::uint32_t, 16> masks{};
    masks.fill(~0u);
    PacketWriter<Target> writer(packets);
    const std::size_t engines = device_->shader_engines() < masks.size() ? device_->shader_engines() : masks.size();
    write_preamble(writer, Span<const std::uint32_t>(masks).first(engines));
    if (const auto r = writer.finish(); !r) return pass(r);
    const auto fence = this->submit(Span<const std::uint32_t>(packets).first(writer.size()));
    if (!fence) return pass(fence);
    return this->wait(*fence, timeout);
  }
  [[nodiscard]] Result<void> use_every_unit(std::uint64_t timeout) noexcept {
    if (device_->target().generation == Generation::gfx11) return preamble<Gfx1100>(timeout);
    return preamble<Gfx1201>(timeout);
  }

  const Device* device_;
  // In the order in which they are made; they go in the opposite one, the queue before its buffers.
  Memory ring_;
  Memory write_pointer_;
  Memory read_pointer_;
  Memory fence_;
  Memory eop_;
  GemBuffer<Os> doorbells_;
  Mapping<Os> doorbell_page_;
  Queue<Os> queue_;
};

}  // namespace zrt::inline ZRT_ABI::pm4::umq
