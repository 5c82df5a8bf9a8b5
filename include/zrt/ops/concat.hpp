// SPDX-License-Identifier: Apache-2.0
// zrt/ops/concat.hpp: tensors one after the other along the last axis.
#pragma once

#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// Joins two to four tensors along the last axis.
struct Concat {
  using Params = NoParams;
  static constexpr Opcode opcode{78};
  static constexpr std::string_view name = "concat";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x0"}, Role{"x1"}, Role{"x2", true}, Role{"x3", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Concat>& c, OutputTypes<Concat>& out) noexcept {
    std::uint32_t total = 0;
    for (const InputInfo& x : c.in) {
      if (!x.present()) continue;
      const Shape& shape = x.type.shape;
      if (info(x.type.dtype).block_elems != 1 || x.type.dtype != c.in[0].type.dtype)
        return bad_dtype<Concat>("an input", "of the first input's plain type", x.type.dtype);
      if (shape.rank == 0 || shape.last().symbol != 0 || !(shape.with_last(1) == c.in[0].type.shape.with_last(1)))
        return bad_shape<Concat>("an input", "the first input's leading axes", shape);
      if (!add_fits(total, shape.last().extent, total))
        return bad_shape<Concat>("y", "a last axis within 32 bits", shape);
    }
    if (!c.in[0].present() || !c.in[1].present()) return fail(Errc::dangling_value, "concat: two inputs are required");
    out[0] = {c.in[0].type.dtype, c.in[0].type.shape.with_last(total)};
    return {};
  }

  static void reference(const HostCall<Concat>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::size_t size = info(c.out[0].type.dtype).block_bytes;
    const std::uint64_t to = c.out[0].cols(step) * size;
    std::uint64_t at = 0;
    for (const HostTensor& x : c.in) {
      if (!x.present()) continue;
      const std::uint64_t from = x.cols(step) * size;
      for (std::uint64_t row = 0; row < x.rows(step); ++row)
        std::memcpy(c.out[0].data + row * to + at, x.data + row * from, from);
      at += from;
    }
  }
};
static_assert(Op<Concat>);

}  // namespace zrt::inline ZRT_ABI::ops
