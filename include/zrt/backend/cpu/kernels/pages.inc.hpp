// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/pages.inc.hpp: textual fragment: keys and values into their pages, also straight from rotation.

/// Stores `count` elements, at most 16, rounded to the page's type; `to` has room for 16 f32.
ZRT_NOINLINE inline void store_rounded(DType dtype, const float* x, std::size_t count, std::byte* to) noexcept {
  const F32 v = load_first(x, count);
  if (dtype == DType::f32)
    store(reinterpret_cast<float*>(to), v);
  else if (dtype == DType::f16)
    store_f16(to, v);
  else
    store_bf16(to, v);
}

/// Writes a key head: one element in each of key_dim lines of 16 tokens.
ZRT_NOINLINE inline void write_key(const KvPage& page, std::byte* at, std::uint32_t head, std::uint32_t token,
                                   const float* x) noexcept {
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + page.key(head, token) * size;
  alignas(64) std::byte rounded[64];
  for (std::uint32_t i = 0; i < page.key_dim; i += 16) {
    const std::size_t count = page.key_dim - i < 16 ? page.key_dim - i : 16;
    store_rounded(page.dtype, x + i, count, rounded);
    for (std::size_t j = 0; j < count; ++j) {
      if (size == 4)
        std::memcpy(to + (i + j) * (kPageTokens * 4), rounded + j * 4, 4);
      else
        std::memcpy(to + (i + j) * (kPageTokens * 2), rounded + j * 2, 2);
    }
  }
}
ZRT_NOINLINE inline void write_value(const KvPage& page, std::byte* at, std::uint32_t head, std::uint32_t token,
                                     const float* x) noexcept {
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + page.value(head, token) * size;
  alignas(64) std::byte rounded[64];
  for (std::uint32_t i = 0; i < page.value_dim; i += 16) {
    const std::size_t count = page.value_dim - i < 16 ? page.value_dim - i : 16;
    store_rounded(page.dtype, x + i, count, rounded);
    std::memcpy(to + i * size, rounded, count * size);
  }
}

/// The page of row `t`'s position, and the position's place in it.
struct PagePlace {
  std::byte* page;
  std::uint32_t token;
};
[[nodiscard]] inline PagePlace place_of(const HostState& state, const ExecutionContext& step,
                                        std::uint64_t t) noexcept {
  const std::uint32_t position = step.positions[t];
  const std::uint32_t* list = step.page_list(state.info.group, step.slots[t]);
  return {state.unit(list[position / kPageTokens]), position % kPageTokens};
}

/// Heads of all rows are split.
inline void kv_write(const KvWriteArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostState& state = a.call.state;
  const KvPage page = KvPage::of(state.info);
  const Range part = split(std::uint64_t{a.call.in[0].rows(step)} * page.heads, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const auto head = static_cast<std::uint32_t>(unit % page.heads);
    const PagePlace to = place_of(state, step, unit / page.heads);
    write_key(page, to.page, head, to.token, a.call.in[0].as<float>() + unit * page.key_dim);
    write_value(page, to.page, head, to.token, a.call.in[1].as<float>() + unit * page.value_dim);
  }
}

/// Query heads are normed and rotated, key heads too and written, value heads written; heads of all
/// rows are split.
inline void rope_kv_write(const RopeKvWriteArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RmsNormFusedRopeKvWriteParams& p = a.call.params;
  const ops::RmsNormParams norm = ops::RmsNormFusedRopeKvWrite::norm(p);
  const HostState& state = a.call.state;
  const KvPage page = KvPage::of(state.info);
  const std::uint32_t dim = p.kv.key_dim;
  const std::uint32_t query_heads = a.call.in[0].cols(step) / dim;
  const std::uint32_t heads = query_heads + page.heads;
  const Range part = split(std::uint64_t{a.call.in[0].rows(step)} * heads, 1, worker);
  const float* q_norm = a.call.w[0].f32();
  const float* k_norm = a.call.w[1].f32();
  Turns turns;
  alignas(64) float key[ops::FlashAttnBatched::kMaxHeadDim];
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const std::uint64_t t = unit / heads;
    const auto head = static_cast<std::uint32_t>(unit % heads);
    if (unit == part.first || head == 0)
      turns_at(p.rope, a.frequency, a.magnitude, static_cast<std::uint32_t>(a.call.in[3].as<std::int32_t>()[t]), turns);
    const auto turn = [&](const float* x, const float* weight, float* y) noexcept {
      if (weight != nullptr) norm_run(norm, x, weight, y);
      rotate_head(p.rope, turns, weight != nullptr ? y : x, y);
    };
    if (head < query_heads) {
      const std::uint64_t from = (t * query_heads + head) * dim;
      turn(a.call.in[0].as<float>() + from, q_norm, a.call.out[0].as<float>() + from);
      continue;
    }
    const std::uint32_t kv_head = head - query_heads;
    const PagePlace to = place_of(state, step, t);
    turn(a.call.in[1].as<float>() + (t * page.heads + kv_head) * dim, k_norm, key);
    write_key(page, to.page, kv_head, to.token, key);
    write_value(page, to.page, kv_head, to.token,
                a.call.in[2].as<float>() + (t * page.heads + kv_head) * page.value_dim);
  }
}
