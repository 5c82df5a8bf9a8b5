// SPDX-License-Identifier: Apache-2.0
// examples/zrt/generate.cpp: continues a text. The text alone goes to stdout, all else to stderr.
#include "commands.hpp"
#include "output.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

namespace program {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

double rate(double count, double time) { return time > 0.0 ? count / time : 0.0; }

zrt::Request request_of(const GenerateOptions& o, std::string_view prompt, std::span<const std::string_view> stops) {
  zrt::Request request;
  request.prompt = prompt;
  request.max_tokens = o.max_tokens;
  request.sampling = o.sampling;
  request.ignore_eos = o.ignore_eos;
  request.stop_strings = stops;
  return request;
}

/// What the callable of a run has seen.
struct Progress {
  std::uint32_t generated = 0;
  Clock::time_point first{};
  zrt::FinishReason finish = zrt::FinishReason::none;
  bool writable = true;

  bool take(const zrt::Token& token) {
    if (token.id != zrt::kNoToken && generated++ == 0) first = Clock::now();
    if (token.finish != zrt::FinishReason::none) finish = token.finish;
    writable = writable && print(token.text);
    return writable;
  }
};

void report(std::size_t prompt_tokens, const Progress& p, Clock::time_point start, Clock::time_point end) {
  const double prefill = seconds((p.generated != 0 ? p.first : end) - start);
  const double decode = p.generated > 1 ? seconds(end - p.first) : 0.0;
  const std::string_view why = name(p.finish);
  std::fprintf(stderr, "\nprompt: %zu tokens, %.1f tokens/s; generation: %u tokens, %.1f tokens/s; finish: %.*s\n",
               prompt_tokens, rate(static_cast<double>(prompt_tokens), prefill), p.generated,
               rate(p.generated - 1.0, decode), static_cast<int>(why.size()), why.data());
}

zrt::Result<std::size_t> count_tokens(const Model& model, std::string_view prompt) {
  if (model.tokenizer() == nullptr) return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary");
  auto ids = model.tokenizer()->encode(prompt, {.add_special = true, .parse_special = false});
  if (!ids) return zrt::pass(ids);
  return ids->size();
}

}  // namespace

int generate(const GenerateOptions& o) {
  std::string prompt = o.prompt;
  if (!o.prompt_file.empty()) {
    auto text = read_file(o.prompt_file);
    if (!text) return failed(text.error());
    prompt = std::move(*text);
  }
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.penalty_window = o.sampling.penalty_window == 0 ? 1 : o.sampling.penalty_window;
  auto model = open_model(o.model, options);
  if (!model) return failed(model.error());
  const auto prompt_tokens = count_tokens(**model, prompt);
  if (!prompt_tokens) return failed(prompt_tokens.error());

  const std::vector<std::string_view> stops(o.stop.begin(), o.stop.end());
  (void)std::signal(SIGINT, &on_interrupt);
  const auto start = Clock::now();
  const auto id = (*model)->submit(request_of(o, prompt, stops));
  if (!id) return failed(id.error());
  Progress progress;
  std::size_t left = 1;
  for (std::size_t steps = 1; left != 0; ++steps) {
    const auto result = (*model)->step([&](zrt::RequestId, const zrt::Token& token) { return progress.take(token); });
    if (!result) return failed(result.error());
    left = *result;
    if (left != 0 && progress.generated == 0)
      std::fprintf(stderr, "prompt: %zu of %zu tokens\n", std::min(steps * options.chunk, *prompt_tokens),
                   *prompt_tokens);
    if (interrupted != 0) (*model)->cancel(*id);
  }
  report(*prompt_tokens, progress, start, Clock::now());
  return progress.writable ? kOk : cannot_write("stdout");
}

}  // namespace program
