// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/engine_device.hpp: an engine on a Vulkan device behind the double, and small requests.
#pragma once

#include <bit>
#include <map>
#include <support/engines.hpp>
#include <vulkan.hpp>
#include <vulkan/vulkan_test.hpp>

namespace zrt::test {

using VulkanEngine = Engine<engines::VulkanBackend>;
inline const std::string kVulkanBard = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

inline engines::VulkanBackend::DeviceOptions on_double() {
  return {.loader = {.instead = &doubled::of_instance},
          .kernels = engines::vulkan_kernels(),
          .device = {.software = true},
          .step_timeout = std::uint64_t{60} * 1'000'000'000,
          // How fast this machine is decides nothing that a test counts.
          .piece_time = std::uint64_t{60} * 1'000'000'000};
}
inline EngineOptions small_engine(std::uint32_t slots = 1) {
  EngineOptions options;
  options.slots = slots;
  options.context = 128;
  options.chunk = 16;
  return options;
}
inline Result<VulkanEngine> open_vulkan(const std::string& path, const EngineOptions& options = small_engine(),
                                        const engines::VulkanBackend::DeviceOptions& device = on_double()) {
  // The double finds the driver's functions first.
  if (const auto entry = LoaderDouble{}.entry(); !entry) return pass(entry);
  return VulkanEngine::open(path, options, device);
}

inline Request greedy_request(std::string_view prompt, std::uint32_t tokens) {
  Request request;
  request.prompt = prompt;
  request.max_tokens = tokens;
  request.sampling.temperature = 0.0f;
  request.ignore_eos = true;
  request.log_probabilities = 2;
  return request;
}

/// Takes a token that was generated, and the log-probabilities that come with it as their bits: alike where all logits are.
inline void take_bits(const Token& token, std::vector<std::int32_t>& tokens) {
  if (token.id != kNoToken) tokens.push_back(token.id);
  for (const TokenProbability& best : token.best) {
    tokens.push_back(best.id);
    tokens.push_back(std::bit_cast<std::int32_t>(best.log_probability));
  }
}
template <class E> std::vector<std::int32_t> bits_of(E& engine, const Request& request) {
  std::vector<std::int32_t> tokens;
  const auto done = engine.generate(request, [&](const Token& token) {
    take_bits(token, tokens);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  return tokens;
}
/// A prompt over a page and in two steps, and generated tokens: state and pages outlive a step.
inline constexpr std::array<std::int32_t, 18> kFixedPrompt{1, 5, 9, 2, 7, 7, 3, 8, 4, 6, 1, 2, 3, 11, 12, 13, 14, 15};
inline constexpr std::array<std::int32_t, 3> kFixedFed{3, 8, 20};

template <class E> std::vector<float> fixed_logits(E& engine) {
  std::vector<float> all;
  const auto done = engine.evaluate(kFixedPrompt, kFixedFed, [&](std::uint32_t, std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

inline std::vector<std::int32_t> reference_bits(const std::string& path, const Request& request) {
  static std::map<std::string, std::vector<std::int32_t>> known;
  const std::string key = path + '\n' + std::string(request.prompt) + '\n' + std::to_string(request.max_tokens) + '\n' +
                          std::to_string(request.sampling.temperature);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const auto engine = open_engine(On::reference, path, small_engine());
  EXPECT_TRUE(engine) << engine.error().text();
  return engine ? known[key] = bits_of(**engine, request) : std::vector<std::int32_t>{};
}

}  // namespace zrt::test
