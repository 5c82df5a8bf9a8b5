// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/pre_tokenizer_name_taken.cpp: a host's pre-tokenizer needs a name that zrt does not use.
// expect-error: zrt: a pre-tokenizer of the host's families bears a name that is taken
#include <zrt/engine/model_loader.hpp>

struct Mine {
#ifdef ZRT_COMPILE_FAIL
  static constexpr std::array<std::string_view, 1> names{"llama-bpe"};
#else
  static constexpr std::array<std::string_view, 1> names{"mine"};
#endif
  static constexpr zrt::text::pre::Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = zrt::text::pre::StageList<zrt::text::pre::Gpt2Words>;
};
struct Families {
  using PreTokenizers = zrt::text::PreTokenizerList<Mine>;
};

static_assert(zrt::kOwnPreTokenizers<Families>.size() == 1);
