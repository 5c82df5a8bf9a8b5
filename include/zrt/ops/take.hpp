// SPDX-License-Identifier: Apache-2.0
// zrt/ops/take.hpp: rows of a table chosen by index.
#pragma once

#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// y[i...] = x[indices[i...]] along axis 0 (PTIR `Take`); indices si32.
///
/// An index outside the table reports Errc::spec_violation in the step's status and reads row 0.
struct Take {
  using Params = NoParams;
  static constexpr Opcode opcode{82};
  static constexpr std::string_view name = "take";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"indices"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Take>& c, OutputTypes<Take>& out) noexcept {
    if (!c.in[0].present()) return fail(Errc::dangling_value, "take: input x is required");
    if (auto r = expect_input<Take>(c.in[1], "indices", DType::si32, 0); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (info(c.in[0].type.dtype).block_elems != 1) return bad_dtype<Take>("x", "a plain type", c.in[0].type.dtype);
    if (x.rank == 0 || x[0].extent == 0) return bad_shape<Take>("x", "at least one axis, which is not empty", x);
    Shape y = c.in[1].type.shape;
    if (y.rank + x.rank - 1 > kMaxRank)
      return fail(Errc::unsupported_tensor_rank, "take: the output has too many axes");
    for (std::uint8_t axis = 1; axis < x.rank; ++axis) y = y.appended(x[axis]);
    out[0] = {c.in[0].type.dtype, y};
    return {};
  }

  /// Bytes of one row of the table.
  [[nodiscard]] static std::uint64_t row_bytes(const HostTensor& x, const ExecutionContext& step) noexcept {
    std::uint64_t elements = 1;
    for (std::uint8_t axis = 1; axis < x.type.shape.rank; ++axis) elements *= step.extents.of(x.type.shape[axis]);
    return elements * info(x.type.dtype).block_bytes;
  }

  static void reference(const HostCall<Take>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint64_t bytes = row_bytes(c.in[0], step);
    const std::uint32_t rows = step.extents.of(c.in[0].type.shape[0]);
    const auto* indices = c.in[1].as<std::int32_t>();
    for (std::uint64_t i = 0; i < c.in[1].elements(step); ++i) {
      auto index = static_cast<std::uint32_t>(indices[i]);
      if (index >= rows) {
        step.violated(worker);
        index = 0;
      }
      std::memcpy(c.out[0].data + i * bytes, c.in[0].data + index * bytes, bytes);
    }
  }
};
static_assert(Op<Take>);

}  // namespace zrt::inline ZRT_ABI::ops
