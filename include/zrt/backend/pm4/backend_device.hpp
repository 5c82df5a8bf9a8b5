// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/backend_device.hpp: an opened card as a backend's device: memory, weights, kernels and a queue.
#pragma once

#include <zrt/backend/pm4/any_target.hpp>
#include <zrt/backend/pm4/kernel_table.hpp>
#include <zrt/backend/pm4/selftest/self_test.hpp>
#include <zrt/backend/pm4/tier.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/device/kernel_signature.hpp>
#include <zrt/device/served_device.hpp>

#include <cstring>
#include <optional>

namespace zrt::inline ZRT_ABI::pm4 {

/// A transport whose device finds its way to the queues when it is opened, or takes a forced one.
template <class Transport>
concept ChoosesTier = requires(typename Transport::Device& device, std::optional<Tier> forced) {
  Transport::Device::open(device.os(), forced);
};
/// In place of a tier, where the transport is one.
struct NamedTier {};

/// What a host hands to an engine on a card.
template <PacketTransport Transport> struct DeviceOptions {
  using Os = std::remove_reference_t<decltype(std::declval<const typename Transport::Device&>().os())>;
  using TierChoice = std::conditional_t<ChoosesTier<Transport>, std::optional<Tier>, NamedTier>;

  Os* os = nullptr;       ///< outlives the engine
  KernelFiles kernels{};  ///< outlive the engine, which reads them when it opens and when it comes back
  [[no_unique_address]] TierChoice tier{};  ///< forced; without it the first that works
  TransportOptions queue{};
  std::uint64_t step_timeout = std::uint64_t{600} * 1'000'000'000;  ///< nanoseconds that a step may take
  /// For the placeholders in kernels, as a model's shapes; outlive the engine.
  Span<const KernelConstant> constants{};
  SelfTest self_test = SelfTest::on_card;  ///< kernels are tried, each on a small case, before the engine opens
  SelfTestCache tested{};
  /// A step of more tokens is handed over in pieces, between which a stop ends it.
  std::uint32_t whole_step_tokens = 64;
};

/// What a step becomes: see step_commands.hpp.
template <PacketTransport Transport> class StepCommands;

/// A card with its queue, opened by ready(). Everything lies where host and GPU have it at one address: arenas, state
/// and weights in video memory behind the PCIe BAR.
template <PacketTransport Transport, TargetChoice Target>
class BackendDevice : public device::ServedDevice<BackendDevice<Transport, Target>, typename Transport::Memory> {
 public:
  static constexpr std::string_view kName = "pm4";
  using Memory = typename Transport::Memory;
  using Commands = StepCommands<Transport>;
  using WeightStore = device::WeightStore<Memory>;

  BackendDevice() noexcept : BackendDevice(system_allocator()) {}
  explicit BackendDevice(const Allocator& allocator, const ThreadHook& = {},
                         const DeviceOptions<Transport>& options = {}) noexcept
      : allocator_(allocator), options_(options) {}

  /// Opens card and queue, loads the kernels, and tries them where DeviceOptions::self_test says so.
  ///
  /// Errors: Errc::invalid_argument without an operating system; unsupported_device for a card that is not Target; those
  /// of Device::open, Transport::open, KernelTable, Memory and test_kernels().
  [[nodiscard]] Result<void> ready() noexcept {
    if (opened_) return {};
    if (options_.os == nullptr)
      return fail(Errc::invalid_argument,
                  "a device of pm4 needs an operating system, or the device model in its place");
    auto device = open_device();
    if (!device) return pass(device);
    if constexpr (!std::is_same_v<Target, AnyTarget>)
      if (device->target().name != Target::name)
        return fail(Errc::unsupported_device, "the card is ", device->target().name, ", ", Target::name, " expected");
    auto opened = Owned<Opened>::make(allocator_, std::move(*device), allocator_);
    if (!opened) return pass(opened);
    Opened& o = **opened;
    auto transport = Transport::open(o.device, options_.queue);
    if (!transport) return pass(transport);
    o.transport.emplace(std::move(*transport));
    if (auto r = load_kernels(o); !r) return r;
    if (wants_self_test())
      if (auto r = with_target<Target>(o.device.target(),
                                       [&]<class T>(T) {
                                         return test_kernels<T>(*o.transport, o.kernels, options_.tested,
                                                                kSelfTestTimeout, allocator_);
                                       });
          !r)
        return r;
    opened_ = std::move(*opened);
    return {};
  }

  // --- what the room asks of a device; everything below after ready() ---------------------------------

  /// Memory behind the bus, and in the host's what it looks at after each step.
  [[nodiscard]] Result<Memory> allocate_for(device::MemoryRole role, std::uint64_t bytes) noexcept {
    const bool is_written = role == device::MemoryRole::arena || role == device::MemoryRole::answers;
    return Memory::allocate(opened_->device, role == device::MemoryRole::answers ? Heap::host_visible : Heap::bar,
                            bytes, is_written ? GpuAccess::read_write : GpuAccess::read);
  }
  /// Host and GPU have everything at one address.
  [[nodiscard]] std::byte* host_view(std::uint64_t address) noexcept {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  }
  [[nodiscard]] Result<void> copy_in(std::uint64_t address, Span<const std::byte> from) noexcept {
    if (!from.empty()) std::memcpy(host_view(address), from.data(), from.size());
    return {};
  }
  [[nodiscard]] Result<void> copy_out(std::uint64_t address, Span<std::byte> to) noexcept {
    if (!to.empty()) std::memcpy(to.data(), host_view(address), to.size());
    return {};
  }
  [[nodiscard]] WeightStore& weight_store() noexcept { return opened_->weights; }

  [[nodiscard]] static constexpr Span<const device::UploadFunctions> weight_types() noexcept {
    return device::kUploads;
  }
  [[nodiscard]] Span<const device::KernelSignature> signatures() const noexcept {
    return opened_->kernels.signatures();
  }
  [[nodiscard]] static CheckedSize command_bytes(const device::StepRecord& record) noexcept {
    return Commands::bytes(record);
  }
  /// Errors: those of StepCommands::write.
  [[nodiscard]] Result<void> make_commands(const device::PlacedStep<Memory>& step, Commands& to) noexcept {
    return with_target<Target>(
        target(), [&]<class T>(T) { return to.template write<T>(*opened_->transport, kernels().kernels(), step); });
  }
  /// Errors: those of Transport::submit.
  [[nodiscard]] Result<std::uint64_t> submit(const Commands& commands, std::size_t piece) noexcept {
    return transport().submit(commands.start(piece));
  }
  /// Errors: those of Transport::wait.
  [[nodiscard]] Result<void> wait(std::uint64_t fence) noexcept {
    return transport().wait(fence, options_.step_timeout);
  }
  [[nodiscard]] std::uint32_t whole_step_tokens() const noexcept { return options_.whole_step_tokens; }
  [[nodiscard]] Result<std::uint32_t> clock_rate() noexcept { return transport().device().clock_rate(); }

  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const DeviceOptions<Transport>& options() const noexcept { return options_; }
  [[nodiscard]] const TargetFacts& target() const noexcept { return opened_->device.target(); }
  [[nodiscard]] Transport& transport() noexcept { return *opened_->transport; }
  [[nodiscard]] const KernelTable& kernels() const noexcept { return opened_->kernels; }

  /// Calls `visit(what, memory)` for each piece of memory that the device itself holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    for (const auto& pool : opened_->weights.pools()) visit(std::string_view("weights"), pool.memory());
    visit(std::string_view("kernels"), opened_->code);
    opened_->transport->for_each_memory([&visit](const auto& memory) { visit(std::string_view("queue"), memory); });
  }

 private:
  static constexpr std::uint64_t kSelfTestTimeout = std::uint64_t{30} * 1'000'000'000;

  struct Opened {
    Opened(typename Transport::Device opened, const Allocator& a) noexcept
        : device(std::move(opened)), kernels(a), weights(a) {}
    typename Transport::Device device;
    std::optional<Transport> transport;
    Memory code;
    KernelTable kernels;
    WeightStore weights;
  };
  [[nodiscard]] Result<typename Transport::Device> open_device() const noexcept {
    if constexpr (ChoosesTier<Transport>)
      return Transport::Device::open(*options_.os, options_.tier);
    else
      return Transport::Device::open(*options_.os);
  }

  [[nodiscard]] bool wants_self_test() const noexcept {
    return options_.self_test == SelfTest::always ||
           (options_.self_test == SelfTest::on_card && !is_modelled(*options_.os));
  }

  [[nodiscard]] Result<void> load_kernels(Opened& o) const noexcept {
    const TargetFacts& target = o.device.target();
    const auto bytes = KernelTable::code_bytes(options_.kernels, target);
    if (!bytes) return pass(bytes);
    auto code = Memory::allocate(o.device, Heap::bar, *bytes, GpuAccess::execute);
    if (!code) return pass(code);
    o.code = std::move(*code);
    return with_target<Target>(target, [&]<class T>(T) {
      return o.kernels.template load<T>(options_.kernels, target, o.code.address(), o.code.span(), options_.constants);
    });
  }

  Allocator allocator_;
  DeviceOptions<Transport> options_;
  Owned<Opened> opened_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4
