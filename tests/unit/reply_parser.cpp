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
std::string parsed(const ReplyFormat& f, std::string_view reply, std::size_t step, std::string_view prompt = {},
                   const ToolParameters* tools = nullptr, ReplyEnd end = ReplyEnd::by_model) {
  ReplyParser parser(f, tools);
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
  const auto pieces = parser.finish(end);
  EXPECT_TRUE(pieces.has_value());
  if (pieces) take(*pieces);
  return out;
}

void expect_in(const ReplyFormat& f, std::string_view reply, std::string_view expected, std::string_view prompt = {},
               const ToolParameters* tools = nullptr) {
  for (std::size_t step = 1; step <= 7; ++step) EXPECT_EQ(parsed(f, reply, step, prompt, tools), expected) << step;
  EXPECT_EQ(parsed(f, reply, reply.size(), prompt, tools), expected);
}
void expect(std::string_view family, std::string_view reply, std::string_view expected, std::string_view prompt = {}) {
  expect_in(format(family), reply, expected, prompt);
}

/// The tools f and g; f has parameters of each form.
ToolParameters some_tools() {
  constexpr std::string_view json = R"([
    {"type": "function", "function": {"name": "f", "parameters": {
      "type": "object", "$defs": {"Name": {"type": "string"}},
      "properties": {
        "city": {"type": "string"}, "count": {"type": "integer"}, "exact": {"type": ["boolean", "null"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "kind": {"enum": ["1", "2"]},
        "name": {"$ref": "#/$defs/Name"}, "rows": {"type": "array"}, "any": {}}}}},
    {"type": "function", "function": {"name": "g"}}])";
  Values values;
  const auto list = read_json(json, values);
  EXPECT_TRUE(list.has_value());
  auto tools = ToolParameters::make(values, *list);
  EXPECT_TRUE(tools.has_value());
  return std::move(*tools);
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

TEST(ReplyParser, KeepsArgumentsAsTheyAreWritten) {
  constexpr std::string_view arguments =
      R"({"id":12345678901234567890,  "x": 1.50, "t": "\u00e9é", "n": {"b": [1 ,2]}})";
  const std::string call = R"({"name": "f", "arguments": )" + std::string(arguments) + "}";
  const std::string expected = "C[f  " + std::string(arguments) + "]";
  expect("hermes", "<tool_call>\n" + call + "\n</tool_call>", expected);
  expect("hermes", R"(<tool_call>{"type": "function", "function": )" + call + "}</tool_call>", expected);
  expect("hermes", "<tool_call>[" + call + " , " + call + "]</tool_call>", expected + expected);
  expect("mistral", "[TOOL_CALLS][" + call + "]", expected);
  expect("llama3", R"({"name": "f", "parameters": )" + std::string(arguments) + "}", expected);
  expect("harmony", "<|channel|>commentary to=functions.f<|message|>" + std::string(arguments) + "<|call|>", expected);
  // The last of equal keys counts, and a key may be written with escapes.
  expect("hermes", R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "arguments": {"a": 2}}</tool_call>)",
         R"(C[f  {"a": 2}])");
  expect("hermes", R"(<tool_call>{"name": "f", "\u0061rguments": {"a":1}}</tool_call>)", R"(C[f  {"a": 1}])");
}

TEST(ReplyParser, ReadsAListOfCalls) {
  const auto calls = read_call_list(
      R"([ {"name":"f" , "arguments":{ "x": 1234567890123456.12345678901234560}},
  {"name": "g", "arguments": {}} ])");
  ASSERT_TRUE(calls);
  ASSERT_EQ(calls->size(), 2u);
  EXPECT_EQ((*calls)[0].text.view(), R"({ "x": 1234567890123456.12345678901234560})");
  EXPECT_EQ((*calls)[1].name.view(), "g");
  for (const char* none : {"", "[", "[1]", R"([{"name":"f","arguments":{}}, 1])", R"([{"arguments":{}}])"}) {
    const auto read = read_call_list(none);
    ASSERT_TRUE(read) << none;
    EXPECT_TRUE(read->empty()) << none;
  }
}

TEST(ReplyParser, MarksWithinStringsAreText) {
  expect("hermes", R"(<tool_call>{"name": "f", "arguments": {"a": "\"</tool_call>"}}</tool_call>x)",
         R"(C[f  {"a": "\"</tool_call>"}]T[x])");
  expect("mistral", R"([TOOL_CALLS]f[ARGS]{"a": "[TOOL_CALLS] [ARGS]"}[TOOL_CALLS]g[ARGS]{})",
         R"(C[f  {"a": "[TOOL_CALLS] [ARGS]"}]C[g  {}])");
  expect("deepseek",
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": "
         "\"```json{}``` "
         "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜tool▁call▁begin｜>\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         "C[f  {\"a\": \"```json{}``` <｜tool▁call▁end｜><｜tool▁calls▁end｜><｜tool▁call▁begin｜>\"}]");
  expect("harmony", R"(<|channel|>commentary to=functions.f<|message|>{"a": "<|end|>"}<|call|>)",
         R"(C[f  {"a": "<|end|>"}])");
  // A string without an end is no call: the first mark ends it.
  expect("hermes", R"(<tool_call>{"name": "f</tool_call>x <tool_call>{"name": "g"}</tool_call>)",
         R"(T[<tool_call>{"name": "f</tool_call>x ]C[g  {}])");
}

TEST(ReplyParser, TakesTagsOfQwenApart) {
  const ToolParameters tools = some_tools();
  const auto expect_tags = [&](std::string_view reply, std::string_view expected) {
    expect_in(format("hermes"), reply, expected, {}, &tools);
  };
  expect_tags(
      "Well.\n<tool_call>\n<function=f>\n<parameter=city>\nParis\n</parameter>\n<parameter=count>\n3\n</parameter>\n"
      "</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>",
      "T[Well.\n]C[f  {\"city\": \"Paris\", \"count\": 3}]T[\n]C[g  {}]");
  // A schema says what is a text; where it does not, JSON is a value.
  const auto value = [&](const std::string& name, const std::string& written, std::string_view expected) {
    expect_tags("<tool_call><function=f><parameter=" + name + ">\n" + written + "\n</parameter></function></tool_call>",
                "C[f  {\"" + name + "\": " + std::string(expected) + "}]");
  };
  value("city", "12", "\"12\"");
  value("city", "a \"b\"\nc", "\"a \\\"b\\\"\\nc\"");
  value("city", "\n x \n", "\"\\n x \\n\"");
  value("name", "null", "\"null\"");
  value("kind", "1", "\"1\"");
  value("note", "null", "null");
  value("note", "true", "\"true\"");
  value("count", "12345678901234567890", "12345678901234567890");
  value("count", "many", "\"many\"");
  value("exact", "True", "true");
  value("exact", "None", "null");
  value("rows", "[1, {\"a\":2}]", "[1, {\"a\":2}]");
  value("any", "{\"a\": 1}", "{\"a\": 1}");
  value("any", "None", "\"None\"");
  value("other", "1", "1");
  value("other", "one", "\"one\"");
  // A text may hold what closes it.
  value("city", "</parameter> </tool_call> <parameter=x>", "\"</parameter> </tool_call> <parameter=x>\"");
  // Models leave tags out.
  expect_tags("<tool_call><function=f><parameter=city>\nParis\n<parameter=count>2</parameter></tool_call>",
              "C[f  {\"city\": \"Paris\", \"count\": 2}]");
  expect_tags("<tool_call><function=f><parameter=city>\nPa", "T[<tool_call><function=f><parameter=city>\nPa]");
}

TEST(ReplyParser, TakesTagsOfGlmApart) {
  const ToolParameters tools = some_tools();
  expect_in(format("hermes"),
            "<think>a</think>\n<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Paris </tool_call></arg_value>\n"
            "<arg_key>count</arg_key><arg_value>3</arg_value></tool_call>\n<tool_call>g\n\n</tool_call>",
            "R[a]T[\n]C[f  {\"city\": \"Paris </tool_call>\", \"count\": 3}]T[\n]C[g  {}]", {}, &tools);
  expect_in(format("hermes"), "<tool_call>h</tool_call>", "T[<tool_call>h</tool_call>]", {}, &tools);
}

TEST(ReplyParser, CallsOfUnknownToolsThatOnlyLookLikeCallsAreText) {
  const ToolParameters tools = some_tools();
  constexpr std::string_view ann = R"({"name": "Ann", "parameters": {"a": 1}})";
  expect_in(format("llama3"), ann, "T[" + std::string(ann) + "]", {}, &tools);
  expect_in(format("llama3"), R"({"name": "f", "parameters": {}})", "C[f  {}]", {}, &tools);
  const ReplyFormat none = format("llama3").without_calls();
  expect_in(none, R"({"name": "f", "parameters": {}})", R"(T[{"name": "f", "parameters": {}}])");
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
  // From 3.2 on it writes tags.
  expect("deepseek-v3.2",
         "<think>a</think>b\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"city\" "
         "string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"count\" "
         "string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke "
         "name=\"g\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
         "R[a]T[b\n\n]C[f  {\"city\": \"12\", \"count\": 3}]C[g  {}]");
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
  expect("harmony", "to be or not", "T[to be or not]");
  expect("harmony", " to=functions.f is how", "T[ to=functions.f is how]");
}

TEST(ReplyParser, FindsTheRecipientOfHarmonyInTheRoleToo) {
  constexpr std::string_view call = "<|channel|>commentary <|constrain|>json<|message|>{\"a\":1}<|call|>";
  expect("harmony", " to=functions.f" + std::string(call), "C[f  {\"a\":1}]");
  expect("harmony", "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant to=functions.f" + std::string(call),
         "R[Think.]C[f  {\"a\":1}]");
  expect("harmony", "<|channel|>analysis to=functions.f<|message|>{\"a\":1}<|call|>", "C[f  {\"a\":1}]");
}

TEST(ReplyParser, HarmonyCallsNothingWithoutTools) {
  expect_in(format("harmony").without_calls(),
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant to=functions.f<|channel|>commentary "
            "json<|message|>{\"a\":1}<|call|>",
            "R[a]T[{\"a\":1}]");
}

TEST(ReplyParser, TakesGemmaApart) {
  expect("gemma4",
         R"(<|channel>thought
hm
<channel|>So.<|tool_call>call:f{city:<|"|>Bern, {or} "so"<|"|>,count:3,flag:true,none:null,rows:[1,{a:<|"|>b<|"|>}],x:{}}<tool_call|>)",
         R"(R[
hm
]T[So.]C[f  {"city": "Bern, {or} \"so\"", "count": 3, "flag": true, "none": null, "rows": [1, {"a": "b"}], "x": {}}])");
  expect("gemma4",
         R"(<|tool_call>call:f{<|"|>a<|"|>:<|"|><tool_call|><|"|>}<tool_call|><|tool_call>call:g{}<tool_call|>)",
         R"(C[f  {"a": "<tool_call|>"}]C[g  {}])");
  for (const char* none : {"<|tool_call>call:f{a:b}<tool_call|>", "<|tool_call>call:f{a:1<tool_call|>",
                           "<|tool_call>call:{}<tool_call|>", "<|tool_call>f{}<tool_call|>"})
    expect("gemma4", none, "T[" + std::string(none) + "]");
}

TEST(ReplyParser, TakesCallsOfPythonApart) {
  expect(
      "lfm2",
      R"(<think>a</think><|tool_call_start|>[f(city="Bern", count=3, flag=True, none=None, rows=['a', 1.5], x={'a': "b"}), g()]<|tool_call_end|>So.)",
      R"(R[a]C[f  {"city": "Bern", "count": 3, "flag": true, "none": null, "rows": ["a", 1.5], "x": {"a": "b"}}]C[g  {}]T[So.])");
  // The template shows texts without escapes.
  expect("lfm2", R"(<|tool_call_start|>[f(city='it's "so", \'x\\', name="\u00e9")]<|tool_call_end|>)",
         R"(C[f  {"city": "it's \"so\", 'x\\", "name": "\u00e9"}])");
  expect("lfm2", R"(<|tool_call_start|>[{"name": "f", "arguments": {"a": 1}}]<|tool_call_end|>)", R"(C[f  {"a": 1}])");
  for (const char* none : {"<|tool_call_start|>[f(x)]<|tool_call_end|>", "<|tool_call_start|>[f(a=b)]<|tool_call_end|>",
                           "<|tool_call_start|>[]<|tool_call_end|>", "<|tool_call_start|>[f(a='b)]<|tool_call_end|>"})
    expect("lfm2", none, "T[" + std::string(none) + "]");
}

TEST(ReplyParser, TakesOtherMarksApart) {
  expect("seed",
         "<seed:think>hm</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=city>Bern</parameter>\n</function>\n"
         "</seed:tool_call>",
         "R[hm]T[\n]C[f  {\"city\": \"Bern\"}]");
  expect("nemotron", R"(<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]</TOOLCALL>)",
         R"(C[f  {"a": 1}]C[g  {}])");
  expect("granite", R"(<|tool_call|>[{"name": "f", "arguments": {"a": 1}}])", R"(C[f  {"a": 1}])");
  expect("smollm3", "<think>a</think>b", "R[a]T[b]");
  expect("cohere",
         R"(<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}
]<|END_ACTION|>)",
         R"(R[hm]C[f  {"a": 1}])");
  expect("cohere", "<|START_RESPONSE|>Yes <|x.<|END_RESPONSE|>", "T[Yes <|x.]");
  expect(
      "kimi",
      "<think>a</think>b<|tool_calls_section_begin|><|tool_call_begin|>functions.get_it:0<|tool_call_argument_begin|>"
      "{\"a\": \"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}"
      "<|tool_call_end|><|tool_calls_section_end|>",
      "R[a]T[b]C[get_it functions.get_it:0 {\"a\": \"<|tool_call_end|>\"}]C[g functions.g:1 {}]");
}

TEST(ReplyParser, WhatIsCutIsACallWhereItIsWhole) {
  const ToolParameters tools = some_tools();
  constexpr std::string_view json = R"({"city": "Paris", "count": 3})";
  const std::string name = R"({"name": "f", "arguments": )" + std::string(json) + "}";
  const std::pair<const char*, std::string> replies[] = {
      {"hermes", "<tool_call>" + name + "</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>"},
      {"hermes", "<tool_call>[" + name + ", " + name + "]</tool_call>"},
      {"hermes",
       "<tool_call><function=f>\n<parameter=city>\nParis\n</parameter>\n<parameter=count>\n3\n</parameter>\n</"
       "function>\n"
       "<function=g>\n</function></tool_call>"},
      {"hermes",
       "<tool_call><function=f>\n<parameter=city>\n</parameter> </tool_call> <parameter=x>\n</parameter>\n</function>\n"
       "</tool_call>"},
      {"hermes",
       "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>a </tool_call></arg_value>\n<arg_key>count</arg_key>\n"
       "<arg_value>3</arg_value></tool_call><tool_call>g</tool_call>"},
      {"mistral", "[TOOL_CALLS]f[ARGS]" + std::string(json)},
      {"mistral", "[TOOL_CALLS]f[ARGS]{\"city\": \"Paris\"}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{}"},
      {"mistral", "[TOOL_CALLS][" + name + "]"},
      {"llama3", name},
      {"llama3", "<|python_tag|>" + name + ";" + name},
      {"deepseek",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n" + std::string(json) +
           "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseek-v3.2",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"city\" "
       "string=\"true\">Paris</｜DSML｜parameter>\n<｜DSML｜parameter name=\"count\" "
       "string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke "
       "name=\"g\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>" +
                   std::string(json) + "<|tool_call_end|><|tool_calls_section_end|>"},
      {"gemma4", "<|tool_call>call:f{city:<|\"|>Paris<|\"|>,count:3}<tool_call|><|tool_call>call:g{}<tool_call|>"},
      {"lfm2", "<|tool_call_start|>[f(city=\"Paris\", count=3), g()]<|tool_call_end|>"},
      {"seed",
       "<seed:tool_call>\n<function=f>\n<parameter=city>Paris</parameter>\n<parameter=count>3</parameter>\n</"
       "function>\n"
       "</seed:tool_call>"},
      {"nemotron", "<TOOLCALL>[" + name + "]</TOOLCALL>"},
      {"granite", "<|tool_call|>[" + name + "]"},
      {"cohere", "<|START_ACTION|>[" + name + "]<|END_ACTION|>"},
      {"harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>" + std::string(json) + "<|call|>"},
  };
  const auto calls_in = [](const std::string& all) {
    std::string calls;
    for (std::size_t at = all.find("C["); at != std::string::npos; at = all.find("C[", at + 1))
      calls += all.substr(at, all.find(all.find("}]", at) == std::string::npos ? "]" : "}]", at) + 2 - at);
    return calls;
  };
  for (const auto& [family, reply] : replies) {
    const std::string whole = calls_in(parsed(format(family), reply, reply.size(), {}, &tools));
    EXPECT_FALSE(whole.empty()) << reply;
    for (std::size_t size = 1; size <= reply.size(); ++size) {
      const std::string cut = parsed(format(family), reply.substr(0, size), size, {}, &tools, ReplyEnd::cut);
      const std::string calls = calls_in(cut);
      EXPECT_TRUE(whole.starts_with(calls)) << calls << " of " << reply.substr(0, size);
      // What is no call is not lost.
      if (calls.empty() && family != std::string_view("harmony")) {
        EXPECT_EQ(cut, "T[" + reply.substr(0, size) + "]");
      }
    }
  }
  // Where the model ended, nothing stands for no arguments.
  const auto ended = [&](std::string_view family, std::string_view reply, ReplyEnd end) {
    return parsed(format(family), reply, reply.size(), {}, &tools, end);
  };
  EXPECT_EQ(ended("mistral", "[TOOL_CALLS]g[ARGS]", ReplyEnd::by_model), "C[g  {}]");
  EXPECT_EQ(ended("mistral", "[TOOL_CALLS]g[ARGS]", ReplyEnd::cut), "T[[TOOL_CALLS]g[ARGS]]");
  EXPECT_EQ(ended("harmony", "<|channel|>to=functions.g<|message|>", ReplyEnd::by_model), "C[g  {}]");
  EXPECT_EQ(ended("harmony", "<|channel|>to=functions.g<|message|>", ReplyEnd::cut), "");
  EXPECT_EQ(ended("harmony", "<|channel|>to=functions.g<|message|><|call|>", ReplyEnd::cut), "C[g  {}]");
}

TEST(ReplyParser, KnowsTheFormatOfATemplate) {
  EXPECT_EQ(reply_format_of("{{ '<tool_call>' }}").name, "hermes");
  EXPECT_EQ(reply_format_of("{{ '<|channel|>' }}").name, "harmony");
  EXPECT_EQ(reply_format_of("{%- set dsml_token = '｜DSML｜' -%}").name, "deepseek-v3.2");
  EXPECT_EQ(reply_format_of("{{ x }}").name, "plain");
}

}  // namespace reply_parser_test
