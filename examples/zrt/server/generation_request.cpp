// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/generation_request.cpp: fields that chats and completions have in common.
#include "generation_request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

namespace program::server {
namespace {

std::uint64_t any_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 31 ^ device();
}

void read_sampling(Fields& fields, zrt::Sampling& s) {
  s.temperature = static_cast<float>(fields.number("temperature", 0.0, 2.0).value_or(1.0));
  s.top_p = static_cast<float>(fields.number("top_p", 0.0, 1.0).value_or(1.0));
  s.frequency_penalty = static_cast<float>(fields.number("frequency_penalty", -2.0, 2.0).value_or(0.0));
  s.presence_penalty = static_cast<float>(fields.number("presence_penalty", -2.0, 2.0).value_or(0.0));
  s.top_k = static_cast<std::uint32_t>(fields.integer("top_k", 0, 1 << 30).value_or(0));
  s.min_p = static_cast<float>(fields.number("min_p", 0.0, 1.0).value_or(0.0));
  s.repetition_penalty = static_cast<float>(fields.number("repetition_penalty", 0.01, 100.0).value_or(1.0));
  s.penalty_window = kPenaltyWindow;
  const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  s.seed = seed ? static_cast<std::uint64_t>(*seed) : any_seed();
  // A nucleus of nothing is the most likely token alone.
  if (s.top_p == 0.0f) s.temperature = 0.0f, s.top_p = 1.0f;
}

std::vector<zrt::TokenBias> read_biases(Fields& fields, std::uint32_t vocabulary) {
  const Json* found = fields.find("logit_bias");
  std::vector<zrt::TokenBias> out;
  if (found == nullptr) return out;
  const std::string path = fields.path_of("logit_bias");
  for (const auto& [name, value] : expect_object(*found, path).items()) {
    std::int32_t id = -1;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (code != std::errc() || end != name.data() + name.size() || id < 0 ||
        static_cast<std::uint32_t>(id) >= vocabulary)
      throw bad_field(
          path, "'" + path + "' names token '" + name + "', expected ids of 0.." + std::to_string(vocabulary - 1));
    if (!value.is_number() || !(std::abs(value.get<double>()) <= 100.0))
      throw bad_field(path, "'" + path + "' of token " + name + " is no number of -100..100");
    // A ban and a force are meant as such.
    const auto bias = static_cast<float>(value.get<double>());
    out.push_back({id, bias == -100.0f ? -HUGE_VALF : bias});
  }
  if (out.size() > kMostBiases)
    throw bad_field(path, "'" + path + "' has " + std::to_string(out.size()) + " tokens, expected at most " +
                              std::to_string(kMostBiases));
  return out;
}

std::vector<std::string> read_stops(Fields& fields) {
  std::vector<std::string> stops = fields.texts("stop", kMostStops);
  for (const std::string& stop : stops)
    if (stop.empty() || stop.size() > kMostStopBytes)
      throw bad_field("stop", "a stop string has " + std::to_string(stop.size()) + " bytes, expected 1.." +
                                  std::to_string(kMostStopBytes));
  return stops;
}

void read_streaming(Fields& fields, GenerationRequest& request) {
  request.stream = fields.boolean("stream").value_or(false);
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!request.stream) throw bad_field("stream_options", "'stream_options' is for a request with 'stream': true");
  Fields inner(expect_object(*options, "stream_options"), "stream_options");
  request.include_usage = inner.boolean("include_usage").value_or(false);
  inner.ignore({"include_obfuscation"});
  inner.name_unknown(request.ignored);
}

}  // namespace

std::size_t read_generation_fields(Fields& fields, const ServedModel& model, Asked& choice,
                                   GenerationRequest& request) {
  read_sampling(fields, choice.sampling);
  choice.bias = read_biases(fields, model.vocabulary);
  choice.stops = read_stops(fields);
  choice.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  read_streaming(fields, request);
  fields.ignore({"user"});
  return static_cast<std::size_t>(fields.integer("n", 1, kMostChoices).value_or(1));
}

void add_choices(const Asked& choice, std::size_t count, GenerationRequest& request) {
  for (std::size_t k = 0; k < count; ++k) {
    request.choices.push_back(choice);
    request.choices.back().sampling.seed += k;
    request.choices.back().counts_prompt = k == 0;
  }
  request.choices_of_prompt = static_cast<std::uint32_t>(count);
  request.prompt_tokens += static_cast<std::uint32_t>(choice.tokens.size());
}

void expect_room(const ServedModel& model, const std::string& param, std::uint64_t prompt) {
  if (prompt <= model.context) return;
  ApiError error = bad_field(param, "the prompt has " + std::to_string(prompt) + " tokens, the context holds " +
                                        std::to_string(model.context));
  error.code = "context_length_exceeded";
  throw error;
}

void fit_context(const ServedModel& model, const std::string& param, std::optional<std::int64_t> asked, Asked& choice) {
  const std::size_t prompt = choice.tokens.size();
  if (prompt == 0) throw bad_field(param, "'" + param + "' gives no tokens");
  expect_room(model, param, prompt);
  // One token more than the context holds can be generated: nothing reads it.
  const std::int64_t room = static_cast<std::int64_t>(model.context - prompt) + 1;
  choice.max_tokens = static_cast<std::uint32_t>(std::min(asked.value_or(room), room));
}

void check_model(Fields& fields, const ServedModel& model) {
  const std::string name = expect_text(fields.required("model"), "model");
  if (name != model.id) throw no_model(name);
}

void read_model(Fields& fields, const ServedModel& model, Asked& choice, GenerationRequest& request) {
  request.model = expect_text(fields.required("model"), "model");
  if (request.model == model.id) return;
  const auto found = std::ranges::find(model.adapters, request.model, &ServedAdapter::id);
  if (found == model.adapters.end()) throw no_model(request.model);
  choice.adapter = found->adapter;
  choice.adapter_name = found->id;
}

}  // namespace program::server
