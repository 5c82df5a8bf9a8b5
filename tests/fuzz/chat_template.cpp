// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/chat_template.cpp: edited templates and any text as one, rendered; JSON of any text; replies of any text.
// covers: zrt/text/chat/template_lexer.hpp 90
// covers: zrt/text/chat/template_parser.hpp 90
// covers: zrt/text/chat/template_evaluator.hpp 90
// covers: zrt/text/chat/template_operators.hpp 90
// covers: zrt/text/chat/json.hpp 90
// covers: zrt/text/chat/reply_parser.hpp 90
// covers: zrt/text/chat/call_reader.hpp 90
// covers: zrt/text/chat/literal_reader.hpp 90
// max-len: 256
#include <zrt/text/chat/chat_template.hpp>
#include <zrt/text/chat/reply_parser.hpp>

#include <array>
#include <fstream>
#include <fuzz/edit_text.hpp>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace zrt;
using namespace zrt::text::chat;

constexpr std::array<std::string_view, 40> kTokens{
    "{{",   "}}",    "{%",   "%}",       "{#",       "#}",    "-%}",    "{%-",  " if ", " else ",
    " in ", " not ", " is ", "|tojson",  "|items",   "[",     "]",      "(",    ")",    "{",
    "}",    "'",     "\"",   "\\n",      "\\x41",    "1",     "0",      "2.5",  "**",   "//",
    "%",    "~",     "+",    "messages", ".content", "loop.", "[::-1]", "none", ",",    "\\u00e9"};

constexpr std::string_view kContext =
    R"({"messages":[{"role":"user","content":"Hello é"},{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,true]}}}]}],"tools":[{"type":"function"}],"add_generation_prompt":true})";

std::vector<std::string> good_texts() {
  std::vector<std::string> texts;
  for (const char* name : {"loops", "macros", "texts", "lists", "refusals"}) {
    std::ifstream in(std::string(ZRT_TEST_DATA_DIR "/chat/") + name + ".jinja", std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  for (const BuiltInTemplate& t : kBuiltInTemplates) texts.emplace_back(t.source);
  for (const char* text :
       {"{{ 7 / 2 }}{{ 7.5 // 2 }}{{ 7.5 % 2 }}{{ 2 ** -1 }}{{ +1 }}{{ -1.5 }}{{ [1] * 2 }}{{ 3 * 'a' }}",
        "{{ 1 if 0 }}{{ (1, 2)[0:1] }}{{ 'é'[::-1] }}{{ 'abc'[-2:] }}",
        "{% for a, b in [[1, 2]] %}{{ loop.cycle(1, 2) }}{{ loop.depth }}{% else %}x{% endfor %}",
        "{{ dict(a=1) }}{{ range(3, 0, -1) | list }}{{ 1 // 0 }}",
        "{\"a\":[1,-2.5e3,true,false,null,\"\\u00e9\\ud83d\\ude42\\n\"],\"b\":{}}",
        "{% macro m(a, b=1) %}{{ a }}{% endmacro %}{{ m(1) }}{{ m(1, 2, 3) }}", "{{ 5 < 'a' }}", "{{ x() }}",
        "{% set a, b = 1, 2 %}{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{{ ns.x }}{{ messages.x.y }}"})
    texts.emplace_back(text);
  return texts;
}

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

void render(std::string_view source) {
  auto made = ChatTemplate::make(source, "<s>", "</s>");
  if (!made) return demand(!made.error().text().empty());
  Values values;
  const auto context = read_json(kContext, values);
  RenderOptions options;
  options.limits.steps = 20000;
  const auto out = made->render_as_is(values, *context, options);
  demand(out || !out.error().text().empty());
  (void)made->render(values, values.get(*context, "messages"), options);
}

void read_and_write(std::string_view text) {
  Values values;
  const auto read = read_json(text, values);
  if (!read) return;
  for (const bool ascii : {false, true}) {
    TextBuilder out(values.allocator());
    JsonStyle style;
    style.ascii = ascii;
    style.indent = ascii ? 2 : -1;
    style.sort_keys = ascii;
    demand(write_json(values, *read, style, out).has_value());
    demand(read_json(out.view(), values).has_value());
  }
}

constexpr std::array<std::string_view, 51> kMarks{"<tool_call>",
                                                  "</tool_call>",
                                                  "<think>",
                                                  "</think>",
                                                  "<function=f>",
                                                  "</function>",
                                                  "<parameter=a>",
                                                  "\n<parameter=b>",
                                                  "</parameter>",
                                                  "f<arg_key>",
                                                  "</arg_key>",
                                                  "<arg_value>",
                                                  "</arg_value>",
                                                  "[TOOL_CALLS]",
                                                  "[ARGS]",
                                                  "[CALL_ID]",
                                                  "<|python_tag|>",
                                                  "<｜tool▁calls▁begin｜>",
                                                  "<｜tool▁calls▁end｜>",
                                                  "<｜tool▁call▁begin｜>",
                                                  "<｜tool▁call▁end｜>",
                                                  "<｜tool▁sep｜>",
                                                  "```json",
                                                  "<｜DSML｜function_calls>",
                                                  "</｜DSML｜function_calls>",
                                                  "<｜DSML｜invoke name=\"f\">",
                                                  "</｜DSML｜invoke>",
                                                  "<｜DSML｜parameter name=\"a\" string=\"false\">",
                                                  "</｜DSML｜parameter>",
                                                  "<|channel|>",
                                                  "<|start|>assistant to=functions.f",
                                                  "<|message|>",
                                                  "<|call|>",
                                                  "{\"name\":\"f\",\"arguments\":{\"a\":1}}",
                                                  "{}",
                                                  "<|tool_call>call:f{",
                                                  "<|\"|>",
                                                  "<tool_call|>",
                                                  "<|tool_call_start|>[f(a='",
                                                  ")]<|tool_call_end|>",
                                                  "'",
                                                  ",a:",
                                                  ", a=",
                                                  "<|START_ACTION|>",
                                                  "<|END_TEXT|>",
                                                  "<|tool_calls_section_begin|>",
                                                  "<|tool_call_begin|>functions.f:0",
                                                  "<|tool_call_argument_begin|>",
                                                  "\"",
                                                  "[",
                                                  "]"};

std::vector<std::string> good_replies() {
  return {"<think>a</think><tool_call>{\"name\":\"f\",\"arguments\":{\"a\":[1,\"</tool_call>\"]}}</tool_call>",
          "<tool_call><function=f>\n<parameter=a>\n1\n</parameter>\n</function></tool_call>",
          "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>",
          "[TOOL_CALLS]f[CALL_ID]1[ARGS]{\"a\":1}[TOOL_CALLS]g{}",
          "{\"name\":\"f\",\"parameters\":\"{}\"}",
          "<|python_tag|>[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]",
          "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜><"
          "｜tool▁calls▁end｜>",
          "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" "
          "string=\"true\">x</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
          " to=functions.f<|channel|>commentary json<|message|>{\"a\":1}<|call|>",
          "<|channel>thought\na<channel|><|tool_call>call:f{a:<|\"|>x<|\"|>,b:[1,{c:true}]}<tool_call|>",
          "<|tool_call_start|>[f(a='it\\'s', b=[1, \"x\"], c={'d': None}), g()]<|tool_call_end|>",
          "<|START_THINKING|>a<|END_THINKING|><|START_ACTION|>[{\"tool_name\":\"f\",\"parameters\":{}}]<|END_ACTION|>",
          "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
          "<|tool_calls_section_end|>"};
}

/// Takes a reply apart piece by piece and demands that each call has a name and an object of arguments.
void take_apart(std::string_view text, const ToolParameters* tools) {
  for (const ReplyFormat& format : kReplyFormats) {
    ReplyParser parser(format, tools);
    const auto check = [](const Result<Span<const ReplyPiece>>& pieces) {
      demand(pieces.has_value());
      for (const ReplyPiece& piece : *pieces) {
        if (piece.kind != ReplyPiece::Kind::call) continue;
        Values values;
        const auto arguments = read_json(piece.text.view(), values);
        demand(!piece.name.empty() && arguments && arguments->is_dict());
      }
    };
    for (std::size_t at = 0; at < text.size(); at += 3) check(parser.feed(slice(text, at, 3)));
    check(parser.finish(text.size() % 3 == 0 ? ReplyEnd::cut : ReplyEnd::by_model));
  }
}

ToolParameters some_tools() {
  Values values;
  const auto list = read_json(
      R"([{"function":{"name":"f","parameters":{"properties":{"a":{"type":["string","null"]},"b":{"type":"integer"}}}}}])",
      values);
  return std::move(*ToolParameters::make(values, *list));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kGood = good_texts();
  static const std::vector<std::string> kReplies = good_replies();
  static const ToolParameters kTools = some_tools();
  if (size == 0) return 0;
  const std::string text = test::edited_text(kGood, kTokens, {data, size});
  render(text);
  read_and_write(text);
  take_apart({reinterpret_cast<const char*>(data), size}, nullptr);
  take_apart(test::edited_text(kReplies, kMarks, {data, size}), size % 2 == 0 ? &kTools : nullptr);
  return 0;
}
