// SPDX-License-Identifier: Apache-2.0
// zrt/trace/chrome_trace.hpp: a timeline as a JSON file for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <zrt/plan/layer_of.hpp>
#include <zrt/trace/json_out.hpp>
#include <zrt/trace/profile.hpp>

namespace zrt::inline ZRT_ABI::trace {

/// What a trace says beside the times.
struct ChromeTraceOptions {
  std::string_view process = "zrt";  ///< name of the process that the viewer shows
  double bytes_per_second = 0.0;     ///< that the memory can be read with; 0: shares of it are not written
};

namespace detail {

/// Writes the events of one timeline. Times are microseconds since the timeline was made.
template <class Sink> class ChromeTrace {
 public:
  ChromeTrace(const Timeline& timeline, const OpTable& table, const ChromeTraceOptions& options,
              const Allocator& allocator, Sink& sink) noexcept
      : timeline_(timeline),
        table_(table),
        options_(options),
        allocator_(allocator),
        out_(sink),
        nanoseconds_(timeline.clock().nanoseconds_per_tick()) {}

  [[nodiscard]] Result<void> write() noexcept {
    out_.raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_names();
    StepWalk walk(timeline_, allocator_);
    Vector<std::uint32_t> layers(allocator_);
    std::uint32_t program = ~std::uint32_t{0};
    for (;;) {
      const auto more = walk.next();
      if (!more) return pass(more);
      if (!*more) break;
      if (walk.step().program != program) {
        program = walk.step().program;
        auto of_plan = plan::layers(walk.plan());
        if (!of_plan) return pass(of_plan);
        layers = std::move(*of_plan);
      }
      write_step(walk, layers.span());
    }
    write_requests();
    out_.raw("\n],\"otherData\":{\"dropped_steps\":");
    out_.number(timeline_.dropped().steps);
    out_.raw(",\"dropped_request_events\":");
    out_.number(timeline_.dropped().requests);
    out_.raw("}}\n");
    return out_.finish();
  }

 private:
  static constexpr std::uint32_t kEngine = 1;    ///< process of steps, workers and the device
  static constexpr std::uint32_t kRequests = 2;  ///< process of the slots
  static constexpr std::uint32_t kSteps = 0;     ///< thread of the steps; worker i is thread i + 1

  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) * nanoseconds_);
  }
  [[nodiscard]] std::uint64_t since_start(std::uint64_t tick) const noexcept {
    return tick > timeline_.clock().start() ? nanoseconds(tick - timeline_.clock().start()) : 0;
  }
  /// Billions of bytes per second are bytes per nanosecond.
  [[nodiscard]] double rate(std::uint64_t bytes, std::uint64_t ticks) const noexcept {
    const std::uint64_t time = nanoseconds(ticks);
    return time == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(time);
  }

  void begin_event(std::string_view phase, std::uint32_t process, std::uint32_t thread, std::uint64_t tick) noexcept {
    out_.raw(first_ ? "{\"ph\":\"" : ",\n{\"ph\":\"");
    first_ = false;
    out_.raw(phase);
    out_.raw("\",\"pid\":");
    out_.number(process);
    out_.raw(",\"tid\":");
    out_.number(thread);
    out_.raw(",\"ts\":");
    out_.thousandths(since_start(tick));
    out_.raw(",\"name\":\"");
  }
  /// From one tick to another; the end is rounded as it would be as a begin, so that events never overlap by rounding.
  void duration(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t from = since_start(begin);
    const std::uint64_t to = since_start(end);
    out_.raw(",\"dur\":");
    out_.thousandths(to > from ? to - from : 0);
  }
  void field(std::string_view name, std::uint64_t value) noexcept {
    out_.raw(",\"");
    out_.raw(name);
    out_.raw("\":");
    out_.number(value);
  }
  void write_traffic(std::uint64_t bytes, std::uint64_t ticks) noexcept {
    field("bytes", bytes);
    const double gbs = rate(bytes, ticks);
    out_.raw(",\"GB/s\":");
    out_.real(gbs);
    if (options_.bytes_per_second <= 0.0) return;
    out_.raw(",\"bandwidth_share\":");
    out_.real(gbs * 1e9 / options_.bytes_per_second);
  }

  void name_of(std::string_view kind, std::uint32_t process, std::uint32_t thread, std::string_view name,
               std::uint32_t number, bool numbered) noexcept {
    begin_event("M", process, thread, timeline_.clock().start());
    out_.raw(kind);
    out_.raw("\",\"args\":{\"name\":\"");
    out_.text(name);
    if (numbered) out_.number(number);
    out_.raw("\"}}");
    begin_event("M", process, thread, timeline_.clock().start());
    out_.raw(kind == "process_name" ? "process_sort_index" : "thread_sort_index");
    out_.raw("\",\"args\":{\"sort_index\":");
    out_.number(kind == "process_name" ? process : thread);
    out_.raw("}}");
  }
  void write_names() noexcept {
    name_of("process_name", kEngine, kSteps, options_.process, 0, false);
    name_of("thread_name", kEngine, kSteps, "steps", 0, false);
    for (std::uint32_t i = 0; i < timeline_.lanes().size(); ++i)
      name_of("thread_name", kEngine, 1 + i, "worker ", i, true);
    if (!timeline_.device().empty())
      name_of("thread_name", kEngine, 1 + static_cast<std::uint32_t>(timeline_.lanes().size()), "device", 0, false);
    name_of("process_name", kRequests, 0, "requests", 0, false);
    std::uint32_t slots = 0;
    for (const TimedStep& step : timeline_.steps()) slots = step.load.slots > slots ? step.load.slots : slots;
    for (std::uint32_t i = 0; i < slots; ++i) name_of("thread_name", kRequests, i, "slot ", i, true);
  }

  void write_step(const StepWalk& walk, Span<const std::uint32_t> layers) noexcept {
    const TimedStep& step = walk.step();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < walk.times().size(); ++i)
      if (walk.times()[i].calls != 0)
        bytes += plan::traffic(walk.plan(), walk.plan().instruction(i), step.work).bytes();
    begin_event("X", kEngine, kSteps, step.begin);
    out_.raw(step.work.tokens > step.work.slots ? "prefill" : "decode");
    out_.raw("\",\"cat\":\"step\"");
    duration(step.begin, step.end);
    out_.raw(",\"args\":{\"completed\":");
    out_.raw(step.completed ? "true" : "false");
    field("tokens", step.work.tokens);
    field("slots", step.work.slots);
    field("cached_positions", step.work.cached);
    write_traffic(bytes, step.end - step.begin);
    out_.raw("}}");
    write_load(step);
    for (std::size_t lane = 0; lane < walk.lanes(); ++lane)
      for (const TimedCall& call : walk.calls(lane))
        if (call.instruction < layers.size()) write_call(walk, call, static_cast<std::uint32_t>(lane), layers);
  }
  void write_load(const TimedStep& step) noexcept {
    if (step.load.slots == 0) return;  // no engine steps this program
    begin_event("C", kEngine, kSteps, step.begin);
    out_.raw("requests\",\"args\":{\"running\":");
    out_.number(step.load.running);
    field("waiting", step.load.waiting);
    out_.raw("}}");
    begin_event("C", kEngine, kSteps, step.begin);
    out_.raw("pages in use\",\"args\":{\"pages\":");
    out_.number(step.load.pages_used);
    out_.raw("}}");
    if (step.load.drafted_tokens == 0) return;
    begin_event("C", kEngine, kSteps, step.begin);
    out_.raw("drafts\",\"args\":{\"tokens\":");
    out_.number(step.load.drafted_tokens);
    out_.raw("}}");
  }
  void write_call(const StepWalk& walk, const TimedCall& call, std::uint32_t lane,
                  Span<const std::uint32_t> layers) noexcept {
    const plan::Instruction insn = walk.plan().instruction(call.instruction);
    const OpRow* row = table_[number(insn.opcode)];
    begin_event("X", kEngine, 1 + lane, call.begin);
    out_.text(row == nullptr ? std::string_view("?") : row->name);
    out_.raw("\",\"cat\":\"instruction\"");
    duration(call.begin, call.end);
    out_.raw(",\"args\":{\"instruction\":");
    out_.number(call.instruction);
    if (const std::uint32_t layer = layers[call.instruction]; layer != plan::kNoLayer) field("layer", layer);
    if (!insn.weights.empty() && insn.weights[0] != plan::kNoWeight) {
      out_.raw(",\"weight\":\"");
      out_.text(walk.plan().weights[index(insn.weights[0])].name.view());
      out_.raw("\"");
    }
    field("partition", call.partition);
    const InstructionTime& time = walk.times()[call.instruction];
    write_traffic(plan::traffic(walk.plan(), insn, walk.step().work).bytes(), time.span());
    out_.raw("}}");
  }

  // --- requests ------------------------------------------------------------------------------------

  [[nodiscard]] static std::string_view phase_name(exec::RequestPhase phase) noexcept {
    constexpr std::array<std::string_view, 4> kNames{"queued", "prefill", "decode", "ended"};
    return kNames[static_cast<std::size_t>(phase)];
  }
  /// When the request of event `i` came to its next phase; the end of the last step where that was not seen.
  [[nodiscard]] const TimedRequest* next_phase(std::size_t i) const noexcept {
    const Span<const TimedRequest> all = timeline_.requests();
    for (std::size_t k = i + 1; k < all.size(); ++k)
      if (all[k].request.id == all[i].request.id) return &all[k];
    return nullptr;
  }
  void write_requests() noexcept {
    const Span<const TimedRequest> all = timeline_.requests();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const exec::ObservedRequest& r = all[i].request;
      if (r.phase == exec::RequestPhase::ended) continue;
      const TimedRequest* next = next_phase(i);
      const std::uint64_t open_end = timeline_.steps().empty() ? all[i].at : timeline_.steps().back().end;
      const std::uint64_t end = next != nullptr ? next->at : open_end > all[i].at ? open_end : all[i].at;
      if (r.phase == exec::RequestPhase::queued)
        write_queued(r, all[i].at, end);
      else
        write_phase(r, all[i].at, end, next);
    }
  }
  /// Requests wait beside each other: an asynchronous event, whose begin and end share the request's id.
  void write_queued(const exec::ObservedRequest& r, std::uint64_t begin, std::uint64_t end) noexcept {
    for (const bool ends : {false, true}) {
      begin_event(ends ? "e" : "b", kRequests, 0, ends ? end : begin);
      out_.raw("queued\",\"cat\":\"request\",\"id\":");
      out_.number(r.id);
      out_.raw(",\"args\":{\"request\":");
      out_.number(r.id);
      if (r.tenant != 0) field("tenant", r.tenant);
      out_.raw("}}");
    }
  }
  void write_phase(const exec::ObservedRequest& r, std::uint64_t begin, std::uint64_t end,
                   const TimedRequest* next) noexcept {
    begin_event("X", kRequests, r.slot, begin);
    out_.raw("request ");
    out_.number(r.id);
    out_.raw(" ");
    out_.raw(phase_name(r.phase));
    out_.raw("\",\"cat\":\"request\"");
    duration(begin, end);
    out_.raw(",\"args\":{\"request\":");
    out_.number(r.id);
    if (r.tenant != 0) field("tenant", r.tenant);
    field("prompt_tokens", r.prompt_tokens);
    if (next != nullptr) field("generated", next->request.generated);
    if (next != nullptr && !next->request.finish.empty()) {
      out_.raw(",\"finish\":\"");
      out_.text(next->request.finish);
      out_.raw("\"");
    }
    out_.raw("}}");
  }

  const Timeline& timeline_;
  const OpTable& table_;
  ChromeTraceOptions options_;
  Allocator allocator_;
  JsonOut<Sink> out_;
  double nanoseconds_;
  bool first_ = true;
};

}  // namespace detail

/// Writes a timeline as Chrome trace events: each step, each worker's part of each instruction with op, layer, bytes and
/// rate, what the device ran, and each request's way through its slot. `sink(std::string_view) -> Result<void>` takes
/// the text piece by piece.
///
/// Call it between steps. Errors: Errc::out_of_memory; the sink's.
template <class Sink>
[[nodiscard]] Result<void> write_chrome_trace(const Timeline& timeline, const OpTable& table,
                                              const ChromeTraceOptions& options, Sink&& sink,
                                              const Allocator& allocator = system_allocator()) noexcept {
  return detail::ChromeTrace<std::remove_reference_t<Sink>>(timeline, table, options, allocator, sink).write();
}

}  // namespace zrt::inline ZRT_ABI::trace
