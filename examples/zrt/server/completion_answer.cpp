// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/completion_answer.cpp: texts of a completion, and the older layout of log-probabilities.
#include "completion_answer.hpp"

#include <algorithm>

namespace program::server {
namespace {

Json no_probabilities() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

}  // namespace

CompletionAnswer::CompletionAnswer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request)
    : Answer(services, std::move(exchange), std::move(request)), texts_(this->request().choices.size()) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    texts_[i].offset = characters(this->request().echoes[i]);
    texts_[i].probabilities = no_probabilities();
  }
}

void CompletionAnswer::begin_choice(std::uint32_t choice) {
  const std::string& echo = request().echoes[choice];
  if (!request().stream)
    texts_[choice].text = echo;
  else if (!echo.empty())
    send(choice, echo, nullptr, nullptr);
}

void CompletionAnswer::take_token(std::uint32_t choice, const Said& said) {
  Text& t = texts_[choice];
  if (request().log_probabilities && !said.ends_text) add_probability(choice, said);
  if (!request().stream) {
    t.text += said.text;
    return;
  }
  if (said.text.empty()) return;
  Json probabilities = nullptr;
  if (request().log_probabilities) probabilities = std::exchange(t.probabilities, no_probabilities());
  send(choice, said.text, std::move(probabilities), nullptr);
}

void CompletionAnswer::end_choice(std::uint32_t choice, const Said& said) {
  Text& t = texts_[choice];
  const bool cut = said.finish == zrt::FinishReason::length || said.finish == zrt::FinishReason::context;
  t.finish = cut ? "length" : "stop";
  if (!request().stream) {
    t.text += said.text;
    return;
  }
  Json probabilities = nullptr;
  if (!t.probabilities["tokens"].empty()) probabilities = std::move(t.probabilities);
  send(choice, said.text, std::move(probabilities), t.finish);
}

void CompletionAnswer::send(std::uint32_t choice, std::string_view text, Json probabilities, const char* finish) {
  if (probabilities.is_null() && finish == nullptr) return send_text(choice, ",\"text\":", text, "");
  send_choice({{"index", choice},
               {"text", std::string(text)},
               {"logprobs", std::move(probabilities)},
               {"finish_reason", finish == nullptr ? Json(nullptr) : Json(finish)}});
}

Json CompletionAnswer::whole_choice(std::uint32_t choice) {
  Text& t = texts_[choice];
  return {{"index", choice},
          {"text", std::move(t.text)},
          {"logprobs", request().log_probabilities ? std::move(t.probabilities) : Json(nullptr)},
          {"finish_reason", t.finish}};
}

/// The token itself is among those that are shown, one more than were asked for if need be.
void CompletionAnswer::add_probability(std::uint32_t choice, const Said& said) {
  Text& t = texts_[choice];
  const float own = std::max(kUnlikely, said.log_probability);
  const std::string token = token_bytes(said.id);
  Json top = Json::object();
  for (std::size_t i = 0; i < std::min<std::size_t>(request().top, said.best.size()); ++i)
    top[token_bytes(said.best[i].id)] = said.best[i].log_probability;
  if (request().top != 0) top[token] = own;
  t.probabilities["tokens"].push_back(token);
  t.probabilities["token_logprobs"].push_back(own);
  t.probabilities["top_logprobs"].push_back(std::move(top));
  t.probabilities["text_offset"].push_back(t.offset);
  t.offset += characters(token);
}

}  // namespace program::server
