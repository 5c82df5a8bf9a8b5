// SPDX-License-Identifier: Apache-2.0
// zrt/engine/model_loader.hpp: a model file, read and compiled for a backend, before any of it is bound to a device.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/engine/loaded_model.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

namespace detail {

template <class Families> consteval Span<const text::PreTokenizerEntry> own_pre_tokenizers() {
  if constexpr (requires { typename Families::PreTokenizers; }) {
    constexpr auto& rows = text::kPreTokenizersOf<typename Families::PreTokenizers>;
    static_assert(text::detail::names_are_unique(rows, false),
                  "zrt: a pre-tokenizer of the host's families bears a name that is taken");
    return rows;
  } else {
    return {};
  }
}

}  // namespace detail

/// Pre-tokenizers that a host adds in its families: `using PreTokenizers = text::PreTokenizerList<...>;`.
template <class Families>
inline constexpr Span<const text::PreTokenizerEntry> kOwnPreTokenizers = detail::own_pre_tokenizers<Families>();

/// A model file, and what its reading gave. Move it freely.
struct LoadedModel {
  LoadedModel(model::GgufFile opened, const Allocator& a) noexcept
      : file(std::move(opened)), vocabulary(a), compiled(a) {}

  model::GgufFile file;
  ModelFacts facts{};
  Vocabulary vocabulary;
  std::optional<text::Tokenizer> tokenizer;  ///< none when the file has no vocabulary
  plan::CompiledPlan compiled;
  const OpTable* ops = nullptr;  ///< rows of all ops that the plan can hold
};

/// Opens, reads and compiles model files for engines on backend B.
///
/// This is about half of an engine's code, and none of its kernels. It stands outside of the class: a source that
/// declares `extern template struct zrt::ModelLoader<B>` leaves it to another one.
template <class B, class Families = AllFamilies> struct ModelLoader {
  [[nodiscard]] static Result<model::GgufFile> open(std::string_view path, const Allocator& allocator) noexcept;
  [[nodiscard]] static Result<model::GgufFile> open(Span<const std::byte> memory, const Allocator& allocator) noexcept;
  [[nodiscard]] static Result<model::GgufFile> open(const model::GgufReader& reader,
                                                    const Allocator& allocator) noexcept;

  /// Reads `model.file` and fills in the rest.
  ///
  /// Errors: those of check(options), read_model, read_vocabulary, text::Tokenizer::make and compile_model.
  [[nodiscard]] static Result<void> load(LoadedModel& model, const EngineOptions& options) noexcept;
};

template <class B, class Families>
Result<model::GgufFile> ModelLoader<B, Families>::open(std::string_view path, const Allocator& allocator) noexcept {
  return model::GgufFile::open(path, allocator);
}
template <class B, class Families>
Result<model::GgufFile> ModelLoader<B, Families>::open(Span<const std::byte> memory,
                                                       const Allocator& allocator) noexcept {
  return model::GgufFile::open(memory, allocator);
}
template <class B, class Families>
Result<model::GgufFile> ModelLoader<B, Families>::open(const model::GgufReader& reader,
                                                       const Allocator& allocator) noexcept {
  return model::GgufFile::open(reader, allocator);
}

template <class B, class Families>
Result<void> ModelLoader<B, Families>::load(LoadedModel& model, const EngineOptions& options) noexcept {
  using Runs = FamiliesOn<B, Families>;
  using Ops = ModelOps<B, Runs>;
  if (auto r = check(options); !r) return r;
  auto facts = read_model<Runs>(model.file, options);
  if (!facts) return pass(facts);
  model.facts = *facts;
  auto vocabulary = read_vocabulary(model.file, options.allocator);
  if (!vocabulary) return pass(vocabulary);
  model.vocabulary = std::move(*vocabulary);
  if (!model.vocabulary.tokens.empty()) {
    if (auto r = expect_rows(model.vocabulary, model.facts.config.vocabulary); !r) return r;
    auto tokenizer = text::Tokenizer::make(model.vocabulary.spec, options.allocator, kOwnPreTokenizers<Families>);
    if (!tokenizer) return pass(tokenizer);
    model.tokenizer.emplace(std::move(*tokenizer));
  }
  using Expanded = boost::mp11::mp_append<UnclaimedOps<B, Ops>, detail::SteppedDown<B, Runs, Ops>>;
  constexpr OpSet kClaims = OpSet::of(typename B::Claims{});
  auto compiled = compile_model<Runs>(model.file, ir::Ops::of<Ops, Expanded>(), kClaims, options);
  if (!compiled) return pass(compiled);
  model.compiled = std::move(*compiled);
  model.ops = &kOpTable<Ops>;
  return {};
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
