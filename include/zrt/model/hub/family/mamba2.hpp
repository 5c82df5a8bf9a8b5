// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/mamba2.hpp: folders of Mamba 2; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/mamba.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A mixer of Mamba 2.
inline constexpr auto kMamba2Tensors =
    joined(kMambaTensors,
           std::to_array<TensorRule>({{"model.layers.*.mamba.dt_bias", "blk.*.ssm_dt.bias"},
                                      {"model.layers.*.mamba.A_log",
                                       "blk.*.ssm_a",
                                       {.values = ValueChange::minus_exponential, .axes = Axes::column}},
                                      {"model.layers.*.mamba.D", "blk.*.ssm_d", {.axes = Axes::column}},
                                      {"model.layers.*.mamba.norm", "blk.*.ssm_norm", {.axes = Axes::groups}}}));

/// Counts of heads, and the groups of a mixer's norm.
[[nodiscard]] inline HeadSizes mixer_heads(Settings& in) {
  HeadSizes sizes;
  sizes.groups = in.count_if({"n_groups", "num_groups", "mamba_n_groups", "mamba_num_groups"}).value_or(1);
  return sizes;
}

struct Mamba2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Mamba2ForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    const std::uint32_t width = in.count({"hidden_size", "d_model", "dim"});
    const std::uint64_t expand = in.count_if({"mamba_expand", "expand"}).value_or(2);
    const std::uint32_t inner = in.count_if({"mamba_d_ssm", "intermediate_size", "d_inner"})
                                    .value_or(static_cast<std::uint32_t>(expand * width));
    const std::uint32_t head = in.count_if({"mamba_d_head", "head_dim"}).value_or(64);
    if (inner != expand * width || head == 0 || inner % head != 0)
      in.refuse(Errc::invalid_metadata, "the inner size is ", inner, ", expected ", expand,
                " x hidden_size and whole heads of ", head);
    add_mixer_keys(in, out,
                   {.width = width,
                    .inner = inner,
                    .states = 128,
                    .rank = head == 0 ? 0 : inner / head,
                    .groups = static_cast<std::uint32_t>(mixer_heads(in).groups)});
  }

  static constexpr HubFamily family{.name = "mamba2",
                                    .architectures = architectures,
                                    .tensors = kMamba2Tensors,
                                    .renamings = kBackboneNames,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .token_multiple = 16,
                                    .heads = mixer_heads};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
