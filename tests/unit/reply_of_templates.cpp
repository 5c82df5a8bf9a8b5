// SPDX-License-Identifier: Apache-2.0
// tests/unit/reply_of_templates.cpp: the calls that published chat templates show to their models, read as replies.
// test-set: smoke release
#include <zrt/text/chat/chat_template.hpp>
#include <zrt/text/chat/reply_parser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace reply_of_templates_test {
namespace {

using namespace zrt::text::chat;

constexpr std::string_view kConversation = R"([
  {"role": "user", "content": "Where?"},
  {"role": "assistant", "content": "", "reasoning_content": "Paris, then.", "tool_calls": [
    {"id": "abc123def", "type": "function", "function": {"name": "f", "arguments": {"city": "Paris", "count": 3}}}]}])";
constexpr std::string_view kTools =
    R"([{"type": "function", "function": {"name": "f", "description": "Finds.", "parameters": {
  "type": "object", "required": ["city"], "properties": {
    "city": {"type": "string", "description": "A"}, "count": {"type": "integer", "description": "B"}}}}}])";

/// The text of an assistant's message with a call, as a template shows it behind the user's.
std::string shown_call(const std::string& source) {
  const auto made = ChatTemplate::make(source, "<s>", "</s>");
  if (!made) return {};
  Values values;
  const auto messages = read_json(kConversation, values);
  const auto tools = read_json(kTools, values);
  const auto first = read_json(R"([{"role": "user", "content": "Where?"}])", values);
  RenderOptions options;
  options.tools = *tools;
  const auto prompt = made->render(values, *first, options);
  options.add_generation_prompt = false;
  const auto all = made->render(values, *messages, options);
  if (!prompt || !all) return {};
  std::size_t same = 0;
  while (same < prompt->view().size() && same < all->view().size() && prompt->view()[same] == all->view()[same]) ++same;
  // Not from the middle of a mark.
  const std::string_view both = all->view().substr(0, same);
  if (const std::size_t mark = both.rfind('<'); mark != both.npos && both.find('>', mark) == both.npos) same = mark;
  std::string shown(all->view().substr(same));
  for (const char* end : {"</s>", "<|eot_id|>", "<|im_end|>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>"})
    shown.resize(std::min(shown.size(), shown.find(end)));
  return shown;
}

std::string calls_in(const ReplyFormat& format, std::string_view reply) {
  Values values;
  const auto list = read_json(kTools, values);
  const auto tools = ToolParameters::make(values, *list);
  ReplyParser parser(format, &*tools);
  std::string calls;
  const auto take = [&](zrt::Result<zrt::Span<const ReplyPiece>> pieces) {
    for (const ReplyPiece& piece : *pieces) {
      if (piece.kind != ReplyPiece::Kind::call) continue;
      const auto read = read_json(piece.text.view(), values);
      TextBuilder json(zrt::system_allocator());
      JsonStyle style;
      style.sort_keys = true;
      EXPECT_TRUE(read && write_json(values, *read, style, json));
      calls += std::string(piece.name.view()) + std::string(json.view());
    }
  };
  take(parser.feed(reply));
  take(parser.finish(ReplyEnd::by_model));
  return calls;
}

/// Templates whose calls no format reads: they arrive as content. docs/chat-and-grammars.md names them.
const std::set<std::string> kContent{"Apertus-8B-Instruct",
                                     "Apriel-1.6-15b-Thinker-fixed",
                                     "CohereForAI-c4ai-command-r-plus-tool_use",
                                     "GigaChat3-10B-A1.8B",
                                     "GigaChat3.1-10B-A1.8B",
                                     "MiniMax-M2",
                                     "fireworks-ai-llama-3-firefunction-v2",
                                     "meetkai-functionary-medium-v3.1",
                                     "meetkai-functionary-medium-v3.2",
                                     "unsloth-Apriel-1.5",
                                     "upstage-Solar-Open-100B"};
/// Templates that show no calls of earlier answers, or not behind a text, and their formats.
const std::map<std::string, std::string_view> kShowsNone{{"HuggingFaceTB-SmolLM3-3B", "smollm3"},
                                                         {"LFM2-8B-A1B", "lfm2"},
                                                         {"LFM2.5-Instruct", "lfm2"},
                                                         {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek"},
                                                         {"google-gemma-2-2b-it", "plain"},
                                                         {"ibm-granite-granite-3.3-2B-Instruct", "granite"},
                                                         {"llama-cpp-rwkv-world", "plain"},
                                                         {"microsoft-Phi-3.5-mini-instruct", "plain"}};

}  // namespace

// ZRT_CHAT_TEMPLATES=FOLDER holds published templates.
TEST(ReplyOfTemplates, CallsThatATemplateShowsAreRead) {
  const char* folder = std::getenv("ZRT_CHAT_TEMPLATES");
  if (folder == nullptr) return;
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    const std::string name = entry.path().stem();
    const ReplyFormat& format = reply_format_of(source);
    const std::string shown = shown_call(source);
    const auto none = kShowsNone.find(name);
    if (none != kShowsNone.end()) {
      EXPECT_EQ(format.name, none->second) << name;
      EXPECT_EQ(shown.find("Paris"), std::string::npos) << name << ": " << shown;
    } else {
      const bool content = kContent.contains(name);
      EXPECT_EQ(calls_in(format, shown), content ? "" : R"(f{"city": "Paris", "count": 3})") << name << ": " << shown;
      read += content ? 0 : 1;
    }
  }
  EXPECT_EQ(read, 39u);
}

}  // namespace reply_of_templates_test
