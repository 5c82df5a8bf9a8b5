// SPDX-License-Identifier: Apache-2.0
// examples/zrt/packet_coverage.hpp: which packets a card has run, and with which values of their fields.
#pragma once

#include <zrt/backend/pm4/catalog.hpp>

#include <set>
#include <span>
#include <string>

namespace program {

/// Held against the catalog: each packet of a compute queue, each named value of each of its fields.
class PacketCoverage {
 public:
  explicit PacketCoverage(zrt::pm4::Generation generation) : generation_(generation) {}

  /// Takes a stream that was run. Errors: those of PacketReader.
  [[nodiscard]] zrt::Result<void> add(std::span<const std::uint32_t> stream, zrt::pm4::PacketPlace place);

  /// Packets, and values of their fields, that were run.
  [[nodiscard]] std::size_t packets() const { return packets_.size(); }
  [[nodiscard]] std::size_t values() const { return values_.size(); }

  /// What the catalog has and no stream had, but for what is left out by name; empty where nothing is missing.
  [[nodiscard]] std::string missing(bool user_queue) const;

 private:
  zrt::pm4::Generation generation_;
  std::set<std::string> packets_{};
  std::set<std::string> values_{};
};

}  // namespace program
