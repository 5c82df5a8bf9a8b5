// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/unroll.inc.hpp: textual fragment: loops that are gone after inlining, and loops over lanes.

template <class F, std::size_t... kIndex>
ZRT_ALWAYS_INLINE void unroll_over(F&& f, std::index_sequence<kIndex...>) noexcept {
  (f(kIndex), ...);
}
/// Calls f(0) .. f(kCount - 1) without a loop, so that arrays indexed by the argument stay in registers.
///
/// `f` must be marked ZRT_UNROLLED.
template <std::size_t kCount, class F> ZRT_ALWAYS_INLINE void unroll(F&& f) noexcept {
  unroll_over(f, std::make_index_sequence<kCount>{});
}

/// y[i] = f(a[i]) for i in first..last-1, sixteen at a time; y may be a.
template <class F>
ZRT_ALWAYS_INLINE void map(const float* a, float* y, std::uint64_t first, std::uint64_t last, F&& f) noexcept {
  std::uint64_t i = first;
  for (; i + 16 <= last; i += 16) store(y + i, f(load(a + i)));
  const std::size_t rest = static_cast<std::size_t>(last - i);
  if (rest != 0) store_first(y + i, f(load_first(a + i, rest)), rest);
}
/// y[i] = f(a[i], b[i]) for i in first..last-1; y may be a or b.
template <class F>
ZRT_ALWAYS_INLINE void map(const float* a, const float* b, float* y, std::uint64_t first, std::uint64_t last,
                           F&& f) noexcept {
  std::uint64_t i = first;
  for (; i + 16 <= last; i += 16) store(y + i, f(load(a + i), load(b + i)));
  const std::size_t rest = static_cast<std::size_t>(last - i);
  if (rest != 0) store_first(y + i, f(load_first(a + i, rest), load_first(b + i, rest)), rest);
}

/// The largest lane of a vector without NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE float largest_lane(F32 a) noexcept {
  // Integers go as floats do once the magnitude bits of negative numbers are flipped.
  const I32 bits = as_i32(a);
  const std::int32_t top = reduce_max(ixor(bits, iand(shift_right<31>(bits), splat_i32(0x7fffffff))));
  return std::bit_cast<float>(top < 0 ? top ^ 0x7fffffff : top);
}
/// The largest of n elements, NaN left out; -infinity if there are none.
[[nodiscard]] inline float largest_of(const float* x, std::uint64_t n) noexcept {
  const F32 lowest = splat(-std::numeric_limits<float>::infinity());
  F32 top[4] = {lowest, lowest, lowest, lowest};
  std::uint64_t i = 0;
  for (; i + 64 <= n; i += 64)
    unroll<4>([&](std::size_t j) ZRT_UNROLLED { top[j] = max(load(x + i + 16 * j), top[j]); });
  for (; i + 16 <= n; i += 16) top[0] = max(load(x + i), top[0]);
  const std::size_t rest = static_cast<std::size_t>(n - i);
  if (rest != 0) top[1] = max(select(first_lanes(rest), load_first(x + i, rest), lowest), top[1]);
  return largest_lane(max(max(top[0], top[1]), max(top[2], top[3])));
}
