// SPDX-License-Identifier: Apache-2.0
// tests/tools/character_map_writer.hpp: builds a map of characters as SentencePiece compiles it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zrt::test {

/// The bytes of a precompiled_charsmap: u32 size, a double array, and replacements with a zero behind each.
///
/// Children of a unit at place p lie at p ^ way ^ byte; a string's replacement is in the child of byte 0.
class CharacterMapWriter {
 public:
  explicit CharacterMapWriter(const std::map<std::string, std::string>& replacements) : units_(256) {
    used_.resize(256);
    used_[0] = true;
    place(replacements, "", 0);
  }

  [[nodiscard]] std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> out;
    const auto put = [&](std::uint32_t word) {
      for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(word >> shift));
    };
    put(static_cast<std::uint32_t>(units_.size() * 4));
    for (const std::uint32_t unit : units_) put(unit);
    out.insert(out.end(), texts_.begin(), texts_.end());
    return out;
  }

 private:
  /// Gives the strings that go on from `prefix`, whose unit is at `at`, a place.
  void place(const std::map<std::string, std::string>& replacements, const std::string& prefix, std::uint32_t at) {
    std::vector<std::uint8_t> labels;
    for (auto next = replacements.lower_bound(prefix); next != replacements.end(); ++next) {
      if (!next->first.starts_with(prefix)) break;
      const bool ends = next->first.size() == prefix.size();
      const auto label = ends ? std::uint8_t{0} : static_cast<std::uint8_t>(next->first[prefix.size()]);
      if (labels.empty() || labels.back() != label) labels.push_back(label);
    }
    std::uint32_t base = 1;
    const auto is_free = [&](std::uint32_t way) {
      for (const std::uint8_t label : labels)
        if ((way ^ label) < used_.size() && used_[way ^ label]) return false;
      return true;
    };
    while (!is_free(base)) ++base;
    units_[at] |= (at ^ base) << 10;
    for (const std::uint8_t label : labels) {
      const std::uint32_t child = base ^ label;
      if (child >= units_.size()) {
        units_.resize((child / 256 + 1) * 256);
        used_.resize(units_.size());
      }
      used_[child] = true;
      units_[child] = label;
    }
    for (const std::uint8_t label : labels) {
      if (label != 0) {
        place(replacements, prefix + static_cast<char>(label), base ^ label);
        continue;
      }
      units_[at] |= 1u << 8;
      units_[base] = 1u << 31 | static_cast<std::uint32_t>(texts_.size());
      texts_ += replacements.at(prefix);
      texts_ += '\0';
    }
  }

  std::vector<std::uint32_t> units_;
  std::vector<bool> used_;
  std::string texts_;
};

}  // namespace zrt::test
