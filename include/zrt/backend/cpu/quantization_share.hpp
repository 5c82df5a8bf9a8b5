// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/quantization_share.hpp: scales, zero points and rounding of whole runs of elements.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/quantization.hpp>

#include <algorithm>
#include <bit>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

/// The scale and zero point of each element of a run.
struct ScalingRun {
  float scale[kTypedRun];
  std::int32_t zero_point[kTypedRun];

  /// Fills in those of elements [first, first + count).
  void read(const HostTensor& scales, const HostTensor& zero_points, const ops::Channels& channels, std::uint64_t first,
            std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count;) {
      // A channel has some neighbours.
      const std::uint64_t n = std::min(count - i, channels.left(first + i));
      const std::uint64_t channel = channels.of(first + i);
      std::fill_n(scale + i, n, scales.as<float>()[channel]);
      std::fill_n(zero_point + i, n, zero_points.as<std::int32_t>()[channel]);
      i += n;
    }
  }
};

/// True for the integer types that leave room in 64 bits for any zero point.
[[nodiscard]] inline bool is_narrow(DType dtype) noexcept { return info(dtype).block_bytes < 8; }

/// The nearest whole number, ties to even, of at most 2^33 in magnitude; 0 for NaN.
///
/// What lies beyond is past the end of every narrow type, whatever its zero point.
[[nodiscard]] inline std::int64_t nearest_narrow(double x) noexcept {
  const double bounded = x != x ? 0.0 : x < -0x1p33 ? -0x1p33 : x > 0x1p33 ? 0x1p33 : x;
  // The last bit of a number from 2^52 to 2^53 is 1, so that the sum rounds.
  constexpr double kRound = 0x1.8p52;
  return std::bit_cast<std::int64_t>(bounded + kRound) - std::bit_cast<std::int64_t>(kRound);
}

/// Reads `count` elements of a narrow integer type from `first` on.
inline void read_narrow(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t count,
                        std::int64_t* out) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      T values[kTypedRun];
      element_functions<T>(dtype).unpack(data, first, count, values);
      for (std::uint64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(values[i]);
    }
  });
}
/// Writes `count` whole numbers as a narrow integer type, saturated.
inline void write_narrow(DType dtype, const std::int64_t* in, std::uint64_t first, std::uint64_t count,
                         std::byte* data) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      const ElementFunctions<T>& type = element_functions<T>(dtype);
      const auto lowest = static_cast<std::int64_t>(type.lowest);
      const auto highest = static_cast<std::int64_t>(type.highest);
      T values[kTypedRun];
      for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<T>(std::clamp(in[i], lowest, highest));
      type.pack(values, first, count, data);
    }
  });
}

/// Reads `count` elements of any integer type from `first` on.
inline void read_wide(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t count,
                      ops::Whole* out) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      T values[kTypedRun];
      element_functions<T>(dtype).unpack(data, first, count, values);
      std::transform(values, values + count, out, [](T value) noexcept { return ops::Whole::of(value); });
    }
  });
}
/// Writes `count` whole numbers as an integer type, saturated.
inline void write_wide(DType dtype, const ops::Whole* in, std::uint64_t first, std::uint64_t count,
                       std::byte* data) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      T values[kTypedRun];
      std::transform(in, in + count, values, [&](ops::Whole value) noexcept { return value.saturated<T>(dtype); });
      element_functions<T>(dtype).pack(values, first, count, data);
    }
  });
}

/// Calls `run(first, count)` for the runs of this worker's share of `elements`.
template <class F> void for_each_run(std::uint64_t elements, const Worker& worker, F&& run) noexcept {
  const Range part = split(elements, 64, worker);
  for (std::uint64_t first = part.first; first < part.last; first += kTypedRun)
    run(first, std::min(part.last - first, kTypedRun));
}

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
