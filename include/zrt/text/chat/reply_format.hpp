// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/reply_format.hpp: how the models of each family mark reasoning and calls of tools.
#pragma once

#include <zrt/core/string.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::chat {

/// How a body between the marks of a call is written.
enum class CallSyntax : std::uint8_t {
  none,
  bodies,    ///< JSON objects or a list of them, each with a name and arguments or parameters; or tags around them
  named,     ///< a name, perhaps an id, and arguments: mistral's
  sections,  ///< sections of a name and arguments between marks: deepseek's and kimi's
  invokes,   ///< tags of a name and of each argument, which say what is a text: deepseek's from 3.2 on
  channels,  ///< messages with headers: harmony's
  python,    ///< a list of calls as Python writes them: lfm2's
  braces,    ///< a name and bare keys in braces, with texts between marks of their own: gemma's
};

/// The marks of a section: open, a name, middle, arguments, close.
struct SectionMarks {
  std::string_view open{};
  std::string_view middle{};
  std::string_view close{};
};

/// How the models of a family mark what they write. An empty mark never comes.
struct ReplyFormat {
  std::string_view name{};
  std::string_view sign{};  ///< in a chat template that asks for this format
  std::string_view reasoning_open{};
  std::string_view reasoning_close{};
  std::string_view call_open{};
  std::string_view call_close{};  ///< empty: the reply's end
  CallSyntax syntax = CallSyntax::none;
  bool bare_calls = false;  ///< a reply that begins with { may be calls
  bool calls = true;        ///< false: what looks like a call is text
  SectionMarks sections{};
  std::string_view text_marks[4]{};  ///< that stand around the text, and are no part of it

  /// The same format for a model that was given no tools.
  [[nodiscard]] constexpr ReplyFormat without_calls() const noexcept {
    ReplyFormat format = *this;
    format.calls = format.bare_calls = false;
    // The mark begins other messages too.
    if (syntax != CallSyntax::channels) format.call_open = format.call_close = {};
    return format;
  }
};

/// The formats by the families that use them; the first whose sign stands in a template counts.
inline constexpr ReplyFormat kReplyFormats[] = {
    {"harmony", "<|channel|>", "", "", "<|channel|>", "", CallSyntax::channels},
    {"deepseek",
     "<｜tool▁calls▁begin｜>",
     "<think>",
     "</think>",
     "<｜tool▁calls▁begin｜>",
     "<｜tool▁calls▁end｜>",
     CallSyntax::sections,
     false,
     true,
     {"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"}},
    {"kimi",
     "<|tool_calls_section_begin|>",
     "<think>",
     "</think>",
     "<|tool_calls_section_begin|>",
     "<|tool_calls_section_end|>",
     CallSyntax::sections,
     false,
     true,
     {"<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"}},
    {"deepseek-v3.2", "｜DSML｜", "<think>", "</think>", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>",
     CallSyntax::invokes},
    {"gemma4", "<|tool_call>", "<|channel>thought", "<channel|>", "<|tool_call>", "<tool_call|>", CallSyntax::braces},
    {"lfm2", "List of tools: ", "<think>", "</think>", "<|tool_call_start|>", "<|tool_call_end|>", CallSyntax::python},
    {"seed", "<seed:tool_call>", "<seed:think>", "</seed:think>", "<seed:tool_call>", "</seed:tool_call>",
     CallSyntax::bodies},
    {"nemotron", "<TOOLCALL>", "<think>", "</think>", "<TOOLCALL>", "</TOOLCALL>", CallSyntax::bodies},
    {"granite", "<|tool_call|>", "<think>", "</think>", "<|tool_call|>", "", CallSyntax::bodies},
    {"cohere",
     "<|START_ACTION|>",
     "<|START_THINKING|>",
     "<|END_THINKING|>",
     "<|START_ACTION|>",
     "<|END_ACTION|>",
     CallSyntax::bodies,
     false,
     true,
     {},
     {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
    {"mistral", "[TOOL_CALLS]", "[THINK]", "[/THINK]", "[TOOL_CALLS]", "", CallSyntax::named},
    {"hermes", "<tool_call>", "<think>", "</think>", "<tool_call>", "</tool_call>", CallSyntax::bodies},
    {"smollm3", "named SmolLM", "<think>", "</think>", "<tool_call>", "</tool_call>", CallSyntax::bodies},
    {"llama3", "<|start_header_id|>", "", "", "<|python_tag|>", "", CallSyntax::bodies, true},
    {"plain", "", "<think>", "</think>", "", "", CallSyntax::none},
};

/// The format that a chat template asks for.
[[nodiscard]] constexpr const ReplyFormat& reply_format_of(std::string_view chat_template) noexcept {
  for (const ReplyFormat& format : kReplyFormats)
    if (chat_template.find(format.sign) != std::string_view::npos) return format;
  return kReplyFormats[std::size(kReplyFormats) - 1];
}

/// Why a reply has no more text.
enum class ReplyEnd : std::uint8_t {
  by_model,  ///< the model ended it
  cut,       ///< a limit or a stop string did, perhaps in the middle of a call
};

/// A piece of a reply.
struct ReplyPiece {
  enum class Kind : std::uint8_t { text, reasoning, call };

  Kind kind = Kind::text;
  String text{};  ///< of a call: its arguments, a JSON object
  String name{};  ///< of a called tool
  String id{};    ///< of a call, where the model gave it one
};

}  // namespace zrt::inline ZRT_ABI::text::chat
