// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/embedding_request.cpp: texts to vectors, as numbers or as base64 of their bytes.
#include "base64.hpp"
#include "embedding_request.hpp"
#include "generation_request.hpp"

#include <bit>

namespace program::server {
namespace {

/// Numbers as little-endian f32.
std::string bytes_of(std::span<const float> numbers) {
  std::string out;
  for (const float number : numbers)
    for (int shift = 0; shift < 32; shift += 8)
      out += static_cast<char>(std::bit_cast<std::uint32_t>(number) >> shift & 0xffu);
  return out;
}

void check_dimensions(const EmbeddingRequest& request, std::uint32_t width) {
  if (request.dimensions && *request.dimensions != static_cast<std::int64_t>(width))
    throw bad_field("dimensions", "'dimensions' is " + std::to_string(*request.dimensions) + ", the model gives " +
                                      std::to_string(width));
}

}  // namespace

EmbeddingRequest read_embedding_request(const Json& body, const ServedModel& model) {
  Fields fields(body);
  EmbeddingRequest request;
  check_model(fields, model);
  request.inputs = read_prompts(fields.required("input"), "input", model);
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    if (request.inputs[i].tokens.size() > model.context) {
      ApiError error = bad_field("input", "'" + element_path("input", i) + "' has " +
                                              std::to_string(request.inputs[i].tokens.size()) +
                                              " tokens, the context holds " + std::to_string(model.context));
      error.code = "context_length_exceeded";
      throw error;
    }
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64")
    throw bad_field("encoding_format", "'encoding_format' is '" + format + "', expected float or base64");
  request.base64 = format == "base64";
  request.dimensions = fields.integer("dimensions", 1, INT32_MAX);
  if (model.width != 0) check_dimensions(request, model.width);
  fields.ignore({"user"});
  request.ignored = fields.unknown();
  return request;
}

Json embedding_answer(const EmbeddingRequest& request, const TextVectors& found, const ServedModel& model) {
  check_dimensions(request, found.width);
  Json data = Json::array();
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::span<const float> numbers(found.of(i).data(), found.of(i).size());
    Json vector =
        request.base64 ? Json(base64_of(bytes_of(numbers))) : Json(std::vector<float>(numbers.begin(), numbers.end()));
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", std::move(vector)}});
    tokens += found.tokens[i];
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model.id},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

}  // namespace program::server
