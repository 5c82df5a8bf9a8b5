// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/reply_parser.hpp: a model's reply as it comes, taken apart into text, reasoning and calls of tools.
#pragma once

#include <zrt/text/chat/json.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// How a body between the marks of a call is written.
enum class CallSyntax : std::uint8_t {
  none,
  objects,   ///< JSON objects or a list of them, each with a name, and arguments or parameters
  named,     ///< a name, perhaps an id, and arguments: mistral's
  sections,  ///< sections of a name and arguments between marks: deepseek's
  channels,  ///< messages with headers: harmony's
};

/// How the models of a family mark what they write. An empty mark never comes.
struct ReplyFormat {
  std::string_view name;
  std::string_view sign;  ///< in a chat template that asks for this format
  std::string_view reasoning_open;
  std::string_view reasoning_close;
  std::string_view call_open;
  std::string_view call_close;  ///< empty: the reply's end
  CallSyntax syntax = CallSyntax::none;
  bool bare_calls = false;  ///< a reply that begins with { may be calls
};

/// The formats by the families that use them; the first whose sign stands in a template counts.
inline constexpr ReplyFormat kReplyFormats[] = {
    {"harmony", "<|channel|>", "", "", "<|channel|>", "", CallSyntax::channels},
    {"deepseek", "<｜tool▁calls▁begin｜>", "<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
     CallSyntax::sections},
    {"mistral", "[TOOL_CALLS]", "[THINK]", "[/THINK]", "[TOOL_CALLS]", "", CallSyntax::named},
    {"hermes", "<tool_call>", "<think>", "</think>", "<tool_call>", "</tool_call>", CallSyntax::objects},
    {"llama3", "<|start_header_id|>", "", "", "<|python_tag|>", "", CallSyntax::objects, true},
    {"plain", "", "<think>", "</think>", "", "", CallSyntax::none},
};

/// The format that a chat template asks for.
[[nodiscard]] constexpr const ReplyFormat& reply_format_of(std::string_view chat_template) noexcept {
  for (const ReplyFormat& format : kReplyFormats)
    if (chat_template.find(format.sign) != std::string_view::npos) return format;
  return kReplyFormats[std::size(kReplyFormats) - 1];
}

/// A piece of a reply.
struct ReplyPiece {
  enum class Kind : std::uint8_t { text, reasoning, call };

  Kind kind = Kind::text;
  String text{};  ///< of a call: its arguments, a JSON object
  String name{};  ///< of a called tool
  String id{};    ///< of a call, where the model gave it one
};

/// Takes a reply apart while it comes. A mark never comes out as text, nor does a part of one; a call comes out whole or,
/// where it turns out to be none, as the text that it was.
///
/// Control tokens are part of the text that is fed: decode with DecodeOptions::special.
class ReplyParser {
 public:
  explicit ReplyParser(const ReplyFormat& format, const Allocator& allocator = system_allocator()) noexcept
      : allocator_(allocator), format_(format), held_(allocator), tool_(allocator), pieces_(allocator) {}

  /// A prompt that ends with the mark of reasoning has begun it.
  void begin_behind(std::string_view prompt) noexcept {
    while (!prompt.empty() && (prompt.back() == '\n' || prompt.back() == ' ')) prompt.remove_suffix(1);
    if (!format_.reasoning_open.empty() && prompt.ends_with(format_.reasoning_open)) mode_ = Mode::reasoning;
  }

  /// Takes more of the reply. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<Span<const ReplyPiece>> feed(std::string_view text) noexcept { return advance(text, false); }
  /// Ends the reply: what was held back comes out.
  [[nodiscard]] Result<Span<const ReplyPiece>> finish() noexcept { return advance({}, true); }

 private:
  enum class Mode : std::uint8_t { text, reasoning, call, header, message, between };
  using Kind = ReplyPiece::Kind;

  static constexpr std::string_view kMessage = "<|message|>";
  static constexpr std::string_view kMessageEnds[] = {"<|end|>", "<|call|>", "<|return|>"};

  [[nodiscard]] Result<Span<const ReplyPiece>> advance(std::string_view text, bool last) noexcept {
    pieces_.clear();
    result_ = held_.append(text);
    while (result_ && one_step(last)) {
    }
    if (!result_) return pass(result_);
    return Span<const ReplyPiece>(pieces_.span());
  }

  /// Moves on by a mark; false when there is none yet.
  [[nodiscard]] bool one_step(bool last) noexcept {
    switch (mode_) {
      case Mode::text:
        return read_text(last);
      case Mode::reasoning:
        return read_until(Kind::reasoning, format_.reasoning_close, last);
      case Mode::call:
        return read_call(last);
      case Mode::header:
        return read_header(last);
      case Mode::message:
        return read_message(last);
      case Mode::between:
        return skip_to_header(last);
    }
    return false;
  }

  // --- what is held ----------------------------------------------------------------------------------

  void emit(Kind kind, std::string_view text) noexcept {
    if (text.empty() || !result_) return;
    ReplyPiece piece{.kind = kind, .text = String(allocator_), .name = String(allocator_), .id = String(allocator_)};
    result_ = piece.text.append(text);
    if (result_) result_ = pieces_.push_back(std::move(piece));
  }
  /// Gives out all but the end of `held_` that may begin one of the marks.
  void emit_sure(Kind kind, std::initializer_list<std::string_view> marks, bool last) noexcept {
    std::size_t kept = 0;
    for (const std::string_view mark : marks)
      for (std::size_t n = mark.size(); !last && n-- > kept;)
        if (n != 0 && n <= held_.size() && held_.view().ends_with(slice(mark, 0, n))) {
          kept = n > kept ? n : kept;
          break;
        }
    const std::size_t sure = held_.size() - kept;
    emit(kind, slice(held_.view(), 0, sure));
    held_.erase_front(sure);
  }

  [[nodiscard]] bool read_text(bool last) noexcept {
    if (at_start_ && format_.bare_calls && !held_.empty()) {
      std::size_t first = 0;
      while (first < held_.size() && (held_.view()[first] == '\n' || held_.view()[first] == ' ')) ++first;
      if (first == held_.size() && !last) return false;
      at_start_ = false;
      if (first < held_.size() && held_.view()[first] == '{') return mode_ = Mode::call, bare_ = true, true;
    }
    const std::size_t call = format_.call_open.empty() ? std::string_view::npos : held_.view().find(format_.call_open);
    const std::size_t reasoning =
        format_.reasoning_open.empty() ? std::string_view::npos : held_.view().find(format_.reasoning_open);
    if (call == std::string_view::npos && reasoning == std::string_view::npos) {
      emit_sure(Kind::text, {format_.call_open, format_.reasoning_open}, last);
      return false;
    }
    const bool calls = call < reasoning;
    const std::size_t before = calls ? call : reasoning;
    emit(Kind::text, slice(held_.view(), 0, before));
    held_.erase_front(before);
    held_.erase_front(calls ? format_.call_open.size() : format_.reasoning_open.size());
    mode_ = !calls ? Mode::reasoning : format_.syntax == CallSyntax::channels ? Mode::header : Mode::call;
    bare_ = false;
    return true;
  }
  [[nodiscard]] bool read_until(Kind kind, std::string_view mark, bool last) noexcept {
    const std::size_t end = held_.view().find(mark);
    if (end == std::string_view::npos) return emit_sure(kind, {mark}, last), false;
    emit(kind, slice(held_.view(), 0, end));
    held_.erase_front(end + mark.size());
    mode_ = Mode::text;
    return true;
  }

  // --- calls -----------------------------------------------------------------------------------------

  [[nodiscard]] bool read_call(bool last) noexcept {
    const bool until_end = bare_ || format_.call_close.empty();
    const std::size_t end = until_end ? std::string_view::npos : held_.view().find(format_.call_close);
    if (end == std::string_view::npos && !last) return false;
    const std::string_view body = slice(held_.view(), 0, end);
    const std::size_t before = pieces_.size();
    if (!read_calls(body) && result_) {
      while (pieces_.size() > before) pieces_.pop_back();
      if (!bare_) emit(Kind::text, format_.call_open);
      emit(Kind::text, body);
      if (end != std::string_view::npos) emit(Kind::text, format_.call_close);
    }
    held_.erase_front(end == std::string_view::npos ? held_.size() : end + format_.call_close.size());
    mode_ = Mode::text;
    return !last || !held_.empty();
  }
  [[nodiscard]] bool read_calls(std::string_view body) noexcept {
    body = trimmed(body);
    if (format_.syntax == CallSyntax::sections) return read_sections(body);
    if (format_.syntax == CallSyntax::named && !body.starts_with('[') && !body.starts_with('{'))
      return read_named(body);
    return read_objects(body);
  }
  [[nodiscard]] static std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view spaces = " \n\r\t;";
    while (!text.empty() && spaces.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
    while (!text.empty() && spaces.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
    return text;
  }

  void emit_call(std::string_view name, std::string_view id, std::string_view arguments) noexcept {
    if (!result_) return;
    ReplyPiece piece{
        .kind = Kind::call, .text = String(allocator_), .name = String(allocator_), .id = String(allocator_)};
    result_ = piece.text.append(arguments);
    if (result_) result_ = piece.name.append(name);
    if (result_) result_ = piece.id.append(id);
    if (result_) result_ = pieces_.push_back(std::move(piece));
  }
  /// A call with JSON arguments as the model wrote them.
  [[nodiscard]] bool read_arguments(std::string_view name, std::string_view id, std::string_view json) noexcept {
    Values values(allocator_);
    const auto read = read_json(json.empty() ? std::string_view("{}") : json, values);
    if (!read || !read->is_dict() || name.empty()) return false;
    emit_call(name, id, json.empty() ? std::string_view("{}") : json);
    return true;
  }
  /// {"name": ..., "arguments": ...}, several one behind the other, or a list of them.
  [[nodiscard]] bool read_objects(std::string_view body) noexcept {
    if (body.starts_with('[')) {
      Values values(allocator_);
      const auto list = read_json(body, values);
      if (!list || values.items(*list).empty()) return false;
      for (std::size_t i = 0; i < values.items(*list).size(); ++i)
        if (!read_object(values, values.items(*list)[i])) return false;
      return true;
    }
    if (body.empty()) return false;
    while (!body.empty()) {
      const std::size_t size = object_size(body);
      Values values(allocator_);
      const auto object = read_json(slice(body, 0, size), values);
      if (!object || !read_object(values, *object)) return false;
      body = trimmed(slice(body, size));
    }
    return true;
  }
  /// Bytes of the JSON object in front of a text.
  [[nodiscard]] static std::size_t object_size(std::string_view text) noexcept {
    std::size_t open = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quoted && c == '\\')
        ++i;
      else if (c == '"')
        quoted = !quoted;
      else if (!quoted && (c == '{' || c == '['))
        ++open;
      else if (!quoted && (c == '}' || c == ']') && open-- <= 1)
        return i + 1;
    }
    return text.size();
  }
  [[nodiscard]] bool read_object(Values& values, Value object) noexcept {
    if (values.get(object, "function").is_dict()) object = Value(values.get(object, "function"));
    const Value name = values.get(object, "name");
    Value arguments = values.get(object, "arguments");
    if (arguments.is(chat::Kind::undefined)) arguments = values.get(object, "parameters");
    if (!name.is_string() || name.text.empty()) return false;
    const Value id = values.get(object, "id");
    if (arguments.is_string()) return read_arguments(name.text, id.string_or_empty(), arguments.text);
    if (!arguments.absent() && !arguments.is_dict()) return false;
    TextBuilder json(allocator_);
    if (arguments.is_dict()) {
      if (auto r = write_json(values, arguments, {}, json); !r) return false;
    } else {
      json << "{}";
    }
    emit_call(name.text, id.string_or_empty(), json.view());
    return true;
  }
  /// name[CALL_ID]id[ARGS]{...}, the next one behind another mark of calls.
  [[nodiscard]] bool read_named(std::string_view body) noexcept {
    while (!body.empty()) {
      const std::size_t next = body.find(format_.call_open);
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
      if (!read_arguments(name, id, trimmed(slice(one, args < brace ? args + 6 : brace)))) return false;
      body = next == std::string_view::npos ? std::string_view{} : slice(body, next + format_.call_open.size());
    }
    return true;
  }
  /// Each section: a kind or the name, a mark, the name in older models, and arguments, there in a fence.
  [[nodiscard]] bool read_sections(std::string_view body) noexcept {
    constexpr std::string_view open = "<｜tool▁call▁begin｜>";
    constexpr std::string_view middle = "<｜tool▁sep｜>";
    constexpr std::string_view close = "<｜tool▁call▁end｜>";
    bool any = false;
    for (std::size_t at = body.find(open); at != std::string_view::npos; at = body.find(open)) {
      body = slice(body, at + open.size());
      const std::size_t end = body.find(close);
      const std::string_view section = slice(body, 0, end);
      const std::size_t cut = section.find(middle);
      if (cut == std::string_view::npos) return false;
      std::string_view name = trimmed(slice(section, 0, cut));
      std::string_view rest = slice(section, cut + middle.size());
      if (const std::size_t fence = rest.find("```json"); fence != std::string_view::npos) {
        name = trimmed(slice(rest, 0, fence));
        rest = slice(rest, fence + 7);
        rest = slice(rest, 0, rest.rfind("```"));
      }
      if (!read_arguments(name, {}, trimmed(rest))) return false;
      any = true;
    }
    return any;
  }

  // --- messages with headers -------------------------------------------------------------------------

  /// Between messages stands who writes the next one.
  [[nodiscard]] bool skip_to_header(bool last) noexcept {
    const std::size_t next = held_.view().find(format_.call_open);
    if (next == std::string_view::npos) {
      if (last) held_.clear();
      return false;
    }
    held_.erase_front(next + format_.call_open.size());
    mode_ = Mode::header;
    return true;
  }
  [[nodiscard]] bool read_header(bool last) noexcept {
    const std::size_t end = held_.view().find(kMessage);
    if (end == std::string_view::npos) {
      if (last) held_.clear();  // a header without a message says nothing
      return false;
    }
    const std::string_view header = slice(held_.view(), 0, end);
    tool_.clear();
    if (const std::size_t to = header.find("to=functions."); to != std::string_view::npos) {
      const std::string_view name = slice(header, to + 13);
      result_ = tool_.append(slice(name, 0, name.find_first_of(" <\n")));
    }
    reasons_ = trimmed(header).starts_with("analysis");
    held_.erase_front(end + kMessage.size());
    mode_ = Mode::message;
    return true;
  }
  [[nodiscard]] bool read_message(bool last) noexcept {
    const Kind kind = reasons_ ? Kind::reasoning : Kind::text;
    std::size_t end = std::string_view::npos;
    std::string_view mark{};
    for (const std::string_view m : kMessageEnds)
      if (const std::size_t at = held_.view().find(m); at < end) end = at, mark = m;
    const bool calls = !tool_.empty() && !reasons_;
    if (end == std::string_view::npos && !last) {
      if (!calls) emit_sure(kind, {kMessageEnds[0], kMessageEnds[1], kMessageEnds[2]}, false);
      return false;
    }
    const std::string_view body = slice(held_.view(), 0, end);
    if (!calls || !read_arguments(tool_.view(), {}, trimmed(body))) emit(kind, body);
    held_.erase_front(end == std::string_view::npos ? held_.size() : end + mark.size());
    mode_ = Mode::between;
    return !held_.empty();
  }

  Allocator allocator_;
  const ReplyFormat& format_;
  String held_;
  String tool_;  ///< that the message calls
  Vector<ReplyPiece> pieces_;
  Mode mode_ = Mode::text;
  bool at_start_ = true;
  bool bare_ = false;
  bool reasons_ = false;
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
