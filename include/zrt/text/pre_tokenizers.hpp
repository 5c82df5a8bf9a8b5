// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre_tokenizers.hpp: the list of pre-tokenizers, and the table by name that is made from it.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/text/pre/bloom.hpp>
#include <zrt/text/pre/chameleon.hpp>
#include <zrt/text/pre/deepseek_llm.hpp>
#include <zrt/text/pre/deepseek_v3.hpp>
#include <zrt/text/pre/digit_groups.hpp>
#include <zrt/text/pre/gpt2.hpp>
#include <zrt/text/pre/jais2.hpp>
#include <zrt/text/pre/llama3.hpp>
#include <zrt/text/pre/plain_text.hpp>
#include <zrt/text/pre/punctuation_first.hpp>
#include <zrt/text/pre/qwen2.hpp>
#include <zrt/text/pre/single_digits.hpp>
#include <zrt/text/pre/tekken.hpp>
#include <zrt/text/pre/youtu.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text {

/// Lists pre-tokenizers. A host that adds some names such a list in its families; see docs/adding-a-family.md.
template <pre::PreTokenizer... Pre> struct PreTokenizerList {};

/// Every pre-tokenizer that zrt has. Adding one is a header under pre/ and a line here.
using PreTokenizers =
    PreTokenizerList<pre::Gpt2, pre::Trillion, pre::Roberta, pre::Llama3, pre::Dbrx, pre::MiniCpm5, pre::SeedCoder,
                     pre::ExaoneMoe, pre::KimiK2, pre::Jais2, pre::Qwen2, pre::StableLm2, pre::Qwen35, pre::Tekken,
                     pre::Gpt4o, pre::GraniteEmbedding, pre::TinyAya, pre::SuperBpe, pre::DeepSeekLlm,
                     pre::DeepSeekCoder, pre::DeepSeekV3, pre::Afmoe, pre::Youtu, pre::StarCoder, pre::CommandR,
                     pre::Falcon, pre::Default, pre::Bloom, pre::Poro, pre::Viking, pre::Chameleon, pre::Gemma4,
                     pre::SarvamMoe, pre::WhiteSpace>;

/// A row of the table: a name, its traits and the stages that cut a text into pieces.
struct PreTokenizerEntry {
  std::string_view name;
  pre::Traits traits;
  Span<const detail::FindMatch> stages;
};

namespace detail {

template <class... Pre> consteval auto table_of(PreTokenizerList<Pre...>) {
  std::array<PreTokenizerEntry, (Pre::names.size() + ...)> table{};
  std::size_t at = 0;
  const auto add = [&]<class P>(const P*) {
    for (std::string_view name : P::names) table[at++] = {name, P::traits, P::Stages::finds};
  };
  (add(static_cast<const Pre*>(nullptr)), ...);
  return table;
}

}  // namespace detail

/// The rows of a list, one for each name.
template <class List> inline constexpr auto kPreTokenizersOf = detail::table_of(List{});

inline constexpr auto kPreTokenizers = detail::table_of(PreTokenizers{});

/// Returns the row of `name` among a host's own, else among zrt's; null when neither has it.
[[nodiscard]] constexpr const PreTokenizerEntry* find_pre_tokenizer(std::string_view name,
                                                                    Span<const PreTokenizerEntry> own = {}) noexcept {
  for (const PreTokenizerEntry& entry : own)
    if (entry.name == name) return &entry;
  for (const PreTokenizerEntry& entry : kPreTokenizers)
    if (entry.name == name) return &entry;
  return nullptr;
}

namespace detail {

/// True when every name of a table is there once, and none of zrt's stands in a host's.
[[nodiscard]] constexpr bool names_are_unique(Span<const PreTokenizerEntry> rows, bool of_zrt) noexcept {
  for (const PreTokenizerEntry& entry : rows) {
    if (find_pre_tokenizer(entry.name, rows) != &entry) return false;
    if (!of_zrt && find_pre_tokenizer(entry.name) != nullptr) return false;
  }
  return true;
}

}  // namespace detail

static_assert(detail::names_are_unique(kPreTokenizers, true));

}  // namespace zrt::inline ZRT_ABI::text
