// SPDX-License-Identifier: Apache-2.0
// zrt/backend/split/device.hpp: two devices as one: what belongs to a part of the plan goes to the device that runs it.
#pragma once

#include <zrt/backend/split/operands.hpp>
#include <zrt/backend/split/room.hpp>

#include <optional>
#include <utility>

namespace zrt::inline ZRT_ABI::split {

/// What a host chooses of a split.
template <class First, class Last> struct SplitOptions {
  /// Layers that the last backend runs, with what follows them; none: as many as its device has memory for, or all of a
  /// device that does not tell.
  std::optional<std::uint32_t> layers{};
  [[no_unique_address]] DeviceOptionsOf<First> first{};
  [[no_unique_address]] DeviceOptionsOf<Last> last{};
};

/// A device that tells how much memory it has left for weights, states and arenas.
template <class Device>
concept TellsRoom = requires(const Device& device) {
  { device.bytes_left() } -> std::same_as<Result<std::uint64_t>>;
};

/// Says that the file's pages may go when weights are bound, where a part's device copies what it reads of them.
template <class First, class Last> struct CopiedWeights {};
template <class First, class Last>
  requires(
      requires { First::Device::kCopiesWeights; } || requires { Last::Device::kCopiesWeights; })
struct CopiedWeights<First, Last> {
  static constexpr bool kCopiesWeights = true;
};

/// The devices of both backends. It belongs to one engine, as each of them does.
template <class First, class Last> class Device : public CopiedWeights<First, Last> {
 public:
  using Memory = split::MemoryPair<First, Last>;
  using Tensor = split::TensorPair<First, Last>;
  using Weight = split::WeightPair<First, Last>;
  using State = split::StatePair<First, Last>;
  using Scratch = split::ScratchPair<First, Last>;
  using Options = SplitOptions<First, Last>;

  Device() = default;
  explicit Device(const Allocator& allocator, const ThreadHook& threads = {}, const Options& options = {}) noexcept
      : allocator_(allocator),
        threads_(threads),
        layers_(options.layers),
        first_(make_device<First>(allocator, threads, options.first)),
        last_(make_device<Last>(allocator, threads, options.last)),
        split_(allocator),
        names_(allocator) {}

  /// Errors: those of either device.
  [[nodiscard]] Result<void> ready() noexcept {
    if constexpr (requires { first_.ready(); })
      if (auto r = first_.ready(); !r) return r;
    if constexpr (requires { last_.ready(); })
      if (auto r = last_.ready(); !r) return r;
    return {};
  }

  /// Decides which layers run where.
  ///
  /// Errors: those of plan::split and split_to_fit; those of the last device about its memory.
  [[nodiscard]] Result<void> take_plan(const plan::CompiledPlan& compiled, const exec::PlanSizes& sizes) noexcept {
    auto split = choose(compiled, sizes);
    if (!split) return pass(split);
    split_ = std::move(*split);
    names_.clear();
    for (std::size_t i = 0; i < compiled.plan.weights.size(); ++i)
      if (auto r = names_.push_back({compiled.plan.weights[i].name, split_.weights[i]}); !r) return r;
    return {};
  }
  /// How the plan is cut.
  [[nodiscard]] const plan::PlanSplit& split() const noexcept { return split_; }
  [[nodiscard]] typename First::Device& first() noexcept { return first_; }
  [[nodiscard]] typename Last::Device& last() noexcept { return last_; }
  [[nodiscard]] const typename First::Device& first() const noexcept { return first_; }
  [[nodiscard]] const typename Last::Device& last() const noexcept { return last_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const ThreadHook& threads() const noexcept { return threads_; }

  [[nodiscard]] Result<Memory> allocate(std::uint64_t bytes) noexcept { return allocate_for({true, true}, bytes); }
  [[nodiscard]] Result<Memory> allocate_state(const StateDescriptor& state, std::uint64_t bytes) noexcept {
    const bool last = is_of_last(state);
    return allocate_for({!last, last}, bytes);
  }
  [[nodiscard]] Tensor tensor(Memory& memory, std::uint64_t offset, const TensorType& type) noexcept {
    return {first_.tensor(memory.first, offset, type), last_.tensor(memory.last, offset, type)};
  }
  [[nodiscard]] Scratch scratch(Memory& memory, std::uint64_t offset, std::uint64_t bytes) noexcept {
    return {first_.scratch(memory.first, offset, bytes), last_.scratch(memory.last, offset, bytes)};
  }
  [[nodiscard]] State state(Memory& memory, const StateDescriptor& state, std::uint32_t units) noexcept {
    State out;
    out.is_last = is_of_last(state);
    if (out.is_last)
      out.last = last_.state(memory.last, state, units);
    else
      out.first = first_.state(memory.first, state, units);
    return out;
  }

  /// Errors: those of the devices that take it.
  [[nodiscard]] Result<void> expect(const WeightView& view) noexcept {
    const plan::PartsUsing parts = parts_of(view.name);
    if constexpr (ExpectsWeights<First>)
      if (parts.first)
        if (auto r = first_.expect(view); !r) return r;
    if constexpr (ExpectsWeights<Last>)
      if (parts.last)
        if (auto r = last_.expect(view); !r) return r;
    return {};
  }
  [[nodiscard]] Result<Weight> weight(const WeightView& view) noexcept {
    const plan::PartsUsing parts = parts_of(view.name);
    Weight out;
    if (parts.first) {
      auto taken = first_.weight(view);
      if (!taken) return pass(taken);
      out.first = *taken;
    }
    if (parts.last) {
      auto taken = last_.weight(view);
      if (!taken) return pass(taken);
      out.last = *taken;
    }
    return out;
  }

  /// Errors: those of the devices that copied it.
  [[nodiscard]] Result<void> rewrite(const WeightView& view) noexcept {
    const plan::PartsUsing parts = parts_of(view.name);
    if constexpr (RewritesWeights<First>)
      if (parts.first)
        if (auto r = first_.rewrite(view); !r) return r;
    if constexpr (RewritesWeights<Last>)
      if (parts.last)
        if (auto r = last_.rewrite(view); !r) return r;
    return {};
  }

  /// Inputs go to both parts.
  [[nodiscard]] Result<void> write(const Tensor& tensor, Span<const std::byte> from) noexcept {
    if (auto r = first_.write(tensor.first, from); !r) return r;
    return last_.write(tensor.last, from);
  }
  /// What the first part gives is handed over, so that the last has all outputs.
  [[nodiscard]] Result<void> read(const Tensor& tensor, std::uint64_t offset, Span<std::byte> to) noexcept {
    return last_.read(tensor.last, offset, to);
  }
  [[nodiscard]] Result<void> read_unit(State& state, std::uint32_t unit, Span<std::byte> to) noexcept {
    return state.is_last ? last_.read_unit(state.last, unit, to) : first_.read_unit(state.first, unit, to);
  }
  [[nodiscard]] Result<void> write_unit(State& state, std::uint32_t unit, Span<const std::byte> from) noexcept {
    return state.is_last ? last_.write_unit(state.last, unit, from) : first_.write_unit(state.first, unit, from);
  }

  /// The packed weights of a first device that packs.
  [[nodiscard]] auto packed() noexcept
    requires requires(typename First::Device& device) { device.packed(); }
  {
    return first_.packed();
  }

  template <class Visit> void for_each_memory(const Visit& visit) const {
    if constexpr (requires { first_.for_each_memory(visit); }) first_.for_each_memory(visit);
    if constexpr (requires { last_.for_each_memory(visit); }) last_.for_each_memory(visit);
  }

 private:
  struct NamedWeight {
    Name name{};
    plan::PartsUsing parts{};
  };

  [[nodiscard]] Result<plan::PlanSplit> choose(const plan::CompiledPlan& compiled,
                                               const exec::PlanSizes& sizes) noexcept {
    if (layers_) return plan::split(compiled.plan, *layers_, sizes.keeps_values);
    std::uint64_t room = ~std::uint64_t{0};
    if constexpr (TellsRoom<typename Last::Device>) {
      const auto left = last_.bytes_left();
      if (!left) return pass(left);
      room = *left;
    }
    return split_to_fit(compiled, sizes, room);
  }
  [[nodiscard]] Result<Memory> allocate_for(plan::PartsUsing parts, std::uint64_t bytes) noexcept {
    Memory memory;
    if (parts.first) {
      auto first = first_.allocate(bytes);
      if (!first) return pass(first);
      memory.first = std::move(*first);
    }
    if (parts.last) {
      auto last = last_.allocate(bytes);
      if (!last) return pass(last);
      memory.last = std::move(*last);
    }
    return memory;
  }
  [[nodiscard]] bool is_of_last(const StateDescriptor& state) const noexcept {
    return state.id >= split_.states.size() || !split_.states[state.id].first;
  }
  /// Weights of one name are one tensor; those without a name are few, and small.
  [[nodiscard]] plan::PartsUsing parts_of(std::string_view name) const noexcept {
    plan::PartsUsing parts{false, names_.empty()};
    for (const NamedWeight& weight : names_)
      if (weight.name.view() == name) parts = {parts.first || weight.parts.first, parts.last || weight.parts.last};
    return parts;
  }

  Allocator allocator_ = system_allocator();
  ThreadHook threads_{};
  std::optional<std::uint32_t> layers_{};
  typename First::Device first_{};
  typename Last::Device last_{};
  plan::PlanSplit split_{};
  Vector<NamedWeight> names_{system_allocator()};
};

}  // namespace zrt::inline ZRT_ABI::split
