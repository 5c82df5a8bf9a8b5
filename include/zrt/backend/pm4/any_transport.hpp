// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/any_transport.hpp: a device, its memory and its queue by whichever way a machine has, chosen once.
#pragma once

#include <zrt/backend/pm4/tier.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::pm4 {

/// A GPU by the first way that works; move-only. As kfd::Device and umq::Device.
template <OperatingSystem Os> class AnyDevice {
 public:
  /// Out of line: where it is inlined, GCC 12 warns that the device that is absent may be read.
  ZRT_NOINLINE AnyDevice(AnyDevice&& other) noexcept = default;
  AnyDevice& operator=(AnyDevice&& other) noexcept = default;
  ~AnyDevice() = default;

  /// Tries the ways of kTiers, or the forced one alone; see try_tier().
  ///
  /// Errors: one that says for each way which step failed and why; its code is that of the last way.
  [[nodiscard]] static Result<AnyDevice> open(Os& os, std::optional<Tier> forced = {}) noexcept {
    TierFailures failures;
    for (const Tier tier : kTiers) {
      if (forced && *forced != tier) continue;
      AnyDevice device(tier);
      auto tried = device.try_open(os);
      if (tried) return device;
      failures.add(tier, tried.error());
    }
    return std::unexpected<Error>(failures.error());
  }

  [[nodiscard]] Tier tier() const noexcept { return tier_; }
  [[nodiscard]] Os& os() const noexcept { return is_kfd() ? kfd_->os() : umq_->os(); }
  [[nodiscard]] const TargetFacts& target() const noexcept { return is_kfd() ? kfd_->target() : umq_->target(); }
  [[nodiscard]] std::uint32_t compute_units() const noexcept {
    return is_kfd() ? kfd_->compute_units() : umq_->compute_units();
  }
  [[nodiscard]] std::uint32_t shader_engines() const noexcept {
    return is_kfd() ? kfd_->shader_engines() : umq_->shader_engines();
  }
  [[nodiscard]] Result<std::uint64_t> available_memory() const noexcept {
    return is_kfd() ? kfd_->available_memory() : umq_->available_memory();
  }

  [[nodiscard]] Name driver() const noexcept { return is_kfd() ? kfd_->driver() : umq_->driver(); }
  [[nodiscard]] Result<std::uint32_t> clock_rate() const noexcept {
    return is_kfd() ? kfd_->clock_rate() : umq_->clock_rate();
  }

  /// The device by its way; the other is null.
  [[nodiscard]] const kfd::Device<Os>* kfd_device() const noexcept { return kfd_ ? &*kfd_ : nullptr; }
  [[nodiscard]] const umq::Device<Os>* umq_device() const noexcept { return umq_ ? &*umq_ : nullptr; }

 private:
  explicit AnyDevice(Tier tier) noexcept : tier_(tier) {}
  [[nodiscard]] bool is_kfd() const noexcept { return tier_ == Tier::kfd; }
  template <class Transport>
  [[nodiscard]] Result<void> take(Os& os, std::optional<typename Transport::Device>& to) noexcept {
    auto device = try_tier<Transport>(os);
    if (!device) return pass(device);
    to.emplace(std::move(*device));
    return {};
  }
  [[nodiscard]] Result<void> try_open(Os& os) noexcept {
    return is_kfd() ? take<KfdTransport<Os>>(os, kfd_) : take<UmqTransport<Os>>(os, umq_);
  }

  Tier tier_;
  std::optional<kfd::Device<Os>> kfd_{};
  std::optional<umq::Device<Os>> umq_{};
};

/// Memory of an AnyDevice; move-only. As kfd::Memory.
template <OperatingSystem Os> class AnyMemory {
 public:
  using Device = AnyDevice<Os>;

  /// As the memory of the device's way.
  [[nodiscard]] static Result<AnyMemory> allocate(const Device& device, Heap heap, std::uint64_t bytes,
                                                  GpuAccess access) noexcept {
    AnyMemory memory;
    if (device.kfd_device() != nullptr) {
      auto made = kfd::Memory<Os>::allocate(*device.kfd_device(), heap, bytes, access);
      if (!made) return pass(made);
      memory.kfd_ = std::move(*made);
    } else {
      auto made = umq::Memory<Os>::allocate(*device.umq_device(), heap, bytes, access);
      if (!made) return pass(made);
      memory.umq_ = std::move(*made);
    }
    return memory;
  }

  [[nodiscard]] std::uint64_t address() const noexcept { return kfd_.bytes() != 0 ? kfd_.address() : umq_.address(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return kfd_.bytes() != 0 ? kfd_.bytes() : umq_.bytes(); }
  [[nodiscard]] Heap heap() const noexcept { return kfd_.bytes() != 0 ? kfd_.heap() : umq_.heap(); }
  [[nodiscard]] Span<std::byte> span() const noexcept { return kfd_.bytes() != 0 ? kfd_.span() : umq_.span(); }

 private:
  kfd::Memory<Os> kfd_{};
  umq::Memory<Os> umq_{};
};

/// A queue of an AnyDevice; move-only. As kfd::Transport: which way it is costs a submission one branch.
template <OperatingSystem Os> class AnyTransport {
 public:
  using Device = AnyDevice<Os>;
  using Memory = AnyMemory<Os>;

  /// As the queue of the device's way.
  [[nodiscard]] static Result<AnyTransport> open(const Device& device, const TransportOptions& options = {}) noexcept {
    AnyTransport transport(device);
    if (device.kfd_device() != nullptr) {
      auto made = KfdTransport<Os>::open(*device.kfd_device(), options);
      if (!made) return pass(made);
      transport.kfd_.emplace(std::move(*made));
    } else {
      auto made = UmqTransport<Os>::open(*device.umq_device(), options);
      if (!made) return pass(made);
      transport.umq_.emplace(std::move(*made));
    }
    return transport;
  }

  [[nodiscard]] Result<std::uint64_t> submit(Span<const std::uint32_t> packets) noexcept {
    return kfd_ ? kfd_->submit(packets) : umq_->submit(packets);
  }
  [[nodiscard]] Result<void> wait(std::uint64_t fence, std::uint64_t timeout) noexcept {
    return kfd_ ? kfd_->wait(fence, timeout) : umq_->wait(fence, timeout);
  }
  [[nodiscard]] bool passed(std::uint64_t fence) const noexcept { return last_passed() >= fence; }
  [[nodiscard]] std::uint64_t last_passed() const noexcept { return kfd_ ? kfd_->last_passed() : umq_->last_passed(); }
  template <class Visit> void for_each_pending(Visit&& visit) const noexcept {
    if (kfd_)
      kfd_->for_each_pending(visit);
    else
      umq_->for_each_pending(visit);
  }
  [[nodiscard]] IndirectBuffer indirect_buffer(std::uint64_t address, std::uint32_t dwords) const noexcept {
    return kfd_ ? kfd_->indirect_buffer(address, dwords) : umq_->indirect_buffer(address, dwords);
  }
  [[nodiscard]] const Device& device() const noexcept { return *device_; }
  [[nodiscard]] const Ring& ring() const noexcept { return kfd_ ? kfd_->ring() : umq_->ring(); }
  template <class Visit> void for_each_memory(const Visit& visit) const {
    if (kfd_)
      kfd_->for_each_memory(visit);
    else
      umq_->for_each_memory(visit);
  }

 private:
  explicit AnyTransport(const Device& device) noexcept : device_(&device) {}

  const Device* device_;
  std::optional<KfdTransport<Os>> kfd_{};
  std::optional<UmqTransport<Os>> umq_{};
};
static_assert(PacketTransport<AnyTransport<LinuxOs>>);

}  // namespace zrt::inline ZRT_ABI::pm4
