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

/// A text, or a query and a document with a tab between them.
zrt::EmbedInput input_of(std::string_view line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return {.text = line};
  return {.text = line.substr(0, tab), .document = line.substr(tab + 1)};
}

zrt::Pooling pooling_of(std::string_view asked) {
  for (const zrt::Pooling pooling : zrt::model::kPoolings)
    if (name(pooling) == asked) return pooling;
  return zrt::Pooling::from_file;
}

bool print_lines(const zrt::Embeddings& found) {
  for (std::size_t at = 0; at < found.values.size(); at += found.width) {
    for (std::size_t i = 0; i < found.width; ++i)
      (void)std::printf(i == 0 ? "%.9g" : " %.9g", static_cast<double>(found.values[at + i]));
    (void)std::printf("\n");
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
  std::vector<zrt::EmbedInput> inputs;
  for (const std::string_view line : lines) inputs.push_back(input_of(line));
  const auto found =
      (*model)->embed(inputs, {.pooling = pooling_of(o.pooling), .normalize = !o.raw, .parse_special = o.special});
  if (!found) return failed(found.error());
  return (o.json ? print_json(**model, *found) : print_lines(*found)) ? kOk : cannot_write("stdout");
}

}  // namespace program
