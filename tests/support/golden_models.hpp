// SPDX-License-Identifier: Apache-2.0
// tests/support/golden_models.hpp: models of F32 with another engine's logits, and how far zrt's are off them.
#pragma once

#include <array>
#include <string_view>

namespace zrt::test {

/// A model of F32, of `golden/arch` of the shared data or, if `own`, of tests/data/peer.
struct GoldenModel {
  const char* name = "";
  std::string_view family{};  ///< general.architecture
  bool some = false;          ///< of the files that a family of this name opens apart from the rest
  bool own = false;
  double nmse = 0;  ///< of zrt's logits against the golden ones; kernels are canonical, so every processor gives it
};

/// docs/models.md has the largest of each family, and golden/arch.cpp computes them anew.
inline constexpr auto kGoldenF32 = std::to_array<GoldenModel>({
    {"llama", "llama", false, false, 1.5123e-13},
    {"llama-rope3", "llama", false, false, 2.4982e-13},
    {"llama-linear", "llama", false, false, 9.1975e-14},
    {"llama-yarn", "llama", false, false, 1.9208e-13},
    {"llama-bias", "llama", false, false, 1.1883e-13},
    {"qwen2", "qwen2", false, false, 3.6859e-13},
    {"qwen3", "qwen3", false, false, 2.6699e-13},
    {"gemma2", "gemma2", false, false, 5.4321e-13},
    {"gemma3", "gemma3", false, false, 1.7771e-13},
    {"gemma4", "gemma4", false, false, 3.7940e-12},
    {"gemma4-dense", "gemma4", false, false, 6.1154e-13},
    {"gemma4-moe", "gemma4", false, false, 3.9889e-12},
    {"phi3", "phi3", false, false, 1.7249e-13},
    {"phi3-longrope", "phi3", false, false, 1.7276e-13},
    {"phi3-shortrope", "phi3", false, false, 2.4891e-13},
    {"gpt2", "gpt2", false, false, 1.4555e-13},
    {"qwen3vl", "qwen3vl", false, false, 2.6111e-13},
    {"mamba", "mamba", false, false, 5.2317e-13},
    {"mamba2", "mamba2", false, false, 1.2279e-13},
    {"granitehybrid", "granitehybrid", false, false, 3.8279e-13},
    {"granitehybrid-rope", "granitehybrid", false, false, 3.4409e-13},
    {"granitehybrid-moe", "granitehybrid", false, false, 7.4290e-13},
    {"lfm2", "lfm2", false, false, 1.8486e-13},
    {"qwen35", "qwen35", false, false, 1.1338e-12},
    {"qwen35moe", "qwen35moe", false, false, 5.8575e-13},
    {"qwen3next", "qwen3next", false, false, 4.6262e-13},
    {"llama-moe", "llama", true, false, 1.6647e-13},
    {"qwen3moe", "qwen3moe", false, false, 1.1597e-13},
    {"gpt-oss", "gpt-oss", false, false, 7.7193e-13},
    {"deepseek2", "deepseek2", false, false, 6.4741e-13},
    {"deepseek2-v3", "deepseek2", false, false, 1.4415e-12},
    {"command-r", "command-r", false, true, 1.1967e-13},
    {"ernie4_5", "ernie4_5", false, true, 4.6006e-13},
    {"olmo2", "olmo2", false, true, 1.1799e-13},
    {"olmo2-window", "olmo2", false, true, 2.1510e-13},
    {"olmo2-yarn", "olmo2", false, true, 3.0248e-13},
    {"mistral3", "mistral3", false, true, 4.4206e-13},
    {"mistral3-tempered", "mistral3", true, true, 5.3362e-13},
    {"falcon-h1", "falcon-h1", false, true, 4.4686e-13},
    {"falcon-h1-bias", "falcon-h1", false, true, 5.5562e-13},
    {"falcon-h1-plain", "falcon-h1", false, true, 4.3150e-13},
    {"nemotron_h", "nemotron_h", false, true, 3.9019e-13},
    {"nemotron_h-bias", "nemotron_h", false, true, 6.3641e-13},
    {"nemotron_h_moe", "nemotron_h_moe", false, true, 8.5571e-13},
    {"nemotron_h_moe-latent", "nemotron_h_moe", false, true, 1.1423e-12},
    {"exaone4", "exaone4", false, true, 1.5822e-13},
    {"exaone4-window", "exaone4", false, true, 6.0639e-11},
    {"glm4", "glm4", false, true, 2.1845e-13},
    {"gpt2", "gpt2", false, true, 5.9151e-08},
    {"granitemoe", "granitemoe", false, true, 1.5609e-13},
    {"qwen2moe", "qwen2moe", false, true, 3.7362e-13},
    {"deepseek2", "deepseek2", false, true, 8.1531e-13},
    {"deepseek2-v3", "deepseek2", false, true, 1.3825e-12},
    {"gemma4", "gemma4", false, true, 1.0304e-07},
    {"gemma4-moe", "gemma4", false, true, 2.1454e-06},
    {"granitehybrid-moe", "granitehybrid", false, true, 1.0378e-13},
    {"qwen3next", "qwen3next", false, true, 1.7797e-12},
    {"qwen35moe", "qwen35moe", false, true, 5.8922e-12},
    {"qwen3vl", "qwen3vl", false, true, 1.8807e-13},
    {"deepseek", "deepseek", false, true, 2.2886e-13},
    {"ernie4_5-moe", "ernie4_5-moe", false, true, 5.6378e-13},
    {"glm4moe", "glm4moe", false, true, 2.9899e-13},
    {"granite", "granite", false, true, 7.3505e-14},
    {"hunyuan-dense", "hunyuan-dense", false, true, 1.4336e-13},
    {"lfm2moe", "lfm2moe", false, true, 6.7929e-14},
    {"seed_oss", "seed_oss", false, true, 3.4216e-13},
    {"smollm3", "smollm3", false, true, 3.7730e-13},
    {"stablelm", "stablelm", false, true, 1.9438e-13},
    {"stablelm-parallel", "stablelm", false, true, 9.1424e-14},
    {"deepseek2-dense", "deepseek2", false, true, 7.3864e-13},
    {"falcon-mamba", "mamba", true, true, 3.5928e-13},
    {"glm4-images", "glm4", false, true, 2.2642e-13},
    {"glm4moe-images", "glm4moe", false, true, 2.2705e-13},
    {"qwen3vlmoe", "qwen3vlmoe", false, true, 2.0547e-13},
    {"starcoder2", "starcoder2", false, true, 9.0911e-08},
});

/// A model of tests/data/peer with another engine's vectors of texts.
struct GoldenEmbedding {
  const char* name = "";
  std::string_view family{};
  bool some = false;  ///< as GoldenModel's
  double nmse = 0;    ///< of all vectors of the pooling that is farthest off
};

inline constexpr auto kGoldenEmbeddings = std::to_array<GoldenEmbedding>({
    {"bert", "bert", false, 9.2141e-08},
    {"bert-rank", "bert", false, 3.3599e-07},
    {"modern-bert", "modern-bert", false, 1.8819e-07},
    {"modern-bert-rank", "modern-bert", false, 1.6061e-07},
    {"modern-bert-silu", "modern-bert", false, 6.3676e-13},
    {"nomic-bert", "nomic-bert", false, 1.2156e-13},
    {"nomic-bert-moe", "nomic-bert-moe", false, 7.3258e-08},
    {"qwen3-embedding", "qwen3", false, 1.4883e-13},
    {"qwen3-rank", "qwen3", true, 1.8916e-13},
    {"t5encoder", "t5encoder", false, 5.0122e-08},
    {"t5encoder-text", "t5encoder", false, 4.6681e-08},
});

}  // namespace zrt::test
