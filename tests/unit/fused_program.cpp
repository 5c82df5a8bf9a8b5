// SPDX-License-Identifier: Apache-2.0
// tests/unit/fused_program.cpp: fused programs: their JSON form, their order, what is refused and where the wire is cut.
#include <zrt/ir/fused/from_ptir.hpp>
#include <zrt/ir/fused/graft.hpp>
#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/ir/fused/json.hpp>
#include <zrt/ir/fused/optimise.hpp>
#include <zrt/ir/fused/output_name.hpp>

#include <gtest/gtest.h>

#include <c_programs.hpp>
#include <string>
#include <support/c_code.hpp>
#include <support/random_program.hpp>

namespace fused_program_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;

// A dropout, a batch norm of its result, a sum with a constant that becomes a state.
constexpr std::string_view kSample = R"({"version":1,"feeds":[0,1,2,3,4],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5,"seed":7},"result_id":5,"mode_sensitive":true},
{"step_id":1,"op_name":"constant","input_ids":[],"attrs":{"value":{"dtype":"f32","shape":[3],"data":"0000803f0000004000004040"}},"result_id":6,"mode_sensitive":false},
{"step_id":4,"op_name":"batch_norm","input_ids":[5,1,2,3,4],"attrs":{"feature_axis":-1,"epsilon":1e-05,"momentum":0.1},"result_ids":[7,8,9],"mode_sensitive":true},
{"step_id":5,"op_name":"elementwise_binary","input_ids":[1,6],"attrs":{"op":"add"},"result_id":10,"mode_sensitive":false}],
"outputs":{"pred":7,"sum":10},"state_in":[1,3,4],"state_out":[{"state":3,"value":8},{"state":1,"value":10}],
"meta":[{"id":0,"dtype":"f32","shape":["?N",3],"device":"cpu"},{"id":7,"dtype":"f32","shape":["?N",3]}]})";

std::string without_lines(std::string_view text) {
  std::string all(text);
  std::erase(all, '\n');
  return all;
}
std::string edited(std::string_view from, std::string_view to) {
  std::string text(kSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}
fused::FusedProgram parsed(std::string_view text) {
  auto program = fused::parse_json(text);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : fused::FusedProgram();
}

const ptir::TensorType kVector{DType::f32, {3}};
std::vector<fused::FeedType> sample_types() {
  return {{0, {DType::f32, {4, 3}}}, {1, kVector}, {2, kVector}, {3, kVector}, {4, kVector}};
}

TEST(FusedJson, WritesWhatItReads) {
  const auto program = parsed(kSample);
  const auto verified = fused::verify(program);
  EXPECT_TRUE(verified) << verified.error().text();
  const auto json = fused::to_json(program);
  ASSERT_TRUE(json) << json.error().text();
  EXPECT_EQ(json->dump(), without_lines(kSample));
  EXPECT_TRUE(parsed(json->dump()) == program);
  EXPECT_FALSE(parsed(edited("\"rate\":0.5", "\"rate\":0.25")) == program);
  EXPECT_FALSE(parsed(edited("\"?N\",3],\"device\"", "\"?M\",3],\"device\"")) == program);
  EXPECT_FALSE(parsed(edited("\"state\":1,", "\"state\":4,")) == program);
}

TEST(FusedJson, RandomProgramsRoundTrip) {
  std::size_t built = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const auto program = random_program(seed, 1 + seed % 24);
    ASSERT_TRUE(program) << program.error().text();
    auto made = fused::from_ptir(*program);
    if (!made) {
      EXPECT_EQ(name(made.error().code()), name(Errc::unimplemented)) << made.error().text();
      continue;
    }
    ++built;
    const auto json = fused::to_json(*made);
    ASSERT_TRUE(json) << json.error().text();
    const auto again = parsed(json->dump());
    EXPECT_TRUE(again == *made) << json->dump();
    EXPECT_EQ(fused::to_json(again)->dump(), json->dump());
  }
  EXPECT_GT(built, 100u);
}

TEST(FusedJson, AttributesMayBearOtherNames) {
  const auto program = parsed(kSample);
  EXPECT_TRUE(parsed(edited("\"rate\":0.5", "\"p\":0.5")) == program);
  EXPECT_TRUE(parsed(edited("\"feature_axis\":-1,\"epsilon\"", "\"axis\":-1,\"eps\"")) == program);
  EXPECT_EQ(fused::parse_json(edited("\"rate\":0.5", "\"p\":0.5,\"rate\":0.5")).error().code(), Errc::duplicate_name);
  const auto sum_over = [](std::string_view axes) {
    return R"({"version":1,"feeds":[0],"steps":[{"step_id":0,"op_name":"reduce","input_ids":[0],"attrs":{"kind":"sum",)" +
           std::string(axes) + R"(,"keepdim":false},"result_id":1,"mode_sensitive":false}],"outputs":{"y":1}})";
  };
  EXPECT_TRUE(parsed(sum_over("\"dim\":-1")) == parsed(sum_over("\"axes\":[-1]")));
  const auto refused = fused::parse_json(sum_over("\"dim\":true"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("step 0 (reduce): attribute axes: expected a list, found true"),
            std::string_view::npos)
      << refused.error().text();
}

// The specification has sets of feeds and states, and types by id; what is optional may be null.
TEST(FusedJson, SetsHaveNoOrderAndNullSaysNothing) {
  const auto program = parsed(kSample);
  EXPECT_TRUE(parsed(edited("\"feeds\":[0,1,2,", "\"feeds\":[2,0,1,")) == program);
  EXPECT_TRUE(parsed(edited("\"state_in\":[1,3,4]", "\"state_in\":[4,1,3]")) == program);
  std::string by_id(kSample);
  by_id.resize(by_id.find("\"meta\""));
  const auto with_meta = [&](std::string_view meta) { return by_id + "\"meta\":" + std::string(meta) + "}"; };
  EXPECT_TRUE(parsed(with_meta(R"({"7":{"dtype":"f32","shape":["?N",3]},"0":{"shape":["?N",3],"dtype":"f32",
                                   "device":"cpu"}})")) == program);
  for (const std::string_view id : {"07", "-7", "+7", "7 ", "", "4294967296", "x"}) {
    const auto read = fused::parse_json(with_meta("{\"" + std::string(id) + "\":{\"dtype\":\"f32\",\"shape\":[]}}"));
    ASSERT_FALSE(read) << id;
    EXPECT_NE(read.error().text().find("expected a value id"), std::string_view::npos) << read.error().text();
  }
  const auto bare = parsed(R"({"version":1,"feeds":[0],"steps":[],"outputs":{"y":0}})");
  EXPECT_TRUE(parsed(R"({"version":1,"feeds":[0],"steps":[],"outputs":{"y":0},"state_in":null,"state_out":null,
                         "meta":null,"regions":null})") == bare);
}

TEST(FusedJson, RefusesWhatIsNotTheForm) {
  const auto refused = [](const std::string& text, Errc code, std::string_view piece) {
    const auto program = fused::parse_json(text);
    ASSERT_FALSE(program) << text;
    EXPECT_EQ(name(program.error().code()), name(code)) << program.error().text();
    EXPECT_NE(program.error().text().find(piece), std::string_view::npos) << program.error().text();
  };
  refused(edited("\"version\":1", "\"version\":2"), Errc::unsupported_version, "version is 2, expected 1");
  refused(edited("\"result_id\":6", "\"result_ids\":[6]"), Errc::invalid_file, "step 1");
  refused(edited("\"result_id\":10", "\"result\":10"), Errc::invalid_file, "step 3");
  refused(edited("\"feeds\":[0,", "\"feeds\":[-1,"), Errc::invalid_file, "a value id");
  refused(edited("\"seed\":7", "\"sed\":7"), Errc::invalid_file, "dropout has no attribute sed");
  refused(edited("{\"pred\":7", "{\"sum\":7"), Errc::duplicate_name, "sum");
  refused(R"([1])", Errc::invalid_file, "a fused program as an object");
}

TEST(FusedVerify, NamesTheFault) {
  const auto refused = [](std::string_view from, std::string_view to, Errc code, std::string_view piece) {
    const auto program = parsed(edited(from, to));
    const auto verified = fused::verify(program);
    ASSERT_FALSE(verified) << to;
    EXPECT_EQ(name(verified.error().code()), name(code)) << verified.error().text();
    EXPECT_NE(verified.error().text().find(piece), std::string_view::npos) << verified.error().text();
  };
  refused("\"feeds\":[0,1,2,", "\"feeds\":[0,1,1,2,", Errc::invalid_argument, "feeds holds 1 twice");
  refused("\"dropout\"", "\"drop\"", Errc::unsupported_opcode, "drop is no operation");
  refused("\"result_id\":6", "\"result_id\":5", Errc::duplicate_name, "value 5 has two origins");
  refused("\"result_id\":6", "\"result_id\":2", Errc::duplicate_name, "value 2 has two origins");
  refused("[1,6]", "[1,60]", Errc::dangling_value, "input 60 is given by nothing");
  refused("\"input_ids\":[0]", "\"input_ids\":[10]", Errc::dangling_value, "input 10 is read before it is given");
  refused("\"step_id\":1", "\"step_id\":4", Errc::invalid_argument, "step 4 stands after step 4");
  refused("\"mode_sensitive\":true", "\"mode_sensitive\":false", Errc::invalid_params, "dropout is mode-sensitive");
  refused("[1,6]", "[1]", Errc::invalid_params, "has 1 inputs, expected 2");
  refused("[7,8,9]", "[7,8,9,11]", Errc::invalid_params, "has 4 results, expected 3");
  refused("\"pred\":7", "\"pred\":70", Errc::dangling_value, "an output names value 70");
  refused("\"state_in\":[1,3,4]", "\"state_in\":[1,3,5]", Errc::invalid_state, "state 5 is no feed");
  refused("\"state\":1,", "\"state\":2,", Errc::invalid_state, "updates 2");
  refused("\"state\":1,", "\"state\":3,", Errc::duplicate_name, "updates 3 twice");
  refused("{\"id\":7,", "{\"id\":70,", Errc::dangling_value, "meta names value 70");
  auto unsorted = parsed(kSample);
  std::swap(unsorted.feeds[0], unsorted.feeds[1]);
  const auto verified = fused::verify(unsorted);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().text(), "feeds holds 0 after 1, expected ascending ids");
}

TEST(FusedVerify, AnyStepMayBeToldOfTheMode) {
  auto program = parsed(edited("{\"op\":\"add\"},\"result_id\":10,\"mode_sensitive\":false",
                               "{\"op\":\"add\"},\"result_id\":10,\"mode_sensitive\":true"));
  EXPECT_TRUE(fused::verify(program));
  EXPECT_TRUE(parsed(fused::to_json(program)->dump()) == program);
  // Merged all the same.
  program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":0,"op_name":"stop_gradient","input_ids":[0],"attrs":{},"result_id":1,"mode_sensitive":true},
{"step_id":1,"op_name":"stop_gradient","input_ids":[0],"attrs":{},"result_id":2,"mode_sensitive":false}],
"outputs":{"y":1,"z":2}})");
  EXPECT_EQ(fused::optimise(program)->steps.size(), 1u);
}

TEST(FusedVerify, TakesLongListsInTheTimeOfTheirLength) {
  // Each value against each other would be 10^10 comparisons.
  constexpr fused::ValueId kMany = 100'000;
  fused::FusedProgram program;
  const auto push = [](auto& list, const auto& entry) { ASSERT_TRUE(list.push_back(entry)); };
  for (fused::ValueId id = 0; id < kMany; ++id) {
    push(program.feeds, id);
    push(program.state_in, id);
    push(program.state_out, fused::StateUpdate{kMany - 1 - id, id});
    push(program.outputs, fused::Output{Name("out." + std::to_string(id)), id});
  }
  const auto verified = fused::verify(program);
  EXPECT_TRUE(verified) << verified.error().text();
  program.outputs[kMany - 1].name = program.outputs[7].name;
  EXPECT_EQ(fused::verify(program).error().code(), Errc::duplicate_name);
  program.outputs[kMany - 1].name = Name("other");
  program.state_out[kMany - 1].state = 7;
  EXPECT_EQ(fused::verify(program).error().code(), Errc::duplicate_name);
}

TEST(FusedSchedule, OrdersByLevelThenById) {
  // Steps of levels 2, 0, 1, 0, listed against the wires.
  const auto step = [](int id, int in, int out) {
    return R"({"step_id":)" + std::to_string(id) + R"(,"op_name":"stop_gradient","input_ids":[)" + std::to_string(in) +
           R"(],"attrs":{},"result_id":)" + std::to_string(out) + R"(,"mode_sensitive":false})";
  };
  auto program = parsed(R"({"version":1,"feeds":[0],"steps":[)" + step(0, 12, 13) + "," + step(9, 0, 11) + "," +
                        step(3, 11, 12) + "," + step(5, 0, 14) + R"(],"outputs":{"y":13,"z":14}})");
  ASSERT_TRUE(fused::schedule(program));
  std::vector<fused::ValueId> results;
  for (const auto& s : program.steps) {
    EXPECT_EQ(s.step_id, results.size());
    results.push_back(program.results_of(s)[0]);
  }
  EXPECT_EQ(results, (std::vector<fused::ValueId>{14, 11, 12, 13}));
  EXPECT_TRUE(fused::verify(program));

  auto cycle =
      parsed(R"({"version":1,"feeds":[0],"steps":[)" + step(0, 2, 1) + "," + step(1, 1, 2) + R"(],"outputs":{"y":1}})");
  const auto scheduled = fused::schedule(cycle);
  ASSERT_FALSE(scheduled);
  EXPECT_EQ(scheduled.error().text(), "the steps form a cycle");
}

// Draws follow from seed, step id and element: who puts steps in another order must not change them.
TEST(FusedSchedule, KeepsTheDrawsOfStepsThatItNumbersAnew) {
  auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":9,"op_name":"dropout","input_ids":[3],"attrs":{"rate":0.5},"result_id":1,"mode_sensitive":true},
{"step_id":8,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5,"stream":5},"result_id":2,"mode_sensitive":true},
{"step_id":7,"op_name":"dropout","input_ids":[2],"attrs":{"rate":0.5,"seed":3},"result_id":3,"mode_sensitive":true},
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.25},"result_id":4,"mode_sensitive":true}],
"outputs":{"y":1,"z":4}})");
  ASSERT_TRUE(fused::schedule(program));
  ASSERT_TRUE(fused::schedule(program));
  std::string steps;
  for (const fused::Step& s : program.steps) {
    const auto stream = program.attributes_of(s)[2];
    steps += std::to_string(s.step_id) + ":" + (stream.present() ? std::to_string(stream.as_integer()) : "own") + " ";
  }
  EXPECT_EQ(steps, "0:own 1:5 2:7 3:9 ");
  EXPECT_EQ(program.attributes_of(program.steps[2])[1].as_integer(), 3);
}

TEST(FusedInstantiate, FeedsAreBoundExactly) {
  const auto program = parsed(kSample);
  const auto refused = [&](const std::vector<fused::FeedType>& types, Errc code, std::string_view text) {
    const auto made = fused::instantiate(program, types, false);
    ASSERT_FALSE(made);
    EXPECT_EQ(name(made.error().code()), name(code));
    EXPECT_EQ(made.error().text(), text);
  };
  auto types = sample_types();
  types.push_back({1, kVector});
  refused(types, Errc::duplicate_name, "feed 1 is bound twice");
  types.back() = {6, kVector};
  refused(types, Errc::invalid_argument, "value 6 is bound, but it is no feed");
  types.pop_back();
  types.pop_back();
  refused(types, Errc::invalid_argument, "feed 4 is not bound");
  const auto unknown = parsed(edited("\"dropout\"", "\"drop\""));
  EXPECT_EQ(fused::to_json(unknown).error().code(), Errc::unsupported_opcode);
}

TEST(FusedInstantiate, ModesDiffer) {
  const auto program = parsed(kSample);
  const auto evaluation = fused::instantiate(program, sample_types(), false);
  const auto training = fused::instantiate(program, sample_types(), true);
  ASSERT_TRUE(evaluation) << evaluation.error().text();
  ASSERT_TRUE(training) << training.error().text();
  EXPECT_FALSE(*evaluation == *training);
  ASSERT_EQ(evaluation->regions[0].results.size(), 4u);
  // In evaluation states leave as they came: results 2 and 3 are the parameters of feeds 3 and 1.
  EXPECT_EQ(evaluation->regions[0].results[2].operand.id, 3u);
  EXPECT_EQ(evaluation->regions[0].results[3].operand.id, 1u);
  EXPECT_GT(training->regions[0].results[3].operand.id, 4u);
}

TEST(FusedInstantiate, RandomProgramsComeBack) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const auto source = random_program(seed, 1 + seed % 24);
    ASSERT_TRUE(source) << source.error().text();
    const ptir::Program& program = *source;
    const auto made = fused::from_ptir(program);
    if (!made) continue;
    std::vector<fused::FeedType> types;
    for (const auto& parameter : program.regions[0].parameters) types.push_back({parameter.id, parameter.type});
    const auto back = fused::instantiate(*made, types, true);
    ASSERT_TRUE(back) << back.error().text();
    ASSERT_EQ(back->regions[0].results.size(), program.regions[0].results.size());
    EXPECT_EQ(back->regions.size(), program.regions.size());
    EXPECT_GE(back->regions[0].instructions.size(), program.regions[0].instructions.size());
  }
}

constexpr std::string_view kNamedExtents = R"({"version":1,"feeds":[0,1],"steps":[
{"step_id":0,"op_name":"broadcast_to","input_ids":[0],"attrs":{"result_shape":["?N",3]},"result_id":2,"mode_sensitive":false},
{"step_id":1,"op_name":"elementwise_binary","input_ids":[1,2],"attrs":{"op":"mul"},"result_id":3,"mode_sensitive":false}],
"outputs":{"y":3},"meta":[{"id":0,"dtype":"f64","shape":[3]},{"id":1,"dtype":"f64","shape":["?N",3]},
{"id":3,"dtype":"f64","shape":["?N",3]}]})";
const ptir::TensorType kRow{DType::f64, {3}}, kTwoRows{DType::f64, {2, 3}};

TEST(FusedInstantiate, FeedsTellTheExtentsThatAreNamed) {
  const auto program = parsed(kNamedExtents);
  const auto ready = fused::instantiate(program, std::vector<fused::FeedType>{{0, kRow}, {1, kTwoRows}}, false);
  ASSERT_TRUE(ready) << ready.error().text();
  ASSERT_EQ(ready->regions[0].results.size(), 1u);
  EXPECT_TRUE(ready->regions[0].results[0].type == kTwoRows);
  // The program itself keeps the name, and takes another extent.
  EXPECT_TRUE(program == parsed(kNamedExtents));
  EXPECT_TRUE(fused::instantiate(program, std::vector<fused::FeedType>{{0, kRow}, {1, {DType::f64, {5, 3}}}}, false));
}

TEST(FusedInstantiate, FeedsThatDisagreeOnAnExtentAreRefused) {
  const auto program = parsed(R"({"version":1,"feeds":[0,1],"steps":[],"outputs":{"y":0,"z":1},
"meta":[{"id":0,"dtype":"f32","shape":["?N"]},{"id":1,"dtype":"f32","shape":["?N"]}]})");
  const std::vector<fused::FeedType> types{{0, {DType::f32, {2}}}, {1, {DType::f32, {3}}}};
  fused::CutWire cut;
  const auto refused = fused::instantiate(program, types, false, &cut);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::shape_mismatch);
  EXPECT_EQ(refused.error().text(), "feed 1: ?N is 3, feed 0 has it as 2");
  EXPECT_EQ(cut.value, 1u);
  EXPECT_TRUE((cut.expected == ptir::TensorType{DType::f32, {2}}));
  EXPECT_TRUE((cut.actual == ptir::TensorType{DType::f32, {3}}));
}

TEST(FusedGraft, FeedsTellTheExtentsThatAreNamed) {
  const auto program = parsed(kNamedExtents);
  const std::vector<fused::FeedType> types{{0, kRow}, {1, kTwoRows}};
  fused::Graft graft(program, types);
  EXPECT_TRUE(graft.type_of(3) == kTwoRows);
  graft.output("twice", graft.value(3) + graft.value(3));
  const auto made = graft.finish();
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(fused::instantiate(*made, types, true));
}

HostValue values(const Shape& shape, const std::vector<double>& data) {
  const auto bytes = std::as_bytes(std::span(data));
  return {{DType::f64, shape}, {bytes.begin(), bytes.end()}};
}

constexpr std::string_view kBothModes = R"({"version":1,"feeds":[0,1,2,3,4],"steps":[
{"step_id":0,"op_name":"batch_norm","input_ids":[0,1,2,3,4],"attrs":{"feature_axis":1,"epsilon":1e-5,"momentum":0.1},"result_ids":[7,8,9],"mode_sensitive":true},
{"step_id":1,"op_name":"dropout","input_ids":[7],"attrs":{"rate":0.25},"result_id":10,"mode_sensitive":true},
{"step_id":2,"op_name":"elementwise_binary","input_ids":[10,0],"attrs":{"op":"add"},"result_id":11,"mode_sensitive":false}],
"outputs":{"y":11,"again":3},"state_in":[3,4],"state_out":[{"state":3,"value":8},{"state":4,"value":9}]})";

// Its dropout has no seed of its own, so that training takes one more input.
TEST(FusedInC, TheModeIsAnArgument) {
  const auto program = fused::parse_json(kBothModes);
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::TensorType matrix{DType::f64, {4, 3}}, vector{DType::f64, {3}};
  const std::vector<fused::FeedType> feeds{{0, matrix}, {1, vector}, {2, vector}, {3, vector}, {4, vector}};
  CCode code;
  const auto added = code.add("model", *program, feeds);
  ASSERT_TRUE(added) << added.error().text();
  ASSERT_EQ(code.build(), "");
  std::vector<HostValue> inputs{values({4, 3}, {-1, 0.5, 2, 3, -4, 7, 0.25, 1.5, -2.5, 4, 2, 1}),
                                values({3}, {1, 2, 0.5}), values({3}, {0, -1, 3}), values({3}, {0.5, -0.5, 1}),
                                values({3}, {1, 2, 4})};
  inputs.push_back({{DType::si64, {}}, std::vector<std::byte>(8, std::byte{11})});
  std::vector<std::byte> results;
  for (const bool training : {false, true}) {
    const auto in_mode = fused::instantiate(*program, feeds, training);
    ASSERT_TRUE(in_mode) << in_mode.error().text();
    ASSERT_EQ(in_mode->regions[0].parameters.size(), training ? 6u : 5u);
    const ProgramRun run = run_program(*in_mode, std::span(inputs).first(training ? 6 : 5), 1, 1, false);
    ASSERT_FALSE(run.refused || run.failed);
    std::vector<HostValue> got = run.outputs;
    for (HostValue& value : got) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{0x5a});
    ASSERT_EQ(code.call("model", inputs, got, training), 0);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].bytes == run.outputs[i].bytes) << "output " << i;
    EXPECT_TRUE(got[1].bytes == inputs[3].bytes);
    // The modes are not the same.
    EXPECT_FALSE(got[0].bytes == results);
    results = got[0].bytes;
  }
}

TEST(FusedInC, TellsWhatLeavesByItsNameInTheProgram) {
  const auto program = parsed(R"({"version":1,"feeds":[0,1],"steps":[
{"step_id":1,"op_name":"elementwise_unary","input_ids":[0],"attrs":{"op":"tanh"},"result_id":2,"mode_sensitive":false},
{"step_id":4,"op_name":"elementwise_binary","input_ids":[1,2],"attrs":{"op":"add"},"result_id":3,"mode_sensitive":false}],
"outputs":{"y":2,"state.1":3,"again":2},"state_in":[1],"state_out":[{"state":1,"value":3}]})");
  const std::vector<fused::FeedType> types{{0, kVector}, {1, kVector}};
  const auto code = engines::to_c(program, types, nullptr);
  ASSERT_TRUE(code) << code.error().text();
  const std::vector<std::string_view> names{"y", "state.1.output", "again", "state.1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(fused::output_name(program, i).view(), names[i]);
    const std::string line = " * outputs[" + std::to_string(i) + "]: f32[3] " + std::string(names[i]) + "\n";
    EXPECT_NE(code->view().find(line), std::string_view::npos) << line << code->view().substr(0, 8000);
  }
  EXPECT_EQ(fused::output_name(program, names.size()).view(), "");
}

// The second of two calls has no form in C.
TEST(FusedInC, NamesTheStepThatHasNoForm) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":1,"op_name":"custom_call","input_ids":[0],"attrs":{"target":"zrt.onnx.sin.v1","attrs":{}},"result_id":1,"mode_sensitive":false},
{"step_id":4,"op_name":"custom_call","input_ids":[1],"attrs":{"target":"acme.scale.v1","attrs":{}},"result_id":2,"mode_sensitive":false}],
"outputs":{"y":2},"meta":[{"id":1,"dtype":"f32","shape":[3]},{"id":2,"dtype":"f32","shape":[3]}]})");
  const std::vector<fused::FeedType> types{{0, kVector}};
  fused::CutWire cut;
  const auto code = engines::to_c(program, types, &cut);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code(), Errc::unimplemented);
  String report;
  ASSERT_TRUE(fused::append_report(report, program, cut, code.error()));
  EXPECT_EQ(std::string(report.view()),
            R"(step 4 (custom_call): custom_call: acme.scale.v1 has no form in C, since what it computes is its host's
  input 1: produced, f32[3], declared as f32[3], from step 1 (custom_call)
  result 2, f32[3], declared as f32[3], to output y
  backend inspected: c
)");
}

TEST(FusedGraft, KeepsTheDrawsOfStepsThatItNumbersAnew) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":3,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5},"result_id":1,"mode_sensitive":true},
{"step_id":8,"op_name":"dropout","input_ids":[1],"attrs":{"rate":0.5,"stream":5},"result_id":2,"mode_sensitive":true}],
"outputs":{"y":2}})");
  const std::vector<fused::FeedType> types{{0, kVector}};
  fused::Graft graft(program, types);
  graft.output("more", graft.value(2) + graft.value(0));
  const auto made = graft.finish();
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->steps.size(), 3u);
  EXPECT_EQ(made->steps[0].step_id, 0u);
  EXPECT_EQ(made->attributes_of(made->steps[0])[2].as_integer(), 3);
  EXPECT_EQ(made->attributes_of(made->steps[1])[2].as_integer(), 5);
  EXPECT_EQ(made->outputs[1].id, made->results_of(made->steps[2])[0]);
}

TEST(FusedGraft, OutputsAndStatesMayBeLiteralsAndElementsOfTuples) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[],"outputs":{},"state_in":[0]})");
  const std::vector<fused::FeedType> types{{0, {DType::f64, {4}}}};
  fused::Graft graft(program, types);
  const ir::ptir::Tensor x = graft.value(0);
  const ir::ptir::Results top = graft.builder().top_k(x, 4, 0);
  graft.output("first", top[0]);
  graft.output("two", graft.builder().scalar(DType::f64, 2));
  graft.update(x, top[0]);
  const auto made = graft.finish();
  ASSERT_TRUE(made) << made.error().text();
  const auto training = fused::instantiate(*made, types, true);
  ASSERT_TRUE(training) << training.error().text();
  const std::vector<HostValue> inputs{values({4}, {1, 7, -2, 4})};
  const ProgramRun run = run_program(*training, inputs);
  ASSERT_FALSE(run.refused || run.failed);
  ASSERT_EQ(run.outputs.size(), 3u);
  EXPECT_TRUE(run.outputs[0].bytes == values({4}, {7, 4, 1, -2}).bytes);
  EXPECT_TRUE(run.outputs[1].bytes == values({}, {2}).bytes);
  EXPECT_TRUE(run.outputs[2].bytes == run.outputs[0].bytes);
}

TEST(FusedOptimise, GivesANewProgramWithoutRepeatsAndWithoutWhatNothingNeeds) {
  const auto step = [](int id, std::string_view op, std::string_view in, std::string_view attrs, int result,
                       bool mode) {
    return "{\"step_id\":" + std::to_string(id) + ",\"op_name\":\"" + std::string(op) + "\",\"input_ids\":[" +
           std::string(in) + "],\"attrs\":{" + std::string(attrs) + "},\"result_id\":" + std::to_string(result) +
           ",\"mode_sensitive\":" + (mode ? "true}" : "false}");
  };
  const std::string exp = "\"op\":\"exp\"", add = "\"op\":\"add\"";
  const auto program = parsed(
      "{\"version\":1,\"feeds\":[0,1],\"steps\":[" + step(0, "elementwise_unary", "0", exp, 2, false) + "," +
      step(2, "elementwise_unary", "0", exp, 3, false) + "," +
      step(3, "elementwise_unary", "0", "\"op\":\"log\"", 4, false) + "," +
      step(5, "elementwise_binary", "2,3", add, 5, false) + "," + step(6, "elementwise_binary", "3,2", add, 6, false) +
      "," + step(7, "dropout", "5", "\"rate\":0.5", 7, true) + "," + step(9, "dropout", "6", "\"rate\":0.5", 8, true) +
      "],\"outputs\":{\"a\":7,\"b\":8,\"c\":6},\"state_in\":[1],"
      "\"state_out\":[{\"state\":1,\"value\":3}],"
      "\"meta\":[{\"id\":3,\"dtype\":\"f32\",\"shape\":[3]}]}");
  const auto before = fused::to_json(program);
  const auto made = fused::optimise(program);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(fused::to_json(program)->dump(), before->dump());
  std::string steps;
  for (const fused::Step& s : made->steps) {
    steps += std::to_string(s.step_id) + "(";
    for (const fused::ValueId id : made->inputs_of(s)) steps += std::to_string(id) + ",";
    steps += ")" + std::to_string(made->results_of(s)[0]) + " ";
  }
  // A dropout draws by its step's id, so no two are the same.
  EXPECT_EQ(steps, "0(0,)2 5(2,2,)5 7(5,)7 9(5,)8 ");
  EXPECT_EQ(made->outputs[2].id, 5u);
  EXPECT_EQ(made->state_out[0].value, 2u);
  EXPECT_TRUE(made->meta.empty());
  EXPECT_TRUE(fused::verify(*made));
}

// What a host's kernel does is its host's: of two equal calls both are made.
TEST(FusedOptimise, CustomCallsAreNotMerged) {
  const auto call = [](int id, int result) {
    return "{\"step_id\":" + std::to_string(id) +
           R"(,"op_name":"custom_call","input_ids":[0],"attrs":{"target":"acme.scale.v1","attrs":{}},"result_id":)" +
           std::to_string(result) + ",\"mode_sensitive\":false}";
  };
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[)" + call(0, 1) + "," + call(1, 2) +
                              R"(],"outputs":{"a":1,"b":2},"meta":[{"id":1,"dtype":"f32","shape":[3]},)" +
                              R"({"id":2,"dtype":"f32","shape":[3]}]})");
  const auto made = fused::optimise(program);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->steps.size(), 2u);
  EXPECT_EQ(made->outputs[0].id, 1u);
  EXPECT_EQ(made->outputs[1].id, 2u);
}

}  // namespace
}  // namespace fused_program_test
