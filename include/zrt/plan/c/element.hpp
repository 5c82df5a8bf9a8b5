// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/element.hpp: elements of every computed type as expressions in their domain.
#pragma once

#include <zrt/plan/c/host.hpp>
#include <zrt/plan/c/literal.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// The C type of a domain, and its name in helpers.
[[nodiscard]] constexpr std::string_view c_type(Domain domain) noexcept {
  constexpr std::array<std::string_view, 4> kTypes{"float", "double", "int64_t", "uint64_t"};
  return kTypes[static_cast<std::size_t>(domain)];
}
[[nodiscard]] constexpr std::string_view c_name(Domain domain) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"f32", "f64", "i64", "u64"};
  return kNames[static_cast<std::size_t>(domain)];
}
[[nodiscard]] constexpr std::string_view c_type(DType dtype) noexcept { return c_type(domain_of(dtype)); }

/// The type whose elements are the values of a domain.
[[nodiscard]] constexpr DType dtype_of(Domain domain) noexcept {
  constexpr std::array kTypes{DType::f32, DType::f64, DType::si64, DType::ui64};
  return kTypes[static_cast<std::size_t>(domain)];
}

/// Element `index` of a tensor of `dtype` at `pointer`, as a value of its domain.
[[nodiscard]] inline Expr load(DType dtype, const Expr& pointer, const Expr& index) noexcept {
  return {"zrt_load_", name(dtype), "(", pointer, ", ", index, ")"};
}
[[nodiscard]] inline Expr load(const Tensor& x, const Expr& index) noexcept {
  return load(x.dtype(), x.pointer(), index);
}
/// Writes a value of its domain to an element; integers keep their low bits, floats round.
inline void store(Source& w, DType dtype, const Expr& pointer, const Expr& index, const Expr& value) noexcept {
  w.line({"zrt_store_", name(dtype), "(", pointer, ", ", index, ", ", value, ");"});
}
inline void store(Source& w, const Tensor& y, const Expr& index, const Expr& value) noexcept {
  store(w, y.dtype(), y.pointer(), index, value);
}

/// `value` of the domain of `from` as that value of the domain of `to` which, stored as `to`, is the cast
/// of core/cast.hpp.
[[nodiscard]] inline Expr cast(const Expr& value, DType from, DType to) noexcept {
  if (from == to) return value;
  if (to == DType::i1) return {"(uint64_t)((", value, ") != 0)"};
  const Domain source = domain_of(from);
  const Domain target = domain_of(to);
  Expr in_domain = value;
  if (source != target) {
    const bool rounds_again = target == Domain::f32 && to != DType::f32;
    if (target == Domain::f64 || (target == Domain::f32 && !rounds_again))
      in_domain = {"(", c_type(target), ")(", value, ")"};
    else if (target == Domain::f32)
      in_domain = {"zrt_odd_", c_name(source), "(", value, ")"};
    else if (is_float(from))
      in_domain = {"zrt_f64_to_", c_name(target), "(", value, ")"};
    else
      in_domain = {"zrt_", c_name(source), "_to_", c_name(target), "(", value, ")"};
  }
  if (target == Domain::i64 && to != DType::si64) {
    const auto& type = element_functions<std::int64_t>(to);
    return {"zrt_clamp_i64(", in_domain, ", ", literal(type.lowest), ", ", literal(type.highest), ")"};
  }
  if (target == Domain::u64 && to != DType::ui64)
    return {"zrt_min_u64(", in_domain, ", ", literal(element_functions<std::uint64_t>(to).highest), ")"};
  return in_domain;
}

/// What a value of the domain of `dtype` is after it was stored as `dtype`.
[[nodiscard]] inline Expr wrapped(const Expr& value, DType dtype) noexcept {
  if (dtype == dtype_of(domain_of(dtype))) return value;
  return {"zrt_wrap_", name(dtype), "(", value, ")"};
}

/// Element `index` of x, cast to `as` and read back in the domain of `as`.
[[nodiscard]] inline Expr load_as(const Tensor& x, const Expr& index, DType as) noexcept {
  const Expr value = load(x, index);
  if (x.dtype() == as) return value;
  const Expr converted = cast(value, x.dtype(), as);
  // A cast to integers stays within their range.
  return is_float(as) ? wrapped(converted, as) : converted;
}
/// Writes `value` of the domain of `accumulator`, rounded to that type and cast to y's.
inline void store_from(Source& w, DType accumulator, const Expr& value, const Tensor& y, const Expr& index) noexcept {
  if (accumulator == y.dtype()) return store(w, y, index, value);
  store(w, y, index, cast(wrapped(value, accumulator), accumulator, y.dtype()));
}

/// Copies `count` elements of a plain type as they stand.
inline void copy(Source& w, DType dtype, const Expr& to, const Expr& i, const Expr& from, const Expr& j,
                 const Expr& count) noexcept {
  if (info(dtype).block_elems == 2)
    w.line({"zrt_copy_half(", to, ", ", i, ", ", from, ", ", j, ", ", count, ");"});
  else
    w.line({"zrt_copy_", info(dtype).block_bytes, "(", to, ", ", i, ", ", from, ", ", j, ", ", count, ");"});
}
/// Copies a whole tensor to another of its type, which lies apart, or is the same.
inline void copy_whole(Source& w, const Tensor& from, const Tensor& to) noexcept {
  if (from.place == to.place || from.bytes() == 0) return;
  w.line({"memcpy(", to.pointer(), ", ", from.pointer(), ", ", from.bytes(), ");"});
}

/// Integer `i` of a tensor as uint64_t; a negative index is larger than every extent.
[[nodiscard]] inline Expr load_index(const Tensor& indices, const Expr& i) noexcept {
  return {"(uint64_t)", load(indices, i)};
}
/// True in C where `index` is below `extent`; no compiler is asked whether it is below 0.
[[nodiscard]] inline Expr below(std::string_view index, std::uint64_t extent) noexcept {
  return extent == 0 ? Expr{"0"} : Expr{index, " < ", extent};
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
