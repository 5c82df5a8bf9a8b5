// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/sample.hpp: one token per row of logits.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SAMPLE)
#define ZRT_BACKEND_CPU_OPS_SAMPLE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/order.hpp>
#include <zrt/ops/sample.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace zrt::inline ZRT_ABI::cpu {

/// The scratch of one sampled row, each part with room for the vocabulary in whole lanes.
struct SampleScratch {
  float* logits = nullptr;
  Candidates candidates{};
};
inline constexpr std::uint32_t kSampleParts = 5;

/// Sampling rows that may run at the same time, each with its own scratch.
inline constexpr std::uint32_t kSampleLanes = 8;

[[nodiscard]] constexpr CheckedSize sample_bytes(std::uint32_t vocabulary) noexcept {
  return (CheckedSize(vocabulary) * sizeof(float)).aligned(64) * CheckedSize(kSampleParts);
}
/// Finds the scratch of one of the rows that are sampled at the same time.
[[nodiscard]] inline SampleScratch sample_scratch(std::byte* memory, std::uint32_t vocabulary,
                                                  std::uint32_t lane) noexcept {
  const std::uint64_t part = align_up(std::uint64_t{vocabulary} * sizeof(float), 64);
  memory += part * kSampleParts * lane;
  const auto words = [&](std::uint32_t i) noexcept { return reinterpret_cast<std::int32_t*>(memory + part * i); };
  return {reinterpret_cast<float*>(memory), {words(1), words(2), words(3), words(4)}};
}

template <> struct Kernels<ops::Sample> {
  exec::HostKernel<HostCall<ops::Sample>> rows = nullptr;
};

template <> struct Adapter<ops::Sample> {
  static constexpr Loops loops = Loops::vector;

  /// A copy of the logits and the candidates of each row that is drawn at the same time.
  static constexpr CheckedSize scratch(const TypeCall<ops::Sample>& c, const Extents&) noexcept {
    return sample_bytes(c.in[0].type.shape[1].extent) * CheckedSize(kSampleLanes);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Sample>& c, const Kernels<ops::Sample>& k) noexcept {
    return r.push(k.rows, c);
  }
};
static_assert(Records<ops::Sample>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/sample.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Repetition, frequency and presence penalties of the tokens in a history, each once. `seen` counts by id.
inline void penalise(const ops::SampleRequest& r, Span<const std::int32_t> history, float* logits,
                     std::uint32_t vocabulary, std::int32_t* seen) noexcept {
  const auto known = [&](std::int32_t id) noexcept { return static_cast<std::uint32_t>(id) < vocabulary; };
  for (const std::int32_t id : history)
    if (known(id)) seen[id] = 0;
  for (const std::int32_t id : history)
    if (known(id)) ++seen[id];
  alignas(64) std::int32_t ids[16];
  alignas(64) std::int32_t counts[16] = {};
  alignas(64) float values[16] = {};
  std::uint32_t held = 0;
  const auto change = [&]() noexcept {
    const F32 x = load(values);
    const F32 repetition = splat(r.repetition_penalty);
    const F32 scaled = sealed(select(less_equal(x, splat(0.0f)), x * repetition, x / repetition));
    const F32 count = to_f32(load_i32(counts));
    store(values, scaled - fma(count, splat(r.frequency_penalty), splat(r.presence_penalty)));
    for (std::uint32_t i = 0; i < held; ++i) logits[ids[i]] = values[i];
    held = 0;
  };
  for (const std::int32_t id : history) {
    if (!known(id) || seen[id] == 0) continue;
    ids[held] = id;
    values[held] = logits[id];
    counts[held] = seen[id];
    seen[id] = 0;
    if (++held == 16) change();
  }
  if (held != 0) change();
}

/// sums[i] = e^(x[0] - x[0]) + ... + e^(x[i] - x[0]), a chain.
inline void running_sums(const float* x, std::uint32_t count, float* sums) noexcept {
  const F32 top = splat(x[0]);
  map(x, sums, 0, count, [&](F32 v) noexcept { return exp(v - top); });
  float sum = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) sums[i] = sum += sums[i];
}

/// How many of `count` ordered logits top-p keeps.
[[nodiscard]] inline std::uint32_t keep_top_p(const ops::SampleRequest& r, const float* x, std::uint32_t count,
                                              float* sums) noexcept {
  if (r.top_p >= 1.0f) return count;
  running_sums(x, count, sums);
  const F32 enough = splat(r.top_p * sums[count - 1]);
  const std::uint32_t least = r.min_keep < 1 ? 0 : r.min_keep - 1;
  const std::uint32_t last = first_where(sums, least, count, [&](F32 v) ZRT_UNROLLED { return less_equal(enough, v); });
  return last < count ? last + 1 : count;
}

/// How many of `count` ordered logits min-p keeps.
[[nodiscard]] inline std::uint32_t keep_min_p(const ops::SampleRequest& r, const float* x,
                                              std::uint32_t count) noexcept {
  if (r.min_p <= 0.0f) return count;
  const F32 bound = splat(x[0]) + log(splat(r.min_p));
  const std::uint32_t least = r.min_keep < 1 ? 1 : r.min_keep;
  if (least >= count) return count;
  return first_where(x, least, count, [&](F32 v) ZRT_UNROLLED { return invert(less_equal(bound, v)); });
}

/// The least logit that can change what is drawn, `top` being the largest; -infinity where there is no telling.
///
/// Sums begin at e^0 = 1, so that a term below 2^-24 = e^-16.6 leaves them as they are, and no such candidate is drawn.
[[nodiscard]] inline float least_that_counts(const ops::SampleRequest& r, float top) noexcept {
  // Within these bounds what division by the temperature rounds off is far less than what there is to spare.
  constexpr float kMost = 0x1p16f;
  const bool precise = top < kMost && top > -kMost && r.temperature < kMost && r.temperature > 1.0f / kMost;
  if (!precise) return -std::numeric_limits<float>::infinity();
  const float reach = 17.0f * (r.temperature > 1.0f ? r.temperature : 1.0f);
  return largest_lane(splat(top) - sealed(splat(reach)));
}

/// The sum of terms[i] where x[i] is not below `bound`, in no order that is promised.
[[nodiscard]] inline float mass_above(const float* x, const float* terms, std::uint32_t n, float bound) noexcept {
  F32 sum = splat(0.0f);
  for (std::uint32_t i = 0; i < n; i += 16)
    sum = sum + select(less_equal(splat(bound), load(x + i)), load(terms + i), splat(0.0f));
  return reduce_tree(sum);
}

/// What the terms of elements below `bound`, but not below `least`, add to a sum from `power`, a power of two, to twice
/// that, added one by one; negative where that depends on their order.
///
/// Such a sum is a multiple of 2^-23 of `power`, so each term adds the multiple next to it, and sums of these are exact
/// in any order. Only a term half way between two multiples goes by what it is added to.
[[nodiscard]] inline float added_below(const float* x, const float* terms, std::uint32_t n, float bound, float least,
                                       float power) noexcept {
  const F32 grid = splat(power);
  const F32 half = splat(power * 0x1p-24f);
  F32 sum = splat(0.0f);
  std::uint32_t ties = 0;
  for (std::uint32_t i = 0; i < n; i += 16) {
    const F32 v = load(x + i);
    const F32 term = select(both(less(v, splat(bound)), less_equal(splat(least), v)), load(terms + i), splat(0.0f));
    const F32 whole = sealed(term + grid) - grid;
    ties |= lane_bits(equal(abs(sealed(term - whole)), half));
    sum = sum + whole;
  }
  return ties == 0 ? reduce_tree(sum) : -1.0f;
}

inline constexpr std::int32_t kInDoubt = -1;
/// Below this many logits there is nothing to gain, above that many no bound of a sum's rounding is small.
inline constexpr std::uint32_t kLeastForFew = 512, kMostForFew = 1u << 18;

/// The token drawn from the n logits that are not below `least`, `top` being the largest, by the first of them alone;
/// kInDoubt where that cannot be told.
///
/// What is drawn depends on the others by the sum of all alone. That follows from the sum of the first, unless one of
/// the others makes it pass a power of two; and it is known without any order to within what n additions round off.
/// Where a comparison comes out the same for both ends of that range, it is decided.
[[nodiscard]] inline std::int32_t draw_from_few(const ops::SampleRequest& r, const float* logits, std::uint32_t n,
                                                float top, float least, Candidates c) noexcept {
  const float temperature = r.temperature;
  const bool by_mass = r.top_p < 1.0f;
  const bool by_depth = r.min_p > 0.0f && r.min_keep <= 1;
  // Where nothing is cut, the sum that counts is that of the draw.
  const bool cut = by_mass || !(r.min_p <= 0.0f);
  const float fraction = cut ? r.top_p : ops::sampling::uniform(r);
  float total = 0.0f;
  float rest = -1.0f;  // what the others add to the sum of the first, if that lies from power on
  float power = 0.0f;
  float bound = least;
  const float slack = static_cast<float>(n) * 0x1p-23f;
  if (by_mass || !cut) {
    auto* const terms = reinterpret_cast<float*>(c.other_key);
    if (cut)
      map(logits, terms, 0, n, [&](F32 v) noexcept { return exp(v - splat(top)); });
    else
      map(logits, terms, 0, n,
          [&](F32 v) noexcept { return exp(v / splat(temperature) - splat(top) / splat(temperature)); });
    total = mass_above(logits, terms, n, least);
    if (!by_depth) {
      const float enough = fraction * total * (1.0f + (slack + slack));
      const float unit = !cut && temperature > 1.0f ? temperature : 1.0f;
      for (float reach = unit + unit;; reach += unit + unit) {
        if (reach > 14.0f * unit) return kInDoubt;
        bound = top - reach;
        if (mass_above(logits, terms, n, bound) > enough) break;
      }
    }
  }
  if (by_depth) bound = largest_lane(splat(top) + log(splat(r.min_p)));
  if (bound < least) bound = least;
  if (by_mass || !cut) {
    power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(total) & 0x7f800000u);
    if (total * (1.0f - slack) >= power && total * (1.0f + slack) < power + power)
      rest = added_below(logits, reinterpret_cast<const float*>(c.other_key), n, bound, least, power);
  }

  std::uint32_t count = list_candidates(logits, n, bound, c);
  if (count == 0) return kInDoubt;
  order(c, count);
  auto* const sums = reinterpret_cast<float*>(c.other_key);
  auto* const x = reinterpret_cast<float*>(c.other_id);
  for (std::uint32_t i = 0; i < count; i += 16) store(x + i, as_f32(ordered(load_i32(c.key + i))));
  F32 low = splat(fraction * total * (1.0f - slack));
  F32 high = splat(fraction * total * (1.0f + slack));
  const auto settle = [&]() noexcept {
    const float first = sums[count - 1];
    if (rest >= 0.0f && first >= power) low = high = splat(fraction * (first + rest));
  };
  if (!cut) {
    map(x, x, 0, count, [&](F32 v) ZRT_UNROLLED { return v / splat(temperature); });
    running_sums(x, count, sums);
    settle();
    const std::uint32_t drawn = first_where(sums, 0, count, [&](F32 v) ZRT_UNROLLED { return less(low, v); });
    if (drawn == count || !(sums[drawn] > largest_lane(high))) return kInDoubt;
    return c.id[drawn];
  }
  if (by_mass) {
    running_sums(x, count, sums);
    settle();
    const std::uint32_t from = r.min_keep < 1 ? 0 : r.min_keep - 1;
    const std::uint32_t last =
        from < count ? first_where(sums, from, count, [&](F32 v) ZRT_UNROLLED { return less_equal(low, v); }) : count;
    if (last == count ? !by_depth : !(sums[last] >= largest_lane(high))) return kInDoubt;
    if (last != count) count = last + 1;
  }
  count = keep_min_p(r, x, count);
  map(x, x, 0, count, [&](F32 v) ZRT_UNROLLED { return v / splat(temperature); });
  running_sums(x, count, sums);
  const F32 target = splat(ops::sampling::uniform(r) * sums[count - 1]);
  const std::uint32_t drawn = first_where(sums, 0, count, [&](F32 v) ZRT_UNROLLED { return less(target, v); });
  return c.id[drawn < count ? drawn : count - 1];
}

/// The token of row `at`; its request is active.
[[nodiscard]] inline std::int32_t sample_row(const HostCall<ops::Sample>& c, const ops::SampleRequest& r,
                                             const ExecutionContext& step, std::uint64_t at, SampleScratch s) noexcept {
  const std::uint32_t vocabulary = c.in[0].cols(step);
  std::memcpy(s.logits, c.in[0].as<float>() + at * vocabulary, vocabulary * sizeof(float));
  const auto whole = static_cast<std::uint32_t>(align_up(vocabulary, 16));
  for (std::uint32_t i = vocabulary; i < whole; ++i) s.logits[i] = std::numeric_limits<float>::quiet_NaN();

  const std::int32_t* history = c.in[2].as<std::int32_t>() + at * c.in[2].cols(step);
  if (r.history != 0) penalise(r, {history, r.history}, s.logits, vocabulary, s.candidates.key);
  const std::int32_t* bias_ids = c.in[3].as<std::int32_t>() + at * c.in[3].cols(step);
  const float* bias = c.in[4].as<float>() + at * c.in[4].cols(step);
  for (std::uint32_t i = 0; i < r.biases; ++i)
    if (static_cast<std::uint32_t>(bias_ids[i]) < vocabulary) s.logits[bias_ids[i]] += bias[i];
  if (r.temperature <= 0.0f) {
    const std::int32_t first = index_of_largest(s.logits, vocabulary);
    return ops::sampling::is_forbidden(s.logits[first]) ? -1 : first;
  }

  Candidates& best = s.candidates;
  const float top = largest_of(s.logits, whole);
  const float least = least_that_counts(r, top);
  const bool all = r.top_k == 0 || r.top_k >= vocabulary;
  if (all && least > -std::numeric_limits<float>::infinity() && whole >= kLeastForFew && whole <= kMostForFew)
    if (const std::int32_t token = draw_from_few(r, s.logits, whole, top, least, best); token != kInDoubt) return token;
  std::uint32_t count = first_candidates(s.logits, whole, r.top_k == 0 ? vocabulary : r.top_k, least, best);
  if (count == 0) return 0;  // all are NaN
  float* x = s.logits;
  for (std::uint32_t i = 0; i < count; i += 16) store(x + i, as_f32(ordered(load_i32(best.key + i))));
  if (__builtin_isinf(x[0])) return ops::sampling::is_forbidden(x[0]) ? -1 : best.id[0];
  auto* sums = reinterpret_cast<float*>(best.other_key);
  count = keep_top_p(r, x, count, sums);
  count = keep_min_p(r, x, count);
  const F32 temperature = splat(r.temperature);
  map(x, x, 0, count, [&](F32 v) ZRT_UNROLLED { return v / temperature; });
  if (__builtin_isinf(x[0])) return best.id[0];
  running_sums(x, count, sums);
  const F32 target = splat(ops::sampling::uniform(r) * sums[count - 1]);
  const std::uint32_t drawn = first_where(sums, 0, count, [&](F32 v) ZRT_UNROLLED { return less(target, v); });
  return best.id[drawn < count ? drawn : count - 1];
}

/// Rows are split over as many workers as have scratch; the greedy choice needs none of it.
inline void sample(const HostCall<ops::Sample>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t rows = c.out[0].elements(step);
  const std::uint32_t cols = c.in[0].cols(step);
  const std::uint64_t lanes = worker.count < kSampleLanes ? worker.count : kSampleLanes;
  if (worker.index >= lanes) return;
  for (std::uint64_t row = worker.index; row < rows; row += lanes) {
    ops::SampleRequest request;
    std::memcpy(&request, c.in[1].data + row * sizeof request, sizeof request);
    std::int32_t& token = c.out[0].as<std::int32_t>()[row];
    token = -1;
    if (request.active == 0) continue;
    if (request.history > c.in[2].cols(step) || request.biases > c.in[3].cols(step)) {
      step.violated_row(worker, c.out[0].type.shape[0], row);
      continue;
    }
    if (request.temperature <= 0.0f && request.history == 0 && request.biases == 0)
      token = index_of_largest(c.in[0].as<float>() + row * cols, cols);
    else
      token = sample_row(c, request, step, row, sample_scratch(worker.scratch.data(), cols, worker.index));
    ops::Sample::check_choice(c, step, row, worker);
  }
}

template <> inline constexpr Kernels<ops::Sample> kKernels<ops::Sample>{.rows = &sample};

#endif
