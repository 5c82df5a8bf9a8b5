// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan.hpp backend/vulkan/backend_device.hpp backend/vulkan/step_commands.hpp backend/vulkan/staging.hpp
#include <vulkan/engine_device.hpp>

namespace zrt::test {
namespace {

// Derived devices hide what they name alike.
static_assert(ExpectsWeights<engines::VulkanBackend> && BoundsSteps<engines::VulkanBackend>);
static_assert(device::CarriesBytes<engines::VulkanBackend::Device> &&
              device::LimitsGrids<engines::VulkanBackend::Device>);

struct VulkanTokens : VulkanTest {};

TEST_F(VulkanTokens, GreedyTokensOfBardAreTheReferences) {
  const std::string models = ZRT_SHARED_DIR "/models/bard-";
  for (const std::string& path : {kVulkanBard, models + "q4_0.gguf", models + "q4_k_m.gguf", models + "f32.gguf"}) {
    SCOPED_TRACE(path);
    auto engine = open_vulkan(path);
    ASSERT_TRUE(engine) << engine.error().text();
    EXPECT_EQ(engine->device().numerics().promise, NumericsClass::canonical);
    const Request request = greedy_request("ROMEO:\n", 8);
    EXPECT_EQ(bits_of(*engine, request), reference_bits(path, request));
  }
}

TEST_F(VulkanTokens, TheDeviceSamplesWhatTheProcessorDoes) {
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  EXPECT_TRUE(std::ranges::any_of(engine->executor().decode_plan().program().launches(),
                                  [](const auto& launch) { return launch.signature->name.view() == "sample"; }));
  const auto processor = open_engine(On::cpu, kVulkanBard, small_engine());
  ASSERT_TRUE(processor) << processor.error().text();
  constexpr std::array<TokenBias, 3> kBias{{{10, 3.0f}, {31, -2.0f}, {10, 1.0f}}};
  for (const Sampling& sampling :
       {Sampling{.temperature = 0.8f, .seed = 7}, Sampling{.temperature = 0.8f, .top_k = 40, .seed = 7},
        Sampling{.temperature = 1.1f, .top_p = 0.9f, .min_p = 0.02f, .repetition_penalty = 1.2f, .seed = 11},
        Sampling{.temperature = 0.0f, .frequency_penalty = 0.7f, .presence_penalty = 0.3f, .bias = kBias}}) {
    Request request = greedy_request("ROMEO:\n", 20);
    request.sampling = sampling;
    request.log_probabilities = 0;
    const std::vector<std::int32_t> tokens = bits_of(*engine, request);
    EXPECT_EQ(tokens.size(), 20u);
    EXPECT_EQ(tokens, bits_of(**processor, request));
  }
}

/// How many steps requests take, and how many submissions.
std::pair<int, int> steps_and_submissions(VulkanEngine& engine, std::span<const Request> requests,
                                          std::map<RequestId, std::vector<std::int32_t>>& tokens) {
  const int before = double_state().calls["vkQueueSubmit2"];
  for (const Request& request : requests) tokens[engine.submit(request).value()];
  int steps = 0;
  for (std::size_t left = 1; left != 0; ++steps) {
    const auto result = engine.step([&](RequestId id, const Token& token) {
      take_bits(token, tokens[id]);
      return true;
    });
    EXPECT_TRUE(result) << result.error().text();
    left = result ? *result : 0;
  }
  return {steps, double_state().calls["vkQueueSubmit2"] - before};
}

TEST_F(VulkanTokens, MemoryThatTheHostDoesNotSeeOrReadsSlowlyGivesTheSameWithOneSubmissionPerStep) {
  for (const bool seen : {false, true}) {
    SCOPED_TRACE(seen ? "seen" : "hidden");
    double_state().has_own_memory = true;
    double_state().sees_own_memory = seen;
    auto engine = open_vulkan(kVulkanBard, small_engine(2));
    ASSERT_TRUE(engine) << engine.error().text();
    for (const float temperature : {0.0f, 0.7f}) {
      Request request = greedy_request("ROMEO:\n", 4);
      request.sampling.temperature = temperature;
      // With log-probabilities the rows of logits come with their steps.
      for (const std::uint32_t probabilities : {2u, 0u}) {
        request.log_probabilities = probabilities;
        std::map<RequestId, std::vector<std::int32_t>> tokens;
        const auto [steps, submissions] = steps_and_submissions(*engine, {&request, 1}, tokens);
        EXPECT_GE(steps, 4);
        EXPECT_EQ(submissions, steps);
        ASSERT_EQ(tokens.size(), 1u);
        if (probabilities != 0) {
          EXPECT_EQ(tokens.begin()->second, reference_bits(kVulkanBard, request));
        }
      }
    }
    // A greedy and a sampled request in one step, with penalties and biases.
    std::array<Request, 2> both{greedy_request("O, ", 4), greedy_request("First Citizen:", 5)};
    for (Request& request : both) request.log_probabilities = 0;
    both[1].sampling.temperature = 0.9f;
    both[1].sampling.repetition_penalty = 1.2f;
    std::map<RequestId, std::vector<std::int32_t>> tokens;
    const auto [steps, submissions] = steps_and_submissions(*engine, both, tokens);
    EXPECT_EQ(submissions, steps);
    ASSERT_EQ(tokens.size(), 2u);
    EXPECT_EQ(tokens.begin()->second, bits_of(*engine, both[0]));
    EXPECT_EQ(tokens.rbegin()->second, bits_of(*engine, both[1]));
  }
}

TEST_F(VulkanTokens, ADeviceThatTakesFewWorkgroupsGivesTheSame) {
  double_state().most_groups = 5;
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  const auto& launches = engine->executor().decode_plan().program().launches();
  EXPECT_TRUE(std::ranges::any_of(launches, [](const auto& launch) { return launch.first == 5; }));
  const Request request = greedy_request("ROMEO:\n", 3);
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
}

TEST_F(VulkanTokens, AStepIsOneSubmissionAndNothingIsMade) {
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  ASSERT_TRUE(engine->submit(greedy_request("ROMEO:\n", 4)));
  const auto before = double_state().calls;
  std::uint64_t steps = 0;
  for (std::size_t left = 1; left != 0; ++steps) {
    const auto result = engine->step([](RequestId, const Token&) { return true; });
    ASSERT_TRUE(result) << result.error().text();
    left = *result;
  }
  for (const auto& [name, count] : double_state().calls) {
    const auto then = before.find(name);
    const int more = count - (then == before.end() ? 0 : then->second);
    if (name == "vkQueueSubmit2" || name == "vkWaitSemaphores")
      EXPECT_EQ(static_cast<std::uint64_t>(more), steps) << name;
    else
      EXPECT_EQ(more, 0) << name;
  }
}

/// The commands of a plan, first those of a whole step: each buffer begins with a barrier, others stand where the record
/// says, two end the step.
template <class P> std::string commands_of(const P& program) {
  const auto launches = program.launches();
  const auto buffer = [&](std::size_t first, std::size_t end) {
    std::string commands = "[";
    for (std::size_t i = first; i < end; ++i) commands += i == first || launches[i].barrier ? "|." : ".";
    return commands + (end == launches.size() ? "||" : "|");
  };
  std::string all = buffer(0, launches.size());
  const std::size_t pieces = program.pieces();
  for (std::size_t i = 0; i < pieces && pieces > 1; ++i) {
    const std::size_t first = program.commands().begin_of(i);
    EXPECT_TRUE(i == 0 || launches[first].barrier);
    all += buffer(first, i + 1 < pieces ? program.commands().begin_of(i + 1) : launches.size());
  }
  return all;
}

TEST_F(VulkanTokens, BarriersStandWhereTheRecordSays) {
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  for (const auto* const program :
       {&engine->executor().decode_plan().program(), &engine->executor().prefill_plan().program()}) {
    const std::string wanted = commands_of(*program);
    EXPECT_GT(program->pieces(), 1u);
    EXPECT_NE(wanted.find(".."), wanted.npos) << "some launches run beside each other";
    EXPECT_NE(double_state().commands.find(wanted), std::string::npos) << wanted << '\n' << double_state().commands;
  }
}

TEST_F(VulkanTokens, RequestsJoinAndLeaveWithoutANewRecord) {
  auto engine = open_vulkan(kVulkanBard, small_engine(3));
  ASSERT_TRUE(engine) << engine.error().text();
  const std::array requests{greedy_request("ROMEO:\n", 4), greedy_request("First Citizen:", 1),
                            greedy_request("O, ", 2)};
  std::array<std::vector<std::int32_t>, 3> tokens;
  std::vector<RequestId> ids;
  for (std::size_t left = 1, steps = 0; left != 0; ++steps) {
    // The others join while the first one runs; the second leaves before the first does.
    if (steps < requests.size()) ids.push_back(engine->submit(requests[steps]).value());
    const auto result = engine->step([&](RequestId id, const Token& token) {
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == id) take_bits(token, tokens[i]);
      return true;
    });
    ASSERT_TRUE(result) << result.error().text();
    left = *result;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(tokens[i], reference_bits(kVulkanBard, requests[i])) << i;
  EXPECT_EQ(engine->executor().decode_plan().program().recorded(), 1u);
  EXPECT_EQ(engine->executor().prefill_plan().program().recorded(), 1u);
}

TEST_F(VulkanTokens, ALongPromptInPiecesGivesTheSameAndIsStoppedBetweenThem) {
  auto options = on_double();
  options.piece_time = 1;
  auto engine = open_vulkan(kVulkanBard, small_engine(), options);
  ASSERT_TRUE(engine) << engine.error().text();
  const std::size_t pieces = engine->executor().prefill_plan().program().pieces();
  EXPECT_GT(pieces, 2u);
  const Request request = greedy_request("ROMEO:\nShall I", 2);
  const int before = double_state().calls["vkQueueSubmit2"];
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
  EXPECT_GE(double_state().calls["vkQueueSubmit2"] - before, static_cast<int>(pieces));
  struct StopsAfter {
    std::uint32_t* questions;
    [[nodiscard]] bool stop_requested() const noexcept { return *questions == 0 || (*questions)-- == 0; }
  };
  std::uint32_t questions = 2;
  const auto done =
      engine->generate(request, [](const Token& token) { return token.id == kNoToken; }, StopsAfter{&questions});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->finish, FinishReason::cancelled);
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
}

}  // namespace
}  // namespace zrt::test
