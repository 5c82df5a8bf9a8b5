// SPDX-License-Identifier: Apache-2.0
// examples/zrt/chat.cpp: a chat in the terminal. Answers go to stdout as they come, all else to stderr.
#include "chat_template_source.hpp"
#include "commands.hpp"
#include "output.hpp"
#include <zrt/text/chat/chat_template.hpp>
#include <zrt/text/chat/reply_parser.hpp>
#include <zrt/text/detokenizer.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace program {
namespace {

namespace chats = zrt::text::chat;

/// The event descriptor that counts interrupts until take_interrupt(). A flag would not do: a wait for input must see one
/// that came a moment before it, or to another thread.
volatile std::sig_atomic_t interrupts = -1;

void count_interrupt(int) {
  const int before = errno;
  const std::uint64_t one = 1;
  (void)!write(interrupts, &one, sizeof one);
  errno = before;
}

/// True where an interrupt has come since the last call.
bool take_interrupt() {
  std::uint64_t count = 0;
  return read(interrupts, &count, sizeof count) > 0;
}

/// False where the system has no descriptor left.
bool catch_interrupts() {
  interrupts = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  struct sigaction action{};
  action.sa_handler = &count_interrupt;
  action.sa_flags = SA_RESTART;
  return interrupts >= 0 && sigaction(SIGINT, &action, nullptr) == 0;
}

/// What to do where a conversation has outgrown the slot.
constexpr const char* kContextFull = "the context is full: /clear begins anew, and --context says how much it holds";

std::string token_text(const zrt::text::Tokenizer& tokenizer, std::optional<std::int32_t> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

/// A conversation and the model that answers.
class Conversation {
 public:
  Conversation(const ChatOptions& options, Model& model, chats::ChatTemplate chat_template, std::string_view source)
      : options_(options),
        model_(model),
        template_(std::move(chat_template)),
        format_(chats::reply_format_of(source).without_calls()),
        messages_(values_.list()) {
    clear();
  }

  void clear() {
    values_ = chats::Values();
    messages_ = values_.list();
    if (!options_.system.empty()) add("system", options_.system);
  }

  /// Says `text` and prints the answer while it comes. A failed turn leaves the conversation as it was.
  zrt::Result<void> say(std::string_view text) {
    add("user", text);
    auto answered = answer();
    if (!answered) {
      (void)values_.remove(messages_, values_.items(messages_).size() - 1);
      return zrt::pass(answered);
    }
    add("assistant", *answered);
    if (!values_.ok()) return std::unexpected<zrt::Error>(values_.error());
    return {};
  }

 private:
  void add(std::string_view role, std::string_view content) {
    const chats::Value message = values_.dict();
    values_.set(message, "role", values_.string(role));
    values_.set(message, "content", values_.string(content));
    values_.push(messages_, message);
  }

  zrt::Result<std::string> answer() {
    chats::RenderOptions render;
    render.now = std::time(nullptr);
    auto prompt = template_.render(values_, messages_, render);
    if (!prompt) return zrt::pass(prompt);
    const zrt::text::Tokenizer& tokenizer = *model_.tokenizer();
    // Most templates write the token that begins a text; then the tokenizer does not.
    const bool begun = tokenizer.bos() && prompt->view().starts_with(tokenizer.token_text(*tokenizer.bos()));
    auto ids =
        tokenizer.encode(prompt->view(), {.add_special = !begun, .parse_special = true, .given = prompt->given.span()});
    if (!ids) return zrt::pass(ids);
    zrt::Request request;
    request.tokens = ids->span();
    request.max_tokens = options_.max_tokens;
    request.sampling = options_.sampling;
    return run(request, prompt->view());
  }

  zrt::Result<std::string> run(const zrt::Request& request, std::string_view prompt) {
    zrt::text::DecodeOptions decode;
    decode.special = true;
    decode.at_start = false;
    zrt::text::Detokenizer text(*model_.tokenizer(), decode);
    chats::ReplyParser parser(format_);
    parser.begin_behind(prompt);
    std::string said;
    std::optional<zrt::Error> error;
    const auto take = [&](auto pieces) {
      if (!pieces) return void(error = pieces.error());
      for (const chats::ReplyPiece& piece : *pieces) show(piece, said);
    };
    bool stopped = false;
    const auto id = model_.submit(request);
    if (!id) return zrt::pass(id);
    for (std::size_t left = 1; left != 0 && !error;) {
      const auto stepped = model_.step([&](zrt::RequestId, const zrt::Token& token) {
        if (token.error != nullptr) error = *token.error;
        if (token.finish == zrt::FinishReason::length) cut_ = "--max-tokens says how long an answer may be";
        if (token.finish == zrt::FinishReason::context) cut_ = kContextFull;
        if (token.id == zrt::kNoToken || model_.tokenizer()->is_end_of_generation(token.id)) return !error;
        const auto piece = text.feed(token.id);
        if (piece) take(parser.feed(*piece));
        return !error;
      });
      if (!stepped) return zrt::pass(stepped);
      left = *stepped;
      if (take_interrupt()) {
        stopped = true;
        model_.cancel(*id);
      }
    }
    if (const auto rest = text.finish(); rest && !error) take(parser.feed(*rest));
    if (!error) take(parser.finish(chats::ReplyEnd::by_model));
    end_line(stopped);
    if (error) return std::unexpected<zrt::Error>(*error);
    return said;
  }

  void show(const chats::ReplyPiece& piece, std::string& said) {
    using Kind = chats::ReplyPiece::Kind;
    if (piece.kind == Kind::reasoning) {
      if (!options_.hide_reasoning)
        std::fprintf(stderr, "%.*s", static_cast<int>(piece.text.size()), piece.text.view().data());
      return;
    }
    said += piece.text.view();
    (void)print(piece.text.view());
  }
  void end_line(bool stopped) {
    (void)print("\n");
    if (stopped) std::fprintf(stderr, "(stopped)\n");
    if (cut_ != nullptr) std::fprintf(stderr, "(cut: %s)\n", cut_);
    cut_ = nullptr;
  }

  const ChatOptions& options_;
  Model& model_;
  chats::ChatTemplate template_;
  chats::ReplyFormat format_;  ///< a chat has no tools, so what looks like a call is an answer
  chats::Values values_{};
  chats::Value messages_;
  const char* cut_ = nullptr;  ///< why the answer is
};

/// The lines of the input, each behind a prompt where a person types them.
class TypedLines {
 public:
  /// The next line; false at the end of the input. An interrupt at the prompt drops what was typed and asks again.
  bool next(std::string& line) {
    prompt("> ");
    std::size_t end = read_.find('\n');
    while (end == std::string::npos) {
      std::array<pollfd, 2> waits{{{STDIN_FILENO, POLLIN, 0}, {interrupts, POLLIN, 0}}};
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return false;
      if (waits[1].revents != 0 && take_interrupt()) {
        read_.clear();
        prompt("\n> ");
      } else if (waits[0].revents != 0) {
        std::array<char, 4096> piece;
        const ssize_t count = read(STDIN_FILENO, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        read_.append(piece.data(), static_cast<std::size_t>(count));
        end = read_.find('\n');
      }
    }
    if (end == std::string::npos && read_.empty()) return false;
    line.assign(read_, 0, end);
    read_.erase(0, end == std::string::npos ? end : end + 1);
    return true;
  }

 private:
  void prompt(const char* text) const {
    if (typed_) std::fprintf(stderr, "%s", text);
  }

  const bool typed_ = isatty(STDIN_FILENO) != 0;
  std::string read_;
};

}  // namespace

int chat(const ChatOptions& o) {
  auto model = open_model(o, {.turns = true});
  if (!model) return failed(model.error());
  const zrt::text::Tokenizer* tokenizer = (*model)->tokenizer();
  if (tokenizer == nullptr)
    return failed(zrt::Error::of(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary"));
  const auto source = chat_template_source(o.chat_template, **model);
  if (!source) return failed(source.error());
  auto chat_template = chats::ChatTemplate::make(*source, token_text(*tokenizer, tokenizer->bos()),
                                                 token_text(*tokenizer, tokenizer->eos()));
  if (!chat_template) return failed(chat_template.error());
  if (!catch_interrupts()) return failed(zrt::Error::of(zrt::Errc::io_error, "no descriptor for interrupts"));
  Conversation conversation(o, **model, std::move(*chat_template), *source);
  if (isatty(STDIN_FILENO) != 0) std::fprintf(stderr, "Ctrl-C ends an answer, Ctrl-D the chat; /clear begins anew\n");
  TypedLines lines;
  for (std::string line; lines.next(line);) {
    if (line.empty()) continue;
    if (line == "/clear") {
      conversation.clear();
      continue;
    }
    const auto said = conversation.say(line);
    if (!said) (void)failed(said.error());
    if (!said && said.error().code() == zrt::Errc::capacity_exceeded) std::fprintf(stderr, "(%s)\n", kContextFull);
  }
  return kOk;
}

}  // namespace program
