// SPDX-License-Identifier: Apache-2.0
// examples/zrt/run_requests.hpp: the same prompt in several requests at once, for commands that watch an engine work.
#pragma once

#include "options.hpp"

#include <functional>

namespace program {

/// What a run of requests did.
struct RequestsRun {
  std::uint64_t prompt_tokens = 0;     ///< of one request
  std::uint64_t generated_tokens = 0;  ///< of all
  double seconds = 0.0;                ///< from the first step to the last
  bool interrupted = false;
};

/// The engine options of a run: one slot per request, as many as there are.
[[nodiscard]] zrt::EngineOptions watched_options(const WatchOptions& options);

/// Submits the requests and steps until none is left, or until the program is interrupted. `stepped` is called between
/// steps with the tokens generated so far; it says whether to go on. From one request to the next lie `stagger` steps.
[[nodiscard]] zrt::Result<RequestsRun> run_requests(Model& model, const WatchOptions& options,
                                                    const std::function<bool(const RequestsRun&)>& stepped,
                                                    std::uint32_t stagger = 0);

}  // namespace program
