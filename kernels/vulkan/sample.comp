#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/sample.comp: one token of each row of logits, by the row's own request: what ops/sampling.hpp draws.
//
// Grid: one workgroup for each row. Canonical: terms are added in the order of their candidates, by one lane. A row that
// is not active, or asks for more history or biases than there are, gives -1.
//
// Candidates that change no sum are left out, those that are left are sorted in tiles of 1024. So a greedy row reads its
// logits once, and a row with top-k sorts about k. Turns of loops: backend/vulkan/loop_turns.hpp.
#include "elementary.glsl"
#include "order.glsl"

ZRT_LANES(1024);
ZRT_ARGUMENTS {
  uint64_t logits, requests, history, bias_ids, bias, token, scratch;
  uint cols, histories, biases;
};

/// A row of `requests`: ops::SampleRequest.
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Request {
  uint is_active, seed_low, seed_high, generated;
  float temperature;
  uint top_k;
  float top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty;
  uint history, biases, min_keep;
};

/// A word that lanes leave for each other in global memory.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Kept { uint value; };

uint kept_at(uint64_t base, uint i) { return Kept(base + uint64_t(i) * 4).value; }
real kept_real_at(uint64_t base, uint i) { return uintBitsToFloat(kept_at(base, i)); }
void keep(uint64_t base, uint i, uint value) { Kept(base + uint64_t(i) * 4).value = value; }

/// Waits for all lanes of the workgroup; what they kept is then seen by each.
void publish() {
  memoryBarrierBuffer();
  barrier();
}

/// Candidates in global memory, one array of keys and one of ids; `sums` has as many words.
struct List {
  uint64_t keys, ids, sums;
};

const uint kLanes = 1024, kBins = 256, kRuns = 16;
shared uint counts[kBins], run_counts[kRuns];
shared uint listed, found, chosen_bin, chosen_rank;
shared float total;  // of a chain
shared bool is_whole;

// --- penalties and biases ---

/// Of each token in the history once, by who takes its count.
void penalise(Request r, uint64_t history, uint64_t x, uint64_t seen, uint cols) {
  for (uint i = lane_id(); i < r.history; i += kLanes)
    if (word_at(history, i) < cols) keep(seen, word_at(history, i), 0);
  publish();
  for (uint i = lane_id(); i < r.history; i += kLanes)
    if (word_at(history, i) < cols) atomicAdd(Kept(seen + uint64_t(word_at(history, i)) * 4).value, 1u);
  publish();
  for (uint i = lane_id(); i < r.history; i += kLanes) {
    const uint id = word_at(history, i);
    const uint count = id < cols ? atomicExchange(Kept(seen + uint64_t(id) * 4).value, 0u) : 0u;
    if (count == 0) continue;
    real logit = kept_real_at(x, id);
    real scaled = logit * r.repetition_penalty;
    if (!(logit <= 0.0)) scaled = zrt_div(logit, r.repetition_penalty);
    real lower = scaled - zrt_fma(float(count), r.frequency_penalty, r.presence_penalty);
    keep(x, id, floatBitsToUint(lower));
  }
  publish();
}

/// A token's biases are added in their order: each lane has tokens of its own.
void add_biases(Request r, uint64_t ids, uint64_t bias, uint64_t x, uint cols) {
  for (uint i = 0; i < r.biases; ++i) {
    const uint id = word_at(ids, i);
    if (id >= cols || id % kLanes != lane_id()) continue;
    real sum = kept_real_at(x, id) + real_at(bias, i);
    keep(x, id, floatBitsToUint(sum));
  }
  publish();
}

// --- candidates ---

/// The first candidate of all, at the begin of the tile.
void find_best(uint64_t x, uint cols) {
  uint key = 0xffffffffu, id = 0xffffffffu;
  for (uint i = lane_id(); i < cols; i += kLanes) {
    const uint other = key_of(kept_real_at(x, i));
    if (comes_before(other, i, key, id)) {
      key = other;
      id = i;
    }
  }
  tile_keys[lane_id()] = key;
  tile_ids[lane_id()] = id;
  find_first();
}

/// The least logit that can change what is drawn: sums begin at 1, so that terms below 2^-24 = e^-16.6 leave them as they
/// are. -infinity where the division by the temperature rounds off too much to tell.
real least_that_counts(float temperature, float top) {
  const float most = 65536.0;
  const bool is_precise = top < most && top > -most && temperature < most && temperature > 1.0 / 65536.0;
  if (!is_precise) return -infinity();
  real reach = 17.0 * (temperature > 1.0 ? temperature : 1.0);
  return top - reach;
}

/// The key of the candidate of that rank, from 1 on, found 8 bits at a time.
uint key_of_rank(uint64_t x, uint cols, uint rank) {
  const uint lane = lane_id();
  uint begin = 0;
  for (uint shift = 32; shift > 0;) {
    shift -= 8;
    if (lane < kBins) counts[lane] = 0;
    meet();
    for (uint i = lane; i < cols; i += kLanes) {
      const uint key = key_of(kept_real_at(x, i));
      if (shift == 24 || key >> (shift + 8) == begin) atomicAdd(counts[key >> shift & 255u], 1u);
    }
    meet();
    if (lane < kRuns) {
      uint sum = 0;
      for (uint k = 0; k < kBins / kRuns; ++k) sum += counts[lane * (kBins / kRuns) + k];
      run_counts[lane] = sum;
    }
    meet();
    if (lane == 0) {
      uint bin = 0, left = rank;
      for (; run_counts[bin / (kBins / kRuns)] < left; bin += kBins / kRuns) left -= run_counts[bin / (kBins / kRuns)];
      for (; counts[bin] < left; ++bin) left -= counts[bin];
      chosen_bin = bin;
      chosen_rank = left;
    }
    meet();
    begin = begin << 8 | chosen_bin;
    rank = chosen_rank;
  }
  return begin;
}

/// Lists all candidates up to a key, in no order. Returns how many they are.
uint list_to(uint last, uint64_t x, uint cols, List list) {
  if (lane_id() == 0) listed = 0;
  meet();
  for (uint i = lane_id(); i < cols; i += kLanes) {
    const uint key = key_of(kept_real_at(x, i));
    if (key > last) continue;
    const uint at = atomicAdd(listed, 1u);
    keep(list.keys, at, key);
    keep(list.ids, at, i);
  }
  publish();
  return listed;
}

// --- order: a bitonic network whose pairs all put the first in front, so that none reaches behind the last ---

/// Compares pairs of the tile that are `width` apart, or mirrored in the middle of runs of twice the width.
void order_in_tile(uint width, bool mirrored) {
  const uint in_run = lane_id() & (width - 1);
  const uint run = (lane_id() - in_run) * 2;
  const uint a = mirrored ? run + width - 1 - in_run : run + in_run, b = run + width + in_run;
  if (lane_id() < kLanes / 2 && comes_before(tile_keys[b], tile_ids[b], tile_keys[a], tile_ids[a])) {
    const uint key = tile_keys[a], id = tile_ids[a];
    tile_keys[a] = tile_keys[b];
    tile_ids[a] = tile_ids[b];
    tile_keys[b] = key;
    tile_ids[b] = id;
  }
  meet();
}
/// Sorts each tile, or merges the two halves of each where wider pairs have been compared. Two widths in a turn, as
/// lavapipe counts turns; not all in one, as there each meeting adds to the state of a lane.
void order_tiles(List list, uint count, bool merges) {
  for (uint begin = 0; begin < count; begin += kLanes) {
    const uint i = begin + lane_id();
    tile_keys[lane_id()] = i < count ? kept_at(list.keys, i) : 0xffffffffu;
    tile_ids[lane_id()] = i < count ? kept_at(list.ids, i) : 0xffffffffu;
    meet();
    for (uint size = merges ? kLanes : 2; size <= kLanes && size < 2 * count; size *= 2)
      for (uint width = size / 2; width > 0; width /= 4) {
        order_in_tile(width, !merges && width == size / 2);
        if (width > 1) order_in_tile(width / 2, false);
      }
    if (i < count) {
      keep(list.keys, i, tile_keys[lane_id()]);
      keep(list.ids, i, tile_ids[lane_id()]);
    }
    meet();
  }
  publish();
}

/// The same pairs of the whole list. Of the first count / 2 alone the second is before `count`.
void order_far(List list, uint count, uint width, bool mirrored) {
  for (uint begin = 0; begin < count; begin += 2 * kLanes) {
    const uint pair = begin / 2 + lane_id();
    const uint in_run = pair & (width - 1);
    const uint run = (pair - in_run) * 2;
    const uint a = mirrored ? run + width - 1 - in_run : run + in_run, b = run + width + in_run;
    if (b >= count) continue;
    const uint key = kept_at(list.keys, a), id = kept_at(list.ids, a);
    const uint other = kept_at(list.keys, b), other_id = kept_at(list.ids, b);
    if (!comes_before(other, other_id, key, id)) continue;
    keep(list.keys, a, other);
    keep(list.ids, a, other_id);
    keep(list.keys, b, key);
    keep(list.ids, b, id);
  }
  publish();
}

void order(List list, uint count) {
  for (uint size = kLanes / 2; size == kLanes / 2 || size < count; size *= 2) {
    for (uint width = size; width >= kLanes; width /= 2) order_far(list, count, width, width == size);
    order_tiles(list, count, size >= kLanes);
  }
}

// --- sums ---

/// The logit of a listed candidate, divided by the temperature where that is not 0.
real listed_at(List list, uint i, float temperature) {
  real x = logit_of(kept_at(list.keys, i));
  if (temperature != 0.0) x = zrt_div(x, temperature);
  return x;
}

/// A term of the tile becomes the sum up to it.
real add_1(float sum, uint i) {
  real next = sum + uintBitsToFloat(tile_keys[i]);
  tile_keys[i] = floatBitsToUint(next);
  return next;
}
real add_2(float sum, uint i) { return add_1(add_1(sum, i), i + 1); }
real add_4(float sum, uint i) { return add_2(add_2(sum, i), i + 2); }
real add_8(float sum, uint i) { return add_4(add_4(sum, i), i + 4); }
real add_16(float sum, uint i) { return add_8(add_8(sum, i), i + 8); }
real add_32(float sum, uint i) { return add_16(add_16(sum, i), i + 16); }

/// sums[i] = e^(x[0] - x[0]) + ... + e^(x[i] - x[0]), a chain; their last is `total`. Returns how many were written: the
/// others are as the last.
uint add_up(List list, uint count, float temperature) {
  const uint lane = lane_id();
  real top = listed_at(list, 0, temperature);
  if (lane == 0) total = 0.0;
  for (uint begin = 0; begin < count; begin += kLanes) {
    const uint i = begin + lane;
    real term = 0.0;
    if (i < count) {
      real below = listed_at(list, i, temperature) - top;
      term = exp_of(below);
    }
    tile_keys[lane] = floatBitsToUint(term);
    meet();
    if (lane == 0) {
      const uint terms = min(count - begin, kLanes);
      const float last = uintBitsToFloat(tile_keys[terms - 1]);
      real sum = total;
      for (uint k = 0; k < terms; k += 32) sum = add_32(sum, k);
      total = sum;
      // Terms fall, but for their last bits: none that is far below half a unit of the sum's last place adds to it.
      is_whole = last * 67108864.0 < sum;
    }
    meet();
    if (i < count) keep(list.sums, i, tile_keys[lane]);
    if (is_whole) {
      count = min(count, begin + kLanes);
      break;
    }
  }
  publish();
  return count;
}

/// The first candidate from `from` on whose sum reaches `enough`, or passes it; `count` where none does.
uint first_with(List list, uint from, uint count, uint summed, float enough, bool passes) {
  if (lane_id() == 0) found = count;
  meet();
  for (uint i = lane_id(); i < count; i += kLanes) {
    const float sum = i < summed ? kept_real_at(list.sums, i) : total;
    if (i < from || !(passes ? sum > enough : sum >= enough)) continue;
    atomicMin(found, i);
    break;
  }
  meet();
  const uint first = found;
  meet();
  return first;
}

/// How many of `count` candidates min-p keeps.
uint keep_min_p(Request r, List list, uint count) {
  if (r.min_p <= 0.0) return count;
  real bound = listed_at(list, 0, 0.0) + log_of(r.min_p);
  const uint least = r.min_keep < 1 ? 1 : r.min_keep;
  if (lane_id() == 0) found = count;
  meet();
  for (uint i = lane_id(); i < count; i += kLanes) {
    if (i < least || listed_at(list, i, 0.0) >= bound) continue;
    atomicMin(found, i);
    break;
  }
  meet();
  const uint kept = found;
  meet();
  return kept;
}

// --- the draw ---

/// Philox4x32-10 of core/philox.hpp: keyed by the seed, counted by the token's number.
real uniform_of(Request r) {
  uvec4 counter = uvec4(r.generated, 0, 0, 0);
  uvec2 key = uvec2(r.seed_low, r.seed_high);
  for (int round = 0; round < 10; ++round) {
    const uvec2 a = unpackUint2x32(0xD2511F53ul * uint64_t(counter.x));
    const uvec2 b = unpackUint2x32(0xCD9E8D57ul * uint64_t(counter.z));
    counter = uvec4(b.y ^ counter.y ^ key.x, b.x, a.y ^ counter.w ^ key.y, a.x);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return float(counter.x >> 8) * 5.9604644775390625e-08;
}

/// From candidates in their order: those that top-p keeps, of these those that min-p keeps, and the draw.
uint draw(Request r, List list, uint count) {
  for (uint draws = r.top_p >= 1.0 ? 1 : 0; draws < 2; ++draws) {
    real bound = r.top_p;
    if (draws == 1) {
      count = keep_min_p(r, list, count);
      if (magnitude_of(listed_at(list, 0, r.temperature)) == infinity()) return kept_at(list.ids, 0);
      bound = uniform_of(r);
    }
    const uint summed = add_up(list, count, draws == 1 ? r.temperature : 0.0);
    bound = bound * total;
    const uint from = draws == 1 || r.min_keep < 1 ? 0 : r.min_keep - 1;
    count = min(first_with(list, from, count, summed, bound, draws == 1), count - 1) + 1;
  }
  return kept_at(list.ids, count - 1);
}

uint choose(Request r, uint64_t x, uint cols, List list) {
  find_best(x, cols);
  const uint key = tile_keys[0], id = tile_ids[0];
  if (key != 0xffffffffu && logit_of(key) == -infinity()) return 0xffffffffu;  // every token is forbidden
  if (r.temperature <= 0.0 || r.top_k == 1 || key == 0xffffffffu) return id;
  real top = logit_of(key);
  if (magnitude_of(top) == infinity()) return id;
  uint last = key_of(least_that_counts(r.temperature, top));
  const bool keeps_all = r.top_k == 0 || r.top_k >= cols;
  if (!keeps_all) last = min(last, key_of_rank(x, cols, r.top_k));
  uint count = list_to(last, x, cols, list);
  order(list, count);
  if (!keeps_all) count = min(count, r.top_k);
  return draw(r, list, count);
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t row = group_x();
  Request r = Request(args.requests + row * 64);
  const bool is_answered = r.is_active != 0 && r.history <= args.histories && r.biases <= args.biases;
  uint token = 0xffffffffu;
  if (is_answered) {
    const uint64_t bytes = uint64_t(args.cols) * 4;
    const uint64_t own = args.scratch + row * bytes * 3;
    const List list = List(own + bytes, own + 2 * bytes, own);
    uint64_t x = args.logits + row * bytes;
    if (r.history != 0 || r.biases != 0) {
      for (uint i = lane_id(); i < args.cols; i += kLanes) keep(own, i, word_at(x, i));
      publish();
      x = own;
      if (r.history != 0) penalise(r, args.history + row * args.histories * 4, x, list.keys, args.cols);
      const uint64_t biases = row * args.biases * 4;
      if (r.biases != 0) add_biases(r, args.bias_ids + biases, args.bias + biases, x, args.cols);
    }
    token = choose(r, x, args.cols, list);
  }
  if (lane_id() == 0) put_word(args.token, row, token);
}
