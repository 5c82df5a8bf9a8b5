// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/pre_tokenizer.hpp: the name of a pre-tokenizer from what tokenizer.json says that it does; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/json.hpp>

#include <array>
#include <string>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// What a property of a vocabulary has to be for a name.
enum class Wanted : std::uint8_t { any, yes, no };

[[nodiscard]] constexpr bool suits(Wanted wanted, bool found) noexcept {
  return wanted == Wanted::any || (wanted == Wanted::yes) == found;
}

/// A pre-tokenizer by its steps, a line for each, as `steps_of` writes them.
struct KnownPreTokenizer {
  std::string_view name;  ///< tokenizer.ggml.pre
  std::string_view steps;
  Wanted whole = Wanted::any;  ///< words that are tokens stay whole: `ignore_merges`
  Wanted clean = Wanted::any;  ///< decoding takes out spaces before punctuation: `clean_up_tokenization_spaces`
};

// Patterns are those that the vocabularies were published with.
#define ZRT_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define ZRT_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define ZRT_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define ZRT_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"

inline constexpr std::string_view kLlama3Steps =
    "split " ZRT_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" ZRT_SPACES
    "\nbytes\n";
inline constexpr std::string_view kDigitSteps = "digits one by one\nbytes and words\n";

inline constexpr auto kKnownPreTokenizers = std::to_array<KnownPreTokenizer>({
    {"gpt-2", "bytes and words\n"},
    {"llama-bpe", kLlama3Steps, Wanted::yes},
    {"dbrx", kLlama3Steps, Wanted::no},
    {"qwen2", "split " ZRT_CONTRACTIONS
              "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" ZRT_SPACES "\nbytes\n"},
    {"qwen35",
     "split " ZRT_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*"
     "|" ZRT_SPACES "\nbytes\n"},
    {"tekken", "split [^\\r\\n\\p{L}\\p{N}]?" ZRT_UPPER "*" ZRT_LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" ZRT_UPPER "+" ZRT_LOWER
               "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" ZRT_SPACES "\nbytes\n"},
    {"gpt-4o",
     "split [^\\r\\n\\p{L}\\p{N}]?" ZRT_UPPER "*" ZRT_LOWER "+" ZRT_CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" ZRT_UPPER
     "+" ZRT_LOWER "*" ZRT_CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" ZRT_SPACES "\nbytes\n"},
    {"deepseek-v3",
     "split \\p{N}{1,3}\nsplit [一-龥\u3040-ゟ゠-ヿ]+\n"
     "split [!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
     "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" ZRT_SPACES "\nbytes\n"},
    {"starcoder", kDigitSteps, Wanted::any, Wanted::yes},
    {"smollm", kDigitSteps, Wanted::any, Wanted::no},
    {"falcon", "punctuation\nbytes and words\ndigits\nsplit [0-9][0-9][0-9]\n"},
});

#undef ZRT_CONTRACTIONS
#undef ZRT_SPACES
#undef ZRT_UPPER
#undef ZRT_LOWER

/// Writes what a pre-tokenizer of tokenizer.json does, a line for each step.
inline void write_steps(const HubJson& step, std::string& out) {
  const std::string_view type = text_of(find(&step, "type"));
  const auto set = [&](std::string_view name) { return is_true(find(&step, name)); };
  if (const HubJson* steps = find(&step, "pretokenizers");
      type == "Sequence" && steps != nullptr && steps->is_array()) {
    for (const HubJson& part : *steps) write_steps(part, out);
    return;
  }
  if (type == "Split" && text_of(find(&step, "behavior")) == "Isolated" && !set("invert") &&
      find(find(&step, "pattern"), "Regex") != nullptr) {
    out.append("split ").append(text_of(find(find(&step, "pattern"), "Regex")));
  } else if (type == "Digits") {
    out += set("individual_digits") ? "digits one by one" : "digits";
  } else if (type == "Punctuation" && text_of(find(&step, "behavior")) == "Contiguous") {
    out += "punctuation";
  } else if (type == "ByteLevel" && !set("add_prefix_space")) {
    const HubJson* words = find(&step, "use_regex");
    out += words == nullptr || is_true(words) ? "bytes and words" : "bytes";
  } else {
    out.append("other ").append(step.dump(-1, ' ', false, HubJson::error_handler_t::replace));
  }
  out += '\n';
}

}  // namespace detail

/// Returns the tokenizer.ggml.pre of a byte-level BPE vocabulary. Names that cut alike stand for each other: llama-bpe
/// for falcon3, qwen2 for hunyuan.
///
/// Errors: Errc::unsupported_tokenizer, with the steps, for one that no name does.
[[nodiscard]] inline Result<std::string> pre_tokenizer_name(const HubJson& tokenizer, const HubJson& config) {
  std::string steps;
  if (const HubJson* step = find(&tokenizer, "pre_tokenizer")) detail::write_steps(*step, steps);
  if (text_of(find(find(&tokenizer, "post_processor"), "type")) == "RobertaProcessing" && steps == "bytes and words\n")
    return std::string("roberta-bpe");
  const bool whole = is_true(find(find(&tokenizer, "model"), "ignore_merges"));
  const HubJson* clean = find(&config, "clean_up_tokenization_spaces");
  for (const detail::KnownPreTokenizer& known : detail::kKnownPreTokenizers)
    if (known.steps == steps && suits(known.whole, whole) && suits(known.clean, clean == nullptr || is_true(clean)))
      return std::string(known.name);
  for (char& c : steps)
    if (c == '\n') c = ';';
  return fail(Errc::unsupported_tokenizer, "tokenizer.json: the pre-tokenizer '", slice(steps, 0, 200),
              "' is none that zrt knows, and no name is given");
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
