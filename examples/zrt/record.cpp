// SPDX-License-Identifier: Apache-2.0
// examples/zrt/record.cpp: a run of requests as a file, and the same run again, held to the file.
#include "commands.hpp"
#include "output.hpp"
#include "run_requests.hpp"
#include <zrt/engine/replay.hpp>

#include <cstdio>

namespace program {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

int record(const RecordOptions& o) {
  zrt::trace::RunRecorder recorder;
  zrt::EngineOptions options = watched_options(o.watch);
  options.chunk = o.chunk;
  options.step_latency_ns = static_cast<std::uint64_t>(o.step_latency_ms * 1e6);
  auto model = open_model(o.watch.model, options, {.run = {&recorder, nullptr}});
  if (!model) return failed(model.error());
  const auto header = (*model)->run_header();
  if (!header) return failed(header.error());
  recorder.begin(*header);
  const auto run = run_requests(**model, o.watch, [](const RequestsRun&) { return true; }, o.stagger);
  if (!run) return failed(run.error());
  const std::uint64_t steps = recorder.steps();
  const auto bytes = recorder.finish();
  if (!bytes) return failed(bytes.error());
  if (auto r = write_file(o.out, as_text(bytes->span())); !r) return failed(r.error());
  std::fprintf(stderr, "%s: %llu steps, %llu tokens, %zu bytes\n", o.out.c_str(),
               static_cast<unsigned long long>(steps), static_cast<unsigned long long>(run->generated_tokens),
               bytes->size());
  return kOk;
}

int replay(const ReplayOptions& o) {
  const auto bytes = read_file(o.file);
  if (!bytes) return failed(bytes.error());
  const auto recording = zrt::trace::read_recording(std::as_bytes(std::span(*bytes)), zrt::system_allocator());
  if (!recording) return failed(of_file(recording.error(), o.file));
  auto replay = zrt::trace::Replay::make(*recording, zrt::system_allocator());
  if (!replay) return failed(replay.error());
  auto model = open_model(o.model, zrt::options_of(recording->header), {.run = {nullptr, &*replay}});
  if (!model) return failed(model.error());
  const auto own = (*model)->run_header();
  if (!own) return failed(own.error());
  if (auto r = zrt::check_model(recording->header, *own); !r) return failed(r.error());
  if (auto r = zrt::run_replay(**model, *replay, zrt::system_allocator()); !r) return failed(r.error());
  const std::string text = std::to_string(replay->steps()) + " steps of " + std::to_string(recording->requests.size()) +
                           " requests, " + std::to_string(recording->rows.size()) + " tokens: as recorded\n";
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace program
