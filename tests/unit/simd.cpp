// SPDX-License-Identifier: Apache-2.0
// tests/unit/simd.cpp: every lane operation and elementary function gives the same bits in every variant.
// test-set: smoke brief
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/core/elementary.hpp>
#include <zrt/quant/types.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace zrt::inline ZRT_ABI::cpu {

// What the integer helpers of one variant computed.
struct IntegerProbe {
  std::int32_t dot4[16], dot4_unsigned[16], splat[16], widened[16];
  std::int32_t sum, largest;
  std::uint32_t positive;  ///< bit j: dot4[j] is above 0
};

// The functions of tests/unit/simd_probe.inc.hpp, compiled for one variant.
struct ProbeSet {
  Isa isa;
  void (*const* operations)(const float* a, const float* b, const float* c, float* out) noexcept;
  std::size_t operation_count;
  void (*copy_first)(const float* in, std::size_t count, float* all, float* out) noexcept;
  void (*narrow)(const float* x, std::uint16_t* f16, std::uint16_t* bf16) noexcept;
  void (*widen)(const std::uint16_t* halves, float* f16, float* bf16) noexcept;
  float (*dot16)(const float* a, const float* b, std::size_t n) noexcept;
  void (*integers)(const std::int8_t* a, const std::int8_t* b, IntegerProbe& out) noexcept;
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <unit/simd_probe.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

namespace {

namespace cpu = zrt::cpu;
namespace math = zrt::math;
namespace quant = zrt::quant;
using cpu::ProbeSet;
using zrt::DType;

std::vector<const ProbeSet*> variants() {
  std::vector<const ProbeSet*> sets;
  const cpu::Isa here = cpu::detect_isa();
#if ZRT_HAS_V1
  sets.push_back(&cpu::v1::kProbeSet);
#endif
#if ZRT_HAS_DOTPROD
  if (here >= cpu::Isa::dotprod) sets.push_back(&cpu::dotprod::kProbeSet);
#endif
#if ZRT_HAS_V3
  if (here >= cpu::Isa::v3) sets.push_back(&cpu::v3::kProbeSet);
#endif
#if ZRT_HAS_V4
  if (here >= cpu::Isa::v4) sets.push_back(&cpu::v4::kProbeSet);
#endif
  return sets;
}

// Edge values first, then random bits, then random values of ordinary size.
std::vector<float> values(std::uint32_t seed, std::size_t count) {
  std::vector<float> x{0.0f,
                       -0.0f,
                       1.0f,
                       -1.0f,
                       0.5f,
                       -0.5f,
                       1.5f,
                       2.5f,
                       -2.5f,
                       0x1p23f,
                       0x1p23f + 1,
                       -0x1p24f,
                       0x1p31f,
                       -0x1p31f,
                       0x1.fffffep30f,
                       88.72f,
                       88.8f,
                       -87.4f,
                       -103.9f,
                       -104.1f,
                       1e30f,
                       -1e30f,
                       0x1p20f,
                       1e6f,
                       0x1p-126f,
                       0x1p-149f,
                       -0x1p-149f,
                       65504.0f,
                       65520.0f,
                       0x1p-24f,
                       0x1p-25f,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::max(),
                       0.625f,
                       0.925f};
  std::mt19937 random(seed);
  for (std::size_t i = x.size(); i < count; ++i) {
    if (i % 2 == 0) {
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    } else {
      const float unit = static_cast<float>(random() >> 8) * 0x1p-24f;
      x.push_back((unit - 0.5f) * (i % 4 == 1 ? 8.0f : 240.0f));
    }
  }
  // Rotated, so that the edge values meet others under another seed.
  std::vector<float> rotated(count);
  for (std::size_t i = 0; i < count; ++i) rotated[i] = x[(i * (2 * seed + 1) + seed) % count];
  return rotated;
}

// The same bits; NaNs are equal.
testing::AssertionResult same(float a, float b) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hexfloat << a << " is not " << b;
}

constexpr std::size_t kCount = 1 << 14;

#if defined(__x86_64__)
/// Whether the system says that this process may use tiles.
bool grants_tiles() {
#if defined(__linux__)
  constexpr long kGetPermission = 0x1022;  // ARCH_GET_XCOMP_PERM
  std::uint64_t granted = 0;
  return syscall(SYS_arch_prctl, kGetPermission, &granted) == 0 && (granted >> 18 & 1) != 0;
#else
  return false;
#endif
}
#endif

TEST(Simd, DetectsWhatTheCompilerSaysOfTheCpu) {
  EXPECT_FALSE(cpu::name(cpu::detect_isa()).empty());
#if defined(__x86_64__)
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  const cpu::Isa isa = cpu::detect_isa();
  EXPECT_EQ(isa == cpu::Isa::amx, v4 && grants_tiles()) << "detect_isa asked for tiles";
  if (isa != cpu::Isa::amx) {
    EXPECT_EQ(isa, v4 ? cpu::Isa::v4 : v3 ? cpu::Isa::v3 : cpu::Isa::v1);
  }
#endif
  EXPECT_FALSE(variants().empty());
}

using Scalar = float (*)(float, float, float);
constexpr Scalar kScalar[] = {
    [](float a, float b, float) { return a + b; },
    [](float a, float b, float) { return a - b; },
    [](float a, float b, float) { return a * b; },
    [](float a, float b, float) { return a / b; },
    [](float a, float, float) { return -a; },
    [](float a, float b, float c) { return math::fma(a, b, c); },
    [](float a, float, float) { return math::abs(a); },
    [](float a, float, float) { return math::sqrt(a); },
    [](float a, float b, float) { return math::min(a, b); },
    [](float a, float b, float) { return math::max(a, b); },
    [](float a, float b, float) { return math::copysign(a, b); },
    [](float a, float b, float c) { return math::select(math::less(a, b), c, a); },
    [](float a, float b, float c) { return math::select(math::less_equal(a, b), c, a); },
    [](float a, float b, float c) { return math::select(math::equal(a, b), c, a); },
    [](float a, float b, float c) { return math::select(math::is_nan(a), c, b); },
    [](float a, float b, float c) { return math::select(math::both(math::less(a, b), math::less(b, c)), a, b); },
    [](float a, float b, float c) { return math::select(math::either(math::less(a, b), math::less(b, c)), a, b); },
    [](float a, float b, float) { return math::select(math::invert(math::less(a, b)), a, b); },
    [](float a, float, float) { return math::round_even(a); },
    [](float a, float, float) { return math::to_f32(math::to_i32(a)); },
    [](float a, float, float) { return math::to_f32(math::as_i32(a)); },
    [](float a, float b, float) { return math::as_f32(math::iadd(math::as_i32(a), math::as_i32(b))); },
    [](float a, float b, float) { return math::as_f32(math::isub(math::as_i32(a), math::as_i32(b))); },
    [](float a, float b, float) { return math::as_f32(math::iand(math::as_i32(a), math::as_i32(b))); },
    [](float a, float b, float) { return math::as_f32(math::ior(math::as_i32(a), math::as_i32(b))); },
    [](float a, float b, float) { return math::as_f32(math::ixor(math::as_i32(a), math::as_i32(b))); },
    [](float a, float, float) { return math::as_f32(math::shift_left<5>(math::as_i32(a))); },
    [](float a, float, float) { return math::as_f32(math::shift_right<9>(math::as_i32(a))); },
    [](float a, float b, float c) { return math::select(math::iequal(math::as_i32(a), math::as_i32(b)), c, a); },
    [](float a, float b, float c) { return math::select(math::igreater(math::as_i32(a), math::as_i32(b)), c, a); },
    [](float a, float b, float c) {
      return math::as_f32(math::iselect(math::less(a, b), math::as_i32(b), math::as_i32(c)));
    },
    [](float a, float b, float) {
      const float one_to_two = math::as_f32(math::ior(math::iand(math::as_i32(a), 0x007fffff), 0x3f800000));
      const float n = math::max(-160.0f, math::min(160.0f, b));
      return math::scale_pow2(one_to_two, math::to_i32(n != n ? 0.0f : n));
    },
    [](float a, float, float) { return math::exp(a); },
    [](float a, float, float) { return math::log(a); },
    [](float a, float, float) { return math::log1p(math::abs(a)); },
    [](float a, float, float) { return math::sin(a); },
    [](float a, float, float) { return math::cos(a); },
    [](float a, float, float) { return math::tanh(a); },
    [](float a, float, float) { return math::erf(a); },
    [](float a, float b, float) { return math::pow(a, b); },
    [](float a, float, float) { return math::sigmoid(a); },
    [](float a, float, float) { return math::silu(a); },
    [](float a, float, float) { return math::gelu(a); },
    [](float a, float, float) { return math::gelu_tanh(a); },
    [](float a, float, float) { return math::relu2(a); },
    [](float a, float, float) { return math::relu(a); },
    [](float a, float, float) { return math::softplus(a); },
};

TEST(Simd, EveryOperationHasTheBitsOfTheScalarOne) {
  const auto a = values(1, kCount), b = values(2, kCount), c = values(3, kCount);
  for (const ProbeSet* set : variants()) {
    ASSERT_EQ(set->operation_count, std::size(kScalar));
    for (std::size_t op = 0; op < set->operation_count; ++op) {
      for (std::size_t i = 0; i < kCount; i += 16) {
        float out[16];
        set->operations[op](a.data() + i, b.data() + i, c.data() + i, out);
        for (std::size_t j = 0; j < 16; ++j)
          ASSERT_TRUE(same(out[j], kScalar[op](a[i + j], b[i + j], c[i + j])))
              << cpu::name(set->isa) << " operation " << op << " of " << std::hexfloat << a[i + j] << ", " << b[i + j]
              << ", " << c[i + j];
      }
    }
  }
}

TEST(Simd, LoadsAndStoresOfAnyCountStayInside) {
  const auto x = values(4, 64);
  for (const ProbeSet* set : variants()) {
    for (std::size_t count = 0; count <= 16; ++count) {
      std::vector<float> source(x.begin() + 1, x.begin() + 1 + static_cast<std::ptrdiff_t>(count));
      std::vector<float> out(18, 7.0f), all(16, 7.0f);
      set->copy_first(source.data(), count, all.data(), out.data() + 1);
      EXPECT_EQ(out[0], 7.0f);
      for (std::size_t j = 0; j < 16; ++j) {
        EXPECT_TRUE(same(all[j], j < count ? source[j] : 0.0f));
        EXPECT_TRUE(same(out[1 + j], j < count ? source[j] : 7.0f));
      }
    }
  }
}

TEST(Simd, HalvesConvertAsCoreDoes) {
  const auto x = values(5, kCount);
  for (const ProbeSet* set : variants()) {
    for (std::size_t i = 0; i < kCount; i += 16) {
      std::uint16_t f16[16], bf16[16];
      set->narrow(x.data() + i, f16, bf16);
      for (std::size_t j = 0; j < 16; ++j) {
        ASSERT_EQ(f16[j], zrt::to_f16(x[i + j]).bits) << cpu::name(set->isa) << " " << std::hexfloat << x[i + j];
        ASSERT_EQ(bf16[j], zrt::to_bf16(x[i + j]).bits) << cpu::name(set->isa) << " " << std::hexfloat << x[i + j];
      }
    }
    for (std::uint32_t bits = 0; bits < 65536; bits += 16) {
      std::uint16_t halves[16];
      float f16[16], bf16[16];
      for (std::uint32_t j = 0; j < 16; ++j) halves[j] = static_cast<std::uint16_t>(bits + j);
      set->widen(halves, f16, bf16);
      for (std::uint32_t j = 0; j < 16; ++j) {
        ASSERT_TRUE(same(f16[j], zrt::to_f32(zrt::Half{halves[j]})));
        ASSERT_TRUE(same(bf16[j], zrt::to_f32(zrt::BFloat16{halves[j]})));
      }
    }
  }
}

TEST(Simd, Dot16HasTheBitsOfThePlainLoop) {
  std::mt19937 random(6);
  std::vector<float> a(300), b(300);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-28f;
    b[i] = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  }
  for (const ProbeSet* set : variants())
    for (std::size_t n = 0; n <= a.size(); ++n)
      ASSERT_TRUE(same(set->dot16(a.data(), b.data(), n), quant::dot16(a.data(), b.data(), n)))
          << cpu::name(set->isa) << " " << n;
}

TEST(Simd, IntegerDotsAreExactAtTheirExtremes) {
  std::mt19937 random(7);
  std::int8_t a[64], b[64];
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t i = 0; i < 64; ++i) {
      const auto bits = random();
      a[i] = static_cast<std::int8_t>(round % 4 == 0 ? -128 : static_cast<int>(bits & 255));
      b[i] = static_cast<std::int8_t>(round % 3 == 0 ? ((bits & 256) != 0 && round % 2 == 0 ? 127 : -127)
                                                     : static_cast<int>((bits >> 9) % 255) - 127);
    }
    std::int32_t lanes[16], positive[16], largest = INT32_MIN, total = 0;
    std::uint32_t above = 0;
    for (std::size_t j = 0; j < 16; ++j) {
      lanes[j] = positive[j] = static_cast<std::int32_t>(j) - 7;
      for (std::size_t i = 4 * j; i < 4 * j + 4; ++i) {
        lanes[j] += a[i] * b[i];
        positive[j] += (a[i] & 127) * b[i];
      }
      total += lanes[j];
      largest = lanes[j] > largest ? lanes[j] : largest;
      above |= lanes[j] > 0 ? 1u << j : 0u;
    }
    for (const ProbeSet* set : variants()) {
      cpu::IntegerProbe got;
      set->integers(a, b, got);
      for (std::size_t j = 0; j < 16; ++j) {
        ASSERT_EQ(got.dot4[j], lanes[j]) << cpu::name(set->isa);
        ASSERT_EQ(got.dot4_unsigned[j], positive[j]) << cpu::name(set->isa);
        ASSERT_EQ(got.splat[j], a[0] * b[4 * j] + a[1] * b[4 * j + 1] + a[2] * b[4 * j + 2] + a[3] * b[4 * j + 3]);
        ASSERT_EQ(got.widened[j], a[j]);
      }
      ASSERT_EQ(got.sum, total);
      ASSERT_EQ(got.largest, largest);
      ASSERT_EQ(got.positive, above);
    }
  }
}

}  // namespace
