// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/numerics_probe.hpp: what a device's arithmetic gives, compared with the host's bits.
#pragma once

#include <zrt/backend/vulkan/memory.hpp>
#include <zrt/backend/vulkan/numerics.hpp>
#include <zrt/backend/vulkan/one_off.hpp>
#include <zrt/core/half.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/core/philox.hpp>
#include <zrt/core/rounding_mode.hpp>

#include <bit>
#include <cmath>

namespace zrt::inline ZRT_ABI::vulkan {

/// The kernel that computes them.
inline constexpr std::string_view kProbeName = "numerics_probe";

/// An expression that the probe's kernel computes, by its place among the results of a triple.
enum class Probed : std::uint8_t { sum, product, unfused, fused, chain, quotient, root, half };
inline constexpr std::size_t kProbed = 8;
/// How many results of each expression differ from the host's.
using Mismatches = std::array<std::uint32_t, kProbed>;
[[nodiscard]] constexpr std::uint32_t of(const Mismatches& counts, Probed what) noexcept {
  return counts[static_cast<std::size_t>(what)];
}

namespace detail {

inline constexpr std::uint32_t kTriples = 4096;
using Triple = std::array<float, 3>;

/// Zeros, infinities, NaN, denormals, the largest and the least numbers.
inline constexpr auto kSpecialBits = std::to_array<std::uint32_t>(
    {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x00800000, 0x80800000,
     0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x00400000, 0x3f800001, 0x33800000});

/// Triple `i`: special values with each other, numbers whose product and addend nearly cancel, tiny ones, any bits.
[[nodiscard]] inline Triple triple(std::uint32_t i) noexcept {
  const auto random = philox4x32({i, 0, 0, 0}, {1, 2});
  constexpr std::uint32_t specials = kSpecialBits.size();
  const auto of_bits = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  // One sign, one exponent from `least` on and a mantissa of random bits.
  const auto near = [&](std::uint32_t bits, std::uint32_t least, std::uint32_t range) {
    return of_bits((bits & 0x807fffffu) | (least + (bits >> 23 & 0xffu) % range) << 23);
  };
  switch (i % 4) {
    case 0:
      return {of_bits(kSpecialBits[i / 4 % specials]), of_bits(kSpecialBits[i / 4 / specials % specials]),
              of_bits(kSpecialBits[random[0] % specials])};
    case 1: {
      const float a = near(random[0], 120, 14), b = near(random[1], 120, 14), product = a * b;
      return {a, b, random[2] % 2 == 0 ? -product : of_bits(std::bit_cast<std::uint32_t>(-product) + random[3] % 4)};
    }
    case 2:
      return {near(random[0], 1, 80), near(random[1], 50, 20), near(random[2], 0, 4)};
    default:
      return {of_bits(random[0]), of_bits(random[1]), of_bits(random[2])};
  }
}

/// What the host makes of a triple; its compiler must not fuse either, so the product passes through its bits.
[[nodiscard]] inline std::array<std::uint32_t, kProbed> host_results(const Triple& t) noexcept {
  const auto [a, b, c] = t;
  const volatile float product = a * b;
  const float unfused = product + c;
  float chain = c;
  for (int i = 0; i < 8; ++i) chain = std::fma(a, b, chain);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  return {bits(a + b), bits(product), bits(unfused),      bits(std::fma(a, b, c)),
          bits(chain), bits(a / b),   bits(std::sqrt(a)), to_f16(a).bits};
}

/// NaNs have any bits.
[[nodiscard]] constexpr bool agree(std::size_t what, std::uint32_t device, std::uint32_t host) noexcept {
  const auto is_nan = [&](std::uint32_t bits) {
    return what == static_cast<std::size_t>(Probed::half) ? (bits & 0x7fffu) > 0x7c00u
                                                          : (bits & 0x7fffffffu) > 0x7f800000u;
  };
  return device == host || (is_nan(device) && is_nan(host));
}

/// Argument block, triples and results of the probe's kernel.
class ProbeMemory {
 public:
  [[nodiscard]] static Result<ProbeMemory> make(const Device& device) noexcept {
    auto memory = Memory::allocate(device, Heap::for_host, kResults + kTriples * kProbed * 4);
    if (!memory) return pass(memory);
    ProbeMemory probe(std::move(*memory));
    probe.write();
    return probe;
  }
  [[nodiscard]] std::uint64_t arguments() const noexcept { return memory_.address(); }
  [[nodiscard]] Mismatches compare() const noexcept {
    const RoundingMode rounding;
    Mismatches counts{};
    for (std::uint32_t i = 0; i < kTriples; ++i) {
      const auto host = host_results(triple(i));
      const std::byte* const results = memory_.span().data() + kResults + i * kProbed * 4;
      for (std::size_t what = 0; what < kProbed; ++what)
        counts[what] += agree(what, read_little<std::uint32_t>(results + what * 4), host[what]) ? 0u : 1u;
    }
    return counts;
  }

 private:
  static constexpr std::uint64_t kAt = 64, kResults = kAt + std::uint64_t{kTriples} * 12;

  explicit ProbeMemory(Memory memory) noexcept : memory_(std::move(memory)) {}
  void write() noexcept {
    std::byte* const to = memory_.span().data();
    write_little(to, memory_.address() + kAt);
    write_little(to + 8, memory_.address() + kResults);
    write_little(to + 16, kTriples);
    const RoundingMode rounding;
    for (std::uint32_t i = 0; i < kTriples; ++i) {
      const Triple t = triple(i);
      for (std::size_t k = 0; k < t.size(); ++k)
        write_little(to + kAt + (i * 3 + k) * 4, std::bit_cast<std::uint32_t>(t[k]));
    }
  }

  Memory memory_;
};

}  // namespace detail

/// Runs the probe under these choices and counts what differs from the host. Errors: those of the device.
[[nodiscard]] inline Result<Mismatches> probe(Device& device, Span<const std::uint32_t> spirv,
                                              const DeviceNumerics& numerics) noexcept {
  const auto constants = numerics.constants();
  const auto kernel = Pipeline::make(device, kProbeName, spirv, constants);
  if (!kernel) return pass(kernel);
  const auto memory = detail::ProbeMemory::make(device);
  if (!memory) return pass(memory);
  if (auto r = run_once(device, *kernel, memory->arguments(), {detail::kTriples / 64, 1, 1}); !r) return pass(r);
  return memory->compare();
}

/// What to choose, by what the device's own instructions and those in f64 got wrong. Its own come first: they are fast.
[[nodiscard]] constexpr DeviceNumerics choose_numerics(const Mismatches& own, const Mismatches& in_f64) noexcept {
  const auto exact = [](const Mismatches& counts, auto... what) { return (of(counts, what) + ... + 0u) == 0; };
  const bool fuses = exact(own, Probed::fused, Probed::chain), divides = exact(own, Probed::quotient, Probed::root);
  const bool others = exact(own, Probed::sum, Probed::product, Probed::unfused, Probed::half);
  const bool is_canonical = others && (fuses || exact(in_f64, Probed::fused, Probed::chain)) &&
                            (divides || exact(in_f64, Probed::quotient, Probed::root));
  return {.fma = fuses ? FmaMode::native : FmaMode::soft,
          .divides_in_f64 = !divides,
          .promise = is_canonical ? NumericsClass::canonical : NumericsClass::relaxed};
}

/// Tries the device with both choices, or with its own instructions alone where it has no numbers of 64 bits.
///
/// Errors: Errc::unsupported_device where these are not exact then; those of the device.
[[nodiscard]] inline Result<DeviceNumerics> probe_numerics(Device& device, Span<const std::uint32_t> spirv) noexcept {
  const auto own = probe(device, spirv, {.fma = FmaMode::native, .divides_in_f64 = false});
  if (!own) return pass(own);
  if (!device.facts().has_f64) {
    const DeviceNumerics alone = choose_numerics(*own, *own);
    if (alone.fma == FmaMode::native && !alone.divides_in_f64) return alone;
    const bool fuses = alone.fma == FmaMode::native;
    return fail(
        Errc::unsupported_device, device.facts().name.view(), " (", device.facts().driver.view(), ") rounds ",
        fuses ? "quotients or roots" : "a fused multiply-add", " wrongly in ",
        fuses ? of(*own, Probed::quotient) + of(*own, Probed::root) : of(*own, Probed::fused) + of(*own, Probed::chain),
        " of ", (detail::kTriples * 2), " cases, and lacks the feature ", kFloat64Feature.name,
        " to compute it otherwise");
  }
  const auto in_f64 = probe(device, spirv, {.fma = FmaMode::soft, .divides_in_f64 = true});
  if (!in_f64) return pass(in_f64);
  return choose_numerics(*own, *in_f64);
}

}  // namespace zrt::inline ZRT_ABI::vulkan
