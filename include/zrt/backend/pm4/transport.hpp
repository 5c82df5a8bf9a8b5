// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/transport.hpp: what a device, its memory and its queue of packets offer, whichever driver they use.
#pragma once

#include <zrt/backend/pm4/kfd/transport.hpp>
#include <zrt/backend/pm4/linux_os.hpp>
#include <zrt/backend/pm4/umq/transport.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A card as its driver describes it: what it is, what is free, how fast its clock ticks.
template <class D>
concept GpuDevice = requires(const D& device) {
  { device.target() } noexcept -> std::same_as<const TargetFacts&>;
  { device.compute_units() } noexcept -> std::same_as<std::uint32_t>;
  { device.shader_engines() } noexcept -> std::same_as<std::uint32_t>;
  { device.available_memory() } noexcept -> std::same_as<Result<std::uint64_t>>;
  { device.clock_rate() } noexcept -> std::same_as<Result<std::uint32_t>>;
  { device.driver() } noexcept -> std::same_as<Name>;
  { device.os() } noexcept;
};

/// A piece of memory that the card and, by `span`, the host can see. It frees itself.
template <class M>
concept GpuMemory = requires(const M& memory, const typename M::Device& device, Heap heap, GpuAccess access) {
  { M::allocate(device, heap, std::uint64_t{}, access) } noexcept -> std::same_as<Result<M>>;
  { memory.address() } noexcept -> std::same_as<std::uint64_t>;
  { memory.bytes() } noexcept -> std::same_as<std::uint64_t>;
  { memory.span() } noexcept -> std::same_as<Span<std::byte>>;
} && GpuDevice<typename M::Device>;

/// A queue of packets with its device and its memory; see kfd::Transport for what each member does.
template <class T>
concept PacketTransport =
    requires(T& transport, const T& seen, const typename T::Device& device, const TransportOptions& options,
             Span<const std::uint32_t> packets, std::uint64_t fence, std::uint64_t timeout) {
      { T::open(device, options) } noexcept -> std::same_as<Result<T>>;
      { transport.submit(packets) } noexcept -> std::same_as<Result<std::uint64_t>>;
      { transport.wait(fence, timeout) } noexcept -> std::same_as<Result<void>>;
      { seen.passed(fence) } noexcept -> std::same_as<bool>;
      { seen.last_passed() } noexcept -> std::same_as<std::uint64_t>;
      { seen.indirect_buffer(std::uint64_t{}, std::uint32_t{}) } noexcept -> std::same_as<IndirectBuffer>;
      { seen.device() } noexcept -> std::same_as<const typename T::Device&>;
      { seen.ring() } noexcept -> std::same_as<const Ring&>;
    } &&
    GpuMemory<typename T::Memory> && std::same_as<typename T::Device, typename T::Memory::Device>;

/// A queue of /dev/kfd.
template <OperatingSystem Os> using KfdTransport = kfd::Transport<Os>;
/// A user queue of the amdgpu driver.
template <OperatingSystem Os> using UmqTransport = umq::Transport<Os>;
static_assert(PacketTransport<KfdTransport<LinuxOs>>);
static_assert(PacketTransport<UmqTransport<LinuxOs>>);

}  // namespace zrt::inline ZRT_ABI::pm4
