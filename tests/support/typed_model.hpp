// SPDX-License-Identifier: Apache-2.0
// tests/support/typed_model.hpp: a small decoder whose matrices are random blocks of one weight type.
#pragma once

#include <zrt/quant/types.hpp>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <support/block_scales.hpp>
#include <tools/gguf_writer.hpp>
#include <vector>

namespace zrt::test {

inline constexpr std::array<std::string_view, 2> kTypedArchitectures{"llama", "qwen3"};
inline constexpr std::uint32_t kTypedVocabulary = 64;

/// Writes the model: every bit of a block is random but for its scales, so that every code, sign and factor of a group
/// comes up. Bytes depend on the arguments alone, on every machine.
class TypedModel {
 public:
  /// Of kTypedArchitectures and quant::OwnTypes.
  TypedModel(std::string_view architecture, DType type)
      : type_(type), random_(static_cast<std::uint32_t>(type) * 256u + static_cast<std::uint32_t>(architecture[0])) {
    const std::string arch(architecture);
    w_.add("general.architecture", arch);
    w_.add("tokenizer.ggml.model", "no_vocab");
    const std::pair<const char*, std::uint32_t> keys[] = {
        {"vocab_size", kTypedVocabulary}, {"context_length", 128},
        {"embedding_length", kWidth},     {"block_count", 1},
        {"feed_forward_length", kWidth},  {"attention.head_count", 4},
        {"attention.head_count_kv", 2},   {"rope.dimension_count", kWidth / 4}};
    for (const auto& [key, value] : keys) w_.add(arch + "." + key, value);
    w_.add(arch + ".attention.layer_norm_rms_epsilon", 1e-5f);
    w_.add(arch + ".rope.freq_base", 10000.0f);
    matrix("token_embd", kTypedVocabulary);
    norm("blk.0.attn_norm", kWidth);
    matrix("blk.0.attn_q", kWidth);
    matrix("blk.0.attn_k", kWidth / 2);
    matrix("blk.0.attn_v", kWidth / 2);
    if (arch == "qwen3") norm("blk.0.attn_q_norm", kWidth / 4);
    if (arch == "qwen3") norm("blk.0.attn_k_norm", kWidth / 4);
    matrix("blk.0.attn_output", kWidth);
    norm("blk.0.ffn_norm", kWidth);
    matrix("blk.0.ffn_gate", kWidth);
    matrix("blk.0.ffn_up", kWidth);
    matrix("blk.0.ffn_down", kWidth);
    norm("output_norm", kWidth);
    matrix("output", kTypedVocabulary);
  }

  [[nodiscard]] Bytes build() const { return w_.build(); }

 private:
  /// Columns of every matrix: one block of 256, or several of the others.
  static constexpr std::uint32_t kWidth = 256;

  /// Uniform in [0, 1).
  float unit() { return static_cast<float>(random_() >> 8) * 0x1p-24f; }

  void norm(const std::string& name, std::uint32_t count) {
    std::vector<float> values(count);
    for (float& x : values) x = 0.75f + 0.5f * unit();
    w_.add_f32(name + ".weight", {count}, values);
  }

  void matrix(const std::string& name, std::uint32_t rows) {
    const std::size_t elems = std::size_t{rows} * kWidth;
    w_.add_tensor(name + ".weight", type_, {kWidth, rows},
                  info(type_).kind == DTypeKind::block ? blocks(elems) : plain(elems));
  }

  Bytes plain(std::size_t elems) {
    Bytes data;
    for (std::size_t i = 0; i < elems; ++i) {
      const float x = (unit() + unit() - 1.0f) * 2.4f * kDeviation;
      if (type_ == DType::f32)
        put(data, x);
      else
        put(data, type_ == DType::f16 ? to_f16(x).bits : to_bf16(x).bits);
    }
    return data;
  }

  Bytes blocks(std::size_t elems) {
    const DTypeInfo& facts = info(type_);
    Bytes data(elems / facts.block_elems * facts.block_bytes);
    for (std::byte& b : data) b = static_cast<std::byte>(random_() >> 24);
    if (type_ == DType::tq2_0)
      for (std::byte& b : data) b = without_threes(b);
    // With a scale of 1, values spread as those of the first block do.
    std::vector<float> values(facts.block_elems);
    set_scales(type_, data.data(), 1.0f, middle());
    quant::find(type_)->dequantise(data.data(), facts.block_elems, values.data());
    double squares = 0;
    for (const float x : values) squares += double{x} * double{x};
    const float scale = kDeviation / static_cast<float>(std::sqrt(squares / facts.block_elems));
    for (std::size_t at = 0; at < data.size(); at += facts.block_bytes) {
      // Scales of both signs: codes whose mean is not zero give rows whose mean is.
      const float sign = random_() >> 31 == 0 ? 1.0f : -1.0f;
      const float d = sign * scale * (0.75f + 0.5f * unit());
      set_scales(type_, data.data() + at, d, middle() * d);
    }
    return data;
  }

  /// A byte of four codes below 3, which no quantiser writes, with 1 for each.
  static std::byte without_threes(std::byte codes) {
    const std::byte threes = codes & (codes >> 1) & std::byte{0x55};
    return codes & ~(threes << 1);
  }

  /// The offset that puts the middle of a block's values at zero, for a scale of 1.
  [[nodiscard]] float middle() const {
    switch (type_) {
      case DType::q4_1:
        return -7.5f;
      case DType::q5_1:
        return -15.5f;
      // Those that follow are subtracted, and have factors of their own.
      case DType::q2_k:
        return 1.5f;
      case DType::q4_k:
        return 7.5f;
      case DType::q5_k:
        return 15.5f;
      default:
        return 0.0f;
    }
  }

  /// Of the weights: a product with a normed row has values near 1.5.
  static constexpr float kDeviation = 1.5f / 16;

  DType type_;
  std::mt19937 random_;
  GgufWriter w_;
};

}  // namespace zrt::test
