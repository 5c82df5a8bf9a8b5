// SPDX-License-Identifier: Apache-2.0
// tests/unit/recorded_device.cpp: the device room runs models on a device whose kernels are functions of the host.
// test-set: full
#include <zrt/device/selftest/kernel_cases.hpp>
#include <zrt/engine/engine.hpp>
#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/qwen3.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <data/models/tiny_models.hpp>
#include <limits>
#include <string>
#include <support/engines.hpp>
#include <support/random_graph.hpp>
#include <support/run_with.hpp>
#include <support/toy_gpu.hpp>
#include <vector>

namespace recorded_device_test {

/// The toy, whose kernel takes every token itself.
struct Sampler : toy_gpu::Backend {
  static constexpr std::string_view name = "toy with a sampler";
};

}  // namespace recorded_device_test

namespace zrt::inline ZRT_ABI {

template <class O>
  requires device::RecordsDispatches<O>
struct Adapter<recorded_device_test::Sampler, O> : device::SharedAdapter<recorded_device_test::Sampler, O> {};
template <>
struct Adapter<recorded_device_test::Sampler, ops::Sample>
    : device::SharedAdapter<recorded_device_test::Sampler, ops::Sample, device::SampleByKernel> {};

}  // namespace zrt::inline ZRT_ABI

namespace recorded_device_test {
namespace {

using namespace zrt;
using toy_gpu::Backend;
using toy_gpu::Device;
using toy_gpu::DeviceOptions;

struct TwoFamilies {
  using List = boost::mp11::mp_list<model::Llama, model::Qwen3>;
};
using ToyEngine = Engine<Backend, TwoFamilies>;

/// A prompt of more tokens than slots, over more than one page, and generated tokens.
const std::vector<std::int32_t> kPrompt{1, 5, 9, 2, 7, 7, 3, 8, 4, 6, 1, 2, 3, 11, 12, 13, 14, 15, 16, 17, 18};
const std::vector<std::int32_t> kFed{3, 8, 20};

EngineOptions small(std::uint32_t slots = 2) {
  EngineOptions options;
  options.slots = slots;
  options.context = 64;
  options.chunk = 16;
  return options;
}

template <class E> std::vector<float> logits_of(E& engine) {
  std::vector<float> all;
  const auto done = engine.evaluate(
      kPrompt, kFed, [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

TEST(RecordedDevice, GivesTheReferencesBits) {
  for (const test::TinySpec& spec :
       {test::TinySpec{.name = "llama"}, test::TinySpec{.name = "q8_0", .weights = DType::q8_0},
        test::TinySpec{.name = "bias", .tied = true, .biases = true, .kv_heads = 1},
        test::TinySpec{.name = "qwen3", .family = "qwen3", .tied = true, .kv_heads = 4, .key_dim = 16}}) {
    const test::ModelFile file = test::tiny_model(spec);
    const auto reference = test::open_engine(test::On::reference, file.bytes(), small());
    ASSERT_TRUE(reference) << reference.error().text();
    const std::vector<float> expected = logits_of(**reference);
    for (const bool seen : {true, false}) {
      SCOPED_TRACE(testing::Message() << spec.name << (seen ? ", seen" : ", hidden"));
      auto engine = ToyEngine::open(file.bytes(), small(), {.host_sees_arenas = seen});
      ASSERT_TRUE(engine) << engine.error().text();
      EXPECT_EQ(logits_of(*engine), expected);
      EXPECT_GT(engine->device().launches(), 0u);
    }
  }
}

/// Tokens of two requests, one of which is sampled, which begin in different steps.
template <class E> std::vector<std::int32_t> tokens_of(E& engine) {
  std::vector<std::int32_t> ids;
  const auto heard = [&](RequestId, const Token& token) {
    ids.push_back(token.id);
    return true;
  };
  Request greedy;
  greedy.prompt = "the king of";
  greedy.max_tokens = 9;
  greedy.ignore_eos = true;
  Request sampled = greedy;
  sampled.max_tokens = 12;
  sampled.sampling.temperature = 1.5f;
  sampled.sampling.seed = 7;
  EXPECT_TRUE(engine.submit(sampled));
  for (int step = 0; step < 40; ++step) {
    if (step == 3) {
      EXPECT_TRUE(engine.submit(greedy));
    }
    const auto done = engine.step(heard);
    EXPECT_TRUE(done) << done.error().text();
    if (!done) break;
  }
  return ids;
}

TEST(RecordedDevice, RequestsJoinAndAreSampledOnTheHost) {
  const test::ModelFile file = test::tiny_model({.text = true, .seed = 5});
  const auto reference = test::open_engine(test::On::reference, file.bytes(), small());
  ASSERT_TRUE(reference) << reference.error().text();
  const auto expected = tokens_of(**reference);
  EXPECT_GE(expected.size(), 21u);
  for (const bool seen : {true, false}) {
    auto engine = ToyEngine::open(file.bytes(), small(), {.host_sees_arenas = seen});
    ASSERT_TRUE(engine) << engine.error().text();
    EXPECT_EQ(tokens_of(*engine), expected);
    EXPECT_EQ(engine->executor().decode_plan().program().recorded(), 1u);
  }
}

TEST(RecordedDevice, OfRowsThatTheDeviceAnswersTheHostCopiesOneLogit) {
  const test::ModelFile file = test::tiny_model({.text = true, .seed = 5});
  auto engine = ToyEngine::open(file.bytes(), small(), {.host_sees_arenas = false});
  ASSERT_TRUE(engine) << engine.error().text();
  Request request;
  request.prompt = "the king of";
  request.max_tokens = 4;
  request.ignore_eos = true;
  const auto copied = [&](float temperature) {
    request.sampling.temperature = temperature;
    const std::uint64_t before = engine->device().copied_out();
    EXPECT_TRUE(engine->generate(request, [](const Token&) { return true; }));
    return engine->device().copied_out() - before;
  };
  // Of each token a request's words, the token and its logit, against 256 logits and more.
  EXPECT_LT(copied(0.0f), 4u * 256);
  EXPECT_GT(copied(1.0f), 4u * 1024);
}

TEST(RecordedDevice, AClassOfWeightsLiesInSeveralAllocationsWhereOneIsTooSmall) {
  const test::ModelFile file = test::tiny_model({.text = true, .seed = 5});
  auto whole = ToyEngine::open(file.bytes(), small()),
       cut = ToyEngine::open(file.bytes(), small(), {.largest_allocation = 2048});
  ASSERT_TRUE(whole && cut);
  EXPECT_EQ(tokens_of(*cut), tokens_of(*whole));
  EXPECT_GT(cut->device().weight_store().pools().size(), whole->device().weight_store().pools().size());
  for (const auto& pool : cut->device().weight_store().pools()) EXPECT_EQ(pool.left() < pool.memory().bytes(), true);
}

TEST(RecordedDevice, ALongStepIsHandedOverInPieces) {
  const test::ModelFile file = test::tiny_model({});
  auto whole = ToyEngine::open(file.bytes(), small()), cut = ToyEngine::open(file.bytes(), small(), {.piece_time = 0});
  ASSERT_TRUE(whole && cut);
  EXPECT_EQ(logits_of(*whole), logits_of(*cut));
  EXPECT_GT(cut->device().submissions(), whole->device().submissions());
  EXPECT_EQ(cut->device().launches(), whole->device().launches());
}

TEST(RecordedDevice, ALaunchOfTooManyWorkgroupsIsSeveral) {
  const test::ModelFile file = test::tiny_model({});
  auto whole = ToyEngine::open(file.bytes(), small()), cut = ToyEngine::open(file.bytes(), small(), {.most_groups = 3});
  ASSERT_TRUE(whole && cut);
  EXPECT_EQ(logits_of(*cut), logits_of(*whole));
  EXPECT_GT(cut->device().launches(), whole->device().launches());
}

TEST(RecordedDevice, NoSubmissionOfASlowDeviceTakesLongAndThoseOfAFastOneAreFew) {
  const test::ModelFile file = test::tiny_model({});
  const auto submissions = [&](std::uint64_t group_time, std::uint64_t watchdog) {
    auto engine = ToyEngine::open(file.bytes(), small(),
                                  {.piece_time = 100'000'000, .group_time = group_time, .watchdog = watchdog});
    EXPECT_TRUE(engine) << engine.error().text();
    std::vector<float> logits = logits_of(*engine);
    const std::uint64_t first = engine->device().submissions();
    EXPECT_EQ(logits_of(*engine), logits);
    EXPECT_LE(engine->device().longest(), watchdog);
    return std::pair(std::move(logits), engine->device().submissions() - first);
  };
  constexpr std::uint64_t second = 1'000'000'000;
  // Of a device that takes no time each step is one submission.
  const auto idle = submissions(0, second), fast = submissions(1'000, second), slow = submissions(10'000'000, second);
  EXPECT_EQ(fast.first, idle.first);
  EXPECT_EQ(slow.first, idle.first);
  EXPECT_EQ(fast.second, idle.second);
  EXPECT_GT(slow.second, 2 * fast.second);
}

TEST(RecordedDevice, AStepThatDoesNotEndIsNamedWithItsLaunch) {
  const test::ModelFile file = test::tiny_model({});
  auto engine = ToyEngine::open(file.bytes(), small(), {.hangs_before = 0});
  ASSERT_TRUE(engine);
  const auto failed = engine->evaluate(kPrompt, kFed, [](std::uint32_t, std::span<const float>) {});
  ASSERT_FALSE(failed);
  const std::string text(failed.error().text());
  EXPECT_NE(text.find("launch 1"), std::string::npos) << text;
  EXPECT_NE(text.find("embedding_f32"), std::string::npos) << text;
  EXPECT_NE(text.find("the toy hangs"), std::string::npos) << text;
}

TEST(RecordedDevice, AKernelThatItHasNotIsNamedWhenAModelIsBound) {
  const test::ModelFile file = test::tiny_model({.weights = DType::q4_0});
  const auto engine = ToyEngine::open(file.bytes(), small());
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::not_found);
  EXPECT_NE(engine.error().text().find("embedding_q4_0"), std::string_view::npos) << engine.error().text();
  const test::ModelFile unknown = test::tiny_model({.weights = DType::q5_0});
  const auto refused = ToyEngine::open(unknown.bytes(), small());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("no kernel of toy reads"), std::string_view::npos) << refused.error().text();
}

// --- the program, without an engine ---

/// x [tokens, 32] -> rms_norm(x) + x, twice -> y.
Result<plan::CompiledPlan> sum_plan() {
  ir::Builder g(*test::catalog_ops().table);
  auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  for (int i = 0; i < 2; ++i) {
    const auto n = g.emit<ops::RmsNorm>({.in = {x}, .params = {.dim = 32}})[0];
    x = g.emit<ops::ResidualAdd>({.in = {x, n}})[0];
  }
  g.output("y", x);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, test::catalog_ops(), OpSet::of(Backend::Claims{}));
}

struct Bound {
  explicit Bound(DeviceOptions options = {}) : device(system_allocator(), {}, options), plan(sum_plan()) {
    EXPECT_TRUE(device.ready());
    weights.emplace(*exec::bind_weights<Backend>(plan->plan, {}, device));
    states.emplace(*exec::StateStore<Backend>::make(plan->plan, device, 0, 0));
    Extents bounds;
    bounds.value[1] = 8;
    auto made = exec::bind<Backend>(*plan, *test::catalog_ops().table, *weights, *states, {bounds, 1}, device);
    EXPECT_TRUE(made) << made.error().text();
    bound.emplace(std::move(*made));
    step.extents.value[1] = 3;
  }
  Device device;
  Result<plan::CompiledPlan> plan;
  std::optional<exec::WeightSet<Backend>> weights;
  std::optional<exec::StateStore<Backend>> states;
  std::optional<exec::BoundPlan<Backend>> bound;
  ExecutionContext step;
};

TEST(RecordedDevice, NothingRunsBeforeItIsWaitedFor) {
  Bound b;
  auto& program = b.bound->program();
  ASSERT_TRUE(program.submit(b.device, b.step));
  EXPECT_EQ(b.device.submissions(), 1u);
  EXPECT_EQ(b.device.launches(), 0u);
  const auto ended = program.wait(b.device, b.step, {});
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ(b.device.launches(), program.size());
}

TEST(RecordedDevice, AStopEndsAStepBetweenTwoPieces) {
  Bound b({.piece_time = 0});
  auto& program = b.bound->program();
  ASSERT_GT(program.pieces(), 2u);
  struct Poll {
    std::size_t left;
    static bool ask(const void* context) noexcept {
      auto& poll = *static_cast<Poll*>(const_cast<void*>(context));
      return poll.left-- == 0;
    }
  };
  Poll poll{2};
  const auto stopped = program.launch(b.device, b.step, {&poll, &Poll::ask});
  ASSERT_TRUE(stopped) << stopped.error().text();
  EXPECT_FALSE(*stopped);
  EXPECT_EQ(b.device.submissions(), 2u);
  EXPECT_LT(b.device.launches(), program.size());
  const auto again = program.launch(b.device, b.step, {});
  EXPECT_TRUE(again && *again);
}

TEST(RecordedDevice, AStepWhoseNextPieceIsRefusedEndsWhenNothingRunsAnyMore) {
  Bound b({.piece_time = 0, .refuses = 1});
  auto& program = b.bound->program();
  ASSERT_GT(program.pieces(), 1u);
  const auto refused = program.launch(b.device, b.step, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::out_of_memory);
  EXPECT_EQ(b.device.submissions(), 1u);
  EXPECT_GT(b.device.launches(), 0u) << "the first piece is still under way";
}

/// Keeps what a device says of its launches.
struct Heard {
  std::vector<exec::DeviceCall>* calls;

  Result<void> bind(const exec::ObservedProgram&) noexcept { return {}; }
  void begin_step(const ExecutionContext&) noexcept {}
  void end_step(bool) noexcept {}
  void device_calls(Span<const exec::DeviceCall> heard) const noexcept { calls->assign(heard.begin(), heard.end()); }
};
static_assert(exec::WatchesDevice<Heard>);

/// The times of three launches.
std::vector<exec::DeviceCall> timed(const DeviceOptions& options) {
  std::vector<exec::DeviceCall> calls;
  Device device(system_allocator(), {}, options);
  EXPECT_TRUE(device.ready());
  const auto arena = device.allocate(256);
  Backend::Program program(device);
  Backend::Recorder recorder(program, device);
  recorder.time_launches();
  exec::StepBounds bounds;
  EXPECT_TRUE(recorder.reserve(bounds));
  for (std::uint32_t i = 0; i < 3; ++i) {
    exec::RecordSite<device::Scratch> site;
    site.instruction = 5 + i;
    EXPECT_TRUE(recorder.begin(site));
    device::KernelCall norm("rms_norm");
    norm.buffer(arena->address()).buffer(std::uint64_t{0}).buffer(arena->address());
    EXPECT_TRUE(recorder.push(norm.value(16u).value(1e-5f).value(0.0f)));
  }
  EXPECT_TRUE(recorder.finish());
  const auto ran = program.launch(device, ExecutionContext{}, {}, Heard{&calls});
  EXPECT_TRUE(ran && *ran);
  return calls;
}

TEST(RecordedDevice, LaunchesAreTimedInTheirOrder) {
  const auto calls = timed({});
  ASSERT_EQ(calls.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(calls[i].instruction, 5 + i);
    EXPECT_EQ(calls[i].begin, (i + 1) * 1000u) << "a tick is a microsecond";
    EXPECT_EQ(calls[i].end, (i + 2) * 1000u);
  }
}

TEST(RecordedDevice, AClockThatBeginsAnewWithinAStepGoesOn) {
  // Its last tick but one, its last one, and then 0.
  const auto calls = timed({.clock_bits = 36, .clock_begin = (std::uint64_t{1} << 36) - 3});
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].begin, ((std::uint64_t{1} << 36) - 2) * 1000);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i].end, calls[0].begin + (i + 1) * 1000);
}

// --- the cases of the self-test ---

/// Runs a case on the toy's kernel of that name, on host memory that has the toy's addresses.
struct CaseRun {
  std::size_t tried = 0;

  static Result<void> visit(void* context, const device::KernelCase& c) noexcept {
    for (const toy_gpu::Kernel& kernel : toy_gpu::kKernels)
      if (kernel.signature.name.view() == c.kernel_name()) {
        ++static_cast<CaseRun*>(context)->tried;
        return run(kernel, c);
      }
    return {};
  }
  static Result<void> run(const toy_gpu::Kernel& kernel, const device::KernelCase& c) noexcept {
    EXPECT_EQ(kernel.signature.buffers, c.buffers().size()) << c.kernel_name();
    EXPECT_EQ(kernel.signature.value_bytes, c.values().size() * 4) << c.kernel_name();
    std::vector<std::byte> arguments(c.buffers().size() * 8 + c.values().size() * 4);
    std::vector<std::vector<std::byte>> memory(c.buffers().size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i].assign(c.buffers()[i].before.begin(), c.buffers()[i].before.end());
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(memory[i].data());
      write_little(arguments.data() + i * 8, memory[i].empty() ? std::uint64_t{0} : at + toy_gpu::kSeenBase);
    }
    for (std::size_t i = 0; i < c.values().size(); ++i)
      write_little(arguments.data() + memory.size() * 8 + i * 4, c.values()[i]);
    toy_gpu::Group group{arguments.data(), kernel.signature.buffers};
    for (group.y = 0; group.y < c.grid()[1]; ++group.y)
      for (group.x = 0; group.x < c.grid()[0]; ++group.x) kernel.run(group);
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (const auto after = c.buffers()[i].after; !after.empty()) {
        EXPECT_TRUE(std::ranges::equal(memory[i], after)) << c.kernel_name() << ", buffer " << i;
      }
    return {};
  }
};

TEST(RecordedDevice, ItsKernelsPassTheCasesOfTheRoom) {
  CaseRun run;
  ASSERT_TRUE(device::for_each_kernel_case(system_allocator(), device::kUploads, {&run, &CaseRun::visit}));
  EXPECT_GE(run.tried, toy_gpu::kKernels.size());
}

/// The kernel says so in a word of the program, and reads row 0.
TEST(RecordedDevice, AnIdOutsideTheTableIsTheInstructionsFault) {
  test::Weights weights;
  std::mt19937 random(1);
  weights.add_random("table", DType::f32, 5, 32, random);
  ir::Builder g(*test::catalog_ops().table, system_allocator(), weights.lookup());
  const auto ids = g.input("ids", {DType::si32, {Dim(1, g.symbol("tokens", 8))}});
  g.output("y", g.emit<ops::Embedding>({.in = {ids, {}}, .w = {g.weight("table", {5, 32})}})[0]);
  const auto plan = plan::compile(*g.finish(), test::catalog_ops(), OpSet::of(Backend::Claims{}));
  ASSERT_TRUE(plan) << plan.error().text();
  for (const std::int32_t last : {4, 5}) {
    Device device;
    ASSERT_TRUE(device.ready());
    test::StepData step;
    step.bounds = test::extents(8, 1);
    step.actual = test::extents(2, 1);
    const std::array<std::int32_t, 8> given{1, last};
    step.inputs = {test::Bytes(as_bytes(Span(given)).begin(), as_bytes(Span(given)).end())};
    const auto run = test::run_with<Backend>(*plan, weights.source(), step, device);
    EXPECT_EQ(run.has_value(), last == 4);
    if (!run) {
      EXPECT_EQ(run.error().code(), Errc::spec_violation);
    }
  }
}

// --- tokens that a kernel takes ---

/// Rows of 40 logits with requests of their own. Every other one forbids every token by its biases.
struct SampledRows {
  static constexpr std::uint32_t kCols = 40;

  explicit SampledRows(std::uint32_t rows) {
    ir::Builder g(*test::catalog_ops().table);
    const Dim dim(1, g.symbol("rows", rows));
    const auto input = [&](const char* name, DType dtype, std::uint32_t cols) {
      return g.input(name, {dtype, {dim, cols}});
    };
    const auto logits = input("logits", DType::f32, kCols), requests = input("requests", DType::ui32, 16),
               history = input("history", DType::si32, 2), ids = input("ids", DType::si32, kCols),
               bias = input("bias", DType::f32, kCols);
    g.output("token", g.emit<ops::Sample>({.in = {logits, requests, history, ids, bias}})[0]);
    plan.emplace(*plan::compile(*g.finish(), test::catalog_ops(), OpSet::of(Backend::Claims{})));
    std::mt19937 random(rows);
    step = test::random_step(plan->plan, test::extents(rows, 1), test::extents(rows, 1), random);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const ops::SampleRequest request{.active = row + 1 < rows ? 1u : 0u,
                                       .seed_low = row,
                                       .temperature = row < 2 ? 0.0f : 0.9f,
                                       .top_p = 1.0f,
                                       .biases = row % 2 == 1 ? kCols : 0u};
      std::memcpy(step.inputs[1].data() + row * sizeof request, &request, sizeof request);
      for (std::uint32_t i = 0; i < kCols; ++i) {
        const float never = -std::numeric_limits<float>::infinity();
        std::memcpy(step.inputs[3].data() + (row * kCols + i) * 4, &i, 4);
        std::memcpy(step.inputs[4].data() + (row * kCols + i) * 4, &never, 4);
      }
    }
  }
  std::optional<plan::CompiledPlan> plan{};
  test::StepData step{};
};

TEST(RecordedDevice, AKernelThatSamplesSaysWhereNoTokenMayBeDrawn) {
  // Of so few rows the host copies a logit each, of more all.
  for (const std::uint32_t rows : {4u, 9u})
    for (const bool seen : {true, false}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << (seen ? "seen" : "hidden"));
      const SampledRows sampled(rows);
      Device device(system_allocator(), {}, {.host_sees_arenas = seen});
      ASSERT_TRUE(device.ready());
      const auto got = test::run_with<Sampler>(*sampled.plan, {}, sampled.step, device);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(*got, *test::run_planned(*sampled.plan, {}, sampled.step));
      for (std::uint32_t row = 0; row < rows; ++row) {
        const auto token = read_little<std::uint32_t>((*got)[0].data() + row * 4);
        EXPECT_EQ(token == ~0u, row % 2 == 1 || row + 1 == rows) << "row " << row << " has " << token;
      }
    }
}

}  // namespace
}  // namespace recorded_device_test
