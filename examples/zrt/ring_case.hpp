// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ring_case.hpp: a folder with a recorded ring, its memory, and what memory should be after it.
#pragma once

#include <zrt/backend/pm4/target.hpp>
#include <zrt/core/error.hpp>

#include <optional>
#include <string>
#include <vector>

namespace program {

using RegionBytes = std::vector<std::byte>;

/// A region of the case: its memory, and what it should be afterwards.
struct CaseRegion {
  std::string name;
  std::uint64_t address = 0;
  RegionBytes bytes{};
  RegionBytes after{};
};

/// What floats of a region should be, by someone who rounds otherwise.
struct CaseFloats {
  std::size_t region = 0;  ///< index
  std::size_t offset = 0;  ///< bytes, a multiple of 4
  double tolerance = 0;    ///< times the larger of 1 and the expected value
  std::vector<double> values{};

  /// Whether byte `at` of a region begins one of them.
  [[nodiscard]] bool hold(std::size_t in_region, std::size_t at) const {
    return in_region == region && at >= offset && (at - offset) / 4 < values.size();
  }
  /// Whether `got` is near enough to the float at byte `at`.
  [[nodiscard]] bool are_near(std::size_t at, float got) const;
};

/// What the folder holds.
struct RingCase {
  const zrt::pm4::TargetFacts* target = nullptr;
  std::string kernel;
  std::vector<CaseRegion> regions;
  std::uint64_t ring_address = 0;
  RegionBytes ring;  ///< as large as the ring
  std::vector<std::uint32_t> packets;
  std::optional<CaseFloats> floats;
};

/// Reads case.json of `folder` and the files that it names, in the form of the golden data (docs/pm4.md).
///
/// Errors: io_error; invalid_file saying what is expected and found; limit_exceeded; unsupported_device.
[[nodiscard]] zrt::Result<RingCase> read_ring_case(const std::string& folder);

}  // namespace program
