// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/starcoder2.hpp: folders of StarCoder 2; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Starcoder2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Starcoder2ForCausalLM"});
  static constexpr auto tensors = std::to_array<TensorRule>(
      {{"model.layers.*.mlp.c_fc", "blk.*.ffn_up"}, {"model.layers.*.mlp.c_proj", "blk.*.ffn_down"}});
  static constexpr HubFamily family{
      .name = "starcoder2", .architectures = architectures, .tensors = tensors, .add_keys = add_decoder_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
