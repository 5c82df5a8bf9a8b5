// SPDX-License-Identifier: Apache-2.0
// zrt/exec/backend.hpp: what a backend must provide, adapters, and the compile-time facts about both.
#pragma once

#include <zrt/exec/device_of.hpp>
#include <zrt/exec/host_program.hpp>
#include <zrt/exec/record_site.hpp>
#include <zrt/exec/step_bounds.hpp>
#include <zrt/ops/op_table.hpp>

#include <boost/mp11/algorithm.hpp>

#include <concepts>
#include <optional>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Records op O on backend B. Specialised once per claimed op, in the backend's own folder:
/// `static Result<void> record(typename B::Recorder&, const Call<B, O>&) noexcept`, and, where the
/// kernel needs workspace, `static CheckedSize scratch(const TypeCall<O>&, const Extents&) noexcept`.
template <class B, class O> struct Adapter;

/// Whether results have the reference's bits, or stay within a bound of them. Either way, batch, prompt chunks and
/// workers never change them.
enum class NumericsClass : std::uint8_t { canonical, relaxed };

/// What an adapter can do (runtime contract, AdapterCapability). Every step is recorded once and replayed, so that there
/// is no graph for an adapter to emit or not.
struct AdapterCapability {
  bool supports_batch = true;
  std::uint32_t max_batch_size = 0;  ///< slots in one step; 0 for any
  NumericsClass numerics = NumericsClass::canonical;
  float bound = 0.0f;  ///< relative, above 0 for relaxed alone
};

/// A weight as its file (or the plan's constants) holds it.
struct WeightView {
  std::string_view name;
  DType dtype = DType::f32;
  Shape shape{};
  Span<const std::byte> data;
};

/// A backend that names its types: what kernels take, where memory lies, what records and what runs.
template <class B>
concept NamesItsTypes = requires {
  typename B::Tensor;
  typename B::Weight;
  typename B::State;
  typename B::Scratch;
  typename B::Memory;
  typename B::Device;
  typename B::Recorder;
  typename B::Program;
};
/// A backend that says its name, the ops that it runs and those that it leaves out.
template <class B>
concept ListsItsOps = requires {
  typename B::Claims;
  typename B::Unsupported;
  { B::name } -> std::convertible_to<std::string_view>;
};
/// A backend whose device allocates, places tensors, weights and states, and copies to and from the host.
template <class B>
concept DeviceServes = requires(typename B::Device& device, typename B::Memory& memory, const WeightView& weight,
                                const TensorType& type, const StateDescriptor& state, const typename B::Tensor& tensor,
                                typename B::State& block, Span<const std::byte> from, Span<std::byte> to) {
  { device.allocate(std::uint64_t{}) } -> std::same_as<Result<typename B::Memory>>;
  { device.tensor(memory, std::uint64_t{}, type) } -> std::same_as<typename B::Tensor>;
  { device.scratch(memory, std::uint64_t{}, std::uint64_t{}) } -> std::same_as<typename B::Scratch>;
  { device.weight(weight) } -> std::same_as<Result<typename B::Weight>>;
  { device.state(memory, state, std::uint32_t{}) } -> std::same_as<typename B::State>;
  { device.write(tensor, from) } -> std::same_as<Result<void>>;
  { device.read(tensor, std::uint64_t{}, to) } -> std::same_as<Result<void>>;
  { device.read_unit(block, std::uint32_t{}, to) } -> std::same_as<Result<void>>;
  { device.write_unit(block, std::uint32_t{}, from) } -> std::same_as<Result<void>>;
};
/// A backend whose programs can be recorded as regions and run by the kernel of an op.
template <class B>
concept RunsRegions =
    requires(typename B::Device& device, const typename B::Program& program, Span<const typename B::Tensor> tensors) {
      typename B::Region;
      { device.region(program, tensors, tensors) } -> std::same_as<typename B::Region>;
    };
/// A backend whose device an engine can make: an empty one first, then, in its place, one with the host's allocator,
/// threads and options, before any other call.
template <class B>
concept MakesDevices =
    std::default_initializable<typename B::Device> && std::assignable_from<typename B::Device&, typename B::Device> &&
    ((TakesDeviceOptions<B> &&
      std::constructible_from<typename B::Device, const Allocator&, const ThreadHook&, const DeviceOptionsOf<B>&>) ||
     (!TakesDeviceOptions<B> && std::constructible_from<typename B::Device, const Allocator&, const ThreadHook&>));

/// Makes the device of an engine.
template <MakesDevices B>
[[nodiscard]] typename B::Device make_device(const Allocator& allocator, const ThreadHook& threads,
                                             [[maybe_unused]] const DeviceOptionsOf<B>& options) noexcept {
  if constexpr (TakesDeviceOptions<B>)
    return typename B::Device(allocator, threads, options);
  else
    return typename B::Device(allocator, threads);
}
/// A backend whose recorder is told the largest step before the first instruction.
template <class B>
concept ReservesSteps = requires(typename B::Recorder& recorder, const exec::StepBounds& bounds) {
  { recorder.reserve(bounds) } -> std::same_as<Result<void>>;
};
/// A backend whose device hears of every weight of a plan before it takes the first, so that it can place them
/// together.
template <class B>
concept ExpectsWeights = requires(typename B::Device& device, const WeightView& weight) {
  { device.expect(weight) } -> std::same_as<Result<void>>;
};
/// A backend whose device copies weights, and takes the bytes of one again that the host has changed since: the view is the
/// one that the device was given. A backend without it reads the host's bytes in each step. No step runs meanwhile.
template <class B>
concept RewritesWeights = requires(typename B::Device& device, const WeightView& weight) {
  { device.rewrite(weight) } -> std::same_as<Result<void>>;
};
/// A backend whose device can name a weight, or a part of it, as a read-only tensor in place. It returns none if the
/// weight cannot be read that way.
template <class B>
concept ReadsWeights = requires(typename B::Device& device, const typename B::Weight& weight, std::uint64_t offset,
                                const TensorType& type) {
  { device.value(weight, offset, type) } -> std::same_as<std::optional<typename B::Tensor>>;
};
/// A backend that makes an empty program from a device, and a recorder from both.
template <class B>
concept MakesPrograms = std::constructible_from<typename B::Program, typename B::Device&> &&
                        std::constructible_from<typename B::Recorder, typename B::Program&, typename B::Device&>;
/// A backend whose recorder takes instructions one by one and whose program runs them as a step.
template <class B>
concept Replays = requires(typename B::Program& program, typename B::Device& device, typename B::Recorder& recorder,
                           const exec::RecordSite<typename B::Scratch>& site, const ExecutionContext& step,
                           const exec::StopPoll& stop) {
  { recorder.begin(site) } -> std::same_as<Result<void>>;
  { recorder.finish() } -> std::same_as<Result<void>>;
  { program.launch(device, step, stop) } -> std::same_as<Result<bool>>;
};

/// A backend whose device may be kept too long by a part of a step: its program says whether one of these extents, with
/// no token behind position `furthest`, is thought to do without. Prompts come in shorter chunks where it does not.
template <class B>
concept BoundsSteps = requires(const typename B::Program& program, typename B::Device& device, const Extents& step,
                               std::uint32_t furthest) {
  { program.is_timely(device, step, furthest) } -> std::same_as<bool>;
};

/// A backend whose programs an observer can be bound with.
template <class B, class O>
concept Observes = requires(typename B::Program& program, typename B::Device& device, const ExecutionContext& step,
                            const exec::StopPoll& stop, O observer) {
  { program.launch(device, step, stop, observer) } -> std::same_as<Result<bool>>;
};
/// A backend whose device can time each launch for an observer. `time_launches` comes before the first instruction; the
/// program hands the times to exec::WatchesDevice::device_calls.
template <class B>
concept TimesLaunches = requires(typename B::Recorder& recorder) { recorder.time_launches(); };

/// A policy type that runs plans. See docs/adding-a-backend.md for what each part must do.
template <class B>
concept Backend =
    NamesItsTypes<B> && ListsItsOps<B> && MakesDevices<B> && DeviceServes<B> && Replays<B> && MakesPrograms<B>;

/// An op that a backend can record.
template <class B, class O>
concept HasAdapter = requires(typename B::Recorder& recorder, const Call<B, O>& call) {
  { Adapter<B, O>::record(recorder, call) } -> std::same_as<Result<void>>;
};
/// An op whose adapter asks for memory beyond the outputs.
template <class B, class O>
concept AdapterNeedsScratch = requires(const TypeCall<O>& call, const Extents& bounds) {
  { Adapter<B, O>::scratch(call, bounds) } -> std::same_as<CheckedSize>;
};
/// An op whose adapter says what its results are: canonical bits, or a bound on how far they are off.
template <class B, class O>
concept AdapterStatesCapability = requires {
  { Adapter<B, O>::capability } -> std::convertible_to<AdapterCapability>;
};

namespace detail {

template <class B, class O> struct LacksAdapter : std::bool_constant<!HasAdapter<B, O>> {};
template <class B> struct LacksAdapterOf {
  template <class O> using fn = LacksAdapter<B, O>;
};

template <class Claims, class O> consteval bool runs();
template <class Claims, class... O> consteval bool runs_all(boost::mp11::mp_list<O...>) {
  return (runs<Claims, O>() && ...);
}
template <class Claims, class O> consteval bool runs() {
  if constexpr (boost::mp11::mp_contains<Claims, O>::value)
    return true;
  else if constexpr (HasExpansion<O>)
    return runs_all<Claims>(typename O::expands_to{});
  else
    return false;
}

template <class Claims> struct LeftOutBy {
  template <class O> using fn = boost::mp11::mp_bool<!runs<Claims, O>()>;
};

template <class B> struct ClaimedBy {
  template <class O> using fn = boost::mp11::mp_contains<typename B::Claims, O>;
};

template <class B, class O> struct OpAndBelow;
template <class B> struct BelowOf {
  template <class O> using fn = typename OpAndBelow<B, O>::type;
};
template <class B, class List>
using ReachedOpsOf = boost::mp11::mp_apply<
    boost::mp11::mp_set_union,
    boost::mp11::mp_push_front<boost::mp11::mp_transform_q<BelowOf<B>, List>, boost::mp11::mp_list<>>>;
template <class B, class O> struct OpAndBelow {
  using type = boost::mp11::mp_list<O>;
};
template <class B, class O>
  requires(!boost::mp11::mp_contains<typename B::Claims, O>::value && HasExpansion<O>)
struct OpAndBelow<B, O> {
  using type = boost::mp11::mp_set_push_front<ReachedOpsOf<B, typename O::expands_to>, O>;
};
template <class B, class O>
struct IsUndeclared : std::bool_constant<!runs<typename B::Claims, O>() &&
                                         !boost::mp11::mp_contains<typename B::Unsupported, O>::value> {};
template <class B> struct IsUndeclaredOf {
  template <class O> using fn = IsUndeclared<B, O>;
};
template <class B, class O> consteval bool bound_fits_numerics() {
  if constexpr (AdapterStatesCapability<B, O>) {
    constexpr AdapterCapability capability = Adapter<B, O>::capability;
    return (capability.numerics == NumericsClass::relaxed) == (capability.bound > 0.0f);
  }
  return true;
}
template <class B> struct MisstatesNumericsOf {
  template <class O> using fn = boost::mp11::mp_bool<!bound_fits_numerics<B, O>()>;
};

}  // namespace detail

/// True when B claims O, or runs everything that O expands to.
template <class B, class O> inline constexpr bool Runs = detail::runs<typename B::Claims, O>();

/// The ops of a list and all that they expand to on B: every op that a plan for B can hold. A program with tables of
/// these alone does not compile the rest of the catalog.
template <class B, class List> using ReachedOps = detail::ReachedOpsOf<B, List>;
/// The ops of a list that must step down on B.
template <class B, class List> using UnclaimedOps = boost::mp11::mp_remove_if_q<List, detail::ClaimedBy<B>>;

/// The ops of a list that B claims without an adapter.
template <class B, class Ops> using MissingAdapters = boost::mp11::mp_copy_if_q<Ops, detail::LacksAdapterOf<B>>;
/// The ops of a list whose adapters are relaxed without a bound, or canonical with one.
template <class B, class Ops> using MisstatedNumerics = boost::mp11::mp_copy_if_q<Ops, detail::MisstatesNumericsOf<B>>;
/// The ops of a catalog that B neither runs nor names in its Unsupported list.
template <class B, class Ops> using UndeclaredOps = boost::mp11::mp_copy_if_q<Ops, detail::IsUndeclaredOf<B>>;
/// The ops of a list that B does not run.
template <class B, class Ops> using OpsNotRun = boost::mp11::mp_copy_if_q<Ops, detail::LeftOutBy<typename B::Claims>>;
/// The ops of a catalog that have neither a claim nor an expansion into what is claimed: the Unsupported list of a
/// backend that states its claims alone.
template <class Catalog, class Claims>
using OpsWithoutClaim = boost::mp11::mp_copy_if_q<Catalog, detail::LeftOutBy<Claims>>;

// The list is the concept's argument, so that a compiler that rejects it prints the ops.
/// True of the empty list of claimed ops without an adapter.
template <class List>
concept NoMissingAdapters = boost::mp11::mp_empty<List>::value;
/// True of the empty list of ops whose adapters are relaxed without a bound, or canonical with one.
template <class List>
concept NoMisstatedNumerics = boost::mp11::mp_empty<List>::value;
/// True of the empty list of ops that a backend neither runs nor names as unsupported.
template <class List>
concept NoUndeclaredOps = boost::mp11::mp_empty<List>::value;
/// True of the empty list of ops that a family needs and a backend does not run.
template <class List>
concept NoOpLeftOut = boost::mp11::mp_empty<List>::value;

/// Asserts that B is complete for a catalog; instantiated where a backend is used, never before its
/// adapters are all declared.
template <class B, class Catalog> struct CheckBackend {
  static_assert(Backend<B>, "zrt: this type does not satisfy zrt::Backend; see docs/adding-a-backend.md");
  static_assert(NoMissingAdapters<MissingAdapters<B, typename B::Claims>>,
                "zrt: the backend claims an op without an adapter; add an Adapter<Backend, Op> specialisation");
  static_assert(NoMisstatedNumerics<MisstatedNumerics<B, typename B::Claims>>,
                "zrt: an adapter's capability is relaxed without a bound above 0, or canonical with one");
  static_assert(NoUndeclaredOps<UndeclaredOps<B, Catalog>>,
                "zrt: the backend neither runs an op of the catalog nor names it in its Unsupported list");
  static constexpr bool kOk = true;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
