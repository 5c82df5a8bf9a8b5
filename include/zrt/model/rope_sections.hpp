// SPDX-License-Identifier: Apache-2.0
// zrt/model/rope_sections.hpp: rotations whose pairs turn with one of several position channels.
#pragma once

#include <zrt/model/config_reader.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/rope.hpp>
#include <zrt/ops/slice.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// How many of the four position channels of a multi-section rotation have which pairs. For text all channels but the
/// last are a token's position, and the last is 0.
using RopeSections = std::array<std::uint32_t, 4>;

/// The channels that say where a row stands: its time, its line and its column. The last channel is 0.
inline constexpr std::uint32_t kRopeAxes = 3;

/// The channel that a pair turns with: pairs take the first three in turn, each as often as its section says, and the
/// last one after that.
[[nodiscard]] constexpr std::uint32_t channel(const RopeSections& sections, std::uint32_t pair) noexcept {
  const std::uint32_t total = sections[0] + sections[1] + sections[2] + sections[3];
  if (total == 0) return 0;
  const std::uint32_t sector = pair % total;
  return sector < kRopeAxes * sections[sector % kRopeAxes] ? sector % kRopeAxes : kRopeAxes;
}
static_assert(channel({24, 20, 20, 0}, 58) == 1 && channel({24, 20, 20, 0}, 59) == 2 &&
              channel({24, 20, 20, 0}, 60) == 0 && channel({24, 20, 20, 0}, 61) == kRopeAxes &&
              channel({24, 20, 20, 0}, 62) == kRopeAxes && channel({24, 20, 20, 0}, 63) == 0);

/// Whether a token's position turns a pair of a rotation whose channels have their pairs one section behind the other.
[[nodiscard]] constexpr bool turns_in_text(const RopeSections& sections, std::uint32_t pair) noexcept {
  const std::uint32_t turning = sections[0] + sections[1] + sections[2];
  const std::uint32_t total = turning + sections[3];
  return total == 0 || pair % total < turning;
}
static_assert(turns_in_text({8, 12, 12, 0}, 31) && turns_in_text({1, 1, 1, 1}, 2) && !turns_in_text({1, 1, 1, 1}, 7));

/// Factors that keep the pairs for which `turns` says no where they are; none where all turn.
template <class G, class Turns>
[[nodiscard]] constexpr typename G::Weight factors_of_turning(G& g, std::uint32_t pairs, const Turns& turns) {
  // A frequency divided by 1e30 leaves the cosine 1, and a sine that no sum of f32 sees.
  std::array<float, ops::Rope::kMaxPairs> factors{};
  bool all = true;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    factors[i] = turns(i) ? 1.0f : 1e30f;
    all = all && turns(i);
  }
  if (all) return {};
  return g.constant(Span<const float>(factors.data(), pairs));
}
/// Those of text, whose channels are one but for the last.
template <class G>
[[nodiscard]] constexpr typename G::Weight section_factors(G& g, const RopeSections& sections, std::uint32_t pairs) {
  return factors_of_turning(g, pairs, [&](std::uint32_t pair) { return channel(sections, pair) < kRopeAxes; });
}
/// The same of channels that have their pairs one section behind the other.
template <class G>
[[nodiscard]] constexpr typename G::Weight text_factors(G& g, const RopeSections& sections, std::uint32_t pairs) {
  return factors_of_turning(g, pairs, [&](std::uint32_t pair) { return turns_in_text(sections, pair); });
}

/// A rotation of heads by rows that stand on several axes: one after the other, each for its pairs.
template <class G> class AxesRope {
 public:
  using Value = typename G::Tensor;
  using Ops = boost::mp11::mp_list<ops::Rope, ops::Slice, ops::Reshape>;

  /// `tokens` is the shape of a number for each row of a step.
  constexpr AxesRope(G& g, const Shape& tokens, const RopeSections& sections, const ops::RopeParams& rope)
      : g_(g), rope_(rope) {
    const Shape all = tokens.appended(kRopeAxes);
    const Value positions = g.input("rope_positions", {DType::si32, all});
    for (std::uint32_t axis = 0; axis < kRopeAxes; ++axis) {
      const Value column =
          g.template emit<ops::Slice>({.in = {positions}, .params = ops::SliceParams::of_last(all, axis, 1)})[0];
      positions_[axis] = g.template emit<ops::Reshape>({.in = {column}, .params = {ShapeParams::of(tokens)}})[0];
      factors_[axis] =
          factors_of_turning(g, rope.n_rot / 2, [&](std::uint32_t pair) { return channel(sections, pair) == axis; });
    }
  }

  /// The rows of `x`, f32 [tokens, heads · head_dim], turned.
  [[nodiscard]] constexpr Value operator()(Value x) {
    ops::RopeParams rope = rope_;
    for (std::uint32_t axis = 0; axis < kRopeAxes; ++axis) {
      x = g_.template emit<ops::Rope>({.in = {x, positions_[axis]}, .w = {factors_[axis]}, .params = rope})[0];
      rope.magnitude = 1.0f;  // the first has multiplied every pair
    }
    return x;
  }

 private:
  G& g_;
  ops::RopeParams rope_;
  std::array<Value, kRopeAxes> positions_{};
  std::array<typename G::Weight, kRopeAxes> factors_{};
};

/// Reads the sections; without any all pairs turn.
inline void read_rope_sections(ConfigReader& meta, RopeSections& sections) noexcept {
  meta.per_layer("rope.dimension_sections", ops::Rope::kMaxPairs, Span(sections), 0);
}

/// Refuses given embeddings beside sections. For families whose rows stand at one position each, as tokens do.
inline void expect_text(ConfigReader& meta) noexcept {
  if (meta.host().given_embeddings && meta.file().find(meta.name_of("rope.dimension_sections").view()) != nullptr)
    meta.refuse(Errc::unimplemented, meta.name_of("rope.dimension_sections").view(),
                " gives rows of images positions on several axes, expected no given embeddings");
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
