// SPDX-License-Identifier: Apache-2.0
// zrt/ops/mla_kv_write.hpp: the latent vector and the rotated key of multi-head latent attention, into their page.
#pragma once

#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/rope.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct MlaKvWriteParams {
  float eps = 1e-6f;
  std::uint32_t latent = 0;  ///< dims of the latent vector
  RopeParams rope{};         ///< of the key that all heads share; head_dim is its length

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MlaKvWriteParams::eps, "eps"}, Member{&MlaKvWriteParams::latent, "latent"},
                 Member{&MlaKvWriteParams::rope, "rope"});
};

/// Writes c = rms_norm(x's first `latent` dims) as the value, and (rope(x's rest), c) as the key of one head.
///
/// x f32 [T, latent + rope.head_dim], positions si32 [T]; weights norm f32 [latent] and factors as in rope.
/// Source: DeepSeek-AI, "DeepSeek-V2", section 2.1.
struct MlaKvWrite {
  using Params = MlaKvWriteParams;
  static constexpr Opcode opcode{110};
  static constexpr std::string_view name = "mla_kv_write";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"positions"}});
  static constexpr auto output_roles = kNoRoles;
  static constexpr auto weight_roles = std::to_array({Role{"norm"}, Role{"factors", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;

  /// Bounds the row that kernels put together.
  static constexpr std::uint32_t kMaxKeyDim = 1024;

  [[nodiscard]] static constexpr std::uint32_t key_dim(const Params& p) noexcept { return p.latent + p.rope.head_dim; }

  static constexpr Result<void> infer(const TypeCall<MlaKvWrite>& c, OutputTypes<MlaKvWrite>&) noexcept {
    using Self = MlaKvWrite;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = Rope::check<Self>(p.rope, c.in[1], c.w[1]); !r) return r;
    if (p.latent == 0 || p.latent > kMaxKeyDim || p.rope.head_dim > kMaxKeyDim - p.latent)
      return bad_params<Self>("latent must be above 0, and the key's dims at most 1024");
    if (!(p.eps >= 0.0f)) return bad_params<Self>("eps must not be negative");
    const Shape& x = c.in[0].type.shape;
    if (x.rank != 2 || x[1] != Dim(key_dim(p)) || x[0] != c.in[1].type.shape[0])
      return bad_shape<Self>("x", "[tokens, latent + rope.head_dim], as many tokens as positions", x);
    if (auto r = expect_vector<Self>(c.w[0], "norm", p.latent, true); !r) return r;
    return expect_kv<Self>(c.state, 1, key_dim(p), p.latent);
  }

  static void reference(const HostCall<MlaKvWrite>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    const std::uint32_t turned = p.rope.head_dim;
    std::array<float, Rope::kMaxPairs> frequency;
    for (std::uint32_t i = 0; i < p.rope.n_rot / 2; ++i)
      frequency[i] = rope_frequency(p.rope, c.w[1].present() ? c.w[1].f32() : nullptr, i);
    std::array<float, kMaxKeyDim> key;
    Rope::Angles angles;
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * key_dim(p);
      std::memcpy(key.data(), x + p.latent, turned * sizeof(float));
      Rope::angles(p.rope, frequency.data(), rope_magnitude(p.rope),
                   static_cast<std::uint32_t>(c.in[1].as<std::int32_t>()[t]), angles);
      Rope::rotate(p.rope, angles, key.data());
      RmsNorm::run({p.eps, 0.0f, p.latent}, x, c.w[0].f32(), key.data() + turned);
      KvWriteBatched::write_row(c.state, step, t, key.data(), key.data() + turned);
    }
  }
};
static_assert(Op<MlaKvWrite>);

}  // namespace zrt::inline ZRT_ABI::ops
