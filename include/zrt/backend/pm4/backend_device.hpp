// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/backend_device.hpp: an opened card as a backend's device: memory, weights, kernels and a queue.
#pragma once

#include <zrt/backend/pm4/any_target.hpp>
#include <zrt/backend/pm4/kernel_table.hpp>
#include <zrt/backend/pm4/operands.hpp>
#include <zrt/backend/pm4/selftest/self_test.hpp>
#include <zrt/backend/pm4/tier.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/plan/layer_of.hpp>

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

  Os* os = nullptr;                         ///< outlives the engine
  KernelFiles kernels{};                    ///< read while the engine is opened
  [[no_unique_address]] TierChoice tier{};  ///< forced; without it the first that works
  TransportOptions queue{};
  std::uint64_t step_timeout = std::uint64_t{600} * 1'000'000'000;  ///< nanoseconds that a step may take
  /// For the placeholders in kernels, as a model's shapes; read while the engine is opened.
  Span<const KernelConstant> constants{};
  SelfTest self_test = SelfTest::on_card;  ///< kernels are tried, each on a small case, before the engine opens
  SelfTestCache tested{};
  /// A step of more tokens is handed over in pieces, between which a stop ends it.
  std::uint32_t whole_step_tokens = 64;
};

/// A card with its queue, opened by ready(). Everything lies where host and GPU have it at one address: arenas, state
/// and weights in video memory behind the PCIe BAR.
template <PacketTransport Transport, TargetChoice Target> class BackendDevice {
 public:
  using Memory = typename Transport::Memory;
  using Pool = MemoryPool<Memory>;

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

  // --- what zrt asks of a device; everything below after ready() -------------------------------------

  [[nodiscard]] Result<Memory> allocate(std::uint64_t bytes) noexcept { return allocate(bytes, GpuAccess::read_write); }
  /// Memory that the host writes and the GPU reads.
  [[nodiscard]] Result<Memory> allocate_readable(std::uint64_t bytes) noexcept {
    return allocate(bytes, GpuAccess::read);
  }
  /// Memory of the host, for what it looks at after each step.
  [[nodiscard]] Result<Memory> allocate_for_host(std::uint64_t bytes) noexcept {
    return Memory::allocate(opened_->device, Heap::host_visible, bytes, GpuAccess::read_write);
  }

  [[nodiscard]] Tensor tensor(Memory& memory, std::uint64_t offset, const TensorType& type) noexcept {
    return {memory.address() + offset, type};
  }
  [[nodiscard]] Scratch scratch(Memory& memory, std::uint64_t offset, std::uint64_t bytes) noexcept {
    return {memory.address() + offset, bytes};
  }
  [[nodiscard]] State state(Memory& memory, const StateDescriptor& d, std::uint32_t units) noexcept {
    return {memory.address(), d.size_bytes, units, d.info};
  }

  /// Counts a weight that will come, so that all of its class lie in one allocation: the same weight of every layer, in
  /// their order, so that successive layers read at a constant stride; and per type what belongs to no layer.
  ///
  /// Errors: Errc::unsupported_weight_type, shape_mismatch for data shorter than the shape, size_overflow, out_of_memory.
  [[nodiscard]] Result<void> expect(const WeightView& view) noexcept {
    const auto matrix = matrix_of(view);
    if (!matrix) return pass(matrix);
    const auto found = weight_class(view);
    if (!found) return pass(found);
    WeightClass& c = **found;
    const auto bytes = (CheckedSize(c.expected) + matrix->places.bytes).get("all weights of a class");
    if (!bytes) return pass(bytes);
    c.expected = *bytes;
    return {};
  }

  /// Writes a weight into video memory in the parts that kernels read; expect() has told of it.
  ///
  /// Errors: those of expect() and of Pool.
  [[nodiscard]] Result<Weight> weight(const WeightView& view) noexcept {
    const auto matrix = matrix_of(view);
    if (!matrix) return pass(matrix);
    const auto found = weight_class(view);
    if (!found) return pass(found);
    WeightClass& c = **found;
    if (c.expected != 0) {
      auto pool = Pool::make(opened_->device, Heap::bar, c.expected, GpuAccess::read);
      if (!pool) return pass(pool);
      if (auto r = opened_->pools.push_back(std::move(*pool)); !r) return pass(r);
      c.pool = opened_->pools.size();
      c.expected = 0;
    }
    if (c.pool == 0) return fail(Errc::invalid_argument, "weight ", view.name, " was not expected");
    auto part = opened_->pools[c.pool - 1].take(matrix->places.bytes, kPartAlignment);
    if (!part) return pass(part);
    Weight weight{{}, view.dtype, matrix->rows, matrix->cols, view.data.data(), view.shape.rank == 1};
    std::array<std::byte*, kMaxParts> to{};
    for (std::size_t i = 0; i < matrix->layout->parts.size(); ++i) {
      weight.parts[i] = part->address + matrix->places.offset[i];
      to[i] = host_pointer(weight.parts[i]);
    }
    matrix->layout->write(view.data.data(), matrix->row_bytes, matrix->rows, matrix->blocks, to.data());
    return weight;
  }

  [[nodiscard]] Result<void> write(const Tensor& tensor, Span<const std::byte> from) noexcept {
    if (!from.empty()) std::memcpy(host_pointer(tensor.address), from.data(), from.size());
    return {};
  }
  [[nodiscard]] Result<void> read(const Tensor& tensor, std::uint64_t offset, Span<std::byte> to) noexcept {
    if (!to.empty()) std::memcpy(to.data(), host_pointer(tensor.address + offset), to.size());
    return {};
  }
  [[nodiscard]] Result<void> read_unit(State& state, std::uint32_t unit, Span<std::byte> to) noexcept {
    if (!to.empty()) std::memcpy(to.data(), host_pointer(state.address + unit * state.unit_bytes), to.size());
    return {};
  }
  [[nodiscard]] Result<void> write_unit(State& state, std::uint32_t unit, Span<const std::byte> from) noexcept {
    if (!from.empty()) std::memcpy(host_pointer(state.address + unit * state.unit_bytes), from.data(), from.size());
    return {};
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const DeviceOptions<Transport>& options() const noexcept { return options_; }
  [[nodiscard]] const TargetFacts& target() const noexcept { return opened_->device.target(); }
  [[nodiscard]] Transport& transport() noexcept { return *opened_->transport; }
  [[nodiscard]] const KernelTable& kernels() const noexcept { return opened_->kernels; }

  /// Calls `visit(what, memory)` for each piece of memory that the device itself holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    for (const Pool& pool : opened_->pools) visit(std::string_view("weights"), pool.memory());
    visit(std::string_view("kernels"), opened_->code);
    opened_->transport->for_each_memory([&visit](const auto& memory) { visit(std::string_view("queue"), memory); });
  }

 private:
  static constexpr std::uint64_t kSelfTestTimeout = std::uint64_t{30} * 1'000'000'000;

  struct WeightClass {
    std::uint64_t key = 0;
    std::uint64_t expected = 0;  ///< bytes that no pool has room for yet
    std::size_t pool = 0;        ///< its number, from 1
  };
  struct Opened {
    Opened(typename Transport::Device opened, const Allocator& a) noexcept
        : device(std::move(opened)), kernels(a), pools(a), classes(a) {}
    typename Transport::Device device;
    std::optional<Transport> transport;
    Memory code;
    KernelTable kernels;
    Vector<Pool> pools;
    Vector<WeightClass> classes;
  };
  struct Matrix {
    const UploadFunctions* layout = nullptr;
    UploadPlaces places{};
    std::uint32_t rows = 0;
    std::uint32_t cols = 0;
    std::uint32_t blocks = 0;
    std::uint64_t row_bytes = 0;
  };

  [[nodiscard]] Result<typename Transport::Device> open_device() const noexcept {
    if constexpr (ChoosesTier<Transport>)
      return Transport::Device::open(*options_.os, options_.tier);
    else
      return Transport::Device::open(*options_.os);
  }

  [[nodiscard]] Result<Memory> allocate(std::uint64_t bytes, GpuAccess access) noexcept {
    return Memory::allocate(opened_->device, Heap::bar, bytes == 0 ? 1 : bytes, access);
  }

  [[nodiscard]] bool wants_self_test() const noexcept {
    return options_.self_test == SelfTest::always ||
           (options_.self_test == SelfTest::on_card && !is_modelled(*options_.os));
  }

  /// The type, with the name behind the layer's number; two classes with one key would share an allocation, no more.
  [[nodiscard]] static std::uint64_t class_key(const WeightView& view) noexcept {
    std::string_view name{};
    if (plan::layer_of(view.name) != plan::kNoLayer)
      name = slice(view.name, view.name.find('.', view.name.find('.') + 1));
    return hash_bytes(name) * 256 + static_cast<std::uint64_t>(view.dtype);
  }
  /// Errors: out_of_memory.
  [[nodiscard]] Result<WeightClass*> weight_class(const WeightView& view) noexcept {
    const std::uint64_t key = class_key(view);
    for (WeightClass& known : opened_->classes)
      if (known.key == key) return &known;
    if (auto r = opened_->classes.push_back({.key = key}); !r) return pass(r);
    return &opened_->classes.back();
  }

  [[nodiscard]] static Result<Matrix> matrix_of(const WeightView& view) noexcept {
    Matrix m;
    m.layout = upload_of(view.dtype, view.shape.rank == 1);
    if (m.layout == nullptr)
      return fail(Errc::unsupported_weight_type, "weight ", view.name, " is ", name(view.dtype),
                  ", which no kernel of pm4 reads");
    const auto elements = view.shape.elements({}).get(view.name);
    if (!elements) return pass(elements);
    m.cols = view.shape.last().extent;
    const std::uint32_t block = info(view.dtype).block_elems;
    if (m.cols == 0 || m.cols % block != 0 || *elements / m.cols > 0xffffffffu)
      return fail(Errc::shape_mismatch, "weight ", view.name, " has rows of ", m.cols, " elements, blocks of ", block,
                  " expected");
    m.rows = static_cast<std::uint32_t>(*elements / m.cols);
    m.blocks = m.cols / block;
    m.row_bytes = bytes_of(view.dtype, m.cols);
    if (view.data.size() < m.rows * m.row_bytes)
      return fail(Errc::shape_mismatch, "weight ", view.name, " has ", view.data.size(), " bytes, its shape needs ",
                  m.rows * m.row_bytes);
    const auto places = m.layout->places(m.rows, m.cols);
    if (!places) return pass(places);
    m.places = *places;
    return m;
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
