// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/completion_answer.hpp: the answer of /v1/completions: text alone.
#pragma once

#include "answer.hpp"

namespace program::server {

class CompletionAnswer final : public Answer {
 public:
  CompletionAnswer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request);

 private:
  struct Text {
    std::string text;
    std::size_t offset = 0;       ///< of the next token, in characters of the text
    std::size_t prompt_left = 0;  ///< tokens of the prompt that are still to be told
    std::size_t told = 0;         ///< bytes of the echo that are of tokens that were told
    std::size_t sent = 0;         ///< of these, in events
    Json probabilities{};
    const char* finish = nullptr;
  };

  const char* id_prefix() const override { return "cmpl-"; }
  const char* object(bool) const override { return "text_completion"; }
  void begin_choice(std::uint32_t choice) override;
  void take_prompt(std::uint32_t choice, const Said& said) override;
  void take_token(std::uint32_t choice, const Said& said) override;
  void end_choice(std::uint32_t choice, const Said& said) override;
  Json whole_choice(std::uint32_t choice) override;

  void send(std::uint32_t choice, std::string_view text, Json probabilities, const char* finish);
  void add_probability(std::uint32_t choice, const Said& said, std::string_view piece);

  std::vector<Text> texts_;
};

}  // namespace program::server
