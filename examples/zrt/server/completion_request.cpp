// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/completion_request.cpp: prompts and the older fields of a completion.
#include "completion_request.hpp"
#include "prompt_field.hpp"

#include <algorithm>

namespace program::server {
namespace {

constexpr std::int64_t kMostTopOfCompletions = 5;
constexpr std::int64_t kDefaultTokens = 16;

/// No prompt is the beginning of a text.
std::vector<Prompt> prompts_of(Fields& fields, const ServedModel& model) {
  if (const Json* found = fields.find("prompt")) return read_prompts(*found, "prompt", model);
  const auto start = model.tokenizer->bos() ? model.tokenizer->bos() : model.tokenizer->eos();
  if (!start) throw bad_field("prompt", "'prompt' is missing, and the vocabulary has no token that begins a text");
  return {Prompt{{*start}, std::string()}};
}

std::string text_of_prompt(const Prompt& prompt, const ServedModel& model) {
  if (prompt.text) return *prompt.text;
  const auto text = model.tokenizer->decode(prompt.tokens);
  if (!text) throw api_error(text.error(), "prompt");
  return std::string(text->view());
}

void refuse_what_is_not_done(Fields& fields, std::size_t choices) {
  if (const auto suffix = fields.text("suffix"); suffix && !suffix->empty())
    throw bad_field("suffix", "'suffix' is not supported");
  const auto best = fields.integer("best_of", 1, 20);
  if (best && static_cast<std::size_t>(*best) != choices)
    throw bad_field("best_of", "'best_of' is " + std::to_string(*best) + ", expected n: choices are not ranked");
}

}  // namespace

GenerationRequest read_completion_request(const Json& body, const ServedModel& model, const std::string&) {
  Fields fields(body);
  GenerationRequest request;
  Asked choice;
  read_model(fields, model, choice, request);
  const std::size_t count = read_generation_fields(fields, model, choice, request);
  refuse_what_is_not_done(fields, count);
  const bool echo = fields.boolean("echo").value_or(false);
  const auto top = fields.integer("logprobs", 0, kMostTopOfCompletions);
  request.log_probabilities = top.has_value();
  request.top = static_cast<std::uint32_t>(top.value_or(0));
  if (top) choice.log_probabilities = std::min(kMostTop, model.vocabulary);
  if (top && echo) choice.prompt_log_probabilities = std::clamp(request.top, 1u, model.vocabulary);
  const auto most = fields.integer("max_tokens", echo ? 0 : 1, INT32_MAX).value_or(kDefaultTokens);
  const std::vector<Prompt> prompts = prompts_of(fields, model);
  if (prompts.size() * count > kMostPrompts)
    throw bad_field("n", "the prompts ask for " + std::to_string(prompts.size() * count) +
                             " choices, expected at most " + std::to_string(kMostPrompts));
  for (const Prompt& prompt : prompts) {
    choice.tokens = prompt.tokens;
    fit_context(model, "prompt", most, choice);
    add_choices(choice, count, request);
    request.echoes.resize(request.choices.size(), echo ? text_of_prompt(prompt, model) : std::string());
  }
  fields.name_unknown(request.ignored);
  return request;
}

}  // namespace program::server
