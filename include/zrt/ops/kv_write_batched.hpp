// SPDX-License-Identifier: Apache-2.0
// zrt/ops/kv_write_batched.hpp: keys and values of a step into their pages.
#pragma once

#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct KvWriteBatchedParams {
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&KvWriteBatchedParams::kv_heads, "kv_heads"}, Member{&KvWriteBatchedParams::key_dim, "key_dim"},
                 Member{&KvWriteBatchedParams::value_dim, "value_dim"});
};

/// Writes k f32 [T, heads·key_dim] and v f32 [T, heads·value_dim] at each row's slot and position.
///
/// Numbers are rounded to the page's type, nearest even (KvPage).
struct KvWriteBatched {
  using Params = KvWriteBatchedParams;
  static constexpr Opcode opcode{51};
  static constexpr std::string_view name = "kv_write_batched";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"k"}, Role{"v"}});
  static constexpr auto output_roles = kNoRoles;
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;

  template <class O>
  static constexpr Result<void> check(const Params& p, const InputInfo& k, const InputInfo& v,
                                      const StateInfo& state) noexcept {
    if (auto r = expect_input<O>(k, "k", DType::f32, 2); !r) return r;
    if (auto r = expect_input<O>(v, "v", DType::f32, 2); !r) return r;
    const CheckedSize key_cols = CheckedSize(p.kv_heads) * p.key_dim;
    const CheckedSize value_cols = CheckedSize(p.kv_heads) * p.value_dim;
    if (k.type.shape.rank != 2 || k.type.shape[1].symbol != 0 || k.type.shape[1].extent != key_cols.raw())
      return bad_shape<O>("k", "[tokens, kv_heads * key_dim]", k.type.shape);
    if (v.type.shape.rank != 2 || v.type.shape[1].symbol != 0 || v.type.shape[1].extent != value_cols.raw() ||
        v.type.shape[0] != k.type.shape[0])
      return bad_shape<O>("v", "[tokens, kv_heads * value_dim]", v.type.shape);
    return expect_kv<O>(state, p.kv_heads, p.key_dim, p.value_dim);
  }

  static constexpr Result<void> infer(const TypeCall<KvWriteBatched>& c, OutputTypes<KvWriteBatched>&) noexcept {
    return check<KvWriteBatched>(c.params, c.in[0], c.in[1], c.state);
  }

  /// Writes the keys and values of row `t`.
  static void write_row(const HostState& state, const ExecutionContext& step, std::uint32_t t, const float* k,
                        const float* v) noexcept {
    const KvPage page = KvPage::of(state.info);
    const std::uint32_t position = step.positions[t];
    const std::uint32_t token = position % kPageTokens;
    std::byte* at = state.unit(step.page_list(state.info.group, step.slots[t])[position / kPageTokens]);
    for (std::uint32_t head = 0; head < page.heads; ++head) {
      page.store_key(at, head, token, k + std::uint64_t{head} * page.key_dim);
      page.store_value(at, head, token, v + std::uint64_t{head} * page.value_dim);
    }
  }

  static void reference(const HostCall<KvWriteBatched>& c, const ExecutionContext& step, const Worker&) noexcept {
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t)
      write_row(c.state, step, t, c.in[0].as<float>() + std::uint64_t{t} * c.in[0].cols(step),
                c.in[1].as<float>() + std::uint64_t{t} * c.in[1].cols(step));
  }
};
static_assert(Op<KvWriteBatched>);

}  // namespace zrt::inline ZRT_ABI::ops
