// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/completion_request.hpp: the body of /v1/completions to what an engine is asked.
#pragma once

#include "generation_request.hpp"

namespace program::server {

/// Throws ApiError.
[[nodiscard]] GenerationRequest read_completion_request(const Json& body, const ServedModel& model,
                                                        const std::string& owner);

}  // namespace program::server
