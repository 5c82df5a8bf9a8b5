// SPDX-License-Identifier: Apache-2.0
// examples/text_vectors.cpp: how near two texts are, by the vectors that a model gives for them.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

int main(int argc, char** argv) {
  zrt::EngineOptions options;
  options.embeddings = true;  // for a decoder; encoders need not be told
  options.slots = 16;
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf", options);
  if (!engine) return 1;
  const zrt::EmbedInput texts[] = {{.text = "a cat"}, {.text = "a dog"}};
  const auto found = engine->embed(texts, {.pooling = zrt::Pooling::mean});
  if (!found) return 1;
  const zrt::Span<const float> cat = found->of(0);  // found->width numbers, of length 1
  const zrt::Span<const float> dog = found->of(1);
  double cosine = 0;
  for (std::size_t i = 0; i < found->width; ++i) cosine += double{cat[i]} * double{dog[i]};
  std::cout << "cosine " << cosine << '\n';
  return 0;
}
