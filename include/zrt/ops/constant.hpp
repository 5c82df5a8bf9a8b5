// SPDX-License-Identifier: Apache-2.0
// zrt/ops/constant.hpp: a tensor literal or a weight read as a value.
#pragma once

#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/types.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// Reads a weight of any computed type as an f32 value of its shape; integers keep their type.
///
/// PTIR `Constant`. Source: portable tensor IR, operation reference.
struct Constant {
  using Params = NoParams;
  static constexpr Opcode opcode{64};
  static constexpr std::string_view name = "constant";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = kNoRoles;
  static constexpr auto output_roles = std::to_array({Role{"value"}});
  static constexpr auto weight_roles = std::to_array({Role{"literal"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Constant>& c, OutputTypes<Constant>& out) noexcept {
    if (!c.w[0].present()) return fail(Errc::missing_weight, "constant: weight literal is not bound");
    const DType stored = c.w[0].dtype;
    const bool widened = quant::find(stored) != nullptr;
    if (!widened && (is_block(stored) || info(stored).block_elems != 1))
      return fail(Errc::unsupported_weight_type, "constant: ", zrt::name(stored), " is not computed in this build");
    out[0] = {widened ? DType::f32 : stored, c.w[0].shape};
    return {};
  }

  static void reference(const HostCall<Constant>& c, const ExecutionContext&, const Worker&) noexcept {
    const HostWeight& w = c.w[0];
    const std::uint64_t row_bytes = bytes_of(c.out[0].type.dtype, w.cols);
    const quant::RowFunctions* type = quant::find(w.dtype);
    for (std::uint64_t row = 0; row < w.rows; ++row) {
      std::byte* out = c.out[0].data + row * row_bytes;
      if (type != nullptr)
        type->dequantise(w.row(row), w.cols, reinterpret_cast<float*>(out));
      else
        std::memcpy(out, w.row(row), row_bytes);
    }
  }
};
static_assert(Op<Constant>);

}  // namespace zrt::inline ZRT_ABI::ops
