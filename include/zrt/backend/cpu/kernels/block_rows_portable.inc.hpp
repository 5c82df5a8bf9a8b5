// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/block_rows_portable.inc.hpp: textual fragment: blocks of sixteen weight rows at once, in plain C++, and their meaning.

/// What is added to a weight's byte in a panel.
inline constexpr int kPanelBias = 0;

/// Writes eight words of four bytes, from `at` on, of sixteen rows as [8][16 rows].
ZRT_ALWAYS_INLINE void words_of_rows(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, rows[r] + at + i * 4, 4);
}

/// Q8_0: 2 bytes of scale, 32 signed bytes.
struct Q8Rows {
  static constexpr std::size_t kBytes = 34;
  /// What `sums` counts too much, times the sum of the activations.
  static constexpr std::int32_t kExcess = 0;

  /// Lane r: the exact sum over the block at rows[r] + at, plus kExcess times the sum of x.
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return from_lanes<I32>([&](std::size_t r) { return dot_i8x32(rows[r] + at + 2, x); });
  }
  /// Writes the block's integers plus kPanelBias as [8][16 rows][4].
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t r = 0; r < 16; ++r)
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, rows[r] + at + 2 + i * 4, 4);
  }
};

/// Q4_0: 2 bytes of scale, 16 bytes of halves.
struct Q4Rows {
  static constexpr std::size_t kBytes = 18;
  static constexpr std::int32_t kExcess = 0;

  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return from_lanes<I32>([&](std::size_t r) { return dot_nibbles32(rows[r] + at + 2, x); });
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t r = 0; r < 16; ++r) {
      std::int8_t q[32];
      quant::Layout<DType::q4_0>::unpack(rows[r] + at, q);
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, q + i * 4, 4);
    }
  }
};
