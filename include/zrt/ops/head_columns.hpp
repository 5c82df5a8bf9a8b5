// SPDX-License-Identifier: Apache-2.0
// zrt/ops/head_columns.hpp: some columns of every head, as they are or as gates of others.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct HeadColumnsParams {
  std::uint32_t heads = 0;
  std::uint32_t head_dim = 0;  ///< columns of one head
  std::uint32_t first = 0;     ///< of the columns that are taken
  std::uint32_t count = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&HeadColumnsParams::heads, "heads"}, Member{&HeadColumnsParams::head_dim, "head_dim"},
                 Member{&HeadColumnsParams::first, "first"}, Member{&HeadColumnsParams::count, "count"});
};

/// Takes columns first..first + count - 1 of every head: y = x[them], or with `gated` y = gated · sigmoid(x[them]).
///
/// x f32 [T, heads·head_dim], gated f32 [T, heads·count] -> f32 [T, heads·count].
struct HeadColumns {
  using Params = HeadColumnsParams;
  static constexpr Opcode opcode{63};
  static constexpr std::string_view name = "head_columns";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"gated", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<HeadColumns>& c, OutputTypes<HeadColumns>& out) noexcept {
    const Params& p = c.params;
    if (auto r = expect_input<HeadColumns>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (p.heads == 0 || p.count == 0 || p.count > p.head_dim || p.first > p.head_dim - p.count)
      return bad_params<HeadColumns>("the columns must lie in the head, neither them nor heads 0");
    const Shape& x = c.in[0].type.shape;
    const CheckedSize columns = CheckedSize(p.heads) * p.head_dim;
    if (x.rank != 2 || x[1].symbol != 0 || x[1].extent != columns.raw())
      return bad_shape<HeadColumns>("x", "[tokens, heads * head_dim]", x);
    out[0] = {DType::f32, x.with_last(p.heads * p.count)};
    if (!c.in[1].present()) return {};
    if (auto r = expect_input<HeadColumns>(c.in[1], "gated", DType::f32, 2); !r) return r;
    if (!(c.in[1].type.shape == out[0].shape))
      return bad_shape<HeadColumns>("gated", "[tokens, heads * count]", c.in[1].type.shape);
    return {};
  }

  static void reference(const HostCall<HeadColumns>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    for (std::uint64_t head = 0; head < std::uint64_t{c.in[0].rows(step)} * p.heads; ++head) {
      const float* x = c.in[0].as<float>() + head * p.head_dim + p.first;
      float* y = c.out[0].as<float>() + head * p.count;
      if (!c.in[1].present())
        std::memcpy(y, x, p.count * sizeof(float));
      else
        for (std::uint32_t i = 0; i < p.count; ++i)
          y[i] = c.in[1].as<float>()[head * p.count + i] * math::sigmoid(x[i]);
    }
  }
};
static_assert(Op<HeadColumns> && HasReference<HeadColumns>);

}  // namespace zrt::inline ZRT_ABI::ops
