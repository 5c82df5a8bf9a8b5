// SPDX-License-Identifier: Apache-2.0
// zrt/model/family.hpp: what a family of models states, and how a file finds the family that reads it.
#pragma once

#include <zrt/model/config_reader.hpp>
#include <zrt/model/pooling.hpp>

#include <boost/mp11/list.hpp>

#include <concepts>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What an engine asks of every model. The config of each family derives from it.
struct Config {
  std::uint32_t vocabulary = 0;
  std::uint32_t context = 0;  ///< positions that the model was trained for
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t positions = 0;  ///< of a slot: the host's choice
  DType kv_dtype = DType::f16;  ///< the host's choice
  bool embeddings = false;      ///< the program ends in hidden states, not in logits: the host's choice, or an encoder
  bool given_embeddings = false;         ///< the program takes rows of embeddings beside tokens: the host's choice
  std::uint32_t given_features = 0;      ///< rows of width behind each given one, for layers after the first
  std::uint32_t rope_axes = 0;           ///< numbers that say where a row stands; 0: its position alone does
  bool whole_texts = false;              ///< each token sees the whole text, so that a step reads all of it: an encoder
  Pooling pooling = Pooling::from_file;  ///< of embeddings; from_file: the file names none

  /// Elements of a row of given embeddings.
  [[nodiscard]] constexpr std::uint32_t given_width() const noexcept { return width * (1 + given_features); }
};

/// The names by which files ask for a family.
template <class F>
concept NamesArchitectures = requires {
  { *F::names.data() } -> std::convertible_to<std::string_view>;
  requires F::names.size() > 0;
};
/// A family that reads its own config and says which other keys change nothing.
template <class F>
concept ReadsConfig = requires(ConfigReader& meta, typename F::Config& c) {
  requires std::derived_from<typename F::Config, Config>;
  { F::read(meta, c) } noexcept -> std::same_as<void>;
  { *F::neutral.data() } -> std::convertible_to<const NeutralKey&>;
};
/// A family with small configs for the check at compile time, one for each way in which its program branches.
template <class F>
concept HasCanonicalConfigs = requires {
  { *F::canonical().data() } -> std::convertible_to<const typename F::Config&>;
  requires F::canonical().size() > 0;
};

/// A family of models: names, a config and how it is read, and a program. docs/adding-a-family.md describes each member;
/// `Ops` and `build` are held to account by CheckArch.
///
/// Two members are optional. `ignored_tensors` lists endings of the names of tensors that files hold and the program
/// does not use. `opens` tells the family's files from those of another family of the same name.
template <class F>
concept Family = NamesArchitectures<F> && ReadsConfig<F> && HasCanonicalConfigs<F>;

/// Whether files of `architecture` are the family's.
template <class F> [[nodiscard]] constexpr bool is_named(std::string_view architecture) noexcept {
  for (const std::string_view name : F::names)
    if (name == architecture) return true;
  return false;
}

/// A family that opens only some of the files of its names.
template <class F>
concept OpensSome = requires(const ConfigReader& meta) {
  { F::opens(meta) } noexcept -> std::same_as<bool>;
};
/// Whether family F opens the file that `meta` reads. A family that opens some files is asked before one that opens all.
template <class F> [[nodiscard]] bool opens(const ConfigReader& meta, bool some) noexcept {
  if constexpr (OpensSome<F>)
    return some && is_named<F>(meta.architecture()) && F::opens(meta);
  else
    return !some && is_named<F>(meta.architecture());
}

/// Endings of the names of tensors that the family's files hold and its program does not use.
template <class F> [[nodiscard]] constexpr Span<const std::string_view> ignored_tensors() noexcept {
  if constexpr (requires { F::ignored_tensors; })
    return {F::ignored_tensors.data(), F::ignored_tensors.size()};
  else
    return {};
}

/// Called by what must fail at compile time: a list names a key twice, and one of the two would be dead.
void a_neutral_key_is_listed_twice();

/// Joins lists of neutral keys, none of which may stand in two.
template <std::size_t... kSizes>
[[nodiscard]] consteval auto neutral_keys(const std::array<NeutralKey, kSizes>&... lists) noexcept {
  std::array<NeutralKey, (kSizes + ... + 0)> all{};
  std::size_t at = 0;
  const auto add = [&](const auto& list) {
    for (const NeutralKey& key : list) {
      for (std::size_t i = 0; i < at; ++i)
        if (all[i].name == key.name) a_neutral_key_is_listed_twice();
      all[at++] = key;
    }
  };
  (add(lists), ...);
  return all;
}

/// Takes as many positions as the model was trained for, at most 4096, where the host did not choose.
constexpr void choose_positions(Config& c) noexcept {
  if (c.positions == 0) c.positions = c.context < 4096 ? c.context : 4096;
}

/// Reads the config of a file of family F; what the host chooses is set before.
///
/// Errors: those of ConfigReader and of the family, naming the key; Errc::invalid_metadata for a model of no positions.
template <Family F> [[nodiscard]] Result<void> read_config(ConfigReader& meta, typename F::Config& c) noexcept {
  c.positions = meta.host().context;
  c.kv_dtype = meta.host().kv_dtype;
  c.embeddings = meta.host().embeddings;
  c.given_embeddings = meta.host().given_embeddings;
  F::read(meta, c);
  if (c.embeddings && meta.has("pooling_type"))
    c.pooling = static_cast<Pooling>(meta.count_or_zero("pooling_type", static_cast<std::uint32_t>(Pooling::rank), 0));
  choose_positions(c);
  if (c.positions == 0) meta.refuse(Errc::invalid_metadata, "the model's family reads no number of positions");
  return meta.finish({F::neutral.data(), F::neutral.size()});
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
