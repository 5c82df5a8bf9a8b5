// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit.hpp: what the form of an op in C is written with.
#pragma once

#include <zrt/ops/element_value.hpp>
#include <zrt/plan/c/constants.hpp>
#include <zrt/plan/c/nest.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Where an op's `emit_c` writes, and the names that it takes from here: an op's header includes nothing of plan/c, and
/// finds functions by the namespace of what it gives them.
struct Context {
  using Tensor = c::Tensor;
  using Weight = WeightInfo;
  using State = StateInfo;
  using Region = c::Region;
  using Expr = c::Expr;
  using Nest = c::Nest;

  Source& w;
  Constants& constants;
  Expr scratch{};                      ///< a pointer to the bytes that the op's reference wants
  Span<const std::byte> attributes{};  ///< of a custom call
  /// Whether workers may share the instruction's outermost loop, and whether they do.
  enum class Parts : std::uint8_t { none, allowed, taken };
  Parts parts = Parts::none;
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

  [[nodiscard]] static constexpr std::string_view c_type(Domain domain) noexcept { return c::c_type(domain); }
  [[nodiscard]] static constexpr std::string_view c_type(DType dtype) noexcept { return c::c_type(dtype); }
  [[nodiscard]] static constexpr std::string_view c_name(Domain domain) noexcept { return c::c_name(domain); }
  [[nodiscard]] static Expr cast(const Expr& value, DType from, DType to) noexcept { return c::cast(value, from, to); }
  template <class T> [[nodiscard]] static Expr literal(T value) noexcept { return c::literal(value); }
  [[nodiscard]] static Expr below(std::string_view index, std::uint64_t extent) noexcept {
    return c::below(index, extent);
  }
};

/// A call as `emit_c` of op O takes it.
template <class O> using EmitCall = Call<Context, O>;

/// Copies a box of x into y, from element `from_first` to `to_first`.
inline void copy_box(Context& f, const Tensor& x, std::uint64_t from_first, const Tensor& y, std::uint64_t to_first,
                     Span<const ops::CopyAxis> axes) noexcept {
  copy_box(f.w, x.dtype(), x.pointer(), Expr{from_first}, y.pointer(), Expr{to_first}, axes);
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
