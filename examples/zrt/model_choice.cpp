// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_choice.cpp: reads names and files of models, and whose each adapter is.
#include "model_choice.hpp"
#include <zrt/text/detail/unicode.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace program {
namespace {

/// A name that JSON and figures can hold, whatever bytes the file's name has.
std::string shown_name_of(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name;
  for (std::size_t at = 0; at < stem.size();) {
    const zrt::text::detail::CodePoint c = zrt::text::detail::decode(stem, at);
    name += c.valid ? stem.substr(at, c.length) : "\xef\xbf\xbd";
    at += c.length;
  }
  return name;
}

bool is_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const zrt::text::detail::CodePoint c = zrt::text::detail::decode(text, at);
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

/// A path may have an equals sign: what is a file as it stands is no name with a file.
zrt::Result<NamedModel> named_model(const std::string& text, bool needs_name) {
  const std::size_t equals = text.find('=');
  std::error_code none;
  const bool has_name = equals != std::string::npos && (needs_name || !std::filesystem::exists(text, none));
  // The name of a model stands before a colon where adapters are named.
  const bool parts = needs_name && has_name && text.find(':') < equals;
  if (parts)
    return zrt::fail(zrt::Errc::invalid_argument, "--model is '", std::string_view(text),
                     "', expected a NAME without a colon where there are several");
  if (has_name && equals != 0 && equals + 1 != text.size())
    return NamedModel{text.substr(0, equals), text.substr(equals + 1)};
  if (has_name || needs_name)
    return zrt::fail(zrt::Errc::invalid_argument, "--model is '", std::string_view(text),
                     "', expected NAME=FILE of each of several models");
  return NamedModel{shown_name_of(text), text};
}

/// The texts of MODEL:NAME=FILE for one model, without it.
std::vector<std::string> texts_of(const std::vector<std::string>& adapters, const std::string& model) {
  std::vector<std::string> out;
  for (const std::string& text : adapters)
    if (text.starts_with(model + ":")) out.push_back(text.substr(model.size() + 1));
  return out;
}

/// Gives each encoder of `texts` to its model.
zrt::Result<void> place_encoders(const std::vector<std::string>& texts, std::vector<NamedModel>& models) {
  for (const std::string& text : texts) {
    if (models.size() == 1 && texts.size() == 1) {
      models.front().mmproj = text;
      continue;
    }
    const std::size_t equals = std::min(text.find('='), text.size());
    const auto model = std::ranges::find(models, text.substr(0, equals), &NamedModel::name);
    if (model == models.end() || equals + 1 >= text.size() || !model->mmproj.empty())
      return zrt::fail(zrt::Errc::invalid_argument, "--mmproj is '", std::string_view(text),
                       "', expected one FILE for the one model, or MODEL=FILE for some of several");
    model->mmproj = text.substr(equals + 1);
  }
  return {};
}

}  // namespace

zrt::Result<std::vector<NamedModel>> named_models(const ModelTexts& texts) {
  const bool several = texts.models.size() > 1;
  if (several && !texts.alias.empty())
    return zrt::fail(zrt::Errc::invalid_argument, "--alias is for one model, expected --model NAME=FILE of each");
  std::vector<NamedModel> out;
  std::set<std::string> names;
  std::size_t placed = 0;
  for (const std::string& text : texts.models) {
    auto model = named_model(text, several);
    if (!model) return zrt::pass(model);
    if (!several && !texts.alias.empty()) model->name = texts.alias;
    const auto adapters = several ? texts_of(texts.adapters, model->name) : texts.adapters;
    placed += adapters.size();
    auto named = named_adapters(adapters, model->name);
    if (!named) return zrt::pass(named);
    model->adapters = std::move(*named);
    bool fresh = names.insert(model->name).second;
    for (const NamedAdapter& adapter : model->adapters) fresh = names.insert(adapter.name).second && fresh;
    for (const std::string& name : names)
      if (!is_utf8(name)) return zrt::fail(zrt::Errc::invalid_argument, "the name of a model is no UTF-8");
    if (!fresh)
      return zrt::fail(zrt::Errc::invalid_argument, "a name of model '", std::string_view(model->name),
                       "' or of its adapters is another model's too");
    out.push_back(std::move(*model));
  }
  if (placed != texts.adapters.size())
    return zrt::fail(zrt::Errc::invalid_argument,
                     "an --adapter belongs to no model, expected MODEL:NAME=FILE where there are several");
  if (auto r = place_encoders(texts.mmproj, out); !r) return zrt::pass(r);
  return out;
}

}  // namespace program
