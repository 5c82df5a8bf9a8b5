// SPDX-License-Identifier: Apache-2.0
// zrt/model/rope_sections.hpp: rotations whose pairs turn with one of several position channels.
#pragma once

#include <zrt/model/config_reader.hpp>
#include <zrt/ops/rope.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// How many of the four position channels of a multi-section rotation have which pairs. For text all channels but the
/// last are a token's position, and the last is 0.
using RopeSections = std::array<std::uint32_t, 4>;

/// Whether a pair turns with the position: pairs take the first three channels in turn, each as often as its section
/// says, and the last channel after that.
[[nodiscard]] constexpr bool turns(const RopeSections& sections, std::uint32_t pair) noexcept {
  const std::uint32_t total = sections[0] + sections[1] + sections[2] + sections[3];
  if (total == 0) return true;
  const std::uint32_t sector = pair % total;
  return sector < 3 * sections[sector % 3];
}
static_assert(turns({24, 20, 20, 0}, 60) && !turns({24, 20, 20, 0}, 61) && !turns({24, 20, 20, 0}, 62) &&
              turns({24, 20, 20, 0}, 63));

/// Factors that keep the pairs that do not turn where they are; none where all turn.
template <class G>
[[nodiscard]] constexpr typename G::Weight section_factors(G& g, const RopeSections& sections, std::uint32_t pairs) {
  // A frequency divided by 1e30 leaves the cosine 1, and a sine that no sum of f32 sees.
  std::array<float, ops::Rope::kMaxPairs> factors{};
  bool all = true;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    factors[i] = turns(sections, i) ? 1.0f : 1e30f;
    all = all && turns(sections, i);
  }
  if (all) return {};
  return g.constant(Span<const float>(factors.data(), pairs));
}

/// Reads the sections; without any all pairs turn.
inline void read_rope_sections(ConfigReader& meta, RopeSections& sections) noexcept {
  meta.per_layer("rope.dimension_sections", ops::Rope::kMaxPairs, Span(sections), 0);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
