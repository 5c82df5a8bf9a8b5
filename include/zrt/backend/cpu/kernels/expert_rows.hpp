// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/expert_rows.hpp: the activation rows of each expert side by side, plain and rounded.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_EXPERT_ROWS)
#define ZRT_BACKEND_CPU_KERNELS_EXPERT_ROWS

#include <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/ops/experts.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// Where the rows of experts come from. A pair is a token and one of the experts that it chose, numbered as in `ids`.
struct ExpertRows {
  HostTensor x{};    ///< [tokens][cols], or with `of_pairs` [tokens][used][cols]
  HostTensor ids{};  ///< si32 [tokens][used]
  std::uint32_t experts = 0;
  bool of_pairs = false;
  bool plain = false;  ///< a projection reads rows that are not rounded
  RoundedForms forms{};

  /// Adds what a projection reads.
  constexpr void add(quant::Act act) noexcept {
    plain = plain || act == quant::Act::none;
    forms.add(act);
  }
  [[nodiscard]] std::uint32_t tokens(const ExecutionContext& step) const noexcept { return ids.rows(step); }
  [[nodiscard]] std::uint32_t used(const ExecutionContext& step) const noexcept { return ids.cols(step); }
};

/// The pairs by expert, those of one in the order of tokens, and their rows in that order. The pairs of a single token
/// are in order as they are: nothing is sorted or copied, and the rows are those of `x`.
struct ExpertScratch {
  std::uint32_t* begin = nullptr;  ///< [experts + 1] first place of each expert
  std::uint32_t* pairs = nullptr;  ///< [places] the pair at each
  RowScratch rows{};
};

[[nodiscard]] constexpr CheckedSize expert_scratch_bytes(CheckedSize pairs, std::uint32_t experts, std::uint32_t cols,
                                                         bool plain, const RoundedForms& forms) noexcept {
  CheckedSize bytes = CheckedSize((experts + std::uint64_t{1}) * 4).aligned(64) + (pairs * 4).aligned(64);
  if (plain) bytes = bytes + normed_bytes(pairs, cols);
  return forms.any() ? bytes + rounded_bytes(pairs, cols) : bytes;
}

/// Finds the parts of the scratch for so many rows.
[[nodiscard]] inline ExpertScratch expert_scratch(const ExpertRows& a, std::byte* memory, std::uint32_t pairs,
                                                  std::uint32_t rows, std::uint32_t cols) noexcept {
  ExpertScratch s;
  s.begin = reinterpret_cast<std::uint32_t*>(memory);
  memory += align_up((a.experts + std::uint64_t{1}) * 4, 64);
  s.pairs = reinterpret_cast<std::uint32_t*>(memory);
  memory += align_up(std::uint64_t{pairs} * 4, 64);
  if (a.plain)
    s.rows = normed_scratch(memory, rows, cols);
  else
    s.rows = rounded_scratch(memory, rows, cols);
  return s;
}

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/expert_rows.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// The rows of `a` in the scratch: of a single token as many as `x` has, else one for each pair.
[[nodiscard]] inline ExpertScratch expert_scratch_of(const ExpertRows& a, const ExecutionContext& step,
                                                     const Worker& worker) noexcept {
  const std::uint32_t tokens = a.tokens(step);
  const std::uint32_t pairs = tokens * a.used(step);
  return expert_scratch(a, worker.scratch.data(), pairs, tokens == 1 && !a.of_pairs ? 1 : pairs, a.x.cols(step));
}

/// Writes row `x` to place `to` of the scratch, in each form that is read.
inline void place_row(const ExpertRows& a, const float* x, std::uint32_t cols, const RowScratch& rows,
                      std::uint64_t to) noexcept {
  if (a.plain) std::memcpy(rows.normed + to * cols, x, cols * sizeof(float));
  RowScratch place;
  if (a.forms.narrow) {
    place.q = rows.q + to * cols;
    place.d = rows.d + to * (cols / kGroup);
    place.sum = rows.sum + to * (cols / kGroup);
    place.half_sum = rows.half_sum + to * (cols / 16);
    round_groups(x, 0, cols / kGroup, place);
  }
  if (a.forms.wide) {
    place.wide_q = rows.wide_q + to * cols;
    place.wide_d = rows.wide_d + to * (cols / kWideGroup);
    place.wide_sum = rows.wide_sum + to * (cols / kGroup);
    place.wide_half_sum = rows.wide_half_sum + to * (cols / 16);
    round_wide_groups(x, 0, cols / kWideGroup, place);
  }
}

/// Sorts the pairs by expert and rounds their rows, by counts that every worker makes for itself: tokens are split, and a
/// worker begins, in the places of each expert, where the tokens before its own end. Reports ids that do not count.
inline void gather_expert_rows(const ExpertRows& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t tokens = a.tokens(step);
  const std::uint32_t used = a.used(step);
  const std::uint32_t cols = a.x.cols(step);
  const std::int32_t* ids = a.ids.as<std::int32_t>();
  const ExpertScratch to = expert_scratch_of(a, step, worker);
  if (tokens == 1) {
    if (worker.index == 0) {
      ops::ChosenExperts chosen(a.experts);
      for (std::uint32_t j = 0; j < used; ++j)
        if (!chosen.counts(ids[j])) step.violated_row(worker, a.ids.type.shape[0], 0);
    }
    const std::uint64_t rows = a.of_pairs ? used : 1;
    if (a.forms.narrow) {
      const Range part = split(rows * (cols / kGroup), 16, worker);
      round_groups(a.x.as<float>(), part.first, part.last, to.rows);
    }
    if (a.forms.wide) {
      const Range part = split(rows * (cols / kWideGroup), 2, worker);
      round_wide_groups(a.x.as<float>(), part.first, part.last, to.rows);
    }
    return;
  }
  const Range mine = split(tokens, 1, worker);
  std::uint32_t before[ops::kMaxExperts];
  std::uint32_t all[ops::kMaxExperts];
  std::memset(before, 0, a.experts * sizeof(std::uint32_t));
  std::memset(all, 0, a.experts * sizeof(std::uint32_t));
  for (std::uint32_t t = 0; t < tokens; ++t) {
    ops::ChosenExperts chosen(a.experts);
    for (std::uint32_t j = 0; j < used; ++j) {
      const std::int32_t id = ids[std::uint64_t{t} * used + j];
      if (!chosen.counts(id)) continue;
      ++all[id];
      before[id] += t < mine.first ? 1u : 0u;
    }
  }
  std::uint32_t place = 0;
  for (std::uint32_t e = 0; e < a.experts; ++e) {
    before[e] += place;
    if (worker.index == 0) to.begin[e] = place;
    place += all[e];
  }
  if (worker.index == 0) to.begin[a.experts] = place;
  for (std::uint64_t t = mine.first; t < mine.last; ++t) {
    ops::ChosenExperts chosen(a.experts);
    for (std::uint32_t j = 0; j < used; ++j) {
      const std::uint64_t pair = t * used + j;
      if (!chosen.counts(ids[pair])) {
        step.violated_row(worker, a.ids.type.shape[0], t);
        continue;
      }
      const std::uint32_t at = before[ids[pair]]++;
      to.pairs[at] = static_cast<std::uint32_t>(pair);
      place_row(a, a.x.as<float>() + (a.of_pairs ? pair : t) * cols, cols, to.rows, at);
    }
  }
}

/// Calls f(expert, rows, pairs) for each expert that a token chose, in ascending order: `pairs[i]` is the pair of row i.
template <class F>
ZRT_ALWAYS_INLINE void each_expert(const ExpertRows& a, const ExecutionContext& step, const Worker& worker,
                                   F&& f) noexcept {
  const std::uint32_t tokens = a.tokens(step);
  const std::uint32_t used = a.used(step);
  const std::uint32_t cols = a.x.cols(step);
  const std::int32_t* ids = a.ids.as<std::int32_t>();
  const ExpertScratch from = expert_scratch_of(a, step, worker);
  if (tokens == 1) {
    const Activations x = from.rows.activations(a.x.as<float>(), a.of_pairs ? used : 1, cols);
    ops::ChosenExperts chosen(a.experts);
    for (std::uint32_t j = 0; j < used; ++j)
      if (chosen.counts(ids[j])) f(static_cast<std::uint32_t>(ids[j]), x.part(a.of_pairs ? j : 0, 1), &j);
    return;
  }
  const Activations x = from.rows.activations(from.rows.normed, from.begin[a.experts], cols);
  for (std::uint32_t e = 0; e < a.experts; ++e) {
    const std::uint32_t first = from.begin[e], count = from.begin[e + 1] - first;
    if (count != 0) f(e, x.part(first, count), from.pairs + first);
  }
}

#endif
