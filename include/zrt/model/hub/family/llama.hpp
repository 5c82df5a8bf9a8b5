// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/llama.hpp: folders of Llama, Mistral and Mixtral; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Keys of a decoder like Llama.
inline void add_llama_keys(Settings& in, Keys& out) {
  add_decoder_keys(in, out);
  out.of_model("vocab_size", in.count({"vocab_size"}));
  out.of_model("rope.dimension_count", head_dim(in));
}

/// Code Llama's tokens for gaps, and Granite's vocabulary, which takes no BOS, are known by their sizes.
inline void add_llama_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
  if (const HubJson* space = hub::find(&files.config, "add_prefix_space"); space != nullptr && space->is_boolean())
    out.set("tokenizer.ggml.add_space_prefix", space->get<bool>());
  const std::uint32_t size = in.count({"vocab_size"});
  if (size == 32016) {
    out.set("tokenizer.ggml.prefix_token_id", std::uint32_t{32007});
    out.set("tokenizer.ggml.suffix_token_id", std::uint32_t{32008});
    out.set("tokenizer.ggml.middle_token_id", std::uint32_t{32009});
    out.set("tokenizer.ggml.eot_token_id", std::uint32_t{32010});
  }
  if (size == 49152) out.set("tokenizer.ggml.add_bos_token", false);
}

/// A family whose files turn neighbours and whose vocabulary is read as Llama's.
[[nodiscard]] constexpr HubFamily like_llama(std::string_view name, Span<const std::string_view> architectures,
                                             Span<const TensorRule> tensors,
                                             void (*add_keys)(Settings&, Keys&)) noexcept {
  return {.name = name,
          .architectures = architectures,
          .tensors = tensors,
          .add_keys = add_keys,
          .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
          .heads = decoder_heads,
          .add_tensors = add_llama3_factors,
          .add_vocabulary_keys = add_llama_vocabulary_keys};
}

struct LlamaFolder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM", "MixtralForCausalLM", "IQuestCoderForCausalLM",
       "LlamaModel", "LlavaForConditionalGeneration", "VoxtralForConditionalGeneration",
       "JanusForConditionalGeneration", "VLlama3ForCausalLM"});
  static constexpr auto sarashina_architectures = std::to_array<std::string_view>({"Sarashina2VisionForCausalLM"});
  /// The decoder of SmolVLM stands within a model of texts.
  static constexpr auto renamings = std::to_array<Renaming>({{"text_model.", ""}});
  static constexpr auto sarashina_renamings = std::to_array<Renaming>({{"llm.", ""}});
  static constexpr auto tensors = joined(
      kPairedTensors, std::to_array<TensorRule>(
                          {{"model.layers.*.block_sparse_moe.gate", "blk.*.ffn_gate_inp"},
                           {"model.layers.*.block_sparse_moe.experts.*.w1", "blk.*.ffn_gate_exps", {Rows::stacked}},
                           {"model.layers.*.block_sparse_moe.experts.*.w2", "blk.*.ffn_down_exps", {Rows::stacked}},
                           {"model.layers.*.block_sparse_moe.experts.*.w3", "blk.*.ffn_up_exps", {Rows::stacked}}}));

  /// Names of a decoder without a head begin within it.
  static constexpr HubFamily family = [] {
    HubFamily made = like_llama("llama", architectures, tensors, add_llama_keys);
    made.within = "model.";
    made.renamings = renamings;
    return made;
  }();
  /// Its norm of images has a name like that of a decoder's.
  static constexpr auto sarashina_tensors = joined(kPairedTensors, std::to_array<TensorRule>({{"norm"}}));
  static constexpr HubFamily sarashina = [] {
    HubFamily made = like_llama("llama", sarashina_architectures, sarashina_tensors, add_llama_keys);
    made.renamings = sarashina_renamings;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
