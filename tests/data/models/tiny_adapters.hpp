// SPDX-License-Identifier: Apache-2.0
// tests/data/models/tiny_adapters.hpp: small random LoRA adapters, as their converter writes them.
#pragma once

#include <data/models/tiny_models.hpp>
#include <string>
#include <vector>

namespace zrt::test {

/// A weight that an adapter changes.
struct AdaptedWeight {
  std::string name;
  std::uint32_t cols = 0;
  std::uint32_t rows = 0;
};

struct AdapterSpec {
  std::vector<AdaptedWeight> weights{};
  std::uint32_t rank = 4;
  std::uint64_t seed = 1;
  DType dtype = DType::f32;
  std::string architecture = "llama";
  std::string general_type = "adapter";
  std::string adapter_type = "lora";
  float alpha = 8.0f;
  bool without_up = false;  ///< the first weight lacks its lora_b
};

/// All plain projections of a tiny model of one width, that of TinySpec{}.
[[nodiscard]] inline std::vector<AdaptedWeight> tiny_projections(std::uint32_t layers = 2) {
  std::vector<AdaptedWeight> all;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    for (const auto& [name, cols, rows] : {std::tuple{"attn_q.weight", 32u, 32u},
                                           {"attn_k.weight", 32u, 16u},
                                           {"attn_v.weight", 32u, 16u},
                                           {"attn_output.weight", 32u, 32u},
                                           {"ffn_gate.weight", 32u, 64u},
                                           {"ffn_up.weight", 32u, 64u},
                                           {"ffn_down.weight", 64u, 32u}})
      all.push_back({blk + name, cols, rows});
  }
  return all;
}

/// Writes the file; the same spec gives the same bytes.
[[nodiscard]] inline ModelFile tiny_adapter(const AdapterSpec& s) {
  GgufWriter w;
  TinyRandom random(s.seed);
  w.add("general.architecture", s.architecture);
  w.add("general.type", s.general_type);
  w.add("adapter.type", s.adapter_type);
  w.add("adapter.lora.alpha", s.alpha);
  for (const AdaptedWeight& weight : s.weights) {
    detail::add_tiny_matrix(w, random, weight.name + ".lora_a", s.dtype, weight.cols, s.rank, 0.5f);
    if (s.without_up && &weight == s.weights.data()) continue;
    detail::add_tiny_matrix(w, random, weight.name + ".lora_b", s.dtype, s.rank, weight.rows, 0.5f);
  }
  return ModelFile(w.build());
}

}  // namespace zrt::test
