// SPDX-License-Identifier: Apache-2.0
// tests/unit/simd_probe.inc.hpp: textual fragment, included once per variant: kernels that show each lane operation.

using Operation = void (*)(const float* a, const float* b, const float* c, float* out) noexcept;

#define ZRT_PROBE(expression)                                                  \
  [](const float* pa, const float* pb, const float* pc, float* out) noexcept { \
    const F32 a = load(pa);                                                    \
    [[maybe_unused]] const F32 b = load(pb);                                   \
    [[maybe_unused]] const F32 c = load(pc);                                   \
    store(out, expression);                                                    \
  }

inline F32 scaled(F32 a, F32 b) noexcept {
  const F32 one_to_two = as_f32(ior(iand(as_i32(a), splat_i32(0x007fffff)), splat_i32(0x3f800000)));
  const F32 n = max(splat(-160.0f), min(splat(160.0f), b));
  return scale_pow2(one_to_two, to_i32(select(is_nan(n), splat(0.0f), n)));
}

// In the order of the scalar table in simd.cpp.
inline constexpr Operation kOperations[] = {
    ZRT_PROBE(a + b),
    ZRT_PROBE(a - b),
    ZRT_PROBE(a* b),
    ZRT_PROBE(a / b),
    ZRT_PROBE(-a),
    ZRT_PROBE(fma(a, b, c)),
    ZRT_PROBE(abs(a)),
    ZRT_PROBE(sqrt(a)),
    ZRT_PROBE(min(a, b)),
    ZRT_PROBE(max(a, b)),
    ZRT_PROBE(copysign(a, b)),
    ZRT_PROBE(select(less(a, b), c, a)),
    ZRT_PROBE(select(less_equal(a, b), c, a)),
    ZRT_PROBE(select(equal(a, b), c, a)),
    ZRT_PROBE(select(is_nan(a), c, b)),
    ZRT_PROBE(select(both(less(a, b), less(b, c)), a, b)),
    ZRT_PROBE(select(either(less(a, b), less(b, c)), a, b)),
    ZRT_PROBE(select(invert(less(a, b)), a, b)),
    ZRT_PROBE(round_even(a)),
    ZRT_PROBE(to_f32(to_i32(a))),
    ZRT_PROBE(to_f32(as_i32(a))),
    ZRT_PROBE(as_f32(iadd(as_i32(a), as_i32(b)))),
    ZRT_PROBE(as_f32(isub(as_i32(a), as_i32(b)))),
    ZRT_PROBE(as_f32(iand(as_i32(a), as_i32(b)))),
    ZRT_PROBE(as_f32(ior(as_i32(a), as_i32(b)))),
    ZRT_PROBE(as_f32(ixor(as_i32(a), as_i32(b)))),
    ZRT_PROBE(as_f32(shift_left<5>(as_i32(a)))),
    ZRT_PROBE(as_f32(shift_right<9>(as_i32(a)))),
    ZRT_PROBE(select(iequal(as_i32(a), as_i32(b)), c, a)),
    ZRT_PROBE(select(igreater(as_i32(a), as_i32(b)), c, a)),
    ZRT_PROBE(as_f32(iselect(less(a, b), as_i32(b), as_i32(c)))),
    ZRT_PROBE(scaled(a, b)),
    ZRT_PROBE(exp(a)),
    ZRT_PROBE(log(a)),
    ZRT_PROBE(log1p(abs(a))),
    ZRT_PROBE(sin(a)),
    ZRT_PROBE(cos(a)),
    ZRT_PROBE(tanh(a)),
    ZRT_PROBE(erf(a)),
    ZRT_PROBE(pow(a, b)),
    ZRT_PROBE(sigmoid(a)),
    ZRT_PROBE(silu(a)),
    ZRT_PROBE(gelu(a)),
    ZRT_PROBE(gelu_tanh(a)),
    ZRT_PROBE(relu2(a)),
    ZRT_PROBE(relu(a)),
    ZRT_PROBE(softplus(a)),
};
#undef ZRT_PROBE

inline void copy_first(const float* in, std::size_t count, float* all, float* out) noexcept {
  const F32 x = load_first(in, count);
  store(all, select(first_lanes(count), x, x + splat(0.0f)));
  store_first(out, x, count);
}
inline void narrow(const float* x, std::uint16_t* f16, std::uint16_t* bf16) noexcept {
  store_f16(f16, load(x));
  store_bf16(bf16, load(x));
}
inline void widen(const std::uint16_t* halves, float* f16, float* bf16) noexcept {
  store(f16, load_f16(halves));
  store(bf16, load_bf16(halves));
}
inline float dot16(const float* a, const float* b, std::size_t n) noexcept {
  F32 lanes = splat(0.0f);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) lanes = fma(load(a + i), load(b + i), lanes);
  if (i < n) lanes = fma(load_first(a + i, n - i), load_first(b + i, n - i), lanes);
  return reduce_tree(lanes);
}
inline void integers(const std::int8_t* a, const std::int8_t* b, IntegerProbe& out) noexcept {
  alignas(64) std::int32_t starts[16];
  std::int8_t positive[64];
  for (int j = 0; j < 16; ++j) starts[j] = j - 7;
  for (int j = 0; j < 64; ++j) positive[j] = static_cast<std::int8_t>(a[j] & 127);
  const I32 start = load_i32(starts);
  const I32 sums = dot4(start, load_i8x64(a), load_i8x64(b));
  store_i32(out.dot4, sums);
  store_i32(out.dot4_unsigned, dot4_unsigned(start, load_i8x64(positive), load_i8x64(b)));
  store_i32(out.splat, dot4(splat_i32(0), splat_i8x4(a), load_i8x64(b)));
  store_i32(out.widened, load_i8(a));
  out.sum = reduce_add(sums);
  out.largest = reduce_max(sums);
  out.positive = lane_bits(igreater(sums, splat_i32(0)));
}
inline constexpr ProbeSet kProbeSet = {
    kIsa, kOperations, sizeof kOperations / sizeof kOperations[0], copy_first, narrow, widen, dot16, integers,
};
