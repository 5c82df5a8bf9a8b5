// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan.hpp backend/vulkan/backend_device.hpp backend/vulkan/step_commands.hpp backend/vulkan/staging.hpp
#include <vulkan/engine_device.hpp>

namespace zrt::test {
namespace {

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

TEST_F(VulkanTokens, MemoryThatTheHostDoesNotSeeGivesTheSame) {
  double_state().has_own_memory = true;
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  Request request = greedy_request("ROMEO:\n", 4);
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
  request.sampling.temperature = 0.7f;
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
}

TEST_F(VulkanTokens, MemoryThatTheHostReadsSlowlyIsWrittenAtOnceAndGivesTheSame) {
  double_state().has_own_memory = double_state().sees_own_memory = true;
  auto engine = open_vulkan(kVulkanBard);
  ASSERT_TRUE(engine) << engine.error().text();
  Request request = greedy_request("ROMEO:\n", 4);
  request.log_probabilities = 0;
  const auto submissions = [&] {
    const int before = double_state().calls["vkQueueSubmit2"];
    EXPECT_TRUE(engine->generate(request, [](const Token&) { return true; }));
    return double_state().calls["vkQueueSubmit2"] - before;
  };
  const int greedy = submissions();
  EXPECT_LE(greedy, 5) << "a step has no submission but its own";
  request.sampling.temperature = 0.7f;
  EXPECT_GT(submissions(), greedy) << "logits are copied";
  request.log_probabilities = 2;
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
    return commands + (end == launches.size() ? "||" : "");
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
