// SPDX-License-Identifier: Apache-2.0
// tests/unit/recording.cpp: a run of an engine as a file, the same run again on another engine, and files that are none.
#include <zrt/engine/replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace recording_test {
namespace {

using namespace zrt;
using test::On;

/// A clock whose every reading is later by another amount, so that cuts by time are uneven.
struct Jumps {
  std::uint64_t now = 0;
  std::uint64_t step = 0;
  static std::uint64_t read(void* self) noexcept {
    Jumps& clock = *static_cast<Jumps*>(self);
    return clock.now += 1000 + 37'000 * (++clock.step % 5);
  }
};

test::ModelFile model() { return test::tiny_model({.text = true}); }

EngineOptions options(Jumps& clock) {
  EngineOptions o;
  o.slots = 3;
  o.context = 128;
  o.chunk = 48;
  o.clock = {&clock, &Jumps::read};
  return o;
}

struct Run {
  std::vector<std::byte> file;
  std::map<std::uint64_t, std::vector<std::int32_t>> tokens;
};

/// Six requests in three slots that join at different steps: with penalties and biases, a stop string, a latency; one is
/// cancelled while it runs, one while it waits, and one is told to end by its callable.
Run record(On on) {
  Run run;
  Jumps clock;
  trace::RunRecorder recorder;
  const test::ModelFile file = model();
  const auto engine = test::open_recorded_engine(on, file.bytes(), options(clock), {&recorder, nullptr});
  EXPECT_TRUE(engine) << engine.error().text();
  if (!engine) return run;
  const auto header = (*engine)->run_header();
  EXPECT_TRUE(header);
  recorder.begin(*header);
  std::vector<RequestId> ids;
  const std::vector<TokenBias> biases{{3, 0.5f}, {9, -2.0f}};
  const std::vector<std::string> stops{"zq", "x"};
  const auto submit = [&](std::size_t prompt, const std::function<void(Request&)>& more) {
    Request request;
    const std::vector<std::int32_t> tokens = test::tiny_prompt(200, prompt, ids.size());
    request.tokens = tokens;
    request.max_tokens = 9;
    request.ignore_eos = true;
    request.sampling = {.temperature = 0.9f, .top_k = 20, .top_p = 0.9f, .seed = 40 + ids.size()};
    more(request);
    const auto id = (*engine)->submit(request);
    ASSERT_TRUE(id) << id.error().text();
    ids.push_back(*id);
  };
  std::map<std::uint64_t, std::size_t> heard;
  const auto listen = [&](RequestId id, const Token& token) {
    const auto number = static_cast<std::uint64_t>(id);
    if (token.id != kNoToken) run.tokens[number].push_back(token.id);
    return !(ids.size() > 2 && id == ids[2] && ++heard[number] == 4);
  };
  submit(70, [](Request& r) { r.step_latency_ns = 900'000; });
  submit(33, [&](Request& r) { r.sampling.bias = biases, r.sampling.repetition_penalty = 1.3f; });
  for (int step = 0; step < 40; ++step) {
    if (step == 1) submit(20, [&](Request& r) { r.stop_strings = stops, r.log_probabilities = 2; });
    if (step == 2) submit(5, [](Request& r) { r.stop_tokens[0] = 7, r.sampling.presence_penalty = 0.4f; });
    if (step == 2) submit(11, [](Request& r) { r.sampling = {}; });
    if (step == 2) submit(8, [](Request&) {});
    if (step == 4) (*engine)->cancel(ids[5]);
    if (step == 7) (*engine)->cancel(ids[0]);
    const auto left = (*engine)->step(listen);
    EXPECT_TRUE(left) << left.error().text();
    if (!left || (*left == 0 && step > 7)) break;
  }
  const auto bytes = recorder.finish();
  EXPECT_TRUE(bytes);
  if (bytes) run.file.assign(bytes->begin(), bytes->end());
  return run;
}

const Run& recorded() {
  static const Run run = record(On::cpu);
  return run;
}

/// What a replay of `file` says.
Result<std::size_t> replay(std::span<const std::byte> file, On on, std::uint32_t threads = 1,
                           std::uint32_t* cuts = nullptr) {
  const auto recording = trace::read_recording(file, system_allocator());
  if (!recording) return pass(recording);
  auto held = trace::Replay::make(*recording, system_allocator());
  if (!held) return pass(held);
  Jumps clock{.step = 3};  // other times than those of the recording
  EngineOptions o = options_of(recording->header);
  o.clock = {&clock, &Jumps::read};
  o.threads = threads;
  const test::ModelFile again = model();
  const auto engine = test::open_recorded_engine(on, again.bytes(), o, {nullptr, &*held});
  if (!engine) return pass(engine);
  const auto own = (*engine)->run_header();
  if (!own) return pass(own);
  if (auto r = check_model(recording->header, *own); !r) return pass(r);
  if (auto r = run_replay(**engine, *held, system_allocator()); !r) return pass(r);
  if (cuts != nullptr)
    for (const trace::RecordedStep& step : recording->steps) *cuts += step.prefill ? 1u : 0u;
  return held->steps();
}

/// The file with its events changed, and a right checksum.
std::vector<std::byte> sealed(std::vector<std::byte> file) {
  const std::size_t end = file.size() - 8;
  const std::uint64_t sum = checksum(Span<const std::byte>(file.data(), end));
  for (std::size_t b = 0; b < 8; ++b) file[end + b] = static_cast<std::byte>(sum >> 8 * b);
  return file;
}

TEST(Recording, HoldsWhatTheRunWas) {
  ASSERT_FALSE(recorded().file.empty());
  const auto r = trace::read_recording(recorded().file, system_allocator());
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_EQ(r->requests.size(), 6u);
  EXPECT_EQ(r->header.slots, 3u);
  EXPECT_EQ(r->header.chunk, 48u);
  std::size_t tokens = 0;
  for (const auto& [id, list] : recorded().tokens) tokens += list.size();
  EXPECT_EQ(r->rows.size(), tokens);
  EXPECT_EQ(r->requests[0].step_latency_ns, 900'000u);
  EXPECT_EQ(r->requests[1].biases.count, 2u);
  EXPECT_EQ(r->biases[1].bias, -2.0f);
  EXPECT_EQ(r->requests[1].sampling.seed_low, 41u);
  ASSERT_EQ(r->requests[2].stop_strings.count, 2u);
  EXPECT_EQ(r->text(r->requests[2].stop_strings.first), "zq");
  std::size_t cancelled = 0, refused = 0;
  for (const trace::RecordedEvent& event : r->events) cancelled += event.kind == trace::RecordedEvent::Kind::cancelled;
  for (const trace::RecordedStep& step : r->steps) refused += step.refused.count;
  EXPECT_EQ(cancelled, 2u);
  EXPECT_EQ(refused, 1u);
  // The prompt of 70 was cut by the clock.
  std::set<std::uint32_t> cuts;
  for (const trace::RecordedPart& part : r->parts)
    if (part.tokens.count > 1) cuts.insert(part.tokens.count);
  EXPECT_GE(cuts.size(), 3u);
}

TEST(Recording, RunsAgainWithTheSameBitsOnOtherBackendsAndThreads) {
  for (const On on : {On::cpu, On::reference})
    for (const std::uint32_t threads : {1u, 2u}) {
      std::uint32_t prefills = 0;
      const auto steps = replay(recorded().file, on, threads, &prefills);
      ASSERT_TRUE(steps) << steps.error().text();
      EXPECT_GT(*steps, 10u);
      EXPECT_GT(prefills, 3u);
    }
  // A recording of a run on the oracle is the same file.
  EXPECT_EQ(record(On::reference).file, recorded().file);
}

TEST(Recording, ADifferenceIsToldWithStepSlotAndRow) {
  // Changes a field of the recording, and runs it again.
  const auto with = [](const std::function<void(trace::RunRecording&)>& change) -> std::string {
    auto recording = trace::read_recording(recorded().file, system_allocator());
    EXPECT_TRUE(recording);
    change(*recording);
    auto held = trace::Replay::make(*recording, system_allocator());
    EXPECT_TRUE(held);
    const test::ModelFile file = model();
    const auto engine =
        test::open_recorded_engine(On::cpu, file.bytes(), options_of(recording->header), {nullptr, &*held});
    EXPECT_TRUE(engine) << engine.error().text();
    const auto done = run_replay(**engine, *held, system_allocator());
    if (done) return "none";
    EXPECT_EQ(done.error().code(), Errc::spec_violation) << done.error().text();
    return std::string(done.error().text());
  };
  EXPECT_EQ(with([](trace::RunRecording&) {}), "none");
  const auto original = trace::read_recording(recorded().file, system_allocator());
  ASSERT_TRUE(original);
  // The step of a row, and the slot of it.
  const auto place = [&](std::size_t row) {
    std::size_t s = 0;
    while (original->steps[s].rows.first + original->steps[s].rows.count <= row) ++s;
    std::uint32_t t = 0;
    for (std::uint32_t p = 0;; ++p) {
      const trace::RecordedPart& part = original->parts[original->steps[s].parts.first + p];
      if (original->rows[row].row < t + part.tokens.count)
        return "step " + std::to_string(s) + ", slot " + std::to_string(part.slot) + ", row " +
               std::to_string(original->rows[row].row) + ": ";
      t += part.tokens.count;
    }
  };
  EXPECT_EQ(with([](trace::RunRecording& r) { r.rows[8].token ^= 1; }).substr(0, place(8).size()), place(8));
  EXPECT_EQ(with([](trace::RunRecording& r) { r.rows[11].logits ^= 1; }),
            place(11) + "the logits have other bits than recorded; token " + std::to_string(original->rows[11].token) +
                " was sampled all the same");
  EXPECT_EQ(with([](trace::RunRecording& r) { r.requests[1].sampling.seed_low ^= 1; }).substr(0, 5), "step ");
  EXPECT_NE(with([](trace::RunRecording& r) { r.requests[1].sampling.repetition_penalty = 30.0f; }), "none");
  EXPECT_EQ(with([](trace::RunRecording& r) { r.tokens[r.requests[0].prompt.first + 2] ^= 1; }).substr(0, 24),
            "step 0, slot 0, row 2: t");
  EXPECT_NE(with([](trace::RunRecording& r) { r.steps[3].prefill = !r.steps[3].prefill; }).find("step 3: is a"),
            std::string::npos);
  EXPECT_NE(with([](trace::RunRecording& r) { --r.steps[5].rows.count; }).find("step 5, slot"), std::string::npos);
  EXPECT_NE(with([](trace::RunRecording& r) {
              for (trace::RecordedStep& step : r.steps) step.refused.count = 0;
            }),
            "none");
  // A cut that the planner would not make is made, and the bits are the same.
  const auto cut = with([](trace::RunRecording& r) { r.requests[0].step_latency_ns = 1; });
  EXPECT_EQ(cut, "none");
}

TEST(Recording, OfAnotherModelIsRefused) {
  auto recording = trace::read_recording(recorded().file, system_allocator());
  ASSERT_TRUE(recording);
  trace::RunHeader own = recording->header;
  EXPECT_TRUE(check_model(recording->header, own));
  own.fingerprint ^= 1;
  EXPECT_FALSE(check_model(recording->header, own));
}

TEST(Recording, EveryChangedBitAndEveryCutIsRefused) {
  const std::vector<std::byte>& file = recorded().file;
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::vector<std::byte> bad = file;
    bad[i] ^= static_cast<std::byte>(1u << i % 8);
    const auto r = trace::read_recording(bad, system_allocator());
    ASSERT_FALSE(r) << i;
    EXPECT_EQ(r.error().code(), Errc::invalid_file);
    const auto cut = trace::read_recording(std::span(file).first(i), system_allocator());
    ASSERT_FALSE(cut) << i;
  }
  std::vector<std::byte> later = file;
  later[4] = std::byte{2};
  const auto r = trace::read_recording(sealed(later), system_allocator());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::unsupported_version);
}

TEST(Recording, WrongNumbersUnderARightChecksumAreRefusedOrRunToADifference) {
  const std::vector<std::byte>& file = recorded().file;
  std::size_t refused = 0, differ = 0;
  for (std::size_t i = 5; i + 8 < file.size(); i += 7) {
    std::vector<std::byte> bad = file;
    bad[i] = ~bad[i];
    const auto done = replay(sealed(bad), On::cpu);
    if (done) continue;  // a step's latency, a limit that nothing reached
    refused += done.error().code() == Errc::invalid_file || done.error().code() == Errc::truncated_file ? 1u : 0u;
    differ += done.error().code() == Errc::spec_violation ? 1u : 0u;
  }
  EXPECT_GT(refused, 10u);
  EXPECT_GT(differ, 10u);
}

}  // namespace
}  // namespace recording_test
