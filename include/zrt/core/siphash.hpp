// SPDX-License-Identifier: Apache-2.0
// zrt/core/siphash.hpp: SipHash-2-4, a keyed hash whose collisions nobody finds without the key.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// 128 bits that a host draws at random and keeps to itself.
struct SipKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Hashes 64-bit words, which stand for their little-endian bytes.
///
/// Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF" (2012).
class SipHash {
 public:
  explicit constexpr SipHash(SipKey key) noexcept
      : a_(key.low ^ 0x736f6d6570736575u),
        b_(key.high ^ 0x646f72616e646f6du),
        c_(key.low ^ 0x6c7967656e657261u),
        d_(key.high ^ 0x7465646279746573u) {}

  constexpr void add(std::uint64_t word) noexcept {
    d_ ^= word;
    round();
    round();
    a_ ^= word;
    ++words_;
  }

  /// `tail` holds the last `bytes` (0 to 7) of the text.
  [[nodiscard]] constexpr std::uint64_t finish(std::uint64_t tail = 0, std::uint64_t bytes = 0) noexcept {
    add(((words_ * 8 + bytes) << 56) | tail);
    c_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t turn(std::uint64_t x, int by) noexcept {
    return (x << by) | (x >> (64 - by));
  }
  constexpr void round() noexcept {
    a_ += b_;
    c_ += d_;
    b_ = turn(b_, 13) ^ a_;
    d_ = turn(d_, 16) ^ c_;
    a_ = turn(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = turn(b_, 17) ^ c_;
    d_ = turn(d_, 21) ^ a_;
    c_ = turn(c_, 32);
  }

  std::uint64_t a_;
  std::uint64_t b_;
  std::uint64_t c_;
  std::uint64_t d_;
  std::uint64_t words_ = 0;
};

// The paper's example: key 00 01 .. 0f, text 00 01 .. 0e.
static_assert([] {
  SipHash hash({0x0706050403020100u, 0x0f0e0d0c0b0a0908u});
  hash.add(0x0706050403020100u);
  return hash.finish(0x000e0d0c0b0a0908u, 7);
}() == 0xa129ca6149be45e5u);

}  // namespace zrt::inline ZRT_ABI
