// SPDX-License-Identifier: Apache-2.0
// tests/unit/timeline.cpp: the times of an engine's steps, calls and requests, in sums and as a trace.
#include <zrt/ops/catalog.hpp>
#include <zrt/trace/chrome_trace.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <data/models/tiny_models.hpp>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace timeline_test {
namespace {

using namespace zrt;
using nlohmann::json;
using test::On;

constexpr std::uint32_t kRequests = 3;
constexpr std::uint32_t kSlots = 2;
constexpr std::uint32_t kGenerated = 5;
constexpr std::uint32_t kPrompt = 40;

/// Three requests in two slots, so that one waits.
class TimelineOf : public testing::TestWithParam<std::uint32_t> {
 protected:
  void run(trace::Timeline& timeline) {
    file_ = test::tiny_model({.weights = DType::q8_0, .width = 64, .ff = 128});
    engine_ = test::open_watched_engine(On::cpu, file_.bytes(),
                                        {.slots = kSlots, .context = 64, .chunk = 32, .threads = GetParam()}, timeline);
    ASSERT_TRUE(engine_) << engine_.error().text();
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      const std::vector<std::int32_t> prompt = test::tiny_prompt(64, kPrompt, i);
      Request request;
      request.tokens = prompt;
      request.max_tokens = kGenerated;
      request.ignore_eos = true;
      ASSERT_TRUE((*engine_)->submit(request));
    }
    for (std::size_t left = 1; left != 0;) {
      const auto stepped = (*engine_)->step([](RequestId, const Token&) { return true; });
      ASSERT_TRUE(stepped) << stepped.error().text();
      left = *stepped;
      ++steps_;
    }
  }
  [[nodiscard]] const plan::ExecutionPlan& plan() const { return (*engine_)->plan().plan; }

  /// How often each instruction has a kernel call in a step.
  [[nodiscard]] std::vector<std::uint32_t> calls_per_step(const trace::Timeline& timeline) const {
    trace::StepWalk walk(timeline, system_allocator());
    EXPECT_TRUE(walk.next());
    std::vector<std::uint32_t> calls;
    for (const trace::InstructionTime& time : walk.times()) calls.push_back(time.calls);
    return calls;
  }

  test::ModelFile file_;
  test::AnyEngine engine_ = fail(Errc::not_found, "");
  std::size_t steps_ = 0;
};

json trace_of(const trace::Timeline& timeline, const trace::ChromeTraceOptions& options = {}) {
  std::string text;
  const auto take = [&text](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  };
  EXPECT_TRUE(trace::write_chrome_trace(timeline, kOpTable<ops::Catalog>, options, take));
  return json::parse(text, nullptr, false);
}

TEST_P(TimelineOf, HoldsEachPartitionOfEachCallOnce) {
  trace::Timeline timeline;
  run(timeline);
  ASSERT_EQ(timeline.programs().size(), 2u) << "prefill and decode";
  const std::uint32_t workers = timeline.programs()[0].workers;
  ASSERT_EQ(timeline.lanes().size(), workers);
  EXPECT_LE(workers, GetParam()) << "no more than the process has cores";
  EXPECT_EQ(timeline.dropped().steps, 0u);
  EXPECT_EQ(timeline.steps().size(), steps_);
  const std::uint32_t per_step = static_cast<std::uint32_t>(timeline.programs()[0].calls) * workers;
  trace::StepWalk walk(timeline, system_allocator());
  std::uint64_t seen = 0;
  for (auto more = walk.next(); more && *more; more = walk.next()) {
    EXPECT_LE(walk.step().begin, walk.step().end);
    EXPECT_TRUE(walk.step().completed);
    std::uint32_t calls = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> partitions;
    for (std::size_t lane = 0; lane < walk.lanes(); ++lane) {
      std::uint64_t last = walk.step().begin;
      for (const trace::TimedCall& call : walk.calls(lane)) {
        EXPECT_LE(last, call.begin) << "calls of one worker follow each other";
        EXPECT_LE(call.begin, call.end);
        EXPECT_LE(call.end, walk.step().end);
        last = call.end;
        ++partitions[{call.instruction, call.partition}];
        ++calls;
      }
    }
    EXPECT_EQ(calls, per_step);
    seen += calls;
    for (const auto& [key, times] : partitions) EXPECT_EQ(times, (partitions[{key.first, 0}])) << key.first;
    for (const auto& [key, times] : partitions) EXPECT_LT(key.second, workers);
  }
  std::uint64_t held = 0;
  for (const auto& lane : timeline.lanes()) held += lane.size;
  EXPECT_EQ(seen, held) << "every call belongs to a step";
}

TEST_P(TimelineOf, KnowsWhatEachStepWasAbout) {
  trace::Timeline timeline;
  run(timeline);
  std::uint64_t tokens = 0;
  for (const trace::TimedStep& step : timeline.steps()) {
    tokens += step.work.tokens;
    EXPECT_LE(step.work.slots, kSlots);
    EXPECT_GE(step.work.cached, step.work.tokens);
    EXPECT_EQ(step.load.slots, kSlots);
    EXPECT_EQ(step.load.pages, std::uint64_t{64 / kPageTokens} * kSlots);
    EXPECT_GT(step.load.pages_used, 0u);
  }
  // The last token of a request is generated and never read.
  EXPECT_EQ(tokens, std::uint64_t{kRequests} * (kPrompt + kGenerated - 1));
}

TEST_P(TimelineOf, FollowsRequestsFromTheQueueToTheirEnd) {
  trace::Timeline timeline;
  run(timeline);
  std::map<std::uint64_t, std::vector<exec::RequestPhase>> phases;
  std::map<std::uint64_t, std::uint64_t> last;
  for (const trace::TimedRequest& event : timeline.requests()) {
    const exec::ObservedRequest& request = event.request;
    EXPECT_GE(event.at, last[request.id]);
    last[request.id] = event.at;
    phases[request.id].push_back(request.phase);
    if (request.phase == exec::RequestPhase::ended) {
      EXPECT_EQ(request.generated, kGenerated);
      EXPECT_EQ(request.finish, "length");
    }
  }
  using enum exec::RequestPhase;
  ASSERT_EQ(phases.size(), kRequests);
  for (const auto& [id, seen] : phases)
    EXPECT_EQ(seen, (std::vector{queued, prefill, decode, ended})) << "request " << id;
}

TEST_P(TimelineOf, ShowsThatAPreemptedRequestWaitsAgain) {
  trace::Timeline timeline;
  const test::ModelFile file = test::tiny_model({});
  const auto engine = test::open_watched_engine(test::On::cpu, file.bytes(),
                                                {.slots = 1, .context = 64, .threads = GetParam()}, timeline);
  ASSERT_TRUE(engine);
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 5, 1);
  Request r;
  r.tokens = prompt;
  r.max_tokens = 20;
  r.ignore_eos = true;
  const auto step = [&] { return *(*engine)->step([](RequestId, const Token&) { return true; }); };
  r.tenant = *(*engine)->create_tenant({.service = ServiceClass::batch});
  const auto owner = static_cast<std::uint64_t>(r.tenant);
  const RequestId job = *(*engine)->submit(r);
  for (int i = 0; i < 18; ++i) step();
  r.tenant = *(*engine)->create_tenant({.service = ServiceClass::interactive});
  r.max_tokens = 2;
  ASSERT_TRUE((*engine)->submit(r));
  while (step() != 0) {
  }
  std::vector<exec::RequestPhase> seen;
  for (const trace::TimedRequest& event : timeline.requests()) {
    if (event.request.id == static_cast<std::uint64_t>(job)) seen.push_back(event.request.phase);
    EXPECT_EQ(event.request.tenant == owner, event.request.id == static_cast<std::uint64_t>(job));
  }
  using enum exec::RequestPhase;
  EXPECT_EQ(seen, (std::vector{queued, prefill, decode, queued, prefill, decode, ended}));
  std::size_t owned = 0;
  for (const json& event : trace_of(timeline)["traceEvents"])
    owned += event.contains("args") && event["args"].value("tenant", std::uint64_t{0}) == owner ? 1u : 0u;
  EXPECT_EQ(owned, 8u) << "two waits of two events each, and four phases";
}

TEST_P(TimelineOf, SumsToAProfile) {
  trace::Timeline timeline;
  run(timeline);
  const auto profile = trace::Profile::of(timeline, system_allocator());
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->steps, timeline.steps().size());
  std::set<Opcode> in_plan;
  const std::vector<std::uint32_t> calls = calls_per_step(timeline);
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i] != 0) in_plan.insert(plan().instruction(i).opcode);
  EXPECT_EQ(profile->ops.size(), in_plan.size());
  std::uint64_t busy = 0;
  for (const trace::OpTime& op : profile->ops) {
    EXPECT_TRUE(in_plan.contains(op.opcode));
    EXPECT_LE(op.busy, op.span * timeline.programs()[0].workers)
        << "no worker is busy longer than the instruction lasts";
    busy += op.busy;
  }
  EXPECT_EQ(busy, profile->busy());
  std::uint64_t by_worker = 0;
  for (const std::uint64_t ticks : profile->lanes) {
    EXPECT_LE(ticks, profile->ticks);
    by_worker += ticks;
  }
  EXPECT_EQ(by_worker, busy) << "the shares of workers and of ops are the same time";
  timeline.clear();
  EXPECT_EQ(trace::Profile::of(timeline, system_allocator())->steps, 0u);
}

/// The bytes of a decode step are those of the weights in the plan, and what is known of the rest.
TEST_P(TimelineOf, CountsBytesByThePlan) {
  trace::Timeline timeline;
  run(timeline);
  const plan::StepWork& work = timeline.steps().back().work;
  std::map<std::string, std::uint64_t> pages;
  for (std::size_t i = 0; i < plan().instructions.size(); ++i) {
    const plan::Instruction insn = plan().instruction(i);
    const plan::Traffic t = plan::traffic(plan(), insn, work);
    const std::string op(kOpTable<ops::Catalog>[number(insn.opcode)] -> name);
    std::uint64_t weights = 0;
    for (const plan::WeightRef w : insn.weights)
      if (w != plan::kNoWeight) weights += plan::weight_bytes(plan().weights[plan::index(w)]);
    if (op == "embedding") {
      EXPECT_EQ(t.weights * 64, weights * work.tokens) << "one row of 64 per token";
    } else {
      EXPECT_EQ(t.weights, weights) << op;
    }
    EXPECT_GT(t.activations, 0u) << op;
    pages[op] += t.pages;
  }
  // Two layers of two heads of 8 keys and 8 values in f16.
  const std::uint64_t position = std::uint64_t{2} * 2 * (8 + 8) * 2;
  EXPECT_EQ(pages["flash_attn_batched"], work.cached * position);
  std::uint64_t all = 0;
  for (const auto& [op, bytes] : pages) all += bytes;
  EXPECT_EQ(all, (work.cached + work.tokens) * position) << "read by attention, written once";
}

/// The events of a track, by begin.
std::map<std::pair<int, int>, std::vector<json>> tracks(const json& trace) {
  std::map<std::pair<int, int>, std::vector<json>> found;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X") found[{event["pid"], event["tid"]}].push_back(event);
  return found;
}

TEST_P(TimelineOf, BecomesATraceOfWellFormedEvents) {
  trace::Timeline timeline;
  run(timeline);
  const json trace = trace_of(timeline, {.process = "a \"process\"\n", .bytes_per_second = 1e9});
  ASSERT_TRUE(trace.is_object());
  EXPECT_EQ(trace["otherData"]["dropped_steps"], 0);
  std::map<std::string, std::size_t> phases;
  for (const json& event : trace["traceEvents"]) {
    ++phases[event.at("ph")];
    EXPECT_TRUE(event.at("name").is_string());
    EXPECT_TRUE(event.at("pid").is_number_unsigned());
    EXPECT_TRUE(event.at("tid").is_number_unsigned());
    EXPECT_GE(event.at("ts").get<double>(), 0.0);
    if (event["ph"] == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0.0);
    }
  }
  EXPECT_EQ(phases["b"], kRequests);
  EXPECT_EQ(phases["e"], kRequests);
  EXPECT_EQ(phases["C"], 2 * steps_) << "requests and pages";
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "a \"process\"\n");

  const auto found = tracks(trace);
  EXPECT_EQ(found.at({1, 0}).size(), steps_);
  std::set<int> workers;
  std::vector<std::uint32_t> calls(plan().instructions.size(), 0);
  for (const auto& [track, events] : found) {
    double last = 0.0;
    for (const json& event : events) {
      EXPECT_GE(event["ts"].get<double>() + 1e-6, last) << "events of a track do not overlap";
      last = event["ts"].get<double>() + event["dur"].get<double>();
      if (event["cat"] != "instruction") continue;
      workers.insert(track.second);
      const std::size_t i = event["args"].at("instruction");
      ++calls.at(i);
      const plan::Instruction insn = plan().instruction(i);
      EXPECT_EQ(event["name"], kOpTable<ops::Catalog>[number(insn.opcode)] -> name);
      // Where no row reaches the head, as in all but the last step of a prompt, head and sampler have nothing to do.
      EXPECT_TRUE(event["args"].at("bytes") > 0 || !event["args"].contains("layer") || event["name"] == "take");
      EXPECT_GE(event["args"].at("bandwidth_share"), 0.0);
      EXPECT_NEAR(event["args"]["bandwidth_share"].get<double>(), event["args"].at("GB/s").get<double>(), 1e-5);
      if (event["args"].contains("weight")) {
        const std::string weight = event["args"]["weight"];
        EXPECT_EQ(weight.starts_with("blk."), event["args"].contains("layer")) << weight;
        if (weight.starts_with("blk.1.")) {
          EXPECT_EQ(event["args"]["layer"], 1);
        }
      }
    }
  }
  for (const int worker : workers) {
    EXPECT_GE(worker, 1);
    EXPECT_LE(worker, static_cast<int>(timeline.lanes().size()));
  }
  const std::vector<std::uint32_t> expected = calls_per_step(timeline);
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], expected[i] * steps_) << i;
}

TEST_P(TimelineOf, DropsWholeStepsAndSaysSo) {
  trace::Timeline roomy;
  run(roomy);
  const std::size_t all = steps_;
  const std::uint64_t calls = roomy.programs()[0].calls;
  const std::uint64_t workers = roomy.programs()[0].workers;
  steps_ = 0;
  // Room for two steps where one worker does all, and for more where each does its own part.
  trace::Timeline small({.bytes = sizeof(trace::TimedCall) * calls * workers * workers * 2, .requests = 2});
  run(small);
  EXPECT_EQ(steps_, all);
  EXPECT_LE(small.steps().size(), 2 * workers + 1);
  EXPECT_GE(small.steps().size(), 1u);
  EXPECT_EQ(small.steps().size() + small.dropped().steps, all);
  EXPECT_EQ(small.requests().size(), 2u);
  EXPECT_EQ(small.requests().size() + small.dropped().requests, roomy.requests().size());
  std::uint64_t held = 0;
  for (const auto& lane : small.lanes()) held += lane.size;
  EXPECT_EQ(held, small.steps().size() * calls * workers) << "no part of a step";
  const json trace = trace_of(small);
  EXPECT_EQ(trace["otherData"]["dropped_steps"], small.dropped().steps);
  EXPECT_EQ(trace["otherData"]["dropped_request_events"], small.dropped().requests);
}

INSTANTIATE_TEST_SUITE_P(Workers, TimelineOf, testing::Values(1u, 2u, 3u));

TEST(Timeline, RefusesAStepThatItCannotHold) {
  const test::ModelFile file = test::tiny_model({});
  trace::Timeline tiny({.bytes = 100});
  const auto engine = test::open_watched_engine(On::cpu, file.bytes(), {.context = 64}, tiny);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::invalid_argument);
  EXPECT_EQ(engine.error().text().substr(0, 50), "a timeline of 100 bytes holds no step of 25 calls ");
}

/// The reference is one worker's work; the others are called for nothing.
TEST(Timeline, WatchesTheReferenceToo) {
  const test::ModelFile file = test::tiny_model({});
  trace::Timeline timeline;
  auto engine = test::open_watched_engine(On::reference, file.bytes(), {.context = 64}, timeline);
  ASSERT_TRUE(engine) << engine.error().text();
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 5, 1);
  Request request;
  request.tokens = prompt;
  request.max_tokens = 3;
  request.ignore_eos = true;
  ASSERT_TRUE((*engine)->generate(request, [](const Token&) { return true; }));
  EXPECT_EQ(timeline.steps().size(), 3u);
  EXPECT_EQ(timeline.lanes()[0].size, 3 * timeline.programs()[0].calls);
}

/// A device's clock is its own: its last launch ends when the host has seen the fence.
TEST(Timeline, PlacesADevicesLaunchesBesideTheHostsSteps) {
  const test::ModelFile file = test::tiny_model({});
  trace::Timeline unused;
  auto engine = test::open_watched_engine(On::cpu, file.bytes(), {.context = 64}, unused);
  ASSERT_TRUE(engine);
  trace::Timeline timeline;
  trace::TimelineObserver observer{&timeline};
  ASSERT_TRUE(observer.bind({&(*engine)->plan(), 1, 25, true}));
  observer.begin_step({});
  const std::array<exec::DeviceCall, 3> calls{{{0, 1000, 3000}, {1, 3000, 3500}, {2, 3100, 4000}}};
  observer.device_calls(calls);
  observer.end_step(true);
  ASSERT_EQ(timeline.device().size(), 3u);
  const double scale = timeline.clock().nanoseconds_per_tick();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const trace::TimedCall& seen = timeline.device()[i];
    EXPECT_EQ(seen.instruction, calls[i].instruction);
    EXPECT_LE(seen.end, timeline.steps()[0].end);
    EXPECT_NEAR(static_cast<double>(seen.end - seen.begin) * scale, static_cast<double>(calls[i].end - calls[i].begin),
                20.0);
  }
  const auto profile = trace::Profile::of(timeline, system_allocator());
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->lanes.size(), 2u);
  EXPECT_GT(profile->lanes[1], 0u);
  const json trace = trace_of(timeline);
  EXPECT_EQ(tracks(trace).at({1, 2}).size(), 3u) << "behind the one worker";
}

TEST(Timeline, ASinkThatFailsEndsTheTrace) {
  trace::Timeline timeline;
  int pieces = 0;
  const auto full = [&](std::string_view) -> Result<void> {
    ++pieces;
    return fail(Errc::io_error, "full");
  };
  const auto written = trace::write_chrome_trace(timeline, kOpTable<ops::Catalog>, {}, full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Errc::io_error);
  EXPECT_EQ(pieces, 1);
}

}  // namespace
}  // namespace timeline_test
