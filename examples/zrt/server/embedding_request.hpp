// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/embedding_request.hpp: the body of /v1/embeddings, and the answer to it.
#pragma once

#include "embed_queue.hpp"
#include "prompt_field.hpp"

namespace program::server {

struct EmbeddingRequest {
  std::vector<Prompt> inputs;
  bool base64 = false;
  std::optional<std::int64_t> dimensions{};
  std::vector<std::string> ignored{};  ///< names of fields that are not known
};

/// Throws ApiError.
[[nodiscard]] EmbeddingRequest read_embedding_request(const Json& body, const ServedModel& model);

/// Throws ApiError for dimensions that the model does not have.
[[nodiscard]] Json embedding_answer(const EmbeddingRequest& request, const TextVectors& found,
                                    const ServedModel& model);

}  // namespace program::server
