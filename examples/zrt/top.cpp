// SPDX-License-Identifier: Apache-2.0
// examples/zrt/top.cpp: what a generation does at this moment, in the terminal: speed, ops, slots, pages, workers.
#include "commands.hpp"
#include "output.hpp"
#include "run_requests.hpp"
#include <zrt/trace/profile.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <unistd.h>

namespace program {
namespace {

/// As printf does, at the end of `text`.
[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) text.append(line, std::min(static_cast<std::size_t>(length), sizeof line - 1));
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// "####......" of a share in percent.
std::string bar(double percent, std::size_t width) {
  const auto full = static_cast<std::size_t>(std::clamp(percent / 100.0, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  return std::string(full, '#') + std::string(width - full, '.');
}

/// What is shown of one interval.
struct View {
  const zrt::trace::Timeline* timeline;
  const zrt::trace::Profile* profile;
  const RequestsRun* run;
  double seconds;           ///< since the last view
  std::uint64_t generated;  ///< tokens since the last view
};

zrt::exec::ObservedLoad last_load(const zrt::trace::Timeline& timeline) {
  return timeline.steps().empty() ? zrt::exec::ObservedLoad{} : timeline.steps().back().load;
}

/// One line, for what is no terminal.
std::string line_of(const View& v) {
  const zrt::exec::ObservedLoad load = last_load(*v.timeline);
  std::string text;
  append(text, "%.1f s: %.1f tokens/s, %llu steps, slots %u/%u, waiting %u, drafts %u, pages %llu/%llu;",
         v.run->seconds, static_cast<double>(v.generated) / v.seconds,
         static_cast<unsigned long long>(v.profile->steps), load.running, load.slots, load.waiting, load.drafted_tokens,
         static_cast<unsigned long long>(load.pages_used), static_cast<unsigned long long>(load.pages));
  for (std::size_t i = 0; i < v.profile->ops.size() && i < 4; ++i) {
    const auto& op = v.profile->ops[i];
    const zrt::OpRow* row = op_table()[number(op.opcode)];
    append(text, " %.*s %.0f%%", static_cast<int>(row->name.size()), row->name.data(),
           share(op.busy, v.profile->busy()));
  }
  return text + "\n";
}

/// The whole table, for a terminal.
std::string screen_of(const View& v) {
  const zrt::trace::Profile& p = *v.profile;
  const zrt::exec::ObservedLoad load = last_load(*v.timeline);
  const double nanoseconds = v.timeline->clock().nanoseconds_per_tick();
  std::string text;
  append(text, "%8.1f tokens/s   %llu generated in %.1f s   %.3f ms/step\n",
         static_cast<double>(v.generated) / v.seconds, static_cast<unsigned long long>(v.run->generated_tokens),
         v.run->seconds,
         p.steps == 0 ? 0.0 : static_cast<double>(p.ticks) * nanoseconds / 1e6 / static_cast<double>(p.steps));
  append(text, "slots   %s %u of %u, %u waiting, %u drafted tokens\n", bar(share(load.running, load.slots), 20).c_str(),
         load.running, load.slots, load.waiting, load.drafted_tokens);
  append(text, "pages   %s %llu of %llu\n", bar(share(load.pages_used, load.pages), 20).c_str(),
         static_cast<unsigned long long>(load.pages_used), static_cast<unsigned long long>(load.pages));
  const std::size_t workers = v.timeline->lanes().size();
  for (std::size_t i = 0; i < p.lanes.size(); ++i) {
    const double busy = share(p.lanes[i], p.ticks);
    if (i < workers)
      append(text, "worker %-3zu %s %5.1f %% in kernels\n", i, bar(busy, 20).c_str(), busy);
    else
      append(text, "device     %s %5.1f %% in kernels\n", bar(busy, 20).c_str(), busy);
  }
  append(text, "\n%-28s %7s %10s %10s %9s\n", "op", "time", "calls/step", "us/step", "GB/s");
  for (const auto& op : p.ops) {
    const zrt::OpRow* row = op_table()[number(op.opcode)];
    const double steps = static_cast<double>(std::max<std::uint64_t>(p.steps, 1));
    const double span = static_cast<double>(op.span) * nanoseconds;
    append(text, "%-28.*s %6.1f%% %10.1f %10.1f %9.2f\n", static_cast<int>(row->name.size()), row->name.data(),
           share(op.busy, p.busy()), static_cast<double>(op.calls) / steps, span / 1e3 / steps,
           span > 0.0 ? static_cast<double>(op.bytes) / span : 0.0);
  }
  return text;
}

/// Clears the terminal and puts the cursor in its first corner.
constexpr std::string_view kHome = "\x1b[H\x1b[2J";

}  // namespace

int top(const TopOptions& o) {
  zrt::trace::Timeline timeline;
  auto model = open_model(o.watch.model, watched_options(o.watch), {.timeline = &timeline});
  if (!model) return failed(model.error());
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  double shown = 0.0;
  std::uint64_t generated = 0;
  bool writable = true;
  zrt::Result<void> profiled{};
  const auto show = [&](const RequestsRun& run) {
    const auto profile = zrt::trace::Profile::of(timeline, zrt::system_allocator());
    if (!profile) {
      profiled = zrt::pass(profile);
      return false;
    }
    const View view{&timeline, &*profile, &run, std::max(run.seconds - shown, 1e-9), run.generated_tokens - generated};
    writable = print(terminal ? std::string(kHome) + screen_of(view) : line_of(view));
    shown = run.seconds;
    generated = run.generated_tokens;
    timeline.clear();
    return writable;
  };
  const double every = static_cast<double>(o.interval_ms) / 1000.0;
  const auto stepped = [&](const RequestsRun& run) { return run.seconds - shown < every || show(run); };
  const auto run = run_requests(**model, o.watch, stepped);
  if (!run) return failed(run.error());
  if (profiled && writable && !timeline.steps().empty()) (void)show(*run);
  if (!profiled) return failed(profiled.error());
  if (!writable) return cannot_write("stdout");
  std::fprintf(stderr, "prompt: %llu tokens; generation: %llu tokens in %.3f s, %.1f tokens/s\n",
               static_cast<unsigned long long>(run->prompt_tokens),
               static_cast<unsigned long long>(run->generated_tokens), run->seconds,
               run->seconds > 0.0 ? static_cast<double>(run->generated_tokens) / run->seconds : 0.0);
  return kOk;
}

}  // namespace program
