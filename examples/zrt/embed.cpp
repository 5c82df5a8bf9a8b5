// SPDX-License-Identifier: Apache-2.0
// examples/zrt/embed.cpp: vectors of texts, or scores of documents for queries.
#include "commands.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

/// The lines of a text; the last one need not end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// A prompt with `query` and `document` in place of {query} and {document}.
std::string filled(std::string_view prompt, std::string_view query, std::string_view document) {
  std::string text;
  while (!prompt.empty()) {
    const std::size_t at = std::min(prompt.find('{'), prompt.size());
    text += prompt.substr(0, at);
    prompt.remove_prefix(at);
    const auto take = [&](std::string_view name, std::string_view value) {
      if (!prompt.starts_with(name)) return false;
      text += value;
      prompt.remove_prefix(name.size());
      return true;
    };
    if (prompt.empty() || take("{query}", query) || take("{document}", document)) continue;
    text += '{';
    prompt.remove_prefix(1);
  }
  return text;
}

/// How a model reads what it scores.
struct ScoredText {
  bool pairs = false;               ///< a query and a document, with a tab between them
  std::string_view prompt = {};     ///< the prompt that a decoder's pair stands in
  std::vector<std::string> filled;  ///< such prompts
};

/// An encoder reads pairs, and a decoder one text, for which its file may have a prompt.
ScoredText scored_text(const Model& model) {
  constexpr std::string_view kPrompt = "tokenizer.chat_template.rerank";
  if (model.config().whole_texts) return {.pairs = true, .filled = {}};
  if (model.file().find(kPrompt) == nullptr) return {};
  const auto prompt = model.file().get<std::string_view>(kPrompt);
  return {.pairs = prompt.has_value(), .prompt = prompt.value_or(std::string_view{}), .filled = {}};
}

/// What the lines say: a text each, or a pair to score. Prompts lie in `scored`.
zrt::Result<std::vector<zrt::EmbedInput>> inputs_of(std::span<const std::string_view> lines, ScoredText& scored) {
  std::vector<zrt::EmbedInput> inputs;
  scored.filled.reserve(lines.size());
  for (const std::string_view line : lines) {
    const std::size_t tab = scored.pairs ? line.find('\t') : 0;
    if (tab == line.npos)
      return zrt::fail(zrt::Errc::invalid_argument, "text ", inputs.size(),
                       " has no document, expected a query, a tab and a document to score");
    if (!scored.pairs)
      inputs.push_back({.text = line});
    else if (scored.prompt.empty())
      inputs.push_back({.text = line.substr(0, tab), .document = line.substr(tab + 1)});
    else
      inputs.push_back(
          {.text = scored.filled.emplace_back(filled(scored.prompt, line.substr(0, tab), line.substr(tab + 1)))});
  }
  return inputs;
}

zrt::Pooling pooling_of(std::string_view asked) {
  for (const zrt::Pooling pooling : zrt::model::kPoolings)
    if (name(pooling) == asked) return pooling;
  return zrt::Pooling::from_file;
}

/// A line for each vector; an empty one between texts of several.
bool print_lines(const zrt::Embeddings& found) {
  for (std::size_t text = 0; text < found.size(); ++text) {
    if (text != 0 && found.pooling == zrt::Pooling::none) (void)std::printf("\n");
    const auto values = found.of(text);
    for (std::size_t i = 0; i < values.size(); ++i)
      (void)std::printf((i + 1) % found.width == 0 ? "%.9g\n" : "%.9g ", static_cast<double>(values[i]));
  }
  return print("");
}

bool print_json(const Model& model, const zrt::Embeddings& found) {
  Json texts = Json::array();
  for (std::size_t text = 0; text < found.size(); ++text) {
    Json rows = Json::array();
    const auto values = found.of(text);
    for (std::size_t at = 0; at < values.size(); at += found.width)
      rows.push_back(std::vector<float>(values.begin() + at, values.begin() + at + found.width));
    const bool one = found.pooling != zrt::Pooling::none;
    texts.push_back({{"tokens", found.tokens[text]},
                     {found.pooling == zrt::Pooling::rank ? "scores" : "embedding", one ? rows[0] : rows}});
  }
  const Json out{{"pooling", name(found.pooling)},
                 {"width", found.width},
                 {"backend", model.backend()},
                 {"texts", std::move(texts)}};
  return print(out.dump() + "\n");
}

}  // namespace

int embed(const EmbedOptions& o) {
  std::string text;
  std::vector<std::string_view> lines(o.prompts.begin(), o.prompts.end());
  if (lines.empty()) {
    auto read = read_file(o.prompt_file.value_or("-"));
    if (!read) return failed(read.error());
    text = std::move(*read);
    lines = lines_of(text);
  }
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.embeddings = true;
  options.slots = 16;
  auto model = open_model(o.model, options);
  if (!model) return failed(model.error());
  const zrt::Pooling asked = pooling_of(o.pooling);
  const zrt::Pooling pooling = asked == zrt::Pooling::from_file ? (*model)->config().pooling : asked;
  ScoredText scored;
  if (pooling == zrt::Pooling::rank) scored = scored_text(**model);
  const auto inputs = inputs_of(lines, scored);
  if (!inputs) return failed(inputs.error());
  const auto found = (*model)->embed(
      *inputs, {.pooling = pooling, .normalize = !o.raw, .parse_special = o.special || !scored.prompt.empty()});
  if (!found) return failed(found.error());
  return (o.json ? print_json(**model, *found) : print_lines(*found)) ? kOk : cannot_write("stdout");
}

}  // namespace program
