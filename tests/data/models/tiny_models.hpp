// SPDX-License-Identifier: Apache-2.0
// tests/data/models/tiny_models.hpp: small models of every family with deterministic weights, as files in memory.
#pragma once

#include <zrt/core/half.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tools/gguf_writer.hpp>
#include <vector>

namespace zrt::test {

enum class TinyRope : std::uint8_t { plain, linear, yarn, factors };

/// What to make. Every proportion of a real model is there, nothing is large.
struct TinySpec {
  std::string_view name = "llama";
  std::string_view family = "llama";
  TinyRope rope = TinyRope::plain;
  bool tied = false;           ///< no output.weight
  bool biases = false;         ///< of queries, keys and values; of the output and the MLP too in llama and gpt-oss
  DType weights = DType::f32;  ///< f32, f16, bf16, q8_0 or q4_0; norms and biases stay f32
  bool text = false;  ///< with an SPM vocabulary of bytes and a few words, else of `vocabulary` ids without text
  std::uint32_t vocabulary = 64;
  int spare_rows = 0;  ///< rows of the embedding and the head beyond those of the vocabulary
  std::uint32_t width = 32;
  std::uint32_t layers = 2;
  std::uint32_t ff = 64;
  std::uint32_t heads = 4;
  std::uint32_t kv_heads = 2;
  std::uint32_t key_dim = 8;
  std::uint32_t context = 128;
  std::uint32_t window = 0;   ///< of attention, in the first of every two layers
  std::uint32_t experts = 0;  ///< in place of the MLP, each of width `ff`; 0: none
  std::uint32_t experts_used = 2;
  std::uint32_t shared_ff = 0;  ///< width of the expert that every token takes; 0: none
  bool by_layer = false;        ///< the second layer has half the kv heads and half the width of the MLP
  std::uint64_t seed = 1;
  void (*more)(GgufWriter&) = nullptr;  ///< adds what the file holds beyond that
};

/// One of each family and of each kind of rope scaling.
inline constexpr std::array kTinyFamilies{
    TinySpec{.name = "llama"},
    TinySpec{.name = "llama-rope3", .rope = TinyRope::factors, .tied = true},
    TinySpec{.name = "llama-linear", .rope = TinyRope::linear},
    TinySpec{.name = "llama-yarn", .rope = TinyRope::yarn},
    TinySpec{.name = "llama-bias", .biases = true},
    TinySpec{.name = "qwen2", .family = "qwen2", .tied = true, .biases = true, .kv_heads = 1},
    TinySpec{.name = "llama-layers", .by_layer = true},
    TinySpec{.name = "qwen3", .family = "qwen3", .tied = true, .kv_heads = 4, .key_dim = 16},
    TinySpec{.name = "gemma2", .family = "gemma2", .tied = true, .window = 8},
    TinySpec{.name = "gemma3", .family = "gemma3", .rope = TinyRope::linear, .tied = true, .window = 8},
    TinySpec{.name = "phi3", .family = "phi3"},
    TinySpec{.name = "phi3-longrope", .family = "phi3", .rope = TinyRope::factors, .kv_heads = 4},
    TinySpec{.name = "mamba", .family = "mamba"},
    TinySpec{.name = "mamba2", .family = "mamba2", .tied = true},
    TinySpec{.name = "granitehybrid", .family = "granitehybrid", .tied = true},
    TinySpec{.name = "lfm2", .family = "lfm2", .tied = true},
    TinySpec{.name = "qwen35", .family = "qwen35", .layers = 3},
    TinySpec{.name = "llama-moe", .experts = 4},
    TinySpec{
        .name = "qwen2moe", .family = "qwen2moe", .biases = true, .experts = 8, .experts_used = 3, .shared_ff = 32},
    TinySpec{.name = "qwen3moe", .family = "qwen3moe", .ff = 32, .experts = 8},
    TinySpec{.name = "granitemoe", .family = "granitemoe", .tied = true, .experts = 4, .shared_ff = 64, .seed = 4},
    TinySpec{.name = "gpt-oss",
             .family = "gpt-oss",
             .rope = TinyRope::yarn,
             .biases = true,
             .window = 8,
             .experts = 4,
             .seed = 4},
};

/// Whether a layer of the model has a mixer with recurrent state in place of attention.
[[nodiscard]] constexpr bool is_recurrent(const TinySpec& s, std::uint32_t layer) noexcept {
  if (s.family == "mamba" || s.family == "mamba2") return true;
  return (s.family == "granitehybrid" || s.family == "lfm2" || s.family == "qwen35") && layer % 2 == 0;
}
/// Whether its layers have MLPs.
[[nodiscard]] constexpr bool has_mlp(const TinySpec& s) noexcept { return s.family != "mamba" && s.family != "mamba2"; }

/// Bytes of a file at an alignment that an engine takes.
class ModelFile {
 public:
  ModelFile() = default;
  explicit ModelFile(std::span<const std::byte> bytes)
      : size_(bytes.size()), lines_((bytes.size() + sizeof(Line) - 1) / sizeof(Line)) {
    if (!lines_.empty()) std::memcpy(lines_.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {lines_.empty() ? nullptr : lines_[0].bytes, size_};
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::size_t size_ = 0;
  std::vector<Line> lines_;
};

/// A generator that gives the same numbers everywhere.
class TinyRandom {
 public:
  explicit TinyRandom(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// 0..count - 1.
  std::uint32_t below(std::uint64_t count) noexcept { return static_cast<std::uint32_t>((next() >> 16) % count); }
  /// A multiple of 2^-10 in -1..1, exact in every type of weights.
  float signed_unit() noexcept { return static_cast<float>(static_cast<int>(below(2049)) - 1024) * 0x1p-10f; }

 private:
  std::uint64_t state_;
};

namespace detail {

ZRT_COLD inline void add_tiny_matrix(GgufWriter& w, TinyRandom& random, const std::string& name, DType type,
                                     std::uint32_t cols, std::uint32_t rows, float scale, std::uint32_t experts = 0) {
  Bytes data;
  const std::uint32_t count = cols * rows * (experts == 0 ? 1 : experts);
  if (type == DType::q5_0) {
    data.resize(count / 32 * 22);  // zeros: a type that is known but not computed
  } else if (type == DType::q8_0 || type == DType::q4_0) {
    for (std::uint32_t i = 0; i < count; i += 32) {
      const float levels = type == DType::q8_0 ? 127.0f : 8.0f;
      put(data, to_f16(scale / levels * (1.0f + 0.25f * random.signed_unit())).bits);
      for (int b = 0; b < (type == DType::q8_0 ? 32 : 16); ++b) {
        const int q = static_cast<int>(random.below(255)) - 127;
        put(data, static_cast<std::uint8_t>(q & 0xff));
      }
    }
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      const float value = scale * random.signed_unit();
      if (type == DType::f16)
        put(data, to_f16(value).bits);
      else if (type == DType::bf16)
        put(data, to_bf16(value).bits);
      else
        put(data, value);
    }
  }
  if (experts == 0)
    w.add_tensor(name, type, {cols, rows}, std::move(data));
  else
    w.add_tensor(name, type, {cols, rows, experts}, std::move(data));
}

ZRT_COLD inline void add_tiny_vector(GgufWriter& w, TinyRandom& random, const std::string& name, std::uint32_t size,
                                     float middle, float spread) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < size; ++i) values.push_back(middle + spread * random.signed_unit());
  w.add_f32(name, {size}, values);
}

/// The router and the experts of a layer, and the one that every token takes.
ZRT_COLD inline void add_tiny_experts(GgufWriter& w, TinyRandom& random, const TinySpec& s, const std::string& blk) {
  const auto matrices = [&](const char* name, std::uint32_t cols, std::uint32_t rows) {
    add_tiny_matrix(w, random, blk + name, s.weights, cols, rows, 0.5f, s.experts);
  };
  // Logits lie far apart, so that rounding moves few choices.
  add_tiny_matrix(w, random, blk + "ffn_gate_inp.weight", DType::f32, s.width, s.experts, 2.0f);
  matrices("ffn_gate_exps.weight", s.width, s.ff);
  matrices("ffn_up_exps.weight", s.width, s.ff);
  matrices("ffn_down_exps.weight", s.ff, s.width);
  if (s.family == "gpt-oss") {
    add_tiny_vector(w, random, blk + "ffn_gate_inp.bias", s.experts, 0.0f, 0.5f);
    for (const auto& [name, size] :
         {std::pair{"ffn_gate_exps.bias", s.ff}, {"ffn_up_exps.bias", s.ff}, {"ffn_down_exps.bias", s.width}})
      add_tiny_matrix(w, random, blk + name, DType::f32, size, s.experts, 0.5f);
  }
  if (s.shared_ff == 0) return;
  add_tiny_matrix(w, random, blk + "ffn_gate_shexp.weight", s.weights, s.width, s.shared_ff, 0.5f);
  add_tiny_matrix(w, random, blk + "ffn_up_shexp.weight", s.weights, s.width, s.shared_ff, 0.5f);
  add_tiny_matrix(w, random, blk + "ffn_down_shexp.weight", s.weights, s.shared_ff, s.width, 0.5f);
  if (s.family == "qwen2moe") add_tiny_vector(w, random, blk + "ffn_gate_inp_shexp.weight", s.width, 0.0f, 0.5f);
}

/// <unk>, <s>, </s>, all bytes, words. Returns how many.
ZRT_COLD inline std::uint32_t add_tiny_text(GgufWriter& w) {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types{2, 3, 3};
  for (unsigned byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    tokens.emplace_back(text);
    types.push_back(6);
  }
  for (const char* word : {"\xe2\x96\x81",
                           "a",
                           "b",
                           "c",
                           "ab",
                           "abc",
                           "\xe2\x96\x81the",
                           "\xe2\x96\x81of",
                           "\xe2\x96\x81king",
                           "he",
                           "th",
                           "\n",
                           ".",
                           ",",
                           "s",
                           "t",
                           "e",
                           "o",
                           "n",
                           "i",
                           "r",
                           "\xc3\xa9",
                           "st",
                           "er",
                           "in",
                           "on",
                           "an"}) {
    tokens.emplace_back(word);
    types.push_back(1);
  }
  while (tokens.size() % 32 != 0) {
    tokens.push_back("word" + std::to_string(tokens.size()));
    types.push_back(1);
  }
  std::vector<float> scores;
  for (std::size_t i = 0; i < tokens.size(); ++i) scores.push_back(-static_cast<float>(i));
  const auto count = static_cast<std::uint32_t>(tokens.size());
  w.add("tokenizer.ggml.model", "llama");
  w.add_array("tokenizer.ggml.tokens", tokens);
  w.add_array("tokenizer.ggml.scores", scores);
  w.add_array("tokenizer.ggml.token_type", types);
  w.add("tokenizer.ggml.bos_token_id", std::uint32_t{1});
  w.add("tokenizer.ggml.eos_token_id", std::uint32_t{2});
  w.add("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  return count;
}

/// What a model with recurrent layers says of them. Their inner size is twice the width.
ZRT_COLD inline void add_tiny_mixer_keys(GgufWriter& w, const TinySpec& s) {
  const std::string family(s.family);
  const auto number = [&](const char* key, std::uint32_t value) { w.add(family + "." + key, value); };
  if (s.family == "lfm2") return number("shortconv.l_cache", 3);
  number("ssm.conv_kernel", 4);
  number("ssm.inner_size", 2 * s.width);
  number("ssm.state_size", 16);
  number("ssm.time_step_rank", s.family == "mamba" ? 32 : 4);
  if (s.family != "mamba") number("ssm.group_count", 2);
  if (s.family == "granitehybrid") {
    w.add(family + ".embedding_scale", 4.0f);
    w.add(family + ".residual_scale", 0.5f);
    w.add(family + ".attention.scale", 0.5f);
    w.add(family + ".logit_scale", 2.0f);
    w.add(family + ".rope.scaling.finetuned", false);
  }
  if (s.family == "qwen35") {
    number("full_attention_interval", 2);
    // The fourth of four pairs does not turn.
    w.add_array(family + ".rope.dimension_sections", std::vector<std::uint32_t>{1, 2, 1, 0});
  }
}

/// The tensors of a recurrent layer, without its norm. `matrix` and `row` add a tensor as tiny_model does.
template <class Matrix, class Row>
ZRT_COLD void add_tiny_mixer(GgufWriter& w, TinyRandom& random, const TinySpec& s, const std::string& blk,
                             const Matrix& matrix, const Row& row) {
  const std::uint32_t width = s.width, inner = 2 * s.width;
  // Tables that are f32 in files of every type.
  const auto table = [&](const char* name, std::vector<std::uint64_t> dims, float middle, float spread) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < dims[0] * (dims.size() > 1 ? dims[1] : 1); ++i)
      values.push_back(middle + spread * random.signed_unit());
    w.add_f32(blk + name, dims, values);
  };
  if (s.family == "lfm2") {
    table("shortconv.conv.weight", {3, width}, 0.0f, 1.0f);
    matrix(blk + "shortconv.in_proj.weight", width, 3 * width, 0.5f);
    matrix(blk + "shortconv.out_proj.weight", width, width, 0.5f);
    return;
  }
  if (s.family == "mamba") {
    matrix(blk + "ssm_in.weight", width, 2 * inner, 0.5f);
    table("ssm_conv1d.weight", {4, inner}, 0.0f, 0.75f);
    row(blk + "ssm_conv1d.bias", inner, 0.0f, 0.5f);
    matrix(blk + "ssm_x.weight", inner, 32 + 2 * 16, 0.25f);
    matrix(blk + "ssm_dt.weight", 32, inner, 0.25f);
    row(blk + "ssm_dt.bias", inner, 0.0f, 0.5f);
    table("ssm_a", {16, inner}, -1.0f, 0.75f);
    row(blk + "ssm_d", inner, 0.5f, 0.5f);
  } else if (s.family == "qwen35") {
    matrix(blk + "attn_qkv.weight", width, 2 * 2 * 16 + inner, 0.5f);
    matrix(blk + "attn_gate.weight", width, inner, 0.5f);
    table("ssm_conv1d.weight", {4, 2 * 2 * 16 + inner}, 0.0f, 0.75f);
    row(blk + "ssm_dt.bias", 4, 0.0f, 0.5f);
    row(blk + "ssm_a", 4, -1.0f, 0.75f);
    matrix(blk + "ssm_beta.weight", width, 4, 0.5f);
    matrix(blk + "ssm_alpha.weight", width, 4, 0.5f);
    row(blk + "ssm_norm.weight", inner / 4, 1.0f, 0.5f);
  } else {
    const std::uint32_t channels = inner + 2 * 2 * 16;
    matrix(blk + "ssm_in.weight", width, inner + channels + 4, 0.5f);
    table("ssm_conv1d.weight", {4, channels}, 0.0f, 0.75f);
    row(blk + "ssm_conv1d.bias", channels, 0.0f, 0.5f);
    row(blk + "ssm_dt.bias", 4, 0.0f, 0.5f);
    table("ssm_a", {1, 4}, -1.0f, 0.75f);
    table("ssm_d", {1, 4}, 0.5f, 0.5f);
    table("ssm_norm.weight", {inner / 2, 2}, 1.0f, 0.5f);
  }
  matrix(blk + "ssm_out.weight", inner, width, 0.5f);
}

}  // namespace detail

/// Writes the file; the same spec gives the same bytes.
[[nodiscard]] ZRT_COLD inline ModelFile tiny_model(const TinySpec& s) {
  GgufWriter w;
  TinyRandom random(s.seed);
  const std::string family(s.family);
  w.add("general.architecture", family);
  w.add("general.name", std::string(s.name));
  const std::uint32_t vocabulary = s.text ? detail::add_tiny_text(w) : s.vocabulary;
  if (!s.text) w.add("tokenizer.ggml.model", "no_vocab");
  const auto number = [&](const char* key, std::uint32_t value) { w.add(family + "." + key, value); };
  number("vocab_size", vocabulary);
  number("context_length", s.context);
  number("embedding_length", s.width);
  number("block_count", s.layers);
  const auto of_layer = [&](std::uint32_t value, std::uint32_t layer) {
    return s.by_layer && layer % 2 == 1 ? value / 2 : value;
  };
  const auto by_layer = [&](const char* key, std::uint32_t value) {
    if (!s.by_layer) return number(key, value);
    std::vector<std::uint32_t> values;
    for (std::uint32_t layer = 0; layer < s.layers; ++layer) values.push_back(of_layer(value, layer));
    w.add_array(family + "." + key, values);
  };
  if (has_mlp(s)) {
    by_layer("feed_forward_length", s.ff);
    if (s.experts != 0) {
      number("expert_count", s.experts);
      number("expert_used_count", s.experts_used);
      number("expert_feed_forward_length", s.ff);
      if (s.shared_ff != 0) number("expert_shared_feed_forward_length", s.shared_ff);
    }
    number("attention.head_count", s.heads);
    if (family == "granitehybrid" || family == "lfm2") {
      std::vector<std::uint32_t> kv_heads;
      for (std::uint32_t layer = 0; layer < s.layers; ++layer)
        kv_heads.push_back(is_recurrent(s, layer) ? 0 : s.kv_heads);
      w.add_array(family + ".attention.head_count_kv", kv_heads);
    } else {
      by_layer("attention.head_count_kv", s.kv_heads);
    }
    number("attention.key_length", s.key_dim);
    number("attention.value_length", s.key_dim);
    number("rope.dimension_count", s.key_dim);
    w.add(family + ".rope.freq_base", s.rope == TinyRope::factors ? 500000.0f : 10000.0f);
  } else {
    number("feed_forward_length", 0);
    number("attention.head_count", 0);
  }
  w.add(family + ".attention.layer_norm_rms_epsilon", 1e-5f);
  if (is_recurrent(s, 0)) detail::add_tiny_mixer_keys(w, s);
  if (s.rope == TinyRope::linear || s.rope == TinyRope::yarn) {
    w.add(family + ".rope.scaling.type", s.rope == TinyRope::linear ? "linear" : "yarn");
    w.add(family + ".rope.scaling.factor", 4.0f);
    number("rope.scaling.original_context_length", s.context / 4);
  }
  if (family == "granitemoe") {
    w.add(family + ".embedding_scale", 3.0f);
    w.add(family + ".residual_scale", 0.5f);
    w.add(family + ".attention.scale", 0.25f);
    w.add(family + ".logit_scale", 2.0f);
  }
  const bool gemma = family == "gemma2" || family == "gemma3";
  const bool phi = family == "phi3";
  if (s.window != 0) {
    number("attention.sliding_window", s.window);
    if (family == "gemma3") number("attention.sliding_window_pattern", 2);
  }
  if (family == "gemma2") {
    w.add(family + ".attn_logit_softcapping", 5.0f);
    w.add(family + ".final_logit_softcapping", 3.0f);
  }
  if (phi && s.rope == TinyRope::factors) {
    number("rope.scaling.original_context_length", s.context / 4);
    w.add(family + ".rope.scaling.attn_factor", 1.25f);
  }

  const auto matrix = [&](const std::string& name, std::uint32_t cols, std::uint32_t rows, float scale) {
    detail::add_tiny_matrix(w, random, name, s.weights, cols, rows, scale);
  };
  const auto row = [&](const std::string& name, std::uint32_t size, float middle, float spread) {
    detail::add_tiny_vector(w, random, name, size, middle, spread);
  };
  const auto rows = static_cast<std::uint32_t>(static_cast<int>(vocabulary) + s.spare_rows);
  matrix("token_embd.weight", s.width, rows, 1.0f);
  if (!s.tied) matrix("output.weight", s.width, rows, 0.75f);
  row(family == "lfm2" ? "token_embd_norm.weight" : "output_norm.weight", s.width, 1.0f, 0.5f);
  if (s.rope == TinyRope::factors)
    row(phi ? "rope_factors_long.weight" : "rope_freqs.weight", s.key_dim / 2, 4.0f, 3.0f);
  const std::uint32_t q = s.heads * s.key_dim;
  for (std::uint32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    row(blk + "attn_norm.weight", s.width, 1.0f, 0.5f);
    const std::uint32_t kv = of_layer(s.kv_heads, layer) * s.key_dim;
    const std::uint32_t ff = of_layer(s.ff, layer);
    if (is_recurrent(s, layer)) {
      detail::add_tiny_mixer(w, random, s, blk, matrix, row);
    } else if (phi) {
      matrix(blk + "attn_qkv.weight", s.width, q + 2 * kv, 0.5f);
    } else {
      // Beside each query of qwen35 lies a gate as long.
      matrix(blk + "attn_q.weight", s.width, family == "qwen35" ? 2 * q : q, 0.5f);
      matrix(blk + "attn_k.weight", s.width, kv, 0.5f);
      matrix(blk + "attn_v.weight", s.width, kv, 0.5f);
    }
    if (s.biases) {
      row(blk + "attn_q.bias", q, 0.0f, 0.5f);
      row(blk + "attn_k.bias", kv, 0.0f, 0.5f);
      row(blk + "attn_v.bias", kv, 0.0f, 0.5f);
    }
    if (!is_recurrent(s, layer)) matrix(blk + "attn_output.weight", q, s.width, 0.5f);
    const bool all_biases = s.biases && (s.family == "llama" || s.family == "gpt-oss");
    if (all_biases) row(blk + "attn_output.bias", s.width, 0.0f, 0.5f);
    if (s.family == "gpt-oss") row(blk + "attn_sinks.weight", s.heads, 0.0f, 1.0f);
    if (gemma) {
      row(blk + "post_attention_norm.weight", s.width, 1.0f, 0.5f);
      row(blk + "post_ffw_norm.weight", s.width, 1.0f, 0.5f);
    }
    if (s.family == "qwen3" || s.family == "qwen3moe" || s.family == "gemma3" ||
        ((s.family == "lfm2" || s.family == "qwen35") && !is_recurrent(s, layer))) {
      row(blk + "attn_q_norm.weight", s.key_dim, 1.0f, 0.5f);
      row(blk + "attn_k_norm.weight", s.key_dim, 1.0f, 0.5f);
    }
    if (!has_mlp(s)) continue;
    row(blk + (family == "qwen35" || family == "gpt-oss" ? "post_attention_norm.weight" : "ffn_norm.weight"), s.width,
        1.0f, 0.5f);
    if (s.experts != 0) {
      detail::add_tiny_experts(w, random, s, blk);
      continue;
    }
    if (!phi) matrix(blk + "ffn_gate.weight", s.width, ff, 0.5f);
    matrix(blk + "ffn_up.weight", s.width, phi ? 2 * ff : ff, 0.5f);
    matrix(blk + "ffn_down.weight", ff, s.width, 0.5f);
    if (all_biases) {
      row(blk + "ffn_gate.bias", ff, 0.0f, 0.5f);
      row(blk + "ffn_up.bias", ff, 0.0f, 0.5f);
      row(blk + "ffn_down.bias", s.width, 0.0f, 0.5f);
    }
  }
  if (s.more != nullptr) s.more(w);
  return ModelFile(w.build());
}

/// Ids that a model of `vocabulary` ids can read; the same seed gives the same ids.
[[nodiscard]] inline std::vector<std::int32_t> tiny_prompt(std::uint32_t vocabulary, std::size_t count,
                                                           std::uint64_t seed) {
  TinyRandom random(seed);
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random.below(vocabulary)));
  return ids;
}

}  // namespace zrt::test
