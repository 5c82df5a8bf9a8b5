// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/call_reader.hpp: the calls of tools that stand in a text between the marks of calls.
#pragma once

#include <zrt/text/chat/json.hpp>
#include <zrt/text/chat/json_slices.hpp>
#include <zrt/text/chat/literal_reader.hpp>
#include <zrt/text/chat/reply_format.hpp>
#include <zrt/text/chat/tool_parameters.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// Reads calls. JSON arguments come out as the model wrote them, byte for byte.
class CallReader {
 public:
  /// Calls go to `calls`. `tools` may be null: then what stands between tags is JSON where it reads as such. In a body
  /// that is cut, a call counts where its own closing mark or a JSON object that is not empty says that it is whole.
  CallReader(const ReplyFormat& format, const ToolParameters* tools, const Allocator& allocator,
             Vector<ReplyPiece>& calls, ReplyEnd end = ReplyEnd::by_model) noexcept
      : format_(format), tools_(tools), allocator_(allocator), calls_(calls), cut_(end == ReplyEnd::cut) {}

  /// Errors of memory; a body that is no call is none.
  [[nodiscard]] const Result<void>& result() const noexcept { return result_; }

  /// Whether a body is calls: only then are there more of them.
  [[nodiscard]] bool read(std::string_view body) noexcept {
    body = trimmed(body);
    const std::size_t before = calls_.size();
    const bool read = read_body(body) && result_.has_value();
    while (!read && calls_.size() > before) calls_.pop_back();
    return read;
  }
  /// A call with JSON arguments as the model wrote them. Nothing stands for no arguments, where the call is `closed`.
  [[nodiscard]] bool read_arguments(std::string_view name, std::string_view id, std::string_view json,
                                    bool closed) noexcept {
    json = trimmed(json);
    if (json.empty() && closed) json = "{}";
    Values values(allocator_);
    const auto read = read_json(json, values);
    if (!read || !read->is_dict() || name.empty()) return false;
    return add(name, id, json);
  }

  /// Whether a mark that closes calls can stand behind this body: not in the middle of a tagged one, whose arguments may
  /// hold any text.
  [[nodiscard]] static bool may_end(CallSyntax syntax, std::string_view body) noexcept {
    body = trimmed(body);
    if (syntax == CallSyntax::invokes) return body.ends_with(kInvokeEnd);
    if (syntax == CallSyntax::python) return body.ends_with(']');
    if (syntax == CallSyntax::braces) return has_whole_texts(body);
    if (body.starts_with(kFunction)) return body.ends_with(kFunctionEnd);
    return body.find(kKey) == std::string_view::npos || body.ends_with(kKeyedEnd);
  }
  /// Whether a body is JSON, in which a mark may stand within a string.
  [[nodiscard]] static bool has_quotes(CallSyntax syntax, std::string_view body) noexcept {
    body = trimmed(body);
    if (syntax == CallSyntax::bodies) return body.starts_with('{') || body.starts_with('[');
    return syntax != CallSyntax::invokes && syntax != CallSyntax::python && syntax != CallSyntax::braces;
  }

 private:
  static constexpr std::string_view kFunctions = "functions.";
  static constexpr std::string_view kFunction = "<function=";
  static constexpr std::string_view kFunctionEnd = "</function>";
  static constexpr std::string_view kParameter = "<parameter=";
  static constexpr std::string_view kParameterEnd = "</parameter>";
  static constexpr std::string_view kKey = "<arg_key>";
  static constexpr std::string_view kKeyEnd = "</arg_key>";
  static constexpr std::string_view kKeyed = "<arg_value>";
  static constexpr std::string_view kKeyedEnd = "</arg_value>";
  static constexpr std::string_view kInvoke = "<｜DSML｜invoke name=\"";
  static constexpr std::string_view kInvokeEnd = "</｜DSML｜invoke>";
  static constexpr std::string_view kArgument = "<｜DSML｜parameter name=\"";
  static constexpr std::string_view kArgumentEnd = "</｜DSML｜parameter>";

  [[nodiscard]] bool read_body(std::string_view body) noexcept {
    if (format_.syntax == CallSyntax::sections) return read_sections(body);
    if (format_.syntax == CallSyntax::invokes) return read_invokes(body);
    if (format_.syntax == CallSyntax::braces) return read_braces(body);
    if (format_.syntax == CallSyntax::python) return read_objects(body) || read_python(body);
    if (body.starts_with('[') || body.starts_with('{')) return read_objects(body);
    if (format_.syntax == CallSyntax::named) return read_named(body);
    return body.starts_with(kFunction) ? read_functions(body) : read_keyed(body);
  }
  [[nodiscard]] static std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view spaces = " \n\r\t;";
    while (!text.empty() && spaces.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
    while (!text.empty() && spaces.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
    return text;
  }
  /// Takes all up to a mark, and the mark, off the front of a text; false where there is none.
  [[nodiscard]] static bool take_until(std::string_view& text, std::string_view mark,
                                       std::string_view& taken) noexcept {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return false;
    taken = slice(text, 0, at);
    text = slice(text, at + mark.size());
    return true;
  }
  [[nodiscard]] bool add(std::string_view name, std::string_view id, std::string_view arguments) noexcept {
    ReplyPiece piece{.kind = ReplyPiece::Kind::call,
                     .text = String(allocator_),
                     .name = String(allocator_),
                     .id = String(allocator_)};
    result_ = piece.text.append(arguments);
    if (result_) result_ = piece.name.append(name);
    if (result_) result_ = piece.id.append(id);
    if (result_) result_ = calls_.push_back(std::move(piece));
    return result_.has_value();
  }

  // --- JSON ------------------------------------------------------------------------------------------

  /// {"name": ..., "arguments": ...}, several one behind the other, or a list of them.
  [[nodiscard]] bool read_objects(std::string_view body) noexcept {
    if (body.starts_with('[')) {
      Values values(allocator_);
      if (json_size(body) != body.size() || !read_json(body, values)) return false;
      body = without_json_spaces(slice(body, 1, body.size() - 2));
    }
    if (body.empty()) return false;
    while (!body.empty()) {
      const std::size_t size = json_size(body);
      if (size == 0 || !read_object(slice(body, 0, size))) return false;
      body = trimmed(slice(body, size));
      if (body.starts_with(',')) body = trimmed(slice(body, 1));
    }
    return true;
  }
  [[nodiscard]] bool read_object(std::string_view json) noexcept {
    Values values(allocator_);
    const auto read = read_json(json, values);
    if (!read) return false;
    Value object = *read;
    if (values.get(object, "function").is_dict()) {
      object = Value(values.get(object, "function"));
      json = json_member(json, "function");
    }
    const std::string_view key = values.find(object, "arguments") != nullptr ? "arguments" : "parameters";
    const bool cohere = values.find(object, "tool_name") != nullptr;
    const std::string_view name = values.get(object, cohere ? "tool_name" : "name").string_or_empty();
    const Value arguments = values.get(object, key);
    if (name.empty()) return false;
    const std::string_view id = values.get(object, "id").string_or_empty();
    if (arguments.is_string()) return read_arguments(name, id, arguments.text, true);
    if (arguments.absent()) return add(name, id, "{}");
    if (!arguments.is_dict()) return false;
    if (const std::string_view written = json_member(json, key); !written.empty()) return add(name, id, written);
    // Its key is written with escapes.
    TextBuilder out(allocator_);
    return write_json(values, arguments, {}, out) && add(name, id, out.view());
  }
  /// name[CALL_ID]id[ARGS]{...}, the next one behind another mark of calls.
  [[nodiscard]] bool read_named(std::string_view body) noexcept {
    if (body.empty()) return false;
    while (!body.empty()) {
      const std::size_t next = find_unquoted(body, format_.call_open);
      const std::string_view one = trimmed(slice(body, 0, next));
      const std::size_t brace = one.find('{');
      const std::size_t args = one.find("[ARGS]");
      const std::size_t split = args < brace ? args : brace;
      if (split == std::string_view::npos) return false;
      std::string_view name = trimmed(slice(one, 0, split));
      std::string_view id{};
      if (const std::size_t at = name.find("[CALL_ID]"); at != std::string_view::npos) {
        id = slice(name, at + 9);
        name = slice(name, 0, at);
      }
      const bool closed = next != std::string_view::npos || !cut_;
      if (!read_arguments(name, id, slice(one, args < brace ? args + 6 : brace), closed)) return false;
      body = next == std::string_view::npos ? std::string_view{} : slice(body, next + format_.call_open.size());
    }
    return true;
  }
  /// Each section: a kind or the name, a mark, the name in older models, and arguments, there in a fence.
  [[nodiscard]] bool read_sections(std::string_view body) noexcept {
    const auto& [open, middle, close] = format_.sections;
    constexpr std::string_view fence = "```json";
    bool any = false;
    for (std::size_t at = body.find(open); at != std::string_view::npos; at = find_unquoted(body, open)) {
      body = slice(body, at + open.size());
      const std::size_t end = find_unquoted(body, close);
      const std::string_view section = slice(body, 0, end);
      const std::size_t cut = section.find(middle);
      if (cut == std::string_view::npos) return false;
      std::string_view name = trimmed(slice(section, 0, cut));
      std::string_view rest = trimmed(slice(section, cut + middle.size()));
      // A fence in a string of the arguments is none.
      if (const std::size_t in = rest.find(fence); !rest.starts_with('{') && in != std::string_view::npos) {
        name = trimmed(slice(rest, 0, in));
        rest = slice(rest, in + fence.size());
        rest = slice(rest, 0, rest.rfind("```"));
      }
      // Kimi's name is functions.NAME:NUMBER, which is also its id.
      std::string_view id{};
      if (const std::size_t number = name.rfind(':');
          name.starts_with(kFunctions) && number != std::string_view::npos) {
        id = name;
        name = slice(name, kFunctions.size(), number - kFunctions.size());
      }
      if (!read_arguments(name, id, rest, end != std::string_view::npos)) return false;
      any = true;
      body = end == std::string_view::npos ? std::string_view{} : slice(body, end + close.size());
    }
    return any;
  }

  // --- literals --------------------------------------------------------------------------------------

  /// [f(key=value, ...), ...]
  [[nodiscard]] bool read_python(std::string_view body) noexcept {
    TextBuilder json(allocator_);
    LiteralReader reader(body, json, allocator_);
    if (!reader.take('[') || reader.take(']')) return false;
    for (bool first = true; !reader.take(']'); first = false) {
      const std::size_t from = json.size();
      if (!first && !reader.take(',')) return false;
      const std::string_view name = reader.take_word("(,=[]{}'\"");
      if (name.empty() || !reader.take('(') || !reader.take_members('=', ')')) return false;
      if (!json.result()) return result_ = json.result(), false;
      if (!add(name, {}, slice(json.view(), from))) return false;
    }
    return reader.done();
  }
  /// call:f{key:value,...}
  [[nodiscard]] bool read_braces(std::string_view body) noexcept {
    constexpr std::string_view call = "call:";
    if (!body.starts_with(call)) return false;
    TextBuilder json(allocator_);
    LiteralReader reader(slice(body, call.size()), json, allocator_);
    const std::string_view name = reader.take_word("{},:<");
    if (name.empty() || !reader.take('{') || !reader.take_members(':', '}') || !reader.done()) return false;
    if (!json.result()) return result_ = json.result(), false;
    return add(name, {}, json.view());
  }
  /// Whether each text of such a body has its end.
  [[nodiscard]] static bool has_whole_texts(std::string_view body) noexcept {
    bool whole = true;
    for (std::size_t at = body.find(LiteralReader::kMark); at != std::string_view::npos;
         at = body.find(LiteralReader::kMark, at + LiteralReader::kMark.size()))
      whole = !whole;
    return whole;
  }

  // --- tags ------------------------------------------------------------------------------------------

  /// <function=name><parameter=key>value</parameter></function>, several one behind the other.
  [[nodiscard]] bool read_functions(std::string_view body) noexcept {
    std::string_view name, key;
    for (; !body.empty(); body = trimmed(body)) {
      if (!body.starts_with(kFunction)) return false;
      body.remove_prefix(kFunction.size());
      if (!take_until(body, ">", name)) return false;
      Arguments arguments(*this, trimmed(name));
      for (body = trimmed(body); body.starts_with(kParameter); body = trimmed(body)) {
        body.remove_prefix(kParameter.size());
        if (!take_until(body, ">", key)) return false;
        const std::size_t end = end_of_value(body, kParameterEnd, kParameter, kFunctionEnd);
        if (end == std::string_view::npos) return false;
        arguments.add(trimmed(key), without_lines(slice(body, 0, end)));
        body = slice(body, end);
        if (body.starts_with(kParameterEnd)) body.remove_prefix(kParameterEnd.size());
      }
      // A model may leave the last tag out, but what is cut there may lack arguments.
      if (body.starts_with(kFunctionEnd))
        body.remove_prefix(kFunctionEnd.size());
      else if (!body.empty() || cut_)
        return false;
      if (!arguments.finish()) return false;
    }
    return true;
  }
  /// A name, and <arg_key>key</arg_key><arg_value>value</arg_value> of each argument.
  [[nodiscard]] bool read_keyed(std::string_view body) noexcept {
    const std::size_t first = body.find(kKey);
    const std::string_view name = trimmed(slice(body, 0, first));
    if (name.empty() || name.find_first_of(" \n<>{}") != std::string_view::npos) return false;
    // Without arguments a text says that it is a call only by the name of a tool.
    if (first == std::string_view::npos && (tools_ == nullptr || !tools_->has_tool(name))) return false;
    // Its only closing mark is the one behind the body.
    if (cut_) return false;
    body = first == std::string_view::npos ? std::string_view{} : slice(body, first);
    Arguments arguments(*this, name);
    std::string_view key, between;
    for (; !body.empty(); body = trimmed(body)) {
      if (!body.starts_with(kKey)) return false;
      body.remove_prefix(kKey.size());
      if (!take_until(body, kKeyEnd, key) || !take_until(body, kKeyed, between)) return false;
      const std::size_t end = end_of_value(body, kKeyedEnd, kKey, {});
      if (end == std::string_view::npos) return false;
      arguments.add(trimmed(key), slice(body, 0, end));
      body = slice(body, end);
      if (body.starts_with(kKeyedEnd)) body.remove_prefix(kKeyedEnd.size());
    }
    return arguments.finish();
  }
  /// <｜DSML｜invoke name="..."> around <｜DSML｜parameter name="..." string="true"> of each argument.
  [[nodiscard]] bool read_invokes(std::string_view body) noexcept {
    std::string_view name, key, said;
    if (body.empty()) return false;
    for (; !body.empty(); body = trimmed(body)) {
      if (!body.starts_with(kInvoke)) return false;
      body.remove_prefix(kInvoke.size());
      if (!take_until(body, "\">", name)) return false;
      Arguments arguments(*this, name);
      for (body = trimmed(body); body.starts_with(kArgument); body = trimmed(body)) {
        body.remove_prefix(kArgument.size());
        if (!take_until(body, "\"", key) || !take_until(body, ">", said)) return false;
        const std::size_t end = end_of_value(body, kArgumentEnd, kArgument, kInvokeEnd);
        if (end == std::string_view::npos) return false;
        const bool is_text = said.find("string=\"true\"") != std::string_view::npos;
        arguments.add(key, slice(body, 0, end), is_text ? ArgumentForm::text : ArgumentForm::value);
        body = slice(body, end);
        if (body.starts_with(kArgumentEnd)) body.remove_prefix(kArgumentEnd.size());
      }
      if (!body.starts_with(kInvokeEnd)) return false;
      body.remove_prefix(kInvokeEnd.size());
      if (!arguments.finish()) return false;
    }
    return true;
  }

  /// Where a value ends: at the first closing tag that is followed by one that can stand behind it or by nothing, because
  /// a value may hold any text. A model that leaves the closing tag out ends the value at the next tag, which begins a line
  /// where others follow. `open` begins the next value, `end` closes the call.
  [[nodiscard]] static std::size_t end_of_value(std::string_view text, std::string_view close, std::string_view open,
                                                std::string_view end) noexcept {
    std::size_t at = text.find(close);
    for (; at != std::string_view::npos; at = text.find(close, at + 1)) {
      const std::string_view behind = trimmed(slice(text, at + close.size()));
      if (behind.empty() || behind.starts_with(open) || (!end.empty() && behind.starts_with(end))) break;
    }
    for (std::size_t next = text.find(open); next < at; next = text.find(open, next + 1))
      if (at == std::string_view::npos || (next != 0 && text[next - 1] == '\n')) return next;
    return at != std::string_view::npos || end.empty() ? at : text.find(end);
  }
  /// A value stands on lines of its own.
  [[nodiscard]] static std::string_view without_lines(std::string_view value) noexcept {
    if (value.starts_with('\n')) value.remove_prefix(1);
    if (value.ends_with('\n')) value.remove_suffix(1);
    return value;
  }

  /// The object of arguments of a call whose values are written without quotes.
  class Arguments {
   public:
    Arguments(CallReader& reader, std::string_view tool) noexcept
        : reader_(reader), tool_(tool), json_(reader.allocator_) {
      json_ << '{';
    }
    void add(std::string_view key, std::string_view value) noexcept {
      add(key, value, reader_.tools_ == nullptr ? ArgumentForm::unknown : reader_.tools_->form_of(tool_, key));
    }
    void add(std::string_view key, std::string_view value, ArgumentForm form) noexcept {
      if (json_.size() > 1) json_ << ", ";
      write_json_string(key, false, json_);
      json_ << ": ";
      if (const std::string_view json = json_of(value, form); !json.empty())
        json_ << json;
      else
        write_json_string(value, false, json_);
    }
    [[nodiscard]] bool finish() noexcept {
      json_ << '}';
      if (!json_.result()) return reader_.result_ = json_.result(), false;
      return !tool_.empty() && reader_.add(tool_, {}, json_.view());
    }

   private:
    /// The value as JSON; empty for a text.
    [[nodiscard]] std::string_view json_of(std::string_view value, ArgumentForm form) const noexcept {
      const std::string_view json = without_json_spaces(value);
      // Templates show past values as Python does.
      constexpr std::pair<std::string_view, std::string_view> words[] = {
          {"None", "null"}, {"True", "true"}, {"False", "false"}};
      if (form == ArgumentForm::text) return {};
      if (form == ArgumentForm::text_or_null) return json == "null" || json == "None" ? "null" : std::string_view{};
      for (const auto& [word, meaning] : words)
        if (json == word && form == ArgumentForm::value) return meaning;
      Values values(reader_.allocator_);
      return read_json(json, values) ? json : std::string_view{};
    }

    CallReader& reader_;
    std::string_view tool_;
    TextBuilder json_;
  };

  const ReplyFormat& format_;
  const ToolParameters* tools_;
  Allocator allocator_;
  Vector<ReplyPiece>& calls_;
  bool cut_;  ///< the body has no end of its own
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail

namespace zrt::inline ZRT_ABI::text::chat {

/// The calls of an answer that is a JSON list of {"name": ..., "arguments": {...}}, as a grammar makes one; none where it
/// is not. Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Vector<ReplyPiece>> read_call_list(
    std::string_view json, const Allocator& allocator = system_allocator()) noexcept {
  constexpr ReplyFormat format{.name = "list", .syntax = CallSyntax::bodies};
  Vector<ReplyPiece> calls(allocator);
  detail::CallReader reader(format, nullptr, allocator, calls);
  (void)reader.read(json);
  if (!reader.result()) return pass(reader.result());
  return calls;
}

}  // namespace zrt::inline ZRT_ABI::text::chat
