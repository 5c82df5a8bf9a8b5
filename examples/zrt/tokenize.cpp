// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tokenize.cpp: text to token ids and back, without loading the model.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/engine/vocabulary.hpp>

#include <nlohmann/json.hpp>

#include <charconv>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

/// Ids that commas or white space part.
zrt::Result<std::vector<std::int32_t>> parse_ids(std::string_view text) {
  constexpr std::string_view kBetween = ", \t\r\n";
  std::vector<std::int32_t> ids;
  for (std::size_t at = text.find_first_not_of(kBetween); at < text.size(); at = text.find_first_not_of(kBetween, at)) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    std::int32_t id = 0;
    const auto [stopped, code] = std::from_chars(text.data() + at, text.data() + end, id);
    if (code != std::errc() || stopped != text.data() + end)
      return zrt::fail(zrt::Errc::invalid_argument, "'", text.substr(at, end - at), "' is no token id");
    ids.push_back(id);
    at = end;
  }
  return ids;
}

std::string line_of(std::span<const std::int32_t> ids) {
  std::string line;
  for (const std::int32_t id : ids) line.append(line.empty() ? "" : ",").append(std::to_string(id));
  return line;
}

int show(const TokenizeOptions& o, std::span<const std::int32_t> ids, std::string_view text, std::string_view plain) {
  if (!o.json) return print(plain) ? kOk : cannot_write("stdout");
  const nlohmann::ordered_json out{{"ids", ids}, {"text", text}};
  return print(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n") ? kOk : cannot_write("stdout");
}

}  // namespace

int tokenize(const TokenizeOptions& o) {
  std::string input = o.text;
  if (o.file) {
    auto text = read_file(*o.file);
    if (!text) return failed(text.error());
    input = std::move(*text);
  }
  auto file = zrt::model::GgufFile::open(o.path);
  if (!file) return failed(of_file(file.error(), o.path));
  auto vocabulary = zrt::read_vocabulary(*file, zrt::system_allocator());
  if (!vocabulary) return failed(vocabulary.error());
  auto tokenizer = zrt::text::Tokenizer::make(vocabulary->spec);
  if (!tokenizer) return failed(tokenizer.error());

  if (o.decode) {
    const auto ids = parse_ids(input);
    if (!ids) return failed(ids.error());
    const auto text = tokenizer->decode(*ids, {.special = o.special});
    if (!text) return failed(text.error());
    return show(o, *ids, text->view(), text->view());
  }
  const auto ids = tokenizer->encode(input, {.add_special = o.special, .parse_special = o.special});
  if (!ids) return failed(ids.error());
  return show(o, ids->span(), input, line_of(ids->span()) + "\n");
}

}  // namespace program
