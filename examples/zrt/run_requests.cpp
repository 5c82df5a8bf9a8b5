// SPDX-License-Identifier: Apache-2.0
// examples/zrt/run_requests.cpp: the same prompt in several requests at once, for commands that watch an engine work.
#include "output.hpp"
#include "run_requests.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

namespace program {
namespace {

volatile std::sig_atomic_t run_interrupted = 0;

void interrupt_run(int) { run_interrupted = 1; }

}  // namespace

zrt::EngineOptions watched_options(const WatchOptions& o) {
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.slots = std::min(o.slots, o.requests);
  return options;
}

zrt::Result<RequestsRun> run_requests(Model& model, const WatchOptions& o,
                                      const std::function<bool(const RequestsRun&)>& stepped, std::uint32_t stagger) {
  if (model.tokenizer() == nullptr) return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary");
  const auto ids = model.tokenizer()->encode(o.prompt, {.add_special = true, .parse_special = false});
  if (!ids) return zrt::pass(ids);
  RequestsRun run;
  run.prompt_tokens = ids->size();
  (void)std::signal(SIGINT, &interrupt_run);
  const auto start = std::chrono::steady_clock::now();
  const auto submit = [&](std::uint32_t i) {
    zrt::Request request;
    request.prompt = o.prompt;
    request.max_tokens = o.max_tokens;
    request.ignore_eos = o.ignore_eos;
    request.sampling = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f};
    request.sampling.seed = o.seed + i;
    return model.submit(request);
  };
  const auto count = [&](zrt::RequestId, const zrt::Token& token) {
    run.generated_tokens += token.id != zrt::kNoToken ? 1 : 0;
    return true;
  };
  std::uint32_t submitted = 0;
  for (std::uint64_t step = 0, left = 0; left != 0 || submitted < o.requests; ++step) {
    for (; submitted < o.requests && std::uint64_t{submitted} * stagger <= step; ++submitted)
      if (const auto id = submit(submitted); !id) return zrt::pass(id);
    const auto result = model.step(count);
    if (!result) return zrt::pass(result);
    left = *result;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.interrupted = run_interrupted != 0;
    if (!stepped(run) || run.interrupted) break;
  }
  return run;
}

}  // namespace program
