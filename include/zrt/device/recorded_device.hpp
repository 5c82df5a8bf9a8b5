// SPDX-License-Identifier: Apache-2.0
// zrt/device/recorded_device.hpp: what a device gives, so that the room records, patches and runs steps on it.
#pragma once

#include <zrt/core/allocator.hpp>
#include <zrt/device/declaration.hpp>
#include <zrt/device/kernel_signature.hpp>
#include <zrt/device/pace.hpp>
#include <zrt/device/step_layout.hpp>
#include <zrt/device/upload/types.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::device {

/// A recorded step whose memory is there: what a device makes its commands of. Addresses in argument blocks are filled
/// in; what follows the step is patched by the room before each submit.
template <class Memory> struct PlacedStep {
  const StepRecord& record;
  const StepLayout& layout;    ///< offsets in `memory`
  const StepAnswers& answers;  ///< offsets in `words`
  const Memory& memory;        ///< of MemoryRole::program
  const Memory& words;         ///< of MemoryRole::answers
};

/// A device whose memory has an address for its kernels and, where the host sees it, a span. It frees itself. Memory in
/// the roles `program` and `answers` has a span; host_view() finds the host's place of an address, or null.
template <class D>
concept HoldsMemory = std::default_initializable<typename D::Memory> && std::movable<typename D::Memory> &&
                      requires(D& device, const typename D::Memory& memory, MemoryRole role) {
                        {
                          device.allocate_for(role, std::uint64_t{})
                        } noexcept -> std::same_as<Result<typename D::Memory>>;
                        { memory.address() } noexcept -> std::same_as<std::uint64_t>;
                        { memory.bytes() } noexcept -> std::same_as<std::uint64_t>;
                        { memory.span() } noexcept -> std::same_as<Span<std::byte>>;
                        { device.host_view(std::uint64_t{}) } noexcept -> std::same_as<std::byte*>;
                      };
/// A device that moves bytes between the host and an address, when no step is under way.
template <class D>
concept MovesBytes = requires(D& device, Span<const std::byte> from, Span<std::byte> to) {
  { device.copy_in(std::uint64_t{}, from) } noexcept -> std::same_as<Result<void>>;
  { device.copy_out(std::uint64_t{}, to) } noexcept -> std::same_as<Result<void>>;
};
/// A device that lists the kernels that it has loaded and the weight types that kernels read, and has a name for errors.
template <class D>
concept ListsKernels = requires(const D& device) {
  { D::kName } -> std::convertible_to<std::string_view>;
  { D::weight_types() } noexcept -> std::same_as<Span<const UploadFunctions>>;
  { device.signatures() } noexcept -> std::same_as<Span<const KernelSignature>>;
};
/// A device that makes its commands of a placed step: `command_bytes` of them at the begin of the step's memory, and
/// whatever else in Commands. They may be cut in pieces, between which a stop ends a step.
template <class D>
concept MakesCommands = std::constructible_from<typename D::Commands, const Allocator&> &&
                        requires(D& device, const StepRecord& record, const PlacedStep<typename D::Memory>& step,
                                 typename D::Commands& commands, const typename D::Commands& made) {
                          { D::command_bytes(record) } noexcept -> std::same_as<CheckedSize>;
                          { device.make_commands(step, commands) } noexcept -> std::same_as<Result<void>>;
                          { made.pieces() } noexcept -> std::same_as<std::size_t>;
                        };
/// A device that moves bytes with a step's own commands: it has what was copied in for the step, and hears before a step
/// what the host will look at when it has ended. With an index, bytes begin so many words further as the word at that
/// address then says. amend() puts others in place of bytes that were read: in the host's copy alone, not on the device.
template <class D>
concept CarriesBytes =
    requires(D& device, std::uint64_t address, std::uint64_t bytes, std::uint64_t index, Span<const std::byte> others) {
      { device.expect_no_read() } noexcept;
      { device.expect_read(address, bytes, index) } noexcept;
      { device.written(address, bytes) } noexcept -> std::same_as<const std::byte*>;
      { device.amend(address, others) } noexcept -> std::same_as<bool>;
    };
/// A device whose driver ends what takes too long: it takes the pieces from `first` to before `end`, says with which launch
/// one begins, and has a pace by which steps are cut, and a clock in nanoseconds for it.
template <class D>
concept PacesCommands = requires(D& device, const typename D::Commands& commands, std::size_t first, std::size_t end) {
  { device.submit(commands, first, end) } noexcept -> std::same_as<Result<std::uint64_t>>;
  { commands.begin_of(first) } noexcept -> std::same_as<std::size_t>;
  { device.pace() } noexcept -> std::same_as<Pace&>;
  { device.now() } noexcept -> std::same_as<std::uint64_t>;
};
/// A device that takes all commands or one piece of them: a step of more than whole_step_tokens() in pieces.
template <class D>
concept CountsTokens = requires(D& device, const typename D::Commands& commands) {
  { device.submit(commands, kWholeStep) } noexcept -> std::same_as<Result<std::uint64_t>>;
  { device.whole_step_tokens() } noexcept -> std::same_as<std::uint32_t>;
};
/// A device that takes commands in one of these ways and says when they have ended. It gives up after a time of its own
/// choice, with an error; then it is not asked again.
template <class D>
concept RunsCommands = (PacesCommands<D> || CountsTokens<D>) && requires(D& device, std::uint64_t fence) {
  { device.wait(fence) } noexcept -> std::same_as<Result<void>>;
};
/// A device that takes no launch of more workgroups than that on its first axis: a larger one comes as several, each with
/// the number of its first workgroup.
template <class D>
concept LimitsGrids = requires(D& device) {
  { device.most_groups() } noexcept -> std::same_as<std::uint32_t>;
};
/// A device that says how many ticks its clock has in a millisecond: commands of a step with `times_launches` write the
/// clock at the step's begin and behind each launch. With clock_bits() it may say that it counts with fewer than 64.
template <class D>
concept HasClock = requires(D& device) {
  { device.clock_rate() } noexcept -> std::same_as<Result<std::uint32_t>>;
};

/// A device that runs recorded steps: memory, a queue and a set of kernels. See docs/adding-a-backend.md.
template <class D>
concept RecordedDevice = HoldsMemory<D> && MovesBytes<D> && ListsKernels<D> && MakesCommands<D> && RunsCommands<D> &&
                         HasClock<D> && requires(const D& device) {
                           { device.allocator() } noexcept -> std::convertible_to<const Allocator&>;
                         };

/// Says of a device which part it lacks.
template <class D> struct CheckRecordedDevice {
  static_assert(HoldsMemory<D>,
                "zrt: a recorded device needs Memory (address, bytes, span), allocate_for(role, bytes) and "
                "host_view(address); see docs/adding-a-backend.md");
  static_assert(MovesBytes<D>, "zrt: a recorded device needs copy_in(address, bytes) and copy_out(address, bytes)");
  static_assert(ListsKernels<D>,
                "zrt: a recorded device needs kName, weight_types() and signatures(), the kernels that it has loaded");
  static_assert(
      MakesCommands<D>,
      "zrt: a recorded device needs Commands (pieces), command_bytes(record) and make_commands(step, commands)");
  static_assert(RunsCommands<D>,
                "zrt: a recorded device needs wait(fence), and submit(commands, piece) with whole_step_tokens(), or "
                "submit(commands, first, end) with pace(), now() and begin_of(piece) of its commands");
  static_assert(HasClock<D>, "zrt: a recorded device needs clock_rate(), the ticks of its clock in a millisecond");
  static constexpr bool kOk = true;
};

}  // namespace zrt::inline ZRT_ABI::device
