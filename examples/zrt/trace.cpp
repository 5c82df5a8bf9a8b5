// SPDX-License-Identifier: Apache-2.0
// examples/zrt/trace.cpp: runs requests under an observer of times and writes the timeline for Perfetto.
#include "commands.hpp"
#include "machine.hpp"
#include "output.hpp"
#include "run_requests.hpp"
#include "traffic.hpp"
#include <zrt/trace/chrome_trace.hpp>

#include <cstdio>

namespace program {
namespace {

/// What the machine reads in a second; 0, with a warning, where it has no memory to measure with.
double bandwidth(Model& model, std::uint32_t threads) {
  const auto machine = Machine::make(threads, model.isa(), plan_weight_bytes(model));
  if (machine)
    if (const auto rates = machine->measure()) return rates->memory_gbs * 1e9;
  warn("there is no memory to measure the machine's bandwidth with: the trace tells no shares of it");
  return 0.0;
}

}  // namespace

int trace(const TraceOptions& o) {
  zrt::trace::Timeline timeline({.bytes = o.buffer_mib << 20});
  auto model = open_model(o.watch.model, watched_options(o.watch), {.timeline = &timeline});
  if (!model) return failed(model.error());
  const auto run = run_requests(**model, o.watch, [](const RequestsRun&) { return true; });
  if (!run) return failed(run.error());

  zrt::trace::ChromeTraceOptions options;
  const std::string process = "zrt " + std::string((*model)->backend()) + " (" + std::string((*model)->isa()) + ")";
  options.process = process;
  // Of a card the memory that counts is not the host's.
  if (!has_devices(o.watch.model.backend)) options.bytes_per_second = bandwidth(**model, o.watch.model.threads);
  std::string text;
  const auto take = [&text](std::string_view piece) -> zrt::Result<void> {
    text += piece;
    return {};
  };
  if (auto r = zrt::trace::write_chrome_trace(timeline, op_table(), options, take); !r) return failed(r.error());
  if (auto r = write_file(o.out, text); !r) return failed(r.error());

  std::size_t calls = timeline.device().size();
  for (const auto& lane : timeline.lanes()) calls += lane.size;
  std::fprintf(stderr, "%s: %zu steps, %zu calls; %llu tokens in %.3f s, %.1f tokens/s\n", o.out.c_str(),
               timeline.steps().size(), calls, static_cast<unsigned long long>(run->generated_tokens), run->seconds,
               run->seconds > 0.0 ? static_cast<double>(run->generated_tokens) / run->seconds : 0.0);
  if (timeline.dropped().steps != 0)
    std::fprintf(
        stderr, "zrt: warning: the last %llu steps are not in the trace, its %llu MiB are full; --buffer has more\n",
        static_cast<unsigned long long>(timeline.dropped().steps), static_cast<unsigned long long>(o.buffer_mib));
  if (timeline.dropped().requests != 0)
    std::fprintf(stderr, "zrt: warning: %llu changes of requests are not in the trace\n",
                 static_cast<unsigned long long>(timeline.dropped().requests));
  return kOk;
}

}  // namespace program
