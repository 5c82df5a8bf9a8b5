// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/reply_parser.hpp: a model's reply as it comes, taken apart into text, reasoning and calls of tools.
#pragma once

#include <zrt/text/chat/call_reader.hpp>
#include <zrt/text/chat/json_slices.hpp>
#include <zrt/text/chat/reply_format.hpp>
#include <zrt/text/chat/tool_parameters.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// Takes a reply apart while it comes. A mark never comes out as text, nor does a part of one; a call comes out whole or,
/// where it turns out to be none or is cut, as the text that it was.
///
/// Control tokens are part of the text that is fed: decode with DecodeOptions::special.
class ReplyParser {
 public:
  /// Views `format` and `tools`. `tools` may be null; with them arguments between tags get the types that their schemas
  /// say, and a reply that begins with { is a call only of one of them.
  explicit ReplyParser(const ReplyFormat& format, const ToolParameters* tools = nullptr,
                       const Allocator& allocator = system_allocator()) noexcept
      : allocator_(allocator), format_(format), tools_(tools), held_(allocator), tool_(allocator), pieces_(allocator) {}

  /// A prompt that ends with the mark of reasoning has begun it.
  void begin_behind(std::string_view prompt) noexcept {
    while (!prompt.empty() && (prompt.back() == '\n' || prompt.back() == ' ')) prompt.remove_suffix(1);
    if (!format_.reasoning_open.empty() && prompt.ends_with(format_.reasoning_open)) mode_ = Mode::reasoning;
  }

  /// Takes more of the reply. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<Span<const ReplyPiece>> feed(std::string_view text) noexcept { return advance(text, false); }
  /// Ends the reply: what was held back comes out. Of a reply that is cut, a call counts only where it is seen to be whole.
  [[nodiscard]] Result<Span<const ReplyPiece>> finish(ReplyEnd end) noexcept {
    end_ = end;
    return advance({}, true);
  }

 private:
  enum class Mode : std::uint8_t { text, reasoning, call, header, message };
  using Kind = ReplyPiece::Kind;

  static constexpr std::string_view kChannel = "<|channel|>";
  static constexpr std::string_view kMessage = "<|message|>";
  static constexpr std::string_view kRecipient = "to=functions.";
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
  void emit_sure(Kind kind, Span<const std::string_view> marks, bool last) noexcept {
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

  /// How a reply begins may say what it is. True where it does not, or did before; else `mode_` or more text decides.
  [[nodiscard]] bool is_plain_start(bool last) noexcept {
    if (!at_start_) return true;
    const bool bare = format_.bare_calls;
    const bool header = format_.syntax == CallSyntax::channels;
    std::string_view text = held_.view();
    while ((bare || header) && (text.starts_with('\n') || text.starts_with(' '))) text.remove_prefix(1);
    const std::string_view sign = bare ? "{" : header ? kRecipient : "";
    if (!last && text.size() < sign.size() && sign.starts_with(text)) return false;
    at_start_ = false;
    if (sign.empty() || !text.starts_with(sign)) return true;
    bare_ = bare;
    mode_ = bare ? Mode::call : Mode::header;
    return false;
  }
  [[nodiscard]] bool read_text(bool last) noexcept {
    if (held_.empty()) return false;
    if (!is_plain_start(last)) return mode_ != Mode::text;
    const std::string_view marks[] = {format_.call_open,     format_.reasoning_open, format_.text_marks[0],
                                      format_.text_marks[1], format_.text_marks[2],  format_.text_marks[3]};
    std::size_t before = std::string_view::npos;
    std::size_t which = 0;
    for (std::size_t i = 0; i < std::size(marks); ++i) {
      const std::size_t at = marks[i].empty() ? std::string_view::npos : held_.view().find(marks[i]);
      if (at < before) before = at, which = i;
    }
    if (before == std::string_view::npos) return emit_sure(Kind::text, marks, last), false;
    emit(Kind::text, slice(held_.view(), 0, before));
    held_.erase_front(before);
    bare_ = false;
    const bool calls = which == 0;
    if (calls && format_.syntax == CallSyntax::channels) return mode_ = Mode::header, true;
    held_.erase_front(marks[which].size());
    if (which <= 1) mode_ = calls ? Mode::call : Mode::reasoning;
    begin_call();
    return true;
  }
  [[nodiscard]] bool read_until(Kind kind, std::string_view mark, bool last) noexcept {
    const std::size_t end = held_.view().find(mark);
    if (end == std::string_view::npos) return emit_sure(kind, {&mark, 1}, last), false;
    emit(kind, slice(held_.view(), 0, end));
    held_.erase_front(end + mark.size());
    mode_ = Mode::text;
    return true;
  }

  // --- calls -----------------------------------------------------------------------------------------

  void begin_call() noexcept {
    search_ = {};
    looked_ = 0;
  }
  [[nodiscard]] bool read_call(bool last) noexcept {
    std::size_t end = end_of_call();
    const bool closed = end != std::string_view::npos;
    if (!closed && !last) return false;
    // What does not end as it should is no call, and the first mark ends it.
    if (!closed && !bare_ && !format_.call_close.empty()) end = held_.view().find(format_.call_close);
    const std::string_view body = slice(held_.view(), 0, end);
    const std::size_t before = pieces_.size();
    detail::CallReader reader(format_, tools_, allocator_, pieces_, closed ? ReplyEnd::by_model : end_);
    const bool read = reader.read(body);
    result_ = reader.result();
    if (!read || !is_known(before)) {
      while (pieces_.size() > before) pieces_.pop_back();
      if (!bare_) emit(Kind::text, format_.call_open);
      emit(Kind::text, body);
      if (end != std::string_view::npos) emit(Kind::text, format_.call_close);
    }
    held_.erase_front(end == std::string_view::npos ? held_.size() : end + format_.call_close.size());
    mode_ = Mode::text;
    return !last || !held_.empty();
  }
  /// A reply that only looks like a call is one where it names tools.
  [[nodiscard]] bool is_known(std::size_t from) const noexcept {
    for (std::size_t i = from; bare_ && tools_ != nullptr && i < pieces_.size(); ++i)
      if (!tools_->has_tool(pieces_[i].name.view())) return false;
    return true;
  }
  /// Where the mark stands that closes the calls, and not one that is a part of an argument.
  [[nodiscard]] std::size_t end_of_call() noexcept {
    const std::string_view mark = format_.call_close;
    if (bare_ || mark.empty()) return std::string_view::npos;
    const std::string_view text = held_.view();
    std::size_t end = std::string_view::npos;
    if (detail::CallReader::has_quotes(format_.syntax, text)) {
      end = search_.find(text, mark);
    } else {
      for (end = text.find(mark, looked_); end != std::string_view::npos; end = text.find(mark, looked_)) {
        if (detail::CallReader::may_end(format_.syntax, slice(text, 0, end))) break;
        looked_ = end + 1;
      }
    }
    return end;
  }

  // --- messages with headers -------------------------------------------------------------------------

  /// A header says who writes the message, whom it is for and on which channel; the parts stand in any order.
  [[nodiscard]] bool read_header(bool last) noexcept {
    const std::size_t end = held_.view().find(kMessage);
    if (end == std::string_view::npos) {
      if (!last) return false;
      // A header without a message says nothing; a text that only began like one is a text.
      if (held_.view().find(kChannel) == std::string_view::npos && !between_) emit(Kind::text, held_.view());
      held_.clear();
      return false;
    }
    const std::string_view header = slice(held_.view(), 0, end);
    tool_.clear();
    if (const std::size_t to = header.find(kRecipient); to != std::string_view::npos && format_.calls) {
      const std::string_view name = slice(header, to + kRecipient.size());
      result_ = tool_.append(slice(name, 0, name.find_first_of(" <\n")));
    }
    const std::size_t channel = header.find(kChannel);
    reasons_ = channel != std::string_view::npos && slice(header, channel + kChannel.size()).starts_with("analysis");
    held_.erase_front(end + kMessage.size());
    mode_ = Mode::message;
    for (detail::UnquotedSearch& search : ends_) search = {};
    return true;
  }
  [[nodiscard]] bool read_message(bool last) noexcept {
    const Kind kind = reasons_ ? Kind::reasoning : Kind::text;
    const bool calls = !tool_.empty();
    std::string_view mark{};
    const std::size_t end = end_of_message(calls && !last, mark);
    if (end == std::string_view::npos && !last) {
      if (!calls) emit_sure(kind, kMessageEnds, false);
      return false;
    }
    const std::string_view body = slice(held_.view(), 0, end);
    detail::CallReader reader(format_, tools_, allocator_, pieces_);
    const bool closed = end != std::string_view::npos || end_ == ReplyEnd::by_model;
    const bool read = calls && reader.read_arguments(tool_.view(), {}, body, closed);
    result_ = reader.result();
    if (!read) emit(kind, body);
    held_.erase_front(end == std::string_view::npos ? held_.size() : end + mark.size());
    mode_ = Mode::header;
    between_ = true;
    return !held_.empty();
  }
  [[nodiscard]] std::size_t end_of_message(bool quotes, std::string_view& mark) noexcept {
    std::size_t end = std::string_view::npos;
    for (std::size_t i = 0; i < std::size(kMessageEnds); ++i) {
      const std::string_view one = kMessageEnds[i];
      const std::size_t at = quotes ? ends_[i].find(held_.view(), one) : held_.view().find(one);
      if (at < end) end = at, mark = one;
    }
    return end;
  }

  Allocator allocator_;
  const ReplyFormat& format_;
  const ToolParameters* tools_;
  String held_;
  String tool_;  ///< that the message calls
  Vector<ReplyPiece> pieces_;
  Mode mode_ = Mode::text;
  detail::UnquotedSearch search_{};  ///< for the mark that closes the call
  std::size_t looked_ = 0;           ///< the same, of a call in tags
  detail::UnquotedSearch ends_[std::size(kMessageEnds)]{};
  ReplyEnd end_ = ReplyEnd::by_model;
  bool at_start_ = true;
  bool bare_ = false;
  bool reasons_ = false;
  bool between_ = false;  ///< a message stands before the header
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
