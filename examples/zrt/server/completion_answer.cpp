// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/completion_answer.cpp: texts of a completion, and the older layout of log-probabilities.
#include "completion_answer.hpp"

#include <algorithm>

namespace program::server {
namespace {

/// Tokens of an echoed prompt in an event.
constexpr std::size_t kEchoTokens = 64;

Json no_probabilities() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

/// Whether a character begins at a byte of a text, or the text ends there.
bool is_border(std::string_view text, std::size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0u) != 0x80u;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

}  // namespace

CompletionAnswer::CompletionAnswer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request)
    : Answer(services, std::move(exchange), std::move(request)), texts_(this->request().choices.size()) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const Asked& asked = this->request().choices[i];
    if (asked.prompt_log_probabilities != 0)
      texts_[i].prompt_left = asked.tokens.size();
    else
      texts_[i].offset = characters(this->request().echoes[i]);
    texts_[i].probabilities = no_probabilities();
  }
}

void CompletionAnswer::begin_choice(std::uint32_t choice) {
  const std::string& echo = request().echoes[choice];
  if (!request().stream)
    texts_[choice].text = echo;
  else if (!echo.empty() && texts_[choice].prompt_left == 0)
    send(choice, echo, nullptr, nullptr);
}

/// A token that the echo lacks, as the one that begins every prompt, stands where the next does.
void CompletionAnswer::take_prompt(std::uint32_t choice, const Said& said) {
  Text& t = texts_[choice];
  const std::string_view echo = request().echoes[choice];
  const std::string_view rest = echo.substr(t.told);
  const std::string bytes = token_bytes(said.id);
  std::string_view piece = bytes;
  // Some vocabularies put a space in front of a text.
  if (t.told == 0 && !rest.starts_with(piece) && piece.starts_with(' ')) piece.remove_prefix(1);
  if (!rest.starts_with(piece)) piece = {};
  add_probability(choice, said, piece);
  t.told += piece.size();
  const bool last = --t.prompt_left == 0;
  if (last) {
    t.told = echo.size();
    t.offset = characters(echo);
  }
  if (!request().stream) return;
  if (!last && (t.probabilities["tokens"].size() < kEchoTokens || !is_border(echo, t.told))) return;
  const std::size_t begin = std::exchange(t.sent, t.told);
  send(choice, echo.substr(begin, t.told - begin), std::exchange(t.probabilities, no_probabilities()), nullptr);
}

void CompletionAnswer::take_token(std::uint32_t choice, const Said& said) {
  Text& t = texts_[choice];
  if (request().log_probabilities && !said.ends_text) add_probability(choice, said, token_bytes(said.id));
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

/// The token itself is among those that are shown, one more than were asked for if need be. `piece` is what the text has
/// of it. A prompt's first token has no probability.
void CompletionAnswer::add_probability(std::uint32_t choice, const Said& said, std::string_view piece) {
  Text& t = texts_[choice];
  const float own = std::max(kUnlikely, said.log_probability);
  const std::string token = token_bytes(said.id);
  Json top = Json::object();
  for (std::size_t i = 0; i < std::min<std::size_t>(request().top, said.best.size()); ++i)
    top[token_bytes(said.best[i].id)] = said.best[i].log_probability;
  if (request().top != 0) top[token] = own;
  const bool known = !said.best.empty();
  t.probabilities["tokens"].push_back(token);
  t.probabilities["token_logprobs"].push_back(known ? Json(own) : Json(nullptr));
  t.probabilities["top_logprobs"].push_back(known ? std::move(top) : Json(nullptr));
  t.probabilities["text_offset"].push_back(t.offset);
  t.offset += characters(piece);
}

}  // namespace program::server
