// SPDX-License-Identifier: Apache-2.0
// zrt/model/neutral_keys.hpp: metadata that changes the arithmetic is refused unless the family reads it.
#pragma once

#include <zrt/model/config.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::model {

namespace detail {

/// A key "<architecture>.<name>" of arithmetic that no family has; 0 is without it.
struct NeutralKey {
  std::string_view name;
  bool scale = false;  ///< a factor, for which 1 changes nothing either
};

/// Keys of GGUF that change what a decoder computes, but for those that a condition of their own decides.
inline constexpr auto kNeutralKeys = std::to_array<NeutralKey>({
    {"attention.clamp_kqv"},
    {"attention.max_alibi_bias"},
    {"attention.output_scale", true},
    {"attention.shared_kv_layers"},
    {"attention.temperature_scale"},
    {"attn_logit_softcapping"},
    {"embedding_scale", true},
    {"final_logit_softcapping"},
    {"logit_scale", true},
    {"no_rope_layer_step"},
    {"residual_scale", true},
    {"rope.scaling.yarn_log_multiplier"},
    {"swin_norm"},
    {"use_parallel_residual"},
});

/// A number or a truth value as a number.
[[nodiscard]] inline Result<double> number_of(const GgufValue& value, std::string_view key) noexcept {
  if (value.type() == GgufValueType::f32 || value.type() == GgufValueType::f64) return value.as<double>(key);
  if (value.type() == GgufValueType::boolean) {
    auto flag = value.as<bool>(key);
    if (!flag) return pass(flag);
    return *flag ? 1.0 : 0.0;
  }
  auto count = value.as<std::int64_t>(key);
  if (!count) return pass(count);
  return static_cast<double>(*count);
}

}  // namespace detail

/// Refuses a file whose metadata asks for arithmetic that its family does not compute: what kNeutralKeys lists (caps
/// and scales of logits, scores, residuals and embeddings, biases by distance, layers that differ), attention to later
/// tokens, or an attention window shorter than `context`, the positions of a sequence.
///
/// Passes a key whose value changes nothing, and every key of `own`, which the family reads itself. `key_dim` is the
/// width of a head's keys; scores are scaled by its inverse root.
/// Errors: Errc::unimplemented naming the key and what is expected; invalid_metadata for another type.
[[nodiscard]] inline Result<void> expect_neutral_keys(const GgufFile& file, std::string_view architecture,
                                                      std::uint32_t key_dim, std::uint32_t context,
                                                      Span<const std::string_view> own = {}) noexcept {
  const auto expect = [&](std::string_view key, std::string_view expected, auto&& holds) noexcept -> Result<void> {
    const Name full = Name::of(architecture, ".", key);
    const GgufValue* value = file.find(full.view());
    if (value == nullptr || detail::is_own(own, key)) return {};
    auto number = detail::number_of(*value, full.view());
    if (!number) return pass(number);
    if (holds(*number)) return {};
    return fail(Errc::unimplemented, full.view(), " changes what the model computes, but its family does not ",
                "read it; expected ", expected);
  };
  for (const detail::NeutralKey& key : detail::kNeutralKeys) {
    const auto neutral = [&](double x) { return x == 0.0 || (key.scale && x == 1.0); };
    if (auto r = expect(key.name, key.scale ? "0 or 1" : "0", neutral); !r) return r;
  }
  if (auto r = expect("attention.causal", "true", [](double x) { return x != 0.0; }); !r) return r;
  const auto usual = [&](double x) {
    const double square = x * x * static_cast<double>(key_dim);
    return x == 0.0 || (x > 0.0 && square > 0.99999 && square < 1.00001);
  };
  if (auto r = expect("attention.scale", "0 or the inverse root of the key length", usual); !r) return r;
  const Name enough = Name::of("0 or at least the ", context, " positions of a slot");
  return expect("attention.sliding_window", enough.view(), [&](double x) { return x <= 0.0 || x >= context; });
}

}  // namespace zrt::inline ZRT_ABI::model
