// SPDX-License-Identifier: Apache-2.0
// examples/score.cpp: scores given texts: the log-probability of each token, and the perplexity.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string_view>

namespace {

/// log softmax(logits)[id], in f64.
double log_probability(zrt::Span<const float> logits, std::int32_t id) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return logits[static_cast<std::size_t>(id)] - top - std::log(sum);
}

}  // namespace

int main(int argc, char** argv) {
  // logit_rows: as many rows of a prompt step reach the head, not the last row alone.
  auto engine =
      zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf", {.logit_rows = 64});
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  double total[2]{};
  const std::string_view texts[]{"ROMEO:\nI am a gentleman.", "ROMEO:\ngentleman a am I."};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto ids = engine->tokenizer()->encode(texts[i], {.add_special = true});
    if (!ids) return 1;
    // The logits at a position say what the model expects at the next one.
    const auto add = [&](std::uint32_t position, zrt::Span<const float> logits) {
      if (position + 1 < ids->size()) total[i] += log_probability(logits, (*ids)[position + 1]);
    };
    if (auto done = engine->evaluate(ids->span(), {}, add); !done) {
      std::cerr << done.error().text() << '\n';
      return 1;
    }
    const auto perplexity = engine->perplexity(texts[i]);
    if (!perplexity) return 1;
    std::cout << texts[i] << "\n  log-probability " << total[i] << ", perplexity " << *perplexity << '\n';
  }
  return total[0] > total[1] ? 0 : 1;  // the model prefers English
}
