// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/selftest/self_test.hpp: the kernels of an engine, each once on its card before the first step.
#pragma once

#include <zrt/backend/pm4/any_target.hpp>
#include <zrt/backend/pm4/kfd/topology.hpp>
#include <zrt/backend/pm4/selftest/run_case.hpp>
#include <zrt/backend/pm4/transport.hpp>
#include <zrt/core/hash.hpp>
#include <zrt/device/selftest/kernel_cases.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// When an engine tries its kernels.
enum class SelfTest : std::uint8_t {
  on_card,  ///< on the queue of a card, not on a modelled one
  always,
  never,
};

/// Remembers for a host which kernels were right, beyond the life of an engine. A key stands for one kernel with its
/// constants, one driver and one card. Without functions every engine tries all of its kernels.
struct SelfTestCache {
  void* context = nullptr;
  bool (*has_passed)(void* context, std::uint64_t key) noexcept = nullptr;
  void (*passed)(void* context, std::uint64_t key) noexcept = nullptr;
};

/// Whether an operating system is the device model's. Linux does not say, and is none.
template <OperatingSystem Os> [[nodiscard]] bool is_modelled([[maybe_unused]] const Os& os) noexcept {
  if constexpr (requires { os.is_modelled(); })
    return os.is_modelled();
  else
    return false;
}

/// What the results of a kernel may depend on beside the kernel: the card, the version of its driver's calls, and the
/// release of the operating system that the driver is part of, where that is told.
template <GpuDevice Device> [[nodiscard]] std::uint64_t identity_of(const Device& device) noexcept {
  std::array<char, 256> room{};
  constexpr std::string_view path = "/proc/sys/kernel/osrelease";
  using Os = std::remove_reference_t<decltype(device.os())>;
  const auto file = File<Os>::open_if_there(device.os(), path, false);
  const bool is_open = file && file->is_open();
  const auto release =
      is_open ? kfd::read_text(device.os(), file, path, room) : Result<std::string_view>(std::string_view());
  const Name card = Name::of(device.target().name, " ", device.compute_units(), " ", device.shader_engines(), " ",
                             device.driver().view());
  return hash_bytes(card.view()) * 31 + hash_bytes(release ? *release : std::string_view());
}

/// Runs a case of each kernel of `table` that zrt has a case for and that `cache` does not know yet, on the queue of
/// `transport`.
///
/// Errors: those of run_case(), with the kernel's name in front; those of the queue.
template <class Target, PacketTransport Transport>
[[nodiscard]] ZRT_COLD Result<void> test_kernels(Transport& transport, const KernelTable& table,
                                                 const SelfTestCache& cache, std::uint64_t timeout,
                                                 const Allocator& allocator) noexcept {
  struct Test {
    Transport* transport;
    const KernelTable* table;
    const SelfTestCache* cache;
    std::uint64_t timeout;
    std::uint64_t identity;

    Result<void> operator()(const device::KernelCase& c) const noexcept {
      const Kernel* const kernel = table->find(c.kernel_name());
      if (kernel == nullptr) return {};
      const std::uint64_t key = (kernel->hash ^ identity) * 0x9e3779b97f4a7c15u;
      if (cache->has_passed != nullptr && cache->has_passed(cache->context, key)) return {};
      const auto ran =
          run_case<Target, typename Transport::Memory>(transport->device(), *kernel, c, GridSource::memory,
                                                       [this](Span<const std::uint32_t> packets) -> Result<void> {
                                                         const auto fence = transport->submit(packets);
                                                         if (!fence) return pass(fence);
                                                         return transport->wait(*fence, timeout);
                                                       });
      if (!ran) return fail(ran.error().code(), "self-test of kernel ", c.kernel_name(), ": ", ran.error().text());
      if (cache->passed != nullptr) cache->passed(cache->context, key);
      return {};
    }
  };
  Test test{&transport, &table, &cache, timeout,
            cache.has_passed != nullptr || cache.passed != nullptr ? identity_of(transport.device()) : 0};
  return device::for_each_kernel_case(allocator, device::kUploads,
                                      {&test, [](void* context, const device::KernelCase& c) noexcept {
                                         return (*static_cast<const Test*>(context))(c);
                                       }});
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
