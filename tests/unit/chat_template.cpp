// SPDX-License-Identifier: Apache-2.0
// tests/unit/chat_template.cpp: chat templates against python3-jinja2, limits, errors, and messages as templates take them.
// test-set: smoke release
#include <zrt/text/chat/chat_template.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace chat_template_test {
namespace {

using namespace zrt;
using namespace zrt::text::chat;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool keeps_texts_apart(const ChatTemplate& made, std::string_view name);

/// Renders each case of a file that tests/tools/chat_conversations.py wrote, and counts those that came out as Jinja's.
std::size_t expect_same(const std::string& path, std::size_t least_apart) {
  Values values(system_allocator(), std::size_t{2} << 30);
  const auto file = read_json(read_file(path), values);
  EXPECT_TRUE(file.has_value()) << path;
  if (!file) return 0;
  const Value templates = values.get(*file, "templates");
  const Value cases = values.get(*file, "cases");
  RenderOptions options;
  options.now = 1785456000;  // the clock of the script
  std::size_t same = 0;
  std::size_t apart = 0;
  for (const Entry& entry : values.entries(templates)) {
    const auto made = ChatTemplate::make(entry.value.text, "<s>", "</s>");
    EXPECT_TRUE(made.has_value()) << entry.key.text << ": " << made.error().text();
    apart += made && keeps_texts_apart(*made, entry.key.text) ? 1u : 0u;
    for (std::size_t i = 0; made && i < values.items(cases).size(); ++i) {
      const Value c = values.items(cases)[i];
      if (values.get(c, "template").text != entry.key.text) continue;
      const auto out = made->render_as_is(values, values.get(c, "context"), options);
      const Value expected = values.get(c, "out");
      const auto where = std::string(entry.key.text) + ", " + std::string(values.get(c, "name").text);
      EXPECT_EQ(out.has_value(), expected.is_string()) << where << (out ? "" : std::string(out.error().text()));
      if (out && expected.is_string()) {
        EXPECT_EQ(out->view(), expected.text) << where;
      }
      same += out.has_value() == expected.is_string() && (!out || out->view() == expected.text) ? 1u : 0u;
    }
  }
  EXPECT_GE(apart, least_apart);
  return same;
}

/// A conversation with a call, whose texts are all of the one letter.
std::string conversation(const char* letter) {
  std::string text =
      R"({"messages":[{"role":"system","content":"@@ @<s>"},{"role":"user","content":"@</s>@"},{"role":"assistant","content":"","tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":{"k":"@@<s>"}}}]},{"role":"tool","tool_call_id":"call00001","name":"f","content":"@</s>"},{"role":"assistant","content":"<think>@</think>@"},{"role":"user","content":"@"}],"add_generation_prompt":true})";
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) text.replace(at, 1, letter);
  return text;
}

/// Two conversations that differ in letters give prompts that differ in given bytes alone, all of which are marked.
bool keeps_texts_apart(const ChatTemplate& made, std::string_view name) {
  std::optional<ChatPrompt> prompts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    Values values;
    const auto read = read_json(conversation(i == 0 ? "\xd0\xb6" : "\xd0\xb7"), values);
    auto out = made.render(values, values.get(*read, "messages"));
    if (out) prompts[i].emplace(std::move(*out));
  }
  EXPECT_EQ(prompts[0].has_value(), prompts[1].has_value()) << name;
  if (!prompts[0] || !prompts[1]) return false;
  const std::string_view a = prompts[0]->view();
  const std::string_view b = prompts[1]->view();
  EXPECT_EQ(a.size(), b.size()) << name;
  std::size_t letters = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    EXPECT_EQ(prompts[0]->given[i], prompts[1]->given[i]) << name << " at " << i;
    if (a[i] == '\xd0') ++letters;
    if (a[i] != b[i] || a[i] == '\xd0') {
      EXPECT_TRUE(prompts[0]->given[i]) << name << " at " << i << ": " << a;
    }
  }
  return letters != 0;
}

std::string render(std::string_view source, std::string_view context = "{}", RenderLimits limits = {}) {
  const auto made = ChatTemplate::make(source, "<s>", "</s>");
  if (!made) return std::string(made.error().text());
  Values values;
  const auto read = read_json(context, values);
  RenderOptions options;
  options.limits = limits;
  const auto out = made->render_as_is(values, *read, options);
  return std::string(out ? out->view() : out.error().text());
}

/// The prompt, with a line below that has an x under each byte of the conversation.
std::string given(std::string_view source, std::string_view context) {
  const auto made = ChatTemplate::make(source, "<s>", "</s>");
  if (!made) return std::string(made.error().text());
  Values values;
  const auto read = read_json(context, values);
  const auto out = made->render_as_is(values, *read);
  if (!out) return std::string(out.error().text());
  std::string text = std::string(out->view()) + "\n";
  EXPECT_EQ(out->given.size(), out->view().size());
  for (const bool byte : out->given) text += byte ? 'x' : '.';
  return text;
}

std::string chat(std::string_view source, std::string_view messages) {
  const auto made = ChatTemplate::make(source, "<s>", "</s>");
  if (!made) return std::string(made.error().text());
  Values values;
  const auto read = read_json(messages, values);
  const auto out = made->render(values, *read);
  return std::string(out ? out->view() : out.error().text());
}

}  // namespace

TEST(ChatTemplate, SaysWhichBytesAreOfTheConversation) {
  constexpr std::string_view u = R"({"u": "a<b>c"})";
  EXPECT_EQ(given("<{{ u }}>", u), "<a<b>c>\n.xxxxx.");
  EXPECT_EQ(given("{{ '<' + u ~ '>' }}{{ u[1:3] }}", u), "<a<b>c><b\n.xxxxx.xx");
  EXPECT_EQ(given("{{ u | upper }}{{ u | replace('b', 'zz') }}", u), "A<B>Ca<zz>c\nxxxxxxx..xx");
  EXPECT_EQ(given("{{ u.split('<')[1].strip('>') }}{{ ['<', u] | join('-') }}", u), "b>c<-a<b>c\nxxx..xxxxx");
  EXPECT_EQ(given("{% set t %}[{{ u }}]{% endset %}{{ t }}{{ t * 2 }}", u),
            "[a<b>c][a<b>c][a<b>c]\n.xxxxx..xxxxx..xxxxx.");
  EXPECT_EQ(given("{% macro m(x) %}({{ x }}){% endmacro %}{{ m(u) | trim }}", u), "(a<b>c)\n.xxxxx.");
  EXPECT_EQ(given("{{ u | tojson }}{{ ['k', u] }}", u), "\"a<b>c\"['k', 'a<b>c']\n.xxxxx........xxxxx..");
  EXPECT_EQ(given("{{ u | safe + u }}{% for c in u %}{{ c }}{% endfor %}", u),
            "a<b>ca&lt;b&gt;ca<b>c\nxxxxxxxxxxxxxxxxxxxxx");
  EXPECT_EQ(given("{{ (u | from_json).k }}{{ ('{\"k\": 1}' | from_json).k }}", R"({"u": "{\"k\": \"<s>\"}"})"),
            "<s>1\nxxx.");
  EXPECT_EQ(given("{{ bos_token }}{{ u }}{{ eos_token }}", u), "<s>a<b>c</s>\n...xxxxx....");
  EXPECT_EQ(given("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", R"({"d": {"a": 1, "b": "<"}})"),
            "a=1;b=<;\nx...x.x.");
}

TEST(ChatTemplate, MessagesBroughtIntoItsFormStayThoseOfTheConversation) {
  const auto made = ChatTemplate::make(
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}"
      "{{ m.content }}{% endfor %}",
      "<s>", "</s>");
  ASSERT_TRUE(made);
  Values values;
  const auto read = read_json(
      R"([{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"<b"},{"type":"text","text":">"}]}])",
      values);
  const auto out = made->render(values, *read);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->view(), "<user>S\n\n<b>");
  EXPECT_FALSE(out->given[0]);
  for (std::size_t i = 6; i < out->view().size(); ++i) EXPECT_TRUE(out->given[i]) << i;
}

// ZRT_CHAT_CASES=FILE adds the cases of another file of the script's, such as those of published templates.
TEST(ChatTemplate, RendersAsJinjaDoes) {
  EXPECT_EQ(expect_same(ZRT_TEST_DATA_DIR "/chat/expected.json", 0), 105u);
  if (const char* more = std::getenv("ZRT_CHAT_CASES"); more != nullptr) {
    EXPECT_GE(expect_same(more, 40), 400u) << more;
  }
}

// As python3-jinja2 does: every mark that ends a line to Python becomes a new line.
TEST(ChatTemplate, IndentKnowsTheEndsOfLines) {
  EXPECT_EQ(render("{{ x | indent(1) }}", R"({"x":"a\u0085b\u2028c\r\nd\re\u000bf\u000cg\u001ch\u0084i\n\nj"})"),
            "a\n b\n c\n d\n e\n f\n g\n h\xc2\x84i\n\n j");
}

TEST(ChatTemplate, WholeNumbersKeepTheirDigits) {
  constexpr std::string_view source =
      "{{ x }} {{ x | tojson }} {{ [x] }} {{ x | int }} {{ x is integer }} {{ x is float }} {{ x is number }} "
      "{{ x == y }} {{ x == x }} {{ x > 1 }} {{ -x }} {{ -x | abs }} {{ - -x }}";
  EXPECT_EQ(render(source, R"({"x":12345678901234567890,"y":12345678901234567891})"),
            "12345678901234567890 12345678901234567890 [12345678901234567890] 12345678901234567890 True False True "
            "False True True -12345678901234567890 12345678901234567890 12345678901234567890");
}

TEST(ChatTemplate, SaysWhereAFaultIs) {
  EXPECT_EQ(render("a\n  {{ x + }}"), "chat template, line 2, column 10: expected an expression, found }}");
  EXPECT_EQ(render("{% if x %}"), "chat template, line 1, column 11: expected endif, found the end");
  EXPECT_EQ(render("{% include 'x' %}").find("chat template, line 1, column 4: expected if, for,"), 0u);
  EXPECT_EQ(render("{{ x | nope }}"),
            "chat template, line 1, column 8: expected a filter that this build has, found nope");
  EXPECT_EQ(render("{{ x.y }}"), "chat template, line 1, column 5: expected a value, found x, which is undefined");
  EXPECT_EQ(render("{{ 'a' + 1 }}").find("chat template, line 1, column 8: expected two numbers"), 0u);
}

TEST(ChatTemplate, EndsAtItsLimits) {
  const std::string loops = "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}";
  EXPECT_NE(render(loops).find("expected at most 1000000 steps"), std::string::npos);
  EXPECT_NE(render("{{ 'a' * 100000000 }}").find("more than 1048576 bytes"), std::string::npos);
  EXPECT_NE(render("{{ range(10001) }}").find("elements of a range"), std::string::npos);
  EXPECT_NE(render("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("nested calls of macros"),
            std::string::npos);
  EXPECT_NE(render("{{ " + std::string(2000, '(') + "1" + std::string(2000, ')') + " }}").find("at most 64 nested"),
            std::string::npos);
  std::string sums = "{{ 1";
  for (int i = 0; i < 500; ++i) sums += " + 1";
  EXPECT_NE(render(sums + " }}").find("at most 200 nested"), std::string::npos);
  EXPECT_NE(
      render("{% set ns = namespace() %}{% set ns.a = [] %}{{ ns.a.append(ns.a) }}{{ ns.a }}").find("nested values"),
      std::string::npos);
  RenderLimits small;
  small.output_bytes = 3;
  EXPECT_EQ(render("abcd", "{}", small), "a text has more than 3 bytes");
  EXPECT_EQ(render("{{ 9223372036854775807 + 1 }}").find("chat template, line 1"), 0u);
  EXPECT_EQ(ChatTemplate::make(std::string(kMostTemplateBytes + 1, 'x'), "", "").error().code(), Errc::limit_exceeded);
}

TEST(ChatTemplate, BringsMessagesIntoTheFormOfTheTemplate) {
  constexpr std::string_view plain = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
  EXPECT_EQ(
      chat(
          plain,
          R"([{"role":"developer","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"role":"assistant","content":null}])"),
      "[system:a][user:bc][assistant:]");
  constexpr std::string_view strict =
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}[{{ m.content }}]{% "
      "endfor %}";
  EXPECT_EQ(chat(strict, R"([{"role":"system","content":"a"},{"role":"user","content":"b"}])"), "[a\n\nb]");
  constexpr std::string_view parts =
      "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]{% endif %}{% endfor %}{% "
      "endfor %}";
  EXPECT_EQ(chat(parts, R"([{"role":"user","content":"a"}])"), "[a]");
  constexpr std::string_view calls =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{% for k, v in "
      "c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}";
  EXPECT_EQ(
      chat(
          calls,
          R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"a\": 1}"}}]}])"),
      "a=1");
  constexpr std::string_view texts =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '' + c.function.arguments }}{% endfor "
      "%}{% endfor %}";
  EXPECT_EQ(chat(texts, R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}])"),
            "{\"a\": 1}");
  EXPECT_NE(chat(plain, R"([{"role":"user","content":[{"type":"image_url"}]}])").find("image_url"), std::string::npos);
}

/// As Qwen's template writes it; texts of messages without an image are one text all the same.
TEST(ChatTemplate, KeepsPartsWhereOneIsAnImage) {
  constexpr std::string_view images =
      "{% for m in messages %}{% if m.content is string %}<{{ m.content }}>{% else %}{% for p in m.content %}"
      "{% if 'image' in p or 'image_url' in p or p.type == 'image' %}(image){% elif 'text' in p %}[{{ p.text }}]"
      "{% endif %}{% endfor %}{% endif %}{% endfor %}";
  constexpr std::string_view image = R"({"type":"image"})", a = R"({"type":"text","text":"a"})";
  const auto said = [](std::string_view first, std::string_view second) {
    return R"([{"role":"user","content":[)" + std::string(first) + "," + std::string(second) + "]}]";
  };
  EXPECT_EQ(chat(images, said(image, a)), "(image)[a]");
  EXPECT_EQ(chat(images, said(a, image)), "[a](image)");
  EXPECT_EQ(chat(images, said(a, a)), "<aa>");
  EXPECT_EQ(chat(images, R"([{"role":"user","content":"a"}])"), "<a>");
  // One that knows no images, or prints its content whatever it is, gets none.
  for (const std::string_view source : {"{% for m in messages %}[{{ m.content }}]{% endfor %}",
                                        "{% for m in messages %}[{{ '' + m.content }}]{% endfor %}"}) {
    EXPECT_NE(chat(source, said(image, a)).find("of type text, found image"), std::string::npos);
    EXPECT_FALSE(ChatTemplate::make(source, "", "")->abilities().image_parts);
  }
}

TEST(ChatTemplate, HasTemplatesOfItsOwn) {
  EXPECT_EQ(chat(find_built_in_template("chatml")->source, R"([{"role":"user","content":"a"}])"),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat(find_built_in_template("plain")->source, R"([{"role":"user","content":"a"}])"), "User: a\nAssistant:");
  EXPECT_EQ(find_built_in_template("x"), nullptr);
}

TEST(Json, ReadsAndWritesValues) {
  Values values;
  const auto read = read_json(R"( {"a":[1,-2.5,1e3,true,null,"é\u00e9\ud83d\ude42\n"],"a2":{},"a":2} )", values);
  ASSERT_TRUE(read.has_value());
  TextBuilder out(values.allocator());
  ASSERT_TRUE(write_json(values, *read, {}, out).has_value());
  EXPECT_EQ(out.view(), R"({"a": 2, "a2": {}})");
  // A whole number keeps its digits, also in another set of values.
  constexpr std::string_view whole = "[18446744073709551615, -9223372036854775809, 1.8446744073709552e+19, 7]";
  const auto large = read_json(whole, values);
  ASSERT_TRUE(large.has_value());
  Values others;
  TextBuilder digits(values.allocator());
  ASSERT_TRUE(write_json(others, others.copy(values, *large), {}, digits).has_value());
  EXPECT_EQ(digits.view(), whole);
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\"}", "01", "1.", "tru", "\"\\ud800\"", "\"\\x\"", "1 2", "\"\n\"", "-"})
    EXPECT_EQ(read_json(bad, values).error().code(), Errc::invalid_argument) << bad;
  EXPECT_FALSE(read_json(std::string(70, '['), values).has_value());
}

}  // namespace chat_template_test
