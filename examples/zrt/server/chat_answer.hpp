// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/chat_answer.hpp: the answer of /v1/chat/completions: content, reasoning and calls of tools.
#pragma once

#include "answer.hpp"

namespace program::server {

class ChatAnswer final : public Answer {
 public:
  ChatAnswer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request);

 private:
  struct Message {
    Message(const zrt::text::chat::ReplyFormat& format, const zrt::text::chat::ToolParameters* tools)
        : parser(format, tools) {}

    zrt::text::chat::ReplyParser parser;
    std::string content;
    std::string reasoning;
    std::string forced{};  ///< a list of calls as it comes
    Json calls = Json::array();
    Json probabilities = Json::array();
    std::uint32_t reasoning_tokens = 0;
    const char* finish = nullptr;
  };

  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object(bool chunk) const override { return chunk ? "chat.completion.chunk" : "chat.completion"; }
  void begin_choice(std::uint32_t choice) override;
  void take_token(std::uint32_t choice, const Said& said) override;
  void end_choice(std::uint32_t choice, const Said& said) override;
  Json whole_choice(std::uint32_t choice) override;
  void add_details(Json& usage) const override;

  /// Reads more of the text. Returns whether any of it was reasoning.
  bool take_text(std::uint32_t choice, std::string_view text);
  bool take_pieces(std::uint32_t choice, const zrt::Result<zrt::Span<const zrt::text::chat::ReplyPiece>>& pieces);
  void add_text(std::uint32_t choice, std::string_view text, bool reasons);
  void add_call(std::uint32_t choice, std::string_view id, std::string_view name, std::string arguments);
  void add_forced_calls(std::uint32_t choice);
  void send_delta(std::uint32_t choice, Json delta, Json probabilities = nullptr, const char* finish = nullptr);
  [[nodiscard]] Json probability(const Said& said) const;
  [[nodiscard]] Json token_json(std::int32_t id, float log_probability) const;

  zrt::text::chat::ReplyFormat format_;  ///< which the parsers view
  std::vector<Message> messages_;
  Json pending_ = Json::array();  ///< log-probabilities of tokens whose text is still held back, by choice
};

}  // namespace program::server
