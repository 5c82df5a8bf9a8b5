// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/chat_answer.cpp: messages and deltas of a chat.
#include "chat_answer.hpp"

#include <algorithm>

namespace program::server {
namespace {

using Piece = zrt::text::chat::ReplyPiece;

constexpr std::string_view kContentField = ",\"delta\":{\"content\":";
constexpr std::string_view kReasoningField = ",\"delta\":{\"reasoning_content\":";

const char* finish_name(zrt::FinishReason reason, bool called) {
  if (reason == zrt::FinishReason::length || reason == zrt::FinishReason::context) return "length";
  return called ? "tool_calls" : "stop";
}

}  // namespace

ChatAnswer::ChatAnswer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request)
    : Answer(services, std::move(exchange), std::move(request)),
      format_(this->request().calls ? *services.served.format : services.served.format->without_calls()) {
  for (std::size_t i = 0; i < this->request().choices.size(); ++i) {
    messages_.emplace_back(format_, this->request().tools.get());
    messages_.back().parser.begin_behind(this->request().prompt_text);
    pending_.push_back(Json::array());
  }
}

void ChatAnswer::begin_choice(std::uint32_t choice) {
  if (request().stream) send_delta(choice, {{"role", "assistant"}, {"content", ""}});
}

void ChatAnswer::take_token(std::uint32_t choice, const Said& said) {
  Message& m = messages_[choice];
  if (request().log_probabilities && !said.ends_text)
    (request().stream ? pending_[choice] : m.probabilities).push_back(probability(said));
  if (take_text(choice, said.text)) ++m.reasoning_tokens;
}

void ChatAnswer::end_choice(std::uint32_t choice, const Said& said) {
  Message& m = messages_[choice];
  (void)take_text(choice, said.text);
  const bool whole = said.finish == zrt::FinishReason::stop_token;
  // Calls that are cut are not calls.
  if (request().forced_calls && whole) add_forced_calls(choice);
  take_pieces(choice, m.parser.finish(whole ? zrt::text::chat::ReplyEnd::by_model : zrt::text::chat::ReplyEnd::cut));
  m.finish = finish_name(said.finish, !m.calls.empty());
  if (!request().stream) return;
  if (!pending_[choice].empty()) send_delta(choice, {{"content", ""}}, std::exchange(pending_[choice], Json::array()));
  send_delta(choice, Json::object(), nullptr, m.finish);
}

bool ChatAnswer::take_text(std::uint32_t choice, std::string_view text) {
  Message& m = messages_[choice];
  if (request().forced_calls) {
    m.forced += text;
    return false;
  }
  if (request().constrained) {
    // Nothing in it is a mark: a grammar allows no control token, and a text may look like one.
    if (!text.empty()) add_text(choice, text, false);
    return false;
  }
  return take_pieces(choice, m.parser.feed(text));
}

bool ChatAnswer::take_pieces(std::uint32_t choice, const zrt::Result<zrt::Span<const Piece>>& pieces) {
  bool reasons = false;
  if (!pieces) return false;
  for (const Piece& piece : *pieces) {
    reasons |= piece.kind == Piece::Kind::reasoning;
    if (piece.kind == Piece::Kind::call)
      add_call(choice, piece.id.view(), piece.name.view(), std::string(piece.text.view()));
    else
      add_text(choice, piece.text.view(), piece.kind == Piece::Kind::reasoning);
  }
  return reasons;
}

void ChatAnswer::add_text(std::uint32_t choice, std::string_view text, bool reasons) {
  Message& m = messages_[choice];
  if (!request().stream) {
    (reasons ? m.reasoning : m.content) += text;
    return;
  }
  if (pending_[choice].empty()) return send_text(choice, reasons ? kReasoningField : kContentField, text, "}");
  Json delta;
  delta[reasons ? "reasoning_content" : "content"] = std::string(text);
  send_delta(choice, std::move(delta), std::exchange(pending_[choice], Json::array()));
}

void ChatAnswer::add_call(std::uint32_t choice, std::string_view id, std::string_view name, std::string arguments) {
  Message& m = messages_[choice];
  if (request().one_call && !m.calls.empty()) return;
  const std::size_t index = m.calls.size();
  const std::string call_id = id.empty() ? random_id("call_") : std::string(id);
  m.calls.push_back(
      {{"id", call_id}, {"type", "function"}, {"function", {{"name", std::string(name)}, {"arguments", arguments}}}});
  if (!request().stream) return;
  Json first = m.calls.back();
  first["function"]["arguments"] = "";
  first["index"] = index;
  send_delta(choice, {{"tool_calls", Json::array({first})}});
  send_delta(choice,
             {{"tool_calls", Json::array({{{"index", index}, {"function", {{"arguments", std::move(arguments)}}}}})}});
}

void ChatAnswer::add_forced_calls(std::uint32_t choice) {
  const auto calls = zrt::text::chat::read_call_list(messages_[choice].forced);
  if (!calls) return;
  for (const Piece& call : *calls) add_call(choice, {}, call.name.view(), std::string(call.text.view()));
}

void ChatAnswer::send_delta(std::uint32_t choice, Json delta, Json probabilities, const char* finish) {
  Json shown = nullptr;
  if (probabilities.is_array() && !probabilities.empty())
    shown = {{"content", std::move(probabilities)}, {"refusal", nullptr}};
  send_choice({{"index", choice},
               {"delta", std::move(delta)},
               {"logprobs", std::move(shown)},
               {"finish_reason", finish == nullptr ? Json(nullptr) : Json(finish)}});
}

Json ChatAnswer::whole_choice(std::uint32_t choice) {
  Message& m = messages_[choice];
  Json message{{"role", "assistant"}, {"content", m.content}, {"refusal", nullptr}};
  if (m.content.empty() && !m.calls.empty()) message["content"] = nullptr;
  if (!m.reasoning.empty()) message["reasoning_content"] = m.reasoning;
  if (!m.calls.empty()) message["tool_calls"] = m.calls;
  Json probabilities = nullptr;
  if (request().log_probabilities) probabilities = {{"content", std::move(m.probabilities)}, {"refusal", nullptr}};
  return {{"index", choice},
          {"message", std::move(message)},
          {"logprobs", std::move(probabilities)},
          {"finish_reason", m.finish}};
}

void ChatAnswer::add_details(Json& usage) const {
  std::uint32_t reasoning = 0;
  for (const Message& m : messages_) reasoning += m.reasoning_tokens;
  // What is not here is 0, as in the API's own answers: clients add these up.
  usage["completion_tokens_details"] = {{"reasoning_tokens", reasoning},
                                        {"accepted_prediction_tokens", 0},
                                        {"rejected_prediction_tokens", 0},
                                        {"audio_tokens", 0}};
}

Json ChatAnswer::token_json(std::int32_t id, float log_probability) const {
  const std::string bytes = token_bytes(id);
  Json numbers = Json::array();
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"token", bytes}, {"logprob", log_probability}, {"bytes", std::move(numbers)}};
}

Json ChatAnswer::probability(const Said& said) const {
  Json out = token_json(said.id, std::max(kUnlikely, said.log_probability));
  Json top = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(request().top, said.best.size()); ++i)
    top.push_back(token_json(said.best[i].id, said.best[i].log_probability));
  out["top_logprobs"] = std::move(top);
  return out;
}

}  // namespace program::server
