// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3_reranker.hpp: the qwen3 family with a classification head.
#pragma once

#include <zrt/model/arch/qwen3.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/softmax.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 that scores texts: how likely each label is after the last token.
struct Qwen3Reranker : Qwen3 {
  struct Config : DecoderConfig {
    std::uint32_t labels = 1;
  };
  static constexpr std::string_view which = "with a classification head";
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({{"classifier.output_labels", Neutral::any}}));
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::Linear, ops::Softmax>;

  [[nodiscard]] static bool opens(const ConfigReader& meta) noexcept {
    return meta.file().find_tensor(kHead) != nullptr;
  }

  static void read(ConfigReader& meta, Config& c) noexcept {
    Qwen3::read(meta, c);
    const GgufTensor* head = meta.file().find_tensor(kHead);
    if (head != nullptr && head->rank == 2)
      c.labels = static_cast<std::uint32_t>(head->dims[1] < 1u << 20 ? head->dims[1] : 0);
  }

  /// For tokens, and for scores.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    const Config tokens{canonical_decoder(), 2};
    Config scores = tokens;
    scores.embeddings = true;
    return {tokens, scores};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    const auto rows = build_dense_decoder(g, c, kTraits);
    const auto head = g.weight(kHead, Shape{c.labels, c.width});
    if (!c.embeddings) return;
    const auto scores = g.template emit<ops::Linear>({.in = {rows}, .w = {head}})[0];
    g.output("scores", g.template emit<ops::Softmax>({.in = {scores}})[0]);
  }

 private:
  static constexpr std::string_view kHead = "cls.output.weight";
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
