// SPDX-License-Identifier: Apache-2.0
// zrt/ops/slice.hpp: a window of the last axis.
#pragma once

#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct SliceParams {
  std::uint32_t start = 0;
  std::uint32_t size = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&SliceParams::start, "start"}, Member{&SliceParams::size, "size"});
};

/// Takes elements [start, start + size) of the last axis.
struct Slice {
  using Params = SliceParams;
  static constexpr Opcode opcode{77};
  static constexpr std::string_view name = "slice";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Slice>& c, OutputTypes<Slice>& out) noexcept {
    if (!c.in[0].present()) return fail(Errc::dangling_value, "slice: input x is required");
    const Shape& x = c.in[0].type.shape;
    if (info(c.in[0].type.dtype).block_elems != 1) return bad_dtype<Slice>("x", "a plain type", c.in[0].type.dtype);
    if (x.rank == 0 || x.last().symbol != 0) return bad_shape<Slice>("x", "a constant last axis", x);
    const CheckedSize end = CheckedSize(c.params.start) + CheckedSize(c.params.size);
    if (end.raw() > x.last().extent) return bad_shape<Slice>("x", "a last axis that holds the window", x);
    out[0] = {c.in[0].type.dtype, x.with_last(c.params.size)};
    return {};
  }

  static void reference(const HostCall<Slice>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::size_t size = info(c.in[0].type.dtype).block_bytes;
    const std::uint64_t from = c.in[0].cols(step) * size;
    const std::uint64_t to = c.out[0].cols(step) * size;
    for (std::uint64_t row = 0; row < c.in[0].rows(step); ++row)
      std::memcpy(c.out[0].data + row * to, c.in[0].data + row * from + c.params.start * size, to);
  }
};
static_assert(Op<Slice>);

}  // namespace zrt::inline ZRT_ABI::ops
