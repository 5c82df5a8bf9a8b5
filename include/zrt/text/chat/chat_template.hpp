// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/chat_template.hpp: messages of a chat to the prompt that a model was trained on.
#pragma once

#include <zrt/text/chat/template_evaluator.hpp>
#include <zrt/text/chat/template_parser.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// Most bytes of a template's source.
inline constexpr std::size_t kMostTemplateBytes = std::size_t{256} << 10;

/// A template for models whose file has none.
struct BuiltInTemplate {
  std::string_view name;
  std::string_view source;
};
inline constexpr BuiltInTemplate kBuiltInTemplates[] = {
    {"chatml",
     "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
     "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"},
    {"plain",
     "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n{% endfor %}"
     "{% if add_generation_prompt %}Assistant:{% endif %}"}};

/// The built-in template of that name, or null.
[[nodiscard]] constexpr const BuiltInTemplate* find_built_in_template(std::string_view name) noexcept {
  for (const BuiltInTemplate& t : kBuiltInTemplates)
    if (t.name == name) return &t;
  return nullptr;
}

/// What a template can take, found by rendering small conversations when it is read.
struct TemplateAbilities {
  bool system = true;            ///< a system message; else it goes in front of the first user message
  bool tools = false;            ///< a list of tools
  bool tool_calls = false;       ///< calls of an assistant
  bool object_arguments = true;  ///< of a call; else a JSON text
  bool part_content = false;     ///< content as parts only; else as a text
  bool image_parts = false;      ///< content as parts, of which some are of type image
};

/// What a conversation is rendered with.
struct RenderOptions {
  bool add_generation_prompt = true;
  Value tools{};         ///< a list of tools as the OpenAI API has them, or nothing
  Value extra{};         ///< a dict of further names that the template sees, such as enable_thinking, or nothing
  std::int64_t now = 0;  ///< seconds since 1970 of the host's own clock, for templates that print a date
  RenderLimits limits{};
};

/// A chat template, read once. Movable; `render` may be called from several threads at once.
///
/// It interprets the part of Jinja that templates of models use, and reaches nothing of the host.
class ChatTemplate {
 public:
  /// Reads `source`. `bos` and `eos` are the texts of those tokens.
  ///
  /// Errors: Errc::invalid_argument with line, column, what was expected and found; Errc::limit_exceeded.
  [[nodiscard]] static Result<ChatTemplate> make(std::string_view source, std::string_view bos, std::string_view eos,
                                                 const Allocator& allocator = system_allocator()) noexcept {
    if (source.size() > kMostTemplateBytes)
      return fail(Errc::limit_exceeded, "the chat template has ", source.size(), " bytes, expected at most ",
                  kMostTemplateBytes);
    ChatTemplate made(allocator);
    if (auto r = made.take_source(source); !r) return pass(r);
    made.bos_ = made.texts_.string(bos).text;
    made.eos_ = made.texts_.string(eos).text;
    auto tokens = detail::TemplateLexer(made.source_.view(), made.texts_).read();
    if (!tokens) return pass(tokens);
    auto program = detail::TemplateParser(tokens->span(), allocator).parse();
    if (!program) return pass(program);
    made.program_ = std::move(*program);
    made.find_abilities();
    return made;
  }

  [[nodiscard]] const TemplateAbilities& abilities() const noexcept { return abilities_; }

  /// The prompt of `messages`, a list of dicts as the OpenAI API has them. They are brought into the form that this
  /// template takes: developer becomes system, parts become one text (they stay parts where one is of type image and the
  /// template takes such), no content an empty one, arguments of calls objects or texts, and a system message that the
  /// template refuses joins the first user message.
  ///
  /// Errors: Errc::invalid_argument where the template refuses the conversation, with its words; Errc::limit_exceeded.
  [[nodiscard]] Result<ChatPrompt> render(Values& values, const Value& messages,
                                          const RenderOptions& options = {}) const noexcept {
    Values work(allocator_, options.limits.value_bytes);
    work.give(true);
    const Value copied = normalized(work, values, messages);
    const Value context = base_context(work, values, copied, options);
    if (!work.ok()) return std::unexpected<Error>(work.error());
    return run(work, context, options);
  }

  /// The same with nothing changed: the template sees the dict `context`, `bos_token` and `eos_token`.
  [[nodiscard]] Result<ChatPrompt> render_as_is(Values& values, const Value& context,
                                                const RenderOptions& options = {}) const noexcept {
    Values work(allocator_, options.limits.value_bytes);
    work.give(true);
    const Value copied = work.copy(values, context);
    if (!copied.is_dict()) return fail(Errc::invalid_argument, "expected a dict as the context of a chat template");
    for (const auto& [name, text] : {std::pair{std::string_view("bos_token"), bos_}, {"eos_token", eos_}})
      if (work.find(copied, name) == nullptr) work.set(copied, name, Value::of(text));
    if (!work.ok()) return std::unexpected<Error>(work.error());
    return run(work, copied, options);
  }

 private:
  explicit ChatTemplate(const Allocator& a) noexcept : allocator_(a), source_(a), texts_(a), program_(a) {}

  /// Copies the source with line feeds as its only line ends, and without the last one.
  [[nodiscard]] Result<void> take_source(std::string_view source) noexcept {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
      if (auto r = source_.push_back(source[i] == '\r' ? '\n' : source[i]); !r) return r;
    }
    if (source_.view().ends_with('\n')) source_.truncate(source_.size() - 1);
    return {};
  }

  [[nodiscard]] Result<ChatPrompt> run(Values& work, const Value& context,
                                       const RenderOptions& options) const noexcept {
    work.give(false);
    detail::TemplateRun run(work, options.limits, options.now);
    return detail::TemplateEvaluator(program_, run).render(context);
  }

  [[nodiscard]] Value base_context(Values& work, Values& from, const Value& messages,
                                   const RenderOptions& options) const noexcept {
    const Value context = work.dict();
    work.set(context, "messages", messages);
    work.set(context, "add_generation_prompt", Value::of(options.add_generation_prompt));
    work.set(context, "bos_token", Value::of(bos_));
    work.set(context, "eos_token", Value::of(eos_));
    if (!from.items(options.tools).empty()) work.set(context, "tools", work.copy(from, options.tools));
    const Value extra = work.copy(from, options.extra);
    for (std::size_t i = 0; work.ok() && i < work.entries(extra).size(); ++i) {
      const Entry entry = work.entries(extra)[i];
      work.set(context, entry.key.text, entry.value);
    }
    return context;
  }

  // --- messages as this template takes them ------------------------------------------------------------

  [[nodiscard]] Value normalized(Values& work, Values& from, const Value& messages) const noexcept {
    const Value copied = work.copy(from, messages);
    for (std::size_t i = 0; work.ok() && i < work.items(copied).size(); ++i) normalize(work, work.items(copied)[i]);
    return abilities_.system ? copied : without_system(work, copied);
  }
  void normalize(Values& work, const Value& message) const noexcept {
    if (!message.is_dict()) return work.fail(Error::of(Errc::invalid_argument, "expected a message that is an object"));
    if (work.get(message, "role").string_or_empty() == "developer")
      work.set(message, "role", Value::of(std::string_view("system")));
    const Value content = work.get(message, "content");
    const bool stays = abilities_.part_content || (abilities_.image_parts && has_image(work, content));
    const Value text = stays && !content.absent() ? content : text_of_parts(work, content);
    work.set(message, "content", abilities_.part_content && text.is_string() ? part_of(work, text) : text);
    const Value calls = work.get(message, "tool_calls");
    if (calls.absent() || work.items(calls).empty()) return remove(work, message, "tool_calls");
    for (std::size_t i = 0; work.ok() && i < work.items(calls).size(); ++i) normalize_call(work, work.items(calls)[i]);
  }
  static void remove(Values& work, const Value& dict, std::string_view key) noexcept {
    for (std::size_t i = 0; i < work.entries(dict).size(); ++i)
      if (work.entries(dict)[i].key.text == key) return work.erase(dict, i);
  }
  [[nodiscard]] static bool has_image(Values& work, const Value& content) noexcept {
    if (!content.is_sequence()) return false;
    for (std::size_t i = 0; i < work.items(content).size(); ++i) {
      const Value part = work.items(content)[i];
      if (part.is_dict() && work.get(part, "type").string_or_empty() == "image") return true;
    }
    return false;
  }
  /// The texts of a content's parts, one after the other.
  [[nodiscard]] static Value text_of_parts(Values& work, const Value& content) noexcept {
    if (content.absent()) return Value::of(std::string_view{});
    if (!content.is_sequence()) return content;
    TextBuilder out(work.allocator());
    for (std::size_t i = 0; i < work.items(content).size(); ++i) {
      const Value part = work.items(content)[i];
      if (!part.is_string() && work.get(part, "type").string_or_empty() != "text") {
        work.fail(Error::of(Errc::invalid_argument, "expected parts of content of type text, found ",
                            work.get(part, "type").string_or_empty()));
        return {};
      }
      out << (part.is_string() ? part.text : work.get(part, "text").string_or_empty());
    }
    if (!out.result()) work.fail(out.result().error());
    return work.string(out.view());
  }
  [[nodiscard]] static Value part_of(Values& work, const Value& text) noexcept {
    const Value part = work.dict();
    work.set(part, "type", Value::of(std::string_view("text")));
    work.set(part, "text", text);
    const Value list = work.list();
    work.push(list, part);
    return list;
  }
  void normalize_call(Values& work, const Value& call) const noexcept {
    const Value function = work.get(call, "function");
    const Value of = function.is_dict() ? function : call;
    const Value arguments = work.get(of, "arguments");
    if (!of.is_dict()) return work.fail(Error::of(Errc::invalid_argument, "expected a tool call that is an object"));
    if (abilities_.object_arguments && arguments.is_string()) {
      // A model may have written what is no JSON: then the template gets the text.
      Values trial(work.allocator());
      if (auto read = read_json(arguments.text.empty() ? "{}" : arguments.text, trial); read && read->is_dict())
        work.set(of, "arguments", work.copy(trial, *read));
    } else if (!abilities_.object_arguments && arguments.is_dict()) {
      TextBuilder out(work.allocator());
      if (auto r = write_json(work, arguments, {}, out); !r) work.fail(r.error());
      work.set(of, "arguments", work.string(out.view()));
    }
  }
  /// Puts system messages in front of the user message that follows them.
  [[nodiscard]] Value without_system(Values& work, const Value& messages) const noexcept {
    const Value list = work.list();
    Value held{};
    for (std::size_t i = 0; work.ok() && i < work.items(messages).size(); ++i) {
      const Value message = work.items(messages)[i];
      const std::string_view role = work.get(message, "role").string_or_empty();
      const Value content = work.get(message, "content");
      if (role == "system") {
        held = joined(work, held, content);
        continue;
      }
      if (role == "user" && held.is_string()) {
        work.set(message, "content", joined(work, held, content));
        held = {};
      }
      work.push(list, message);
    }
    if (!held.is_string()) return list;
    const Value message = work.dict();
    work.set(message, "role", Value::of(std::string_view("user")));
    work.set(message, "content", held);
    work.push(list, message);
    return list;
  }
  [[nodiscard]] static Value joined(Values& work, const Value& first, const Value& second) noexcept {
    if (!first.is_string()) return text_of_parts(work, second);
    TextBuilder out(work.allocator());
    out << first.text << "\n\n" << text_of_parts(work, second).text;
    if (!out.result()) work.fail(out.result().error());
    return work.string(out.view());
  }

  // --- what the template takes -------------------------------------------------------------------------

  /// Whether a JSON conversation renders, and shows the text `shown`.
  [[nodiscard]] bool shows(std::string_view context, std::string_view shown) const noexcept {
    Values values(allocator_);
    auto read = read_json(context, values);
    if (!read) return false;
    const auto text = render_as_is(values, *read);
    return text && text->view().find(shown) != std::string_view::npos;
  }
  void find_abilities() noexcept {
    abilities_.part_content =
        !shows(R"({"messages":[{"role":"user","content":"zrt-probe"}],"add_generation_prompt":true})", "zrt-probe") &&
        shows(
            R"({"messages":[{"role":"user","content":[{"type":"text","text":"zrt-probe"}]}],"add_generation_prompt":true})",
            "zrt-probe");
    // One that prints whatever its content is would show the part itself.
    constexpr std::string_view image =
        R"({"messages":[{"role":"user","content":[{"type":"image","zrt-mark":1},{"type":"text","text":"zrt-probe"}]}],"add_generation_prompt":true})";
    abilities_.image_parts = shows(image, "zrt-probe") && !shows(image, "zrt-mark");
    abilities_.system = shows(
        R"({"messages":[{"role":"system","content":"zrt-probe"},{"role":"user","content":"x"}],"add_generation_prompt":true})",
        "zrt-probe");
    abilities_.tools = shows(
        R"({"messages":[{"role":"user","content":"x"}],"add_generation_prompt":true,"tools":[{"type":"function","function":{"name":"zrt-probe","description":"x","parameters":{"type":"object","properties":{}}}}]})",
        "zrt-probe");
    const bool objects = shows(
        R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"call12345","type":"function","function":{"name":"f","arguments":{"key":"zrt-probe"}}}]}],"add_generation_prompt":false})",
        "zrt-probe");
    const bool texts = shows(
        R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"call12345","type":"function","function":{"name":"f","arguments":"{\"key\":\"zrt-probe\"}"}}]}],"add_generation_prompt":false})",
        "zrt-probe");
    abilities_.tool_calls = objects || texts;
    abilities_.object_arguments = objects || !texts;
  }

  Allocator allocator_;
  String source_;
  Values texts_;  ///< of the program's literals
  detail::TemplateProgram program_;
  std::string_view bos_{};
  std::string_view eos_{};
  TemplateAbilities abilities_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
