// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/falcon_h1.hpp: folders of Falcon H1; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/mamba2.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Multipliers of the configuration go into the weights.
struct FalconH1Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"FalconH1ForCausalLM"});
  /// The norm before the MLP has no ending in files.
  static constexpr auto tensors =
      joined(std::to_array<TensorRule>({{"model.final_layernorm", "output_norm"},
                                        {"model.layers.*.pre_ff_layernorm.weight", "blk.*.ffn_norm"},
                                        {"model.layers.*.feed_forward.gate_proj", "blk.*.ffn_gate"},
                                        {"model.layers.*.feed_forward.up_proj", "blk.*.ffn_up"},
                                        {"model.layers.*.feed_forward.down_proj", "blk.*.ffn_down"}}),
             kMamba2Tensors);

  static void add_keys(Settings& in, Keys& out) {
    out.of_model("context_length", in.count_if({"max_position_embeddings"}).value_or(0));
    out.of_model("embedding_length", in.count({"hidden_size"}));
    out.of_model("feed_forward_length", in.count({"intermediate_size"}));
    out.of_model("attention.head_count", in.count({"num_attention_heads"}));
    out.of_model("attention.head_count_kv", in.count({"num_key_value_heads"}));
    out.of_model("block_count", in.count({"num_hidden_layers"}));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    out.of_model("attention.key_length", in.count({"head_dim"}));
    out.of_model("attention.value_length", in.count({"head_dim"}));
    out.of_model("attention.layer_norm_rms_epsilon", in.number_if({"rms_norm_eps"}).value_or(1e-5f));
    out.of_model("rope.freq_base", static_cast<float>(RopeSettings(in).base().value_or(10000.0)));
    add_mixer_keys(in, out);
  }

  static void add_scales(Settings& in, std::string_view name, std::vector<RowScale>& scales) {
    // The name of a layer's tensor is behind the last number.
    const std::string_view own = name.starts_with("blk.") ? slice(name, name.find('.', 4) + 1) : name;
    for (const Scale& scale : kScales)
      if (own == scale.tensor) scales.push_back({factor(in, scale.name, scale.index)});
    if (own == "ssm_in.weight") add_mixer_scales(in, scales);
  }

  static constexpr HubFamily family{.name = "falcon-h1",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .heads = mixer_heads,
                                    .add_scales = add_scales};

 private:
  /// A multiplier, or one of a list of them.
  struct Scale {
    std::string_view tensor;
    std::string_view name;
    std::size_t index;
  };
  static constexpr auto kScales = std::to_array<Scale>({{"ffn_down.weight", "mlp_multipliers", 1},
                                                        {"ffn_gate.weight", "mlp_multipliers", 0},
                                                        {"attn_k.weight", "key_multiplier", 0},
                                                        {"attn_k.weight", "attention_in_multiplier", 0},
                                                        {"attn_q.weight", "attention_in_multiplier", 0},
                                                        {"attn_v.weight", "attention_in_multiplier", 0},
                                                        {"attn_output.weight", "attention_out_multiplier", 0},
                                                        {"ssm_out.weight", "ssm_out_multiplier", 0},
                                                        {"ssm_in.weight", "ssm_in_multiplier", 0},
                                                        {"output.weight", "lm_head_multiplier", 0},
                                                        {"token_embd.weight", "embedding_multiplier", 0}});

  static void add_mixer_keys(Settings& in, Keys& out) {
    const std::uint32_t inner = in.count({"mamba_d_ssm"});
    const std::uint32_t head = in.count({"mamba_d_head"});
    if (head == 0 || inner % head != 0)
      in.refuse(Errc::invalid_metadata, "mamba_d_ssm is ", inner, ", expected whole heads of ", head);
    out.of_model("ssm.conv_kernel", in.count_if({"conv_kernel", "d_conv", "mamba_d_conv"}).value_or(4));
    out.of_model("ssm.inner_size", inner);
    out.of_model("ssm.state_size", in.count_if({"state_size", "d_state", "mamba_d_state"}).value_or(128));
    out.of_model("ssm.time_step_rank", head == 0 ? 0 : inner / head);
    out.of_model("ssm.group_count", static_cast<std::uint32_t>(mixer_heads(in).groups));
  }
  [[nodiscard]] static float factor(Settings& in, std::string_view name, std::size_t index) {
    const HubJson* value = in.find({name});
    if (value != nullptr && value->is_array() && index < value->size()) value = &(*value)[index];
    if (value != nullptr && value->is_number()) return static_cast<float>(value->get<double>());
    in.refuse(Errc::missing_metadata, "expected a number ", index, " of '", name, "', found none");
    return 1.0f;
  }
  /// Gates, values, keys, queries and steps have factors of their own.
  static void add_mixer_scales(Settings& in, std::vector<RowScale>& scales) {
    const std::uint64_t inner = in.count({"mamba_d_ssm"});
    const std::uint64_t states = std::uint64_t{in.count({"mamba_n_groups"})} * in.count({"mamba_d_state"});
    std::uint64_t first = 0;
    std::size_t index = 0;
    for (const std::uint64_t count : {inner, inner, states, states, ~std::uint64_t{0}}) {
      scales.push_back({factor(in, "ssm_multipliers", index++), first, count});
      first += count;
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
