// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/counters.hpp: what a dispatch did, counted while it ran.
#pragma once

#include <zrt/core/vector.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// Traffic of one region. A byte that several lanes of one instruction share counts once.
struct RegionTraffic {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t loads = 0;      ///< wave loads that touched the region
  std::uint64_t load_runs = 0;  ///< runs of contiguous bytes in them, in lane order

  constexpr RegionTraffic& operator+=(const RegionTraffic& o) noexcept {
    bytes_read += o.bytes_read;
    bytes_written += o.bytes_written;
    loads += o.loads;
    load_runs += o.load_runs;
    return *this;
  }
  /// The mean length of a contiguous run of a wave's load, in bytes; 0 without loads.
  [[nodiscard]] constexpr std::uint64_t contiguous_bytes() const noexcept {
    return load_runs == 0 ? 0 : bytes_read / load_runs;
  }
};

/// Counts of one dispatch; the same however many threads ran it.
struct Counters {
  std::uint64_t wave_instructions = 0;
  std::uint64_t waves = 0;
  std::uint64_t workgroups = 0;
  std::uint64_t lds_bytes = 0;
  Vector<RegionTraffic> regions{};  ///< by MappedRegion::id

  /// Adds the counts of another part of the same dispatch.
  void add(const Counters& o) noexcept {
    wave_instructions += o.wave_instructions;
    waves += o.waves;
    workgroups += o.workgroups;
    lds_bytes += o.lds_bytes;
    for (std::size_t i = 0; i < regions.size() && i < o.regions.size(); ++i) regions[i] += o.regions[i];
  }
};

}  // namespace zrt::inline ZRT_ABI::emulator
