// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_shapes.cpp: the table of shapes.
#include "model_shapes.hpp"

namespace program {
namespace {

constexpr std::string_view kSizes =
    "vocab_size=512 context_length=512 embedding_length=256 block_count=2 feed_forward_length=512 "
    "attention.head_count=4 attention.head_count_kv=2";
constexpr std::string_view kNoMlp =
    "vocab_size=512 context_length=512 embedding_length=256 block_count=2 feed_forward_length=0 "
    "attention.head_count=0 attention.layer_norm_rms_epsilon=0.00001";
constexpr std::string_view kRms =
    "attention.layer_norm_rms_epsilon=0.000001 rope.freq_base=10000.0 rope.dimension_count=64";
constexpr std::string_view kLayerNorm =
    "attention.layer_norm_epsilon=0.00001 rope.freq_base=10000.0 rope.dimension_count=64";
constexpr std::string_view kBiases = "with=attn_q.bias with=attn_k.bias with=attn_v.bias";
constexpr std::string_view kExperts =
    "expert_count=8 expert_used_count=2 expert_feed_forward_length=256 with=output.weight";
constexpr std::string_view kMixer =
    "ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=16 ssm.time_step_rank=8 ssm.group_count=2";
constexpr std::string_view kDeltaNet =
    "block_count=4 full_attention_interval=4 ssm.conv_kernel=4 ssm.inner_size=256 ssm.state_size=64 "
    "ssm.time_step_rank=4 ssm.group_count=2 attention.key_length=64 attention.value_length=64";
constexpr std::string_view kSharedExpert =
    "expert_count=8 expert_used_count=2 expert_feed_forward_length=256 expert_shared_feed_forward_length=512 "
    "without=none";
constexpr std::string_view kGranite =
    "attention.scale=0.015625 embedding_scale=12.0 logit_scale=6.0 residual_scale=0.22";
constexpr std::string_view kLatent =
    "attention.head_count_kv=1 attention.key_length=320 attention.value_length=256 attention.key_length_mla=128 "
    "attention.value_length_mla=64 attention.kv_lora_rank=256 attention.q_lora_rank=0 leading_dense_block_count=1 "
    "expert_count=8 expert_used_count=2 expert_feed_forward_length=256 expert_shared_count=2 expert_gating_func=1 "
    "without=exp_probs_b.bias";
constexpr std::string_view kEncoder =
    "attention.head_count_kv=4 attention.layer_norm_epsilon=0.00001 attention.causal=false pooling_type=1 "
    "tokenizer.ggml.token_type_count=2";

// clang-format off
constexpr auto kShapes = std::to_array<ModelShape>({
    {"qwen3-0.6b", "qwen3", {
        "vocab_size=151936 context_length=40960 embedding_length=1024 block_count=28 feed_forward_length=3072",
        "attention.head_count=16 attention.head_count_kv=8 attention.key_length=128 attention.value_length=128",
        "attention.layer_norm_rms_epsilon=0.000001 rope.freq_base=1000000.0"}},
    {"qwen3-1.7b", "qwen3", {
        "vocab_size=151936 context_length=40960 embedding_length=2048 block_count=28 feed_forward_length=6144",
        "attention.head_count=16 attention.head_count_kv=8 attention.key_length=128 attention.value_length=128",
        "attention.layer_norm_rms_epsilon=0.000001 rope.freq_base=1000000.0"}},
    {"llama-1b", "llama", {
        "vocab_size=128256 context_length=131072 embedding_length=2048 block_count=16 feed_forward_length=8192",
        "attention.head_count=32 attention.head_count_kv=8 attention.layer_norm_rms_epsilon=0.00001",
        "rope.freq_base=500000.0 rope.dimension_count=64 with=rope_freqs.weight"}},
    {"llama-8b", "llama", {
        "vocab_size=128256 context_length=131072 embedding_length=4096 block_count=32 feed_forward_length=14336",
        "attention.head_count=32 attention.head_count_kv=8 attention.layer_norm_rms_epsilon=0.00001",
        "rope.freq_base=500000.0 rope.dimension_count=128 with=rope_freqs.weight with=output.weight"}},
    // Qwen3-30B-A3B with half of its experts and a third of its layers.
    {"qwen3-moe-6b", "qwen3moe", {
        "vocab_size=151936 context_length=40960 embedding_length=2048 block_count=16 feed_forward_length=6144",
        "attention.head_count=32 attention.head_count_kv=4 attention.key_length=128 attention.value_length=128",
        "attention.layer_norm_rms_epsilon=0.000001 rope.freq_base=1000000.0",
        "expert_count=64 expert_used_count=8 expert_feed_forward_length=768 with=output.weight"}},
    // Granite 4.0 H Tiny: 40 layers, of which every tenth from the sixth on attends.
    {"granite-4-h-tiny", "granitehybrid", {
        "vocab_size=100352 context_length=131072 embedding_length=1536 block_count=40 feed_forward_length=512 "
        "attention.head_count=12 attention.layer_norm_rms_epsilon=0.00001 rope.freq_base=10000.0 "
        "rope.dimension_count=128 rope.scaling.finetuned=false",
        "attention.head_count_kv=[0,0,0,0,0,4,0,0,0,0,0,0,0,0,0,4,0,0,0,0,0,0,0,0,0,4,0,0,0,0,0,0,0,0,0,4,0,0,0,0]",
        "ssm.conv_kernel=4 ssm.inner_size=3072 ssm.state_size=128 ssm.time_step_rank=48 ssm.group_count=1",
        "attention.scale=0.0078125 embedding_scale=12.0 logit_scale=6.0 residual_scale=0.22 expert_count=64 "
        "expert_used_count=6 expert_shared_feed_forward_length=1024 with=ssm_conv1d.bias"}},

    {"tiny", "llama", {kSizes, kRms}},
    {"tiny", "qwen2", {kSizes, kRms, kBiases}},
    {"tiny", "qwen3", {kSizes, kRms}},
    {"tiny", "qwen3vl", {kSizes, kRms, "rope.dimension_sections=[16,8,8,0] n_deepstack_layers=1"}},
    {"tiny", "qwen3vlmoe", {kSizes, kRms, kExperts, "rope.dimension_sections=[16,8,8,0] n_deepstack_layers=1"}},
    {"tiny", "gemma2", {kSizes, kRms, "attention.key_length=64 attention.value_length=64 attention.sliding_window=64 "
                                      "attn_logit_softcapping=50.0 final_logit_softcapping=30.0"}},
    {"tiny", "gemma3", {kSizes, kRms, "attention.key_length=64 attention.value_length=64 attention.sliding_window=64"}},
    {"tiny", "gemma4", {kSizes, kRms,
        "block_count=6 rope.freq_base_swa=1000.0 attention.key_length=64 attention.value_length=64 "
        "attention.key_length_swa=32 attention.value_length_swa=32 rope.dimension_count_swa=32 "
        "attention.sliding_window=64 attention.sliding_window_pattern=[1,1,1,0,1,0]",
        "final_logit_softcapping=30.0 attention.shared_kv_layers=2 embedding_length_per_layer_input=64 "
        "without=output.weight"}},
    {"tiny", "mistral3", {kSizes, kRms}},
    {"tiny", "olmo2", {kSizes, kRms, "with=output.weight"}},
    {"tiny", "phi3", {kSizes, kRms, "attention.head_count_kv=4"}},
    {"tiny", "gpt2", {kSizes, "attention.layer_norm_epsilon=0.00001 attention.head_count_kv=4 without=output.weight"}},
    {"tiny", "gpt-oss", {kSizes, kRms, kExperts,
        "attention.key_length=64 attention.value_length=64 attention.sliding_window=64 without=none"}},
    {"tiny", "seed_oss", {kSizes, kRms, kBiases}},
    {"tiny", "ernie4_5", {kSizes, kRms}},
    {"tiny", "ernie4_5-moe", {kSizes, kRms,
        "expert_count=8 expert_used_count=2 expert_feed_forward_length=256 expert_shared_feed_forward_length=512 "
        "interleave_moe_layer_step=1 leading_dense_block_count=1 without=attn_output.bias without=output.weight"}},
    {"tiny", "smollm3", {kSizes, kRms, "block_count=4"}},
    {"tiny", "glm4", {kSizes, kRms, "without=none"}},
    {"tiny", "glm4moe", {kSizes, kRms, kExperts,
        "expert_shared_count=1 leading_dense_block_count=1 expert_weights_norm=true expert_weights_scale=1.5 "
        "expert_gating_func=2 without=none"}},
    {"tiny", "exaone4", {kSizes, kRms}},
    {"tiny", "starcoder2", {kSizes, kLayerNorm, "without=output.weight"}},
    {"tiny", "command-r", {kSizes, kLayerNorm, "logit_scale=0.5"}},
    {"tiny", "stablelm", {kSizes, kLayerNorm, "with=blk.0.ffn_norm.weight without=none"}},
    {"tiny", "mamba", {kNoMlp, "ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=16 ssm.time_step_rank=16"}},
    {"tiny", "mamba2", {kNoMlp, kMixer, "with=ssm_conv1d.bias"}},
    {"tiny", "granite", {kSizes, kRms, kGranite}},
    {"tiny", "granitemoe", {kSizes, kRms, kGranite,
        "expert_count=8 expert_used_count=2 expert_shared_feed_forward_length=512 without=output.weight"}},
    {"tiny", "granitehybrid", {kSizes, kRms, kGranite,
        "attention.head_count_kv=[0,2] ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=16 ssm.time_step_rank=8 "
        "ssm.group_count=2 expert_count=8 expert_used_count=2 expert_shared_feed_forward_length=512 "
        "rope.scaling.finetuned=false without=output.weight"}},
    {"tiny", "falcon-h1", {kSizes, kRms, kMixer, "without=none"}},
    {"tiny", "nemotron_h", {kSizes, kRms, kMixer,
        "block_count=3 attention.head_count_kv=[0,2,0] feed_forward_length=[0,0,512] "
        "attention.layer_norm_epsilon=0.000001 without=none"}},
    {"tiny", "nemotron_h_moe", {kSizes, kRms, kMixer,
        "block_count=3 attention.head_count_kv=[0,2,0] feed_forward_length=[0,0,512] "
        "attention.layer_norm_epsilon=0.000001 "
        "expert_count=8 expert_used_count=2 expert_feed_forward_length=256 expert_shared_feed_forward_length=512 "
        "expert_shared_count=1 expert_weights_norm=true expert_weights_scale=1.5 without=none"}},
    {"tiny", "lfm2", {kSizes, kRms, "attention.head_count_kv=[0,2] shortconv.l_cache=3"}},
    {"tiny", "lfm2moe", {kSizes, kRms,
        "attention.head_count_kv=[0,2] expert_count=8 expert_used_count=2 expert_feed_forward_length=256 "
        "leading_dense_block_count=1 expert_gating_func=2 shortconv.l_cache=3 without=output.weight"}},
    {"tiny", "qwen2moe", {kSizes, kRms, kSharedExpert}},
    {"tiny", "qwen3moe", {kSizes, kRms, kExperts}},
    {"tiny", "qwen3next", {kSizes, kRms, kDeltaNet, kSharedExpert}},
    {"tiny", "qwen35", {kSizes, kRms, kDeltaNet, "rope.dimension_sections=[16,8,8,0]"}},
    {"tiny", "qwen35moe", {kSizes, "attention.layer_norm_rms_epsilon=0.000001 rope.freq_base=10000.0 "
        "rope.dimension_count=64 rope.dimension_sections=[16,8,8,0]", kDeltaNet, kSharedExpert}},
    {"tiny", "deepseek", {kSizes, kRms, kExperts, "expert_shared_count=2 leading_dense_block_count=1"}},
    {"tiny", "deepseek2", {kSizes, kRms, kLatent}},
    {"tiny", "hunyuan-dense", {kSizes, kRms}},
    {"tiny", "bert", {kSizes, kEncoder, "without=cls.weight without=cls.bias without=cls.output.weight "
        "without=cls.output.bias"}},
    {"tiny", "nomic-bert", {kSizes, kEncoder, "rope.freq_base=1000.0"}},
    {"tiny", "nomic-bert-moe", {kSizes, kEncoder,
        "rope.freq_base=10000.0 expert_count=8 expert_used_count=2 moe_every_n_layers=2"}},
    {"tiny", "modern-bert", {kSizes, kEncoder,
        "block_count=4 rope.freq_base=160000.0 rope.freq_base_swa=10000.0 attention.sliding_window=16"}},
    {"tiny", "t5encoder", {kSizes,
        "attention.head_count_kv=4 attention.layer_norm_rms_epsilon=0.000001 attention.relative_buckets_count=32 "
        "attention.causal=false attention.key_length=64 attention.value_length=64 pooling_type=1"}},
});
// clang-format on

}  // namespace

const ModelShape* find_shape(std::string_view name, std::string_view architecture) {
  for (const ModelShape& shape : kShapes)
    if (shape.name == name && shape.architecture == architecture) return &shape;
  return nullptr;
}

bool is_shape(std::string_view name) { return !architectures_of(name).empty(); }

std::string shape_names() {
  std::string names;
  for (const ModelShape& shape : kShapes)
    if (const std::string word = " " + std::string(shape.name); !names.ends_with(word)) names += word;
  return names;
}

std::string architectures_of(std::string_view name) {
  std::string names;
  for (const ModelShape& shape : kShapes)
    if (shape.name == name) names += " " + std::string(shape.architecture);
  return names;
}

}  // namespace program
