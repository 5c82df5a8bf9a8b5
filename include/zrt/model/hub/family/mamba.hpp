// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/mamba.hpp: folders of Mamba; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Names of Mamba's own folders, as those of decoders with Mamba mixers have them.
inline constexpr auto kBackboneNames =
    std::to_array<Renaming>({{"model.backbone.", "model."}, {"backbone.", "model."}, {".mixer.", ".mamba."}});

/// A mixer of either kind, and what stands around the layers.
inline constexpr auto kMambaTensors =
    std::to_array<TensorRule>({{"model.embeddings", "token_embd"},
                               {"model.embedding", "token_embd"},
                               {"model.norm_f", "output_norm"},
                               {"model.layers.*.norm", "blk.*.attn_norm"},
                               {"model.layers.*.mamba.in_proj", "blk.*.ssm_in"},
                               {"model.layers.*.mamba.conv1d", "blk.*.ssm_conv1d", {.axes = Axes::squeezed}},
                               {"model.layers.*.mamba.out_proj", "blk.*.ssm_out"}});

/// Positions that a state has no limit of.
inline constexpr std::uint32_t kUnboundedContext = 1u << 20;

/// Sizes of a model of mixers alone.
struct MixerSizes {
  std::uint32_t width = 0;
  std::uint32_t inner = 0;
  std::uint32_t states = 0;  ///< where the folder does not say
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> groups{};  ///< of the second form
};
/// The keys of a model of mixers alone.
inline void add_mixer_keys(Settings& in, Keys& out, const MixerSizes& sizes) {
  out.of_model("context_length", kUnboundedContext);
  out.of_model("embedding_length", sizes.width);
  out.of_model("feed_forward_length", std::uint32_t{0});
  out.of_model("attention.head_count", std::uint32_t{0});
  out.of_model("block_count", in.count({"num_hidden_layers", "n_layer"}));
  out.of_model("ssm.conv_kernel", in.count_if({"conv_kernel", "d_conv"}).value_or(4));
  out.of_model("ssm.inner_size", sizes.inner);
  out.of_model("ssm.state_size", in.count_if({"state_size", "d_state"}).value_or(sizes.states));
  out.of_model("ssm.time_step_rank", sizes.rank);
  if (sizes.groups) out.of_model("ssm.group_count", *sizes.groups);
  out.of_model("attention.layer_norm_rms_epsilon",
               in.number_if({"layer_norm_epsilon", "rms_norm_eps"}).value_or(1e-5f));
}

struct MambaFolder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"MambaForCausalLM", "MambaLMHeadModel", "FalconMambaForCausalLM"});
  static constexpr auto tensors = joined(
      kMambaTensors, std::to_array<TensorRule>(
                         {{"model.layers.*.mamba.x_proj", "blk.*.ssm_x"},
                          {"model.layers.*.mamba.dt_proj", "blk.*.ssm_dt"},
                          {"model.layers.*.mamba.A_log", "blk.*.ssm_a", {.values = ValueChange::minus_exponential}},
                          {"model.layers.*.mamba.D", "blk.*.ssm_d"}}));

  static void add_keys(Settings& in, Keys& out) {
    const std::uint32_t width = in.count({"hidden_size", "d_model"});
    const std::uint32_t inner = in.count_if({"intermediate_size", "d_inner"}).value_or(2 * width);
    if (inner != 2 * width || width > 1u << 28)
      in.refuse(Errc::invalid_metadata, "intermediate_size is ", inner, ", expected 2 x hidden_size = ", 2 * width);
    const std::uint32_t rank = in.count_if({"time_step_rank", "dt_rank"}).value_or((width + 15) / 16);
    add_mixer_keys(in, out, {.width = width, .inner = inner, .states = 16, .rank = rank});
    out.of_model("ssm.dt_b_c_rms", in.text({"model_type"}) == "falcon_mamba");
  }

  static constexpr HubFamily family{.name = "mamba",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .renamings = kBackboneNames,
                                    .add_keys = add_keys,
                                    .drops_equal_head = true,
                                    .token_multiple = 8};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
