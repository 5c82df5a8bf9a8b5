// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/lfm2.hpp: folders of LFM2; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Lfm2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Lfm2ForCausalLM", "LFM2ForCausalLM"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.embedding_norm", "token_embd_norm"},
                                 {"model.layers.*.operator_norm", "blk.*.attn_norm"},
                                 {"model.layers.*.ffn_norm", "blk.*.ffn_norm"},
                                 {"model.layers.*.conv.conv", "blk.*.shortconv.conv", {.axes = Axes::squeezed}},
                                 {"model.layers.*.conv.in_proj", "blk.*.shortconv.in_proj"},
                                 {"model.layers.*.conv.out_proj", "blk.*.shortconv.out_proj"},
                                 {"model.layers.*.self_attn.q_layernorm", "blk.*.attn_q_norm"},
                                 {"model.layers.*.self_attn.k_layernorm", "blk.*.attn_k_norm"},
                                 {"model.layers.*.self_attn.out_proj", "blk.*.attn_output"},
                                 {"model.layers.*.feed_forward.w1", "blk.*.ffn_gate"},
                                 {"model.layers.*.feed_forward.w2", "blk.*.ffn_down"},
                                 {"model.layers.*.feed_forward.w3", "blk.*.ffn_up"}});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("attention.head_count_kv", heads_of_layers(in));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    out.of_model("shortconv.l_cache", in.count({"conv_L_cache"}));
    out.of_model("attention.layer_norm_rms_epsilon", in.number({"norm_eps"}));
    out.of_model("feed_forward_length", inner_width(in));
  }

  static constexpr HubFamily family{
      .name = "lfm2", .architectures = architectures, .tensors = tensors, .add_keys = add_keys};

  /// Layers of convolutions have no heads.
  [[nodiscard]] static std::vector<std::int32_t> heads_of_layers(Settings& in) {
    std::vector<std::int32_t> heads;
    const auto count = static_cast<std::int32_t>(in.count({"num_key_value_heads"}));
    if (const HubJson* types = in.find({"layer_types"}); types != nullptr && types->is_array())
      for (const HubJson& type : *types) heads.push_back(text_of(&type) == "conv" ? 0 : count);
    if (heads.empty()) in.refuse(Errc::missing_metadata, "expected a list 'layer_types', found none");
    return heads;
  }

 private:
  /// Two thirds of what is said, times a multiplier, up to a whole multiple, where the configuration asks for that.
  [[nodiscard]] static std::uint32_t inner_width(Settings& in) {
    const std::uint32_t said = in.count({"block_ff_dim", "intermediate_size"});
    if (!in.flag({"block_auto_adjust_ff_dim"})) return said;
    const std::uint32_t multiple = in.count({"block_multiple_of"});
    if (multiple == 0 || said > 1u << 30) {
      in.refuse(Errc::invalid_metadata, "block_multiple_of is ", multiple, " and block_ff_dim ", said);
      return 0;
    }
    auto width = static_cast<std::uint32_t>(std::uint64_t{2} * said / 3);
    const HubJson* said_factor = in.find({"block_ffn_dim_multiplier"});
    const double factor = said_factor != nullptr && said_factor->is_number() ? said_factor->get<double>() : 1.0;
    if (factor > 0.0 && factor < 4.0) width = static_cast<std::uint32_t>(factor * width);
    return static_cast<std::uint32_t>((std::uint64_t{width} + multiple - 1) / multiple * multiple);
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
