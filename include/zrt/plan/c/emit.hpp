// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit.hpp: what an op says of its way into C.
#pragma once

#include <zrt/ops/element_value.hpp>
#include <zrt/plan/c/constants.hpp>
#include <zrt/plan/c/nest.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

/// Where an emitter writes.
struct Context {
  Source& w;
  Constants& constants;
  Expr scratch{};                      ///< a pointer to the bytes that the op's reference wants
  Span<const std::byte> attributes{};  ///< of a custom call
  unsigned depth = 0;  ///< regions around it: variables that live around a region's code are named by it

  /// A pointer to one element of `dtype`.
  [[nodiscard]] Expr element(const ElementValue& value, DType dtype) noexcept {
    const auto number = constants.add(DType::ui8, as_bytes(Span(value)).first(info(dtype).block_bytes));
    if (number) return {"zrt_constant_", *number};
    w.set(number.error());
    return {};
  }
  /// Ends the function with a status, later; the first one counts.
  void fail(unsigned status = 1) noexcept { w.line({"zrt_fail(&status, ", status, ");"}); }
};

/// How op O is written; one specialisation per op that C has a form for, with
/// `static void emit(Context&, const EmitCall<O>&) noexcept`. It computes what O's reference computes, in the
/// same order; a result with no elements is not asked for.
template <class O> struct Emit;

template <class O>
concept Emits = requires(Context& context, const EmitCall<O>& call) {
  { Emit<O>::emit(context, call) } noexcept;
};

}  // namespace zrt::inline ZRT_ABI::plan::c
