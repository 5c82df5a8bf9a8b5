// SPDX-License-Identifier: Apache-2.0
// zrt/model/granite_scales.hpp: the scales that all Granite families read.
#pragma once

#include <zrt/model/decoder_config.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Keys that change nothing for a Granite whose layers all have attention: Granite 4 gives the sizes of mixers even where no
/// layer has one.
inline constexpr auto kGraniteNeutral = neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({
                                                                          {"ssm.conv_kernel", Neutral::any},
                                                                          {"ssm.state_size", Neutral::any},
                                                                          {"ssm.group_count", Neutral::any},
                                                                          {"ssm.inner_size", Neutral::any},
                                                                          {"ssm.time_step_rank", Neutral::any},
                                                                      }));

/// Reads the scales of embeddings, blocks' outputs, scores and logits. Read the heads first.
inline void read_granite_scales(ConfigReader& meta, DecoderConfig& c) noexcept {
  c.embedding_scale = meta.scale("embedding_scale", 1.0f);
  c.residual_scale = meta.scale("residual_scale", 1.0f);
  c.attention_scale = meta.scale("attention.scale", c.attention_scale, c.attention_scale);
  c.logit_scale = 1.0f / meta.scale("logit_scale", 1.0f);
}

/// Refuses files that say that heads are not rotated, by a key that elsewhere says how a scaling was trained.
inline void expect_rotated_heads(ConfigReader& meta) noexcept {
  meta.expect("rope.scaling.finetuned", "true", [](double x) { return x != 0.0; });
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
