// SPDX-License-Identifier: Apache-2.0
// tests/unit/reply_parser.cpp: replies of each family, whole and cut at every byte.
#include <zrt/text/chat/reply_parser.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reply_parser_test {
namespace {

using namespace zrt::text::chat;

const ReplyFormat& format(std::string_view name) {
  for (const ReplyFormat& f : kReplyFormats)
    if (f.name == name) return f;
  ADD_FAILURE() << "no format " << name;
  return kReplyFormats[0];
}

/// All pieces as one text: T[...] R[...] C[name id arguments], those of a kind that follow each other joined.
std::string parsed(const ReplyFormat& f, std::string_view reply, std::size_t step, std::string_view prompt = {}) {
  ReplyParser parser(f);
  parser.begin_behind(prompt);
  std::string out;
  auto last = ReplyPiece::Kind::call;
  const auto take = [&](zrt::Span<const ReplyPiece> pieces) {
    for (const ReplyPiece& p : pieces) {
      if (p.kind == ReplyPiece::Kind::call) {
        out += "C[" + std::string(p.name) + " " + std::string(p.id) + " " + std::string(p.text) + "]";
      } else {
        if (!out.empty() && last == p.kind)
          out.pop_back();
        else
          out += p.kind == ReplyPiece::Kind::text ? "T[" : "R[";
        out += std::string(p.text) + "]";
      }
      last = p.kind;
    }
  };
  for (std::size_t at = 0; at < reply.size(); at += step) {
    const auto pieces = parser.feed(zrt::slice(reply, at, step));
    EXPECT_TRUE(pieces.has_value());
    if (pieces) take(*pieces);
  }
  const auto pieces = parser.finish();
  EXPECT_TRUE(pieces.has_value());
  if (pieces) take(*pieces);
  return out;
}

void expect(std::string_view family, std::string_view reply, std::string_view expected, std::string_view prompt = {}) {
  for (std::size_t step = 1; step <= 7; ++step)
    EXPECT_EQ(parsed(format(family), reply, step, prompt), expected) << step;
  EXPECT_EQ(parsed(format(family), reply, reply.size(), prompt), expected);
}

}  // namespace

TEST(ReplyParser, TakesHermesApart) {
  expect("hermes",
         "<think>\nhm <b\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
         "\"</x>\"}}\n</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>",
         "R[\nhm <b\n]T[\n\nLet me look.\n]C[f  {\"a\": \"</x>\"}]T[\n]C[g  {}]");
  expect("hermes", "1 < 2 <tool", "T[1 < 2 <tool]");
  expect("hermes", "<tool_call>no JSON</tool_call> x", "T[<tool_call>no JSON</tool_call> x]");
  expect("hermes", "<tool_call>{\"name\":\"f\",\"argu", "T[<tool_call>{\"name\":\"f\",\"argu]");
  expect("hermes", "so</think>x", "R[so]T[x]", "<|im_start|>assistant\n<think>\n");
}

TEST(ReplyParser, TakesLlamaApart) {
  expect("llama3", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}", "C[f  {\"a\": 1}]");
  expect("llama3", "<|python_tag|>{\"name\":\"f\",\"parameters\":{}};{\"name\":\"g\",\"parameters\":{}}",
         "C[f  {}]C[g  {}]");
  expect("llama3", "{\"no\": \"call\"}", "T[{\"no\": \"call\"}]");
  expect("llama3", "Hello {x}", "T[Hello {x}]");
}

TEST(ReplyParser, TakesMistralApart) {
  expect("mistral", "Yes.[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": [1]}, \"id\": \"abc123def\"}]",
         "T[Yes.]C[f abc123def {\"a\": [1]}]");
  expect("mistral", "[THINK]so[/THINK][TOOL_CALLS]f[ARGS]{\"a\":1}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{}",
         "R[so]C[f  {\"a\":1}]C[g x1 {}]");
  expect("mistral", "[TOOL]", "T[[TOOL]]");
}

TEST(ReplyParser, TakesDeepSeekApart) {
  expect("deepseek",
         "<think>a</"
         "think>b<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\":1}\n```<"
         "｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><"
         "｜tool▁calls▁end｜>",
         "R[a]T[b]C[f  {\"a\":1}]C[g  {}]");
  expect("deepseek",
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         "C[f  {\"a\": 1}]");
}

TEST(ReplyParser, TakesHarmonyApart) {
  expect("harmony",
         "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
         "R[Think.]T[Hello.]");
  expect("harmony",
         "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.get_it "
         "<|constrain|>json<|message|>{\"a\":1}<|call|>",
         "R[a]C[get_it  {\"a\":1}]");
  expect("harmony", "<|channel|>commentary<|message|>I will.<|end|>", "T[I will.]");
}

TEST(ReplyParser, KnowsTheFormatOfATemplate) {
  EXPECT_EQ(reply_format_of("{{ '<tool_call>' }}").name, "hermes");
  EXPECT_EQ(reply_format_of("{{ '<|channel|>' }}").name, "harmony");
  EXPECT_EQ(reply_format_of("{{ x }}").name, "plain");
}

}  // namespace reply_parser_test
