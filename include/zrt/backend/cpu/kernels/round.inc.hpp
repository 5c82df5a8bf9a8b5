// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/round.inc.hpp: textual fragment: activations rounded to 8 bits per group, and their sums.

/// Rounds one group as quant::round_group does and sums its integers.
ZRT_ALWAYS_INLINE void round_one_group(const float* x, std::int8_t* q, float& d, std::int32_t& sum) noexcept {
  const F32 low = load(x);
  const F32 high = load(x + 16);
  const I32 magnitude = splat_i32(0x7fffffff);
  const I32 a = iand(as_i32(low), magnitude);
  const I32 b = iand(as_i32(high), magnitude);
  const std::int32_t largest = reduce_max(iselect(igreater(a, b), a, b));
  const float inverse = 127.0f / std::bit_cast<float>(largest);
  const bool finite = largest < 0x7f800000;
  if (!finite || std::bit_cast<std::uint32_t>(inverse) >= 0x7f800000u) {
    store_i8(q, splat_i32(0));
    store_i8(q + 16, splat_i32(0));
    d = finite ? 0.0f : std::bit_cast<float>(0x7fc00000);
    sum = 0;
    return;
  }
  // No bound is needed: a product is at most 127 · (1 + 2^-23), which rounds to 127.
  const I32 first = to_i32(low * splat(inverse));
  const I32 second = to_i32(high * splat(inverse));
  store_i8(q, first);
  store_i8(q + 16, second);
  d = std::bit_cast<float>(largest) / 127.0f;
  sum = reduce_add(iadd(first, second));
}

/// Rounds groups first..last-1 of consecutive rows of whole groups.
inline void round_groups(const float* x, std::uint64_t first, std::uint64_t last, const RowScratch& to) noexcept {
  for (std::uint64_t g = first; g < last; ++g) round_one_group(x + g * kGroup, to.q + g * kGroup, to.d[g], to.sum[g]);
}

/// Rounds all rows into the scratch; groups are split.
inline void round_rows(const RoundArgs& a, const Step& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const Range part = split(std::uint64_t{rows} * (cols / kGroup), 16, worker);
  round_groups(a.x.as<float>(), part.first, part.last, rounded_scratch(worker.scratch.data(), rows, cols));
}
