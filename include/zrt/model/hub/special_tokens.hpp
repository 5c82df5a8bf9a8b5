// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/special_tokens.hpp: which tokens begin, end and separate texts, from a folder's files; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/keys.hpp>
#include <zrt/model/hub/settings.hpp>
#include <zrt/model/hub/tokenizer_files.hpp>

#include <map>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// A kind of special token: its name in a folder's files, and its keys in a model's file.
struct SpecialKind {
  std::string_view name;
  std::string_view id_key;
};

inline constexpr auto kSpecialKinds = std::to_array<SpecialKind>({{"bos", "tokenizer.ggml.bos_token_id"},
                                                                  {"eos", "tokenizer.ggml.eos_token_id"},
                                                                  {"unk", "tokenizer.ggml.unknown_token_id"},
                                                                  {"sep", "tokenizer.ggml.seperator_token_id"},
                                                                  {"pad", "tokenizer.ggml.padding_token_id"},
                                                                  {"mask", "tokenizer.ggml.mask_token_id"},
                                                                  {"eot", "tokenizer.ggml.eot_token_id"},
                                                                  {"eom", "tokenizer.ggml.eom_token_id"}});

/// Reads what tokenizer.json's post-processor puts around texts, and names the tokens that tokenizer_config.json leaves
/// without a name.
class SpecialTokenReader {
 public:
  SpecialTokenReader(const TokenizerFiles& files, Keys& out) : files_(files), config_(files.config), out_(out) {}

  void read(Settings& settings) {
    if (files_.tokenizer.is_object()) {
      name_after("bos_token", "cls_token");
      name_after("eos_token", "sep_token");
      read_processors();
      read_normalizer(find(&files_.tokenizer, "normalizer"));
    }
    for (const SpecialKind& kind : kSpecialKinds) read_kind(kind, settings);
    for (const auto& [key, value] : adds_) out_.set(key, value);
  }

 private:
  [[nodiscard]] const HubJson* named(std::string_view name) const { return find(&config_, name); }
  [[nodiscard]] bool is(std::string_view name, std::string_view text) const { return text_of(named(name)) == text; }
  void set_name(std::string_view name, const HubJson& token) {
    if (config_.is_object()) config_[std::string(name)] = token;
  }
  void name_after(std::string_view name, std::string_view other) {
    if (named(name) == nullptr && named(other) != nullptr) set_name(name, HubJson(*named(other)));
  }
  void adds(std::string_view kind, bool value) { adds_["tokenizer.ggml.add_" + std::string(kind) + "_token"] = value; }

  void read_processors() {
    const HubJson* processor = find(&files_.tokenizer, "post_processor");
    if (processor == nullptr) return;
    const HubJson* list = find(processor, "processors");
    if (list == nullptr || !list->is_array()) return read_processor(*processor);
    for (const HubJson& part : *list) read_processor(part);
  }
  void read_processor(const HubJson& processor) {
    const std::string_view type = text_of(find(&processor, "type"));
    if (type == "RobertaProcessing") {
      for (const std::string_view kind : {"bos", "eos", "sep"}) adds(kind, true);
      name_first("cls_token", find(&processor, "cls"));
      name_first("sep_token", find(&processor, "sep"));
    }
    if (type == "TemplateProcessing") read_template(find(&processor, "single"), find(&processor, "pair"));
  }
  /// A pair of a text and an id.
  void name_first(std::string_view name, const HubJson* pair) {
    if (named(name) == nullptr && pair != nullptr && pair->is_array() && !pair->empty()) set_name(name, (*pair)[0]);
  }

  [[nodiscard]] static std::string_view special(const HubJson& entry) {
    return text_of(find(find(&entry, "SpecialToken"), "id"));
  }
  [[nodiscard]] static std::string_view sequence(const HubJson& entry) {
    return text_of(find(find(&entry, "Sequence"), "id"));
  }

  void read_template(const HubJson* single, const HubJson* pair) {
    std::string_view first;
    std::string_view last;
    if (single != nullptr && single->is_array() && single->size() > 1) {
      first = special((*single)[0]);
      last = special(single->back());
      if (!first.empty()) read_first(first);
      if (!last.empty()) read_last(last);
    }
    if (pair != nullptr && pair->is_array() && !pair->empty()) read_pair(*pair, first, last);
  }
  void read_first(std::string_view first) {
    if (!is("bos_token", first) && !is("cls_token", first)) {
      if (named("bos_token") == nullptr) set_name("bos_token", std::string(first));
      if (named("cls_token") == nullptr) set_name("cls_token", std::string(first));
    }
    adds("bos", !config_.is_object() || is("bos_token", first) || is("cls_token", first));
  }
  /// A token at the end that is not the configuration's is the one that ends texts; the configuration's ends a turn.
  void read_last(std::string_view last) {
    if (config_.is_object() && !is("eos_token", last)) {
      const std::string_view other = named("eot_token") == nullptr ? "eot_token" : "eom_token";
      if (named("eos_token") != nullptr) set_name(other, HubJson(*named("eos_token")));
      set_name("eos_token", std::string(last));
    }
    adds("eos", true);
  }
  /// Between the first text and the second, without what stands around them.
  void read_pair(const HubJson& pair, std::string_view first, std::string_view last) {
    std::size_t begin = !first.empty() && special(pair[0]) == first ? 1 : 0;
    std::size_t end = pair.size() - (!last.empty() && special(pair.back()) == last ? 1 : 0);
    if (begin + 2 >= end || sequence(pair[begin]) != "A" || sequence(pair[end - 1]) != "B") return;
    bool separates = false;
    for (std::size_t i = begin + 1; i + 1 < end && i < begin + 3; ++i) {
      const std::string_view token = special(pair[i]);
      const bool known = !token.empty() && (is("sep_token", token) || is("eos_token", token));
      separates = separates || (known && (last.empty() || (i == begin + 2 && end - begin == 4)));
    }
    adds("sep", separates);
    if (separates && named("sep_token") == nullptr && named("eos_token") != nullptr)
      set_name("sep_token", HubJson(*named("eos_token")));
  }

  void read_normalizer(const HubJson* normalizer) {
    if (normalizer == nullptr) return;
    const std::string_view type = text_of(find(normalizer, "type"));
    const auto flag = [&](std::string_view key, std::string_view name) {
      if (const HubJson* value = find(normalizer, name); value != nullptr && value->is_boolean())
        out_.set(key, value->get<bool>());
    };
    if (type == "Lowercase") out_.set(kLowercase, true);
    if (type == "StripAccents") out_.set(kStripAccents, true);
    if (type == "BertNormalizer") {
      flag(kLowercase, "lowercase");
      flag(kStripAccents, "strip_accents");
    }
    if (const HubJson* parts = find(normalizer, "normalizers");
        type == "Sequence" && parts != nullptr && parts->is_array())
      for (const HubJson& part : *parts) read_normalizer(&part);
  }

  void read_kind(const SpecialKind& kind, Settings& settings) {
    const std::string name(kind.name);
    if (const HubJson* add = named("add_" + name + "_token"); add != nullptr && add->is_boolean())
      adds(kind.name, add->get<bool>());
    const HubJson* token = named(name + "_token");
    const std::string_view text =
        token != nullptr && token->is_object() ? text_of(find(token, "content")) : text_of(token);
    std::optional<std::uint32_t> id;
    if (!text.empty()) id = files_.added(text);
    // A list of ids that end a text is none of these.
    const std::string id_name = name + "_token_id";
    std::uint32_t number = 0;
    if (!id && is_count(settings.find({std::string_view(id_name)}), number)) id = number;
    if (id) out_.set(kind.id_key, *id);
  }

  static constexpr std::string_view kLowercase = "tokenizer.ggml.normalizer.lowercase";
  static constexpr std::string_view kStripAccents = "tokenizer.ggml.normalizer.strip_accents";

  const TokenizerFiles& files_;
  HubJson config_;  // tokenizer_config.json and what was learned since
  Keys& out_;
  std::map<std::string, bool> adds_;
};

}  // namespace detail

/// Adds the ids of special tokens, which of them are put around texts, and how texts are normalised.
inline void add_special_tokens(const TokenizerFiles& files, Settings& settings, Keys& out) {
  detail::SpecialTokenReader(files, out).read(settings);
}

/// Adds the chat template, or several by their names.
inline void add_chat_templates(const TokenizerFiles& files, Keys& out) {
  constexpr std::string_view kTemplate = "tokenizer.chat_template";
  if (files.chat_template.is_string()) out.set(kTemplate, std::string(text_of(&files.chat_template)));
  if (!files.chat_template.is_array()) return;
  std::vector<std::string> names;
  for (const HubJson& entry : files.chat_template) {
    const std::string name(text_of(find(&entry, "name")));
    const std::string text(text_of(find(&entry, "template")));
    if (name.empty() || text.empty()) continue;
    if (name != "default") names.push_back(name);
    out.set(name == "default" ? std::string(kTemplate) : std::string(kTemplate) + "." + name, text);
  }
  if (!names.empty()) out.set("tokenizer.chat_templates", std::move(names));
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
