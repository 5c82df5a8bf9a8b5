// SPDX-License-Identifier: Apache-2.0
// examples/zrt/generate.cpp: continues a text. The text alone goes to stdout, or an object about it; all else to stderr.
#include "adapter_choice.hpp"
#include "answer_grammar.hpp"
#include "commands.hpp"
#include "encode_images.hpp"
#include "image_prompt.hpp"
#include "output.hpp"
#include <zrt/text/infill.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

namespace program {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

double rate(double count, double time) { return time > 0.0 ? count / time : 0.0; }

zrt::Request request_of(const GenerateOptions& o, const ImagePrompt& prompt, std::span<const std::string_view> stops) {
  zrt::Request request;
  request.tokens = prompt.tokens.span();
  request.embeddings = prompt.spans;
  request.max_tokens = o.max_tokens;
  request.sampling = o.sampling;
  request.ignore_eos = o.ignore_eos;
  request.stop_strings = stops;
  return request;
}

bool print_line(const Json& line) { return print(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); }

/// What the callable of a run has seen, and how far the model is in the prompt.
struct GenerateProgress {
  bool json = false;            ///< an object for each token instead of the text alone
  std::size_t prompt = 0;       ///< tokens
  std::size_t prompt_read = 0;  ///< those of them that the model has read
  std::string text;             ///< all of it, for the last object
  std::vector<std::int32_t> tokens;
  Clock::time_point first{};
  zrt::FinishReason finish = zrt::FinishReason::none;
  std::optional<zrt::Error> error;  ///< of a request that failed alone
  bool writable = true;

  bool take(const zrt::Token& token) {
    if (token.id != zrt::kNoToken) {
      if (tokens.empty()) first = Clock::now();
      prompt_read = prompt;
      tokens.push_back(token.id);
    }
    if (token.finish != zrt::FinishReason::none) finish = token.finish;
    if (token.error != nullptr) error = *token.error;
    if (!json) {
      writable = writable && print(token.text);
    } else {
      text += token.text;
      if (token.id != zrt::kNoToken)
        writable = writable && print_line({{"token", token.id}, {"text", token.text}});
      else if (!token.text.empty())
        writable = writable && print_line({{"text", token.text}});
    }
    if (!writable) finish = zrt::FinishReason::callback;
    return writable;
  }
};

/// Tokens per second of a run that began at `start`. The first token comes with the prompt's last step.
struct Speeds {
  Speeds(const GenerateProgress& p, Clock::time_point start, Clock::time_point end)
      : prompt(rate(static_cast<double>(p.prompt_read), seconds((p.tokens.empty() ? end : p.first) - start))),
        generation(p.tokens.size() > 1 ? rate(static_cast<double>(p.tokens.size() - 1), seconds(end - p.first)) : 0.0) {
  }

  double prompt;
  double generation;
};

/// "512 tokens", or of how many.
std::string prompt_text(const GenerateProgress& p) {
  std::string text = std::to_string(p.prompt_read);
  if (p.prompt_read != p.prompt) text += " of " + std::to_string(p.prompt);
  return text + " tokens";
}

void report(const GenerateProgress& p, const Speeds& speeds) {
  const std::string_view why = name(p.finish);
  std::fprintf(stderr, "\nprompt: %s, %.1f tokens/s; generation: %zu tokens, %.1f tokens/s; finish: %.*s\n",
               prompt_text(p).c_str(), speeds.prompt, p.tokens.size(), speeds.generation, static_cast<int>(why.size()),
               why.data());
}

bool print_last(Model& model, const GenerateOptions& o, const GenerateProgress& p, const Speeds& speeds) {
  const Json out{{"finish", name(p.finish)},
                 {"text", p.text},
                 {"tokens", p.tokens},
                 {"prompt_tokens", p.prompt},
                 {"prompt_tokens_read", p.prompt_read},
                 {"generated_tokens", p.tokens.size()},
                 {"prompt_tokens_per_second", speeds.prompt},
                 {"generated_tokens_per_second", speeds.generation},
                 {"backend", model.backend()},
                 {"isa", model.isa()},
                 {"kv", o.kv},
                 {"threads", o.model.threads}};
  return print_line(out);
}

zrt::Result<zrt::Vector<std::int32_t>> text_ids(const zrt::text::Tokenizer& tokenizer, const GenerateOptions& o,
                                                std::string_view prompt) {
  if (o.suffix) return zrt::text::encode_infill(tokenizer, prompt, *o.suffix);
  return tokenizer.encode(prompt, {.add_special = true, .parse_special = false});
}

/// The prompt's tokens, with `images` among them.
zrt::Result<ImagePrompt> tokens_of(const Model& model, const GenerateOptions& o, std::string_view prompt,
                                   std::span<const zrt::ImageRows> images) {
  if (model.tokenizer() == nullptr) return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary");
  if (!images.empty()) return image_prompt(*model.tokenizer(), prompt, images);
  auto ids = text_ids(*model.tokenizer(), o, prompt);
  if (!ids) return zrt::pass(ids);
  return ImagePrompt{std::move(*ids), {}};
}

/// The rows of the images that the options name, if they name any.
zrt::Result<std::vector<zrt::ImageRows>> images_of(const Model& model, const GenerateOptions& o) {
  if (o.images.images.empty()) return {};
  return encode_images(o.images, o.model.threads, model.config().given_width());
}

struct Loaded {
  std::unique_ptr<Model> model;
  zrt::AdapterId adapter{};
};

/// Opens the model, and loads the adapter that the options name.
zrt::Result<Loaded> load(const GenerateOptions& o) {
  const AdapterChoice choice = adapter_choice(o.adapter);
  const zrt::Result<std::uint32_t> rank = choice.path.empty() ? 0u : adapter_rank(choice.path);
  if (!rank) return zrt::pass(rank);
  auto model = open_model(o, {.adapter_rank = *rank, .given_embeddings = !o.images.images.empty()});
  if (!model) return zrt::pass(model);
  if (choice.path.empty()) return Loaded{std::move(*model)};
  const auto adapter = (*model)->load_adapter(choice.path, choice.scale);
  if (!adapter) return std::unexpected(of_file(adapter.error(), choice.path));
  return Loaded{std::move(*model), *adapter};
}

}  // namespace

int generate(const GenerateOptions& o) {
  auto loaded = load(o);
  if (!loaded) return failed(loaded.error());
  const std::unique_ptr<Model>* model = &loaded->model;
  std::string prompt = o.prompt;
  if (o.prompt_file || (prompt.empty() && input_waits())) {
    auto text = read_file(o.prompt_file.value_or("-"));
    if (!text) return failed(text.error());
    prompt = std::move(*text);
  }
  const auto images = images_of(**model, o);
  if (!images) return failed(images.error());
  const auto ids = tokens_of(**model, o, prompt, *images);
  if (!ids) return failed(ids.error());
  const std::size_t tokens = ids->tokens.size();
  if (tokens > (*model)->context())
    return failed(zrt::Error::of(zrt::Errc::capacity_exceeded, "the prompt has ", tokens, " tokens, the context holds ",
                                 (*model)->context(), ": --context ", tokens + 1,
                                 " or more makes room, the model was trained for ", (*model)->config().context));

  const auto grammar = answer_grammar(o, *(*model)->tokenizer());
  if (!grammar) return failed(grammar.error());
  const std::vector<std::string_view> stops(o.stop.begin(), o.stop.end());
  zrt::Request request = request_of(o, *ids, stops);
  if (*grammar != nullptr) request.grammar = &(*grammar)->bound;
  request.adapter = loaded->adapter;
  (void)std::signal(SIGINT, &on_interrupt);
  const auto start = Clock::now();
  const auto id = (*model)->submit(request);
  if (!id) return failed(id.error());
  GenerateProgress progress;
  progress.json = o.json;
  progress.prompt = tokens;
  for (std::size_t left = 1; left != 0;) {
    const auto result = (*model)->step([&](zrt::RequestId, const zrt::Token& token) { return progress.take(token); });
    if (!result) return failed(result.error());
    left = *result;
    if (left != 0 && progress.tokens.empty()) {
      progress.prompt_read = (*model)->processed(*id);
      std::fprintf(stderr, "prompt: %s\n", prompt_text(progress).c_str());
    }
    if (interrupted != 0) (*model)->cancel(*id);
  }
  if (progress.error) return failed(*progress.error);
  const Speeds speeds(progress, start, Clock::now());
  report(progress, speeds);
  const bool written = o.json ? progress.writable && print_last(**model, o, progress, speeds) : progress.writable;
  return written ? kOk : cannot_write("stdout");
}

}  // namespace program
