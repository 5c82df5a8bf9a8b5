// SPDX-License-Identifier: Apache-2.0
// zrt/exec/observer.hpp: who watches a bound program, and what it is told.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/ops/execution_context.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

namespace zrt::inline ZRT_ABI::plan {
struct CompiledPlan;
}

namespace zrt::inline ZRT_ABI::exec {

/// Stands where an observer would. A program bound with it holds no observer and no code that asks for one.
struct NoObserver {};

/// A program as an observer meets it when the two are bound.
struct ObservedProgram {
  const plan::CompiledPlan* compiled = nullptr;  ///< outlives the program
  std::uint32_t workers = 1;                     ///< of a step on the host
  std::size_t calls = 0;                         ///< kernel calls of a step
  bool on_device = false;                        ///< the calls are launches that a device times
};

/// One kernel call on the host, as one worker ran one partition of it.
struct ObservedCall {
  std::uint32_t worker = 0;  ///< the thread that ran it
  std::uint32_t partition = 0;
  std::uint32_t instruction = 0;
};

/// One launch on a device, by the device's own clock, in nanoseconds of it.
struct DeviceCall {
  std::uint32_t instruction = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Where a request is.
enum class RequestPhase : std::uint8_t { queued, prefill, decode, ended };

/// A request as an engine shows it, each time that its phase may have changed.
struct ObservedRequest {
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  std::uint64_t id = 0;
  std::uint64_t tenant = 0;  ///< whose it is; 0: the host's
  RequestPhase phase = RequestPhase::queued;
  std::uint32_t slot = kNoSlot;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t processed = 0;  ///< tokens that the model has read
  std::uint32_t generated = 0;
  std::string_view finish{};  ///< why it ended; static text
};

/// What an engine holds before a step.
struct ObservedLoad {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint32_t slots = 0;
  std::uint64_t pages_used = 0;
  std::uint64_t pages = 0;           ///< of all cache groups
  std::uint32_t drafted_tokens = 0;  ///< guesses that the step reads
};

/// Watches the steps of a program. It is a handle, copied into every program that is bound with it; what it points to
/// outlives the program.
///
/// `bind` is where it allocates: a step allocates nothing. `begin_step` and `end_step` stand around each launch, on the
/// thread that launches; `completed` is false where a stop or an error ended the step.
template <class O>
concept Observer = std::is_trivially_copyable_v<O> &&
                   requires(O& observer, const ObservedProgram& program, const ExecutionContext& step, bool completed) {
                     { observer.bind(program) } noexcept -> std::same_as<Result<void>>;
                     { observer.begin_step(step) } noexcept;
                     { observer.end_step(completed) } noexcept;
                   };

/// An observer of the calls that workers make on the host.
///
/// `begin_calls` comes when a worker has claimed a partition of what lies between two fences, `end_call` behind each
/// call of it. Workers call at the same time, each with its own number below ObservedProgram::workers.
template <class O>
concept WatchesCalls = Observer<O> && requires(const O& observer, std::uint32_t worker, const ObservedCall& call) {
  { observer.begin_calls(worker) } noexcept;
  { observer.end_call(call) } noexcept;
};

/// An observer of the launches that a device times. They come when the step's fence has passed, in their order.
template <class O>
concept WatchesDevice = Observer<O> && requires(const O& observer, Span<const DeviceCall> calls) {
  { observer.device_calls(calls) } noexcept;
};

/// An observer of an engine's requests. All calls come from the thread that steps the engine.
template <class O>
concept WatchesRequests =
    Observer<O> && requires(const O& observer, const ObservedRequest& request, const ObservedLoad& load) {
      { observer.request(request) } noexcept;
      { observer.load(load) } noexcept;
    };

/// What a worker tells an observer of the calls that it makes: nothing, unless the observer watches calls. Both
/// functions are empty then, and so is the type.
template <class O> struct CallWatch {
  CallWatch(const O&, std::uint32_t) noexcept {}
  static void begin() noexcept {}
  static void end(std::uint32_t, std::uint32_t) noexcept {}
  static constexpr bool skips(std::uint32_t) noexcept { return false; }
};
/// Stands where an observer would, and leaves out an instruction and all behind it.
struct CallsBefore {
  std::uint32_t instruction = 0;
};
template <> struct CallWatch<CallsBefore> {
  CallWatch(const CallsBefore& before, std::uint32_t) noexcept : first_left_out(before.instruction) {}
  static void begin() noexcept {}
  static void end(std::uint32_t, std::uint32_t) noexcept {}
  [[nodiscard]] bool skips(std::uint32_t instruction) const noexcept { return instruction >= first_left_out; }

  std::uint32_t first_left_out;
};
template <WatchesCalls O> struct CallWatch<O> {
  CallWatch(const O& o, std::uint32_t w) noexcept : observer(&o), worker(w) {}
  void begin() const noexcept { observer->begin_calls(worker); }
  void end(std::uint32_t partition, std::uint32_t instruction) const noexcept {
    observer->end_call({worker, partition, instruction});
  }
  static constexpr bool skips(std::uint32_t) noexcept { return false; }

  const O* observer;
  std::uint32_t worker;
};
static_assert(std::is_empty_v<CallWatch<NoObserver>>);

}  // namespace zrt::inline ZRT_ABI::exec
