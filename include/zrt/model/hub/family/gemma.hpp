// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gemma.hpp: what folders of Gemma 2 and 3 share; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Norms lie around 0 in the folder, and stand on both sides of attention and the MLP. The head is the embeddings.
inline constexpr auto kGemmaTensors = std::to_array<TensorRule>({
    {"lm_head"},
    {"model.norm", "output_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.input_layernorm", "blk.*.attn_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.self_attn.q_norm", "blk.*.attn_q_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.self_attn.k_norm", "blk.*.attn_k_norm", {.values = ValueChange::plus_one}},
});

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
