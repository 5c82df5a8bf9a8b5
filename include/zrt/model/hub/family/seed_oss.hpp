// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/seed_oss.hpp: folders of Seed-OSS; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct SeedOssFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"SeedOssForCausalLM"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm"}});
  static constexpr HubFamily family{
      .name = "seed_oss", .architectures = architectures, .tensors = tensors, .add_keys = add_decoder_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
