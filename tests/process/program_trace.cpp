// SPDX-License-Identifier: Apache-2.0
// tests/process/program_trace.cpp: zrt trace and zrt top, as a user runs them.
#include <cmath>
#include <map>
#include <set>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;

TEST_F(Program, TracesARunOfBard) {
  const std::string out = path("t.json");
  const Outcome done = run({"trace", "--model", kModel, "--out", out, "--max-tokens", "12", "--requests", "3",
                            "--slots", "2", "--threads", "2", "--ignore-eos"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("36 tokens in "), std::string::npos) << done.err;
  EXPECT_EQ(done.err.find("warning"), std::string::npos) << done.err;
  EXPECT_EQ(done.out, "");
  const json trace = json::parse(contents(out), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  EXPECT_EQ(trace["otherData"]["dropped_steps"], 0);

  // A model has no instruction that is a view.
  const json plan = run_json({"plan", "--model", kModel, "--format", "json"});
  std::set<std::string> in_plan;
  for (std::size_t i = 0; i < plan["instructions"].size(); ++i) in_plan.insert(plan["instructions"][i]["op"]);

  std::map<std::pair<int, int>, std::vector<json>> tracks;
  std::map<std::string, std::string> names;
  for (const json& event : trace["traceEvents"]) {
    const std::string phase = event.at("ph");
    ASSERT_TRUE(phase == "X" || phase == "M" || phase == "C" || phase == "b" || phase == "e") << event;
    if (phase == "X") tracks[{event["pid"], event["tid"]}].push_back(event);
    if (phase == "M" && event["name"] == "thread_name")
      names[std::to_string(event["pid"].get<int>()) + "/" + std::to_string(event["tid"].get<int>())] =
          event["args"]["name"];
  }
  EXPECT_EQ(names["1/0"], "steps");
  EXPECT_EQ(names["1/1"], "worker 0");
  EXPECT_EQ(names["1/2"], "worker 1");
  EXPECT_EQ(names["2/0"], "slot 0");
  EXPECT_EQ(names["2/1"], "slot 1");

  std::set<std::string> seen;
  std::set<int> layers;
  const std::vector<json>& steps = tracks.at({1, 0});
  for (const auto& [track, events] : tracks) {
    double end = 0.0;
    std::size_t step = 0;
    for (const json& event : events) {
      const double begins = event.at("ts"), lasts = event.at("dur");
      EXPECT_GE(lasts, 0.0);
      EXPECT_GE(begins, end - 1e-3) << "events of one track follow each other: " << event;
      end = begins + lasts;
      if (event["cat"] != "instruction") continue;
      while (step < steps.size() && steps[step]["ts"].get<double>() + steps[step]["dur"].get<double>() < end - 1e-3)
        ++step;
      ASSERT_LT(step, steps.size());
      EXPECT_GE(begins, steps[step]["ts"].get<double>() - 1e-3) << "a call lies within its step: " << event;
      seen.insert(event["name"]);
      if (event["args"].contains("layer")) layers.insert(event["args"]["layer"].get<int>());
      EXPECT_TRUE(event["args"].at("bytes").is_number_unsigned());
      EXPECT_TRUE(std::isfinite(event["args"].at("bandwidth_share").get<double>()));
    }
  }
  EXPECT_EQ(seen, in_plan) << "every op of the plan, and no other";
  EXPECT_EQ(*layers.begin(), 0);
  EXPECT_EQ(static_cast<int>(layers.size()), *layers.rbegin() + 1) << "every layer";
  // Each request is read, then written, in a slot; the third waits for one.
  std::map<int, std::vector<std::string>> requests;
  for (const int slot : {0, 1})
    for (const json& event : tracks.at({2, slot})) {
      const std::string name = event["name"];
      requests[event["args"]["request"].get<int>()].push_back(name.substr(name.rfind(' ') + 1));
    }
  ASSERT_EQ(requests.size(), 3u);
  for (const auto& [id, phases] : requests) EXPECT_EQ(phases, (std::vector<std::string>{"prefill", "decode"})) << id;
}

TEST_F(Program, SaysWhichStepsATraceHasNoRoomFor) {
  const Outcome done = run({"trace", "--model", kModel, "--out", path("t.json"), "--requests", "3", "--slots", "1",
                            "--max-tokens", "240", "--buffer", "1", "--ignore-eos"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("zrt: warning: the last "), std::string::npos) << done.err;
  const json trace = json::parse(contents(path("t.json")), nullptr, false);
  EXPECT_GT(trace["otherData"]["dropped_steps"], 0);
}

TEST_F(Program, ATraceThatCannotBeWrittenIsAnError) {
  const Outcome done = run({"trace", "--model", kModel, "--out", path("no/folder"), "--max-tokens", "2"});
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.err.find("no/folder"), std::string::npos) << done.err;
  EXPECT_EQ(run({"trace", "--model", kModel}).status, 2) << "--out is needed";
  EXPECT_EQ(run({"trace", "--model", kModel, "--out", path("t"), "--buffer", "0"}).status, 2);
}

TEST_F(Program, TracesACardByItsOwnSteps) {
  const Outcome done = run({"trace", "--model", kModel, "--backend", "pm4", "--device", "emulated-gfx1201", "--out",
                            path("t.json"), "--max-tokens", "2", "--context", "64"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json trace = json::parse(contents(path("t.json")), nullptr, false);
  std::vector<json> steps;
  std::map<int, std::vector<json>> tracks;
  int device = -1;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name" && event["args"]["name"] == "device")
      device = event["tid"];
    if (event["ph"] != "X") continue;
    if (event["cat"] == "instruction") tracks[event["tid"]].push_back(event);
    if (event["cat"] != "step") continue;
    steps.push_back(event);
    EXPECT_FALSE(event["args"].contains("bandwidth_share")) << "the host's memory is not the card's";
  }
  // Every launch of both steps, one behind the other by the card's clock.
  ASSERT_EQ(tracks.size(), 1u) << "what the host does is no kernel";
  const std::vector<json>& launches = tracks.at(device);
  const json counted =
      run_json({"bench", "--backend", "pm4", "-m", kModel, "--device", "emulated-gfx1201", "-n", "1", "--json"});
  EXPECT_EQ(launches.size(), 2 * counted["launches_per_token"].get<std::size_t>());
  double end = 0.0;
  for (const json& event : launches) {
    const double begins = event["ts"], lasts = event["dur"];
    EXPECT_GT(lasts, 0.0) << event;
    EXPECT_GE(begins, end - 2e-3) << event;
    end = begins + lasts;
    EXPECT_LT(end, steps[1]["ts"].get<double>() + steps[1]["dur"].get<double>());
    EXPECT_TRUE(event["args"].contains("bytes"));
  }
  EXPECT_EQ(steps.size(), 2u);
}

TEST_F(Program, TopFallsBackToLines) {
  const Outcome done =
      run({"top", "--model", kModel, "--max-tokens", "200", "--interval", "20", "--requests", "2", "--ignore-eos"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out.find('\x1b'), std::string::npos) << "no escapes where no terminal is";
  std::size_t lines = 0;
  for (std::size_t at = 0; at < done.out.size(); ++lines) {
    const std::string line = done.out.substr(at, done.out.find('\n', at) - at);
    EXPECT_NE(line.find(" tokens/s, "), std::string::npos) << line;
    EXPECT_NE(line.find("slots "), std::string::npos) << line;
    EXPECT_NE(line.find("/2, waiting 0, drafts "), std::string::npos) << line;
    EXPECT_NE(line.find('%'), std::string::npos) << line;
    at += line.size() + 1;
  }
  EXPECT_GE(lines, 2u);
  EXPECT_NE(done.err.find("400 tokens in "), std::string::npos) << done.err;
  EXPECT_EQ(run({"top", "--model", kModel, "--interval", "0"}).status, 2);
}

}  // namespace
}  // namespace zrt::test
