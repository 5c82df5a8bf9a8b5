// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gpt2.hpp: folders of GPT-2; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Gpt2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"GPT2LMHeadModel"});
  /// Matrices lie transposed.
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"wte", "token_embd"},
                                 {"wpe", "position_embd"},
                                 {"ln_f", "output_norm"},
                                 {"h.*.ln_1", "blk.*.attn_norm"},
                                 {"h.*.ln_2", "blk.*.ffn_norm"},
                                 {"h.*.attn.c_attn.weight", "blk.*.attn_qkv.weight", {Rows::columns}},
                                 {"h.*.attn.c_attn.bias", "blk.*.attn_qkv.bias"},
                                 {"h.*.attn.c_proj.weight", "blk.*.attn_output.weight", {Rows::columns}},
                                 {"h.*.attn.c_proj.bias", "blk.*.attn_output.bias"},
                                 {"h.*.mlp.c_fc.weight", "blk.*.ffn_up.weight", {Rows::columns}},
                                 {"h.*.mlp.c_fc.bias", "blk.*.ffn_up.bias"},
                                 {"h.*.mlp.c_proj.weight", "blk.*.ffn_down.weight", {Rows::columns}},
                                 {"h.*.mlp.c_proj.bias", "blk.*.ffn_down.bias"},
                                 {"h.*.attn.bias"},
                                 {"h.*.attn.masked_bias"}});

  static void add_keys(Settings& in, Keys& out) {
    const std::uint32_t width = in.count({"n_embd"});
    if (width > 1u << 28) in.refuse(Errc::invalid_metadata, "n_embd is ", width, ", at most 2^28 expected");
    out.of_model("block_count", in.count({"n_layer"}));
    out.of_model("context_length", in.count({"n_ctx", "n_positions"}));
    out.of_model("embedding_length", width);
    out.of_model("feed_forward_length", 4 * width);
    out.of_model("attention.head_count", in.count({"n_head"}));
    out.of_model("attention.layer_norm_epsilon", in.number({"layer_norm_epsilon"}));
  }

  static constexpr HubFamily family{
      .name = "gpt2", .architectures = architectures, .tensors = tensors, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
