// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/turns.hpp: the rotation of a head by its position.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_TURNS)
#define ZRT_BACKEND_CPU_KERNELS_TURNS

#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/backend/cpu/recorder.hpp>
#include <zrt/ops/rope.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// Computes a rotation's angles per position, padded to whole lanes, in memory of the program.
[[nodiscard]] inline Result<const float*> rope_table(Recorder& r, const ops::RopeParams& p,
                                                     const HostWeight& factors) noexcept {
  const std::uint32_t pairs = p.n_rot / 2;
  if (pairs == 0) return nullptr;
  auto memory = r.table(align_up(pairs, 16) * sizeof(float));
  if (!memory) return pass(memory);
  auto* frequency = reinterpret_cast<float*>(memory->data());
  for (std::uint32_t i = 0; i < pairs; ++i) frequency[i] = ops::rope_frequency(p, factors.f32(), i);
  return frequency;
}

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/turns.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// What the pairs of a head are multiplied by at one position.
///
/// neox: `a` is cos and `b` sin of each pair. interleaved: `a` is (cos, sin) and `b` (-sin, cos), pair
/// after pair, so that y = fma(first, a, second · b) is both outputs.
struct Turns {
  alignas(64) float a[2 * ops::Rope::kMaxPairs];
  alignas(64) float b[2 * ops::Rope::kMaxPairs];
};

ZRT_NOINLINE inline void turns_at(const ops::RopeParams& p, const float* frequency, float magnitude,
                                  std::uint32_t position, Turns& turns) noexcept {
  const std::uint32_t half = p.n_rot / 2;
  const F32 at = splat(static_cast<float>(position));
  const F32 scale = splat(magnitude);
  for (std::uint32_t i = 0; i < half; i += 16) {
    const SinCos wave = sincos(sealed(at * load(frequency + i)));
    const F32 cosine = wave.cos * scale;
    const F32 sine = wave.sin * scale;
    if (p.style == ops::RopeStyle::neox) {
      store(turns.a + i, cosine);
      store(turns.b + i, sine);
      continue;
    }
    float c[16];
    float s[16];
    store(c, cosine);
    store(s, sine);
    for (std::size_t j = 0; j < 16; ++j) {
      turns.a[2 * (i + j)] = c[j];
      turns.a[2 * (i + j) + 1] = s[j];
      turns.b[2 * (i + j)] = -s[j];
      turns.b[2 * (i + j) + 1] = c[j];
    }
  }
}

/// Rotates one head; y may be x. Dims that do not rotate are copied.
ZRT_NOINLINE inline void rotate_head(const ops::RopeParams& p, const Turns& turns, const float* x, float* y) noexcept {
  const std::uint32_t half = p.n_rot / 2;
  if (p.style == ops::RopeStyle::neox) {
    for (std::uint32_t i = 0; i < half; i += 16) {
      const std::size_t count = half - i < 16 ? half - i : 16;
      const F32 x0 = load_first(x + i, count);
      const F32 x1 = load_first(x + half + i, count);
      const F32 cosine = load(turns.a + i);
      const F32 sine = load(turns.b + i);
      store_first(y + i, fma(x0, cosine, -(x1 * sine)), count);
      store_first(y + half + i, fma(x0, sine, x1 * cosine), count);
    }
  } else {
    for (std::uint32_t i = 0; i < p.n_rot; i += 16) {
      const std::size_t count = p.n_rot - i < 16 ? p.n_rot - i : 16;
      const F32 pairs = load_first(x + i, count);
      store_first(y + i, fma(even_twice(pairs), load(turns.a + i), odd_twice(pairs) * load(turns.b + i)), count);
    }
  }
  if (x != y && p.n_rot < p.head_dim) std::memcpy(y + p.n_rot, x + p.n_rot, (p.head_dim - p.n_rot) * sizeof(float));
}

#endif
