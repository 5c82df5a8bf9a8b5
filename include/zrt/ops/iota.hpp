// SPDX-License-Identifier: Apache-2.0
// zrt/ops/iota.hpp: numbers that count along an axis.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct IotaParams {
  ShapeParams shape{};
  std::uint8_t axis = 0;
  DType dtype = DType::si32;
  std::array<std::uint8_t, 2> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&IotaParams::shape, "shape"}, Member{&IotaParams::axis, "axis"},
                 Member{&IotaParams::dtype, "dtype"}, Member{&IotaParams::reserved, "reserved"});
};

/// y[..., i, ...] = i, the index on one axis (PTIR `Iota`). Integers wrap modulo 2^n; floats are the
/// nearest, and beyond a type's range what a cast gives.
struct Iota {
  using Params = IotaParams;
  static constexpr Opcode opcode{81};
  static constexpr std::string_view name = "iota";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = kNoRoles;
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes =
      attribute_list(attribute::shape("shape", &Params::shape), attribute::dtype("dtype", &Params::dtype),
                     attribute::axis_of_shape("axis", &Params::axis, &Params::shape));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& shape = c.shape(at<Iota>("shape"));
    const DType dtype = c.dtype(at<Iota>("dtype"));
    if (auto r = c.axis(at<Iota>("axis"), shape.rank); !r) return pass(r);
    if (is_boolean(dtype)) return c.no(Errc::dtype_mismatch, "dtype is i1, expected a dtype of numbers");
    if (auto r = c.computed(dtype, "dtype"); !r) return r;
    return c.give(dtype, shape);
  }

  static void reference(const HostCall<Iota>& c, const ExecutionContext& step, const Worker&) noexcept {
    const AxisSplit split(c.out[0], c.params.axis, step);
    const std::uint64_t elements = c.out[0].elements(step);
    const DType dtype = c.params.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      for (std::uint64_t first = 0; first < elements; first += kFoldRun) {
        const std::uint64_t run = std::min(elements - first, kFoldRun);
        if constexpr (std::integral<T>) {
          T values[kFoldRun];
          for (std::uint64_t i = 0; i < run; ++i) values[i] = static_cast<T>((first + i) / split.inner % split.extent);
          element_functions<T>(dtype).pack(values, first, run, c.out[0].data);
        } else {
          // Rounded once, which a float of the domain would not be.
          std::byte values[kFoldRun * sizeof(std::uint64_t)];
          for (std::uint64_t i = 0; i < run; ++i)
            write_little(values + i * sizeof(std::uint64_t), (first + i) / split.inner % split.extent);
          cast_elements(DType::ui64, values, dtype, c.out[0].data + bytes_of(dtype, first), 0, run);
        }
      }
    });
  }

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, Iota>& c) noexcept {
    using Expr = typename E::Expr;
    const auto& y = c.out[0];
    const AxisSplit split = y.split(c.params.axis);
    if (y.elements() == 0) return;
    f.w.loop({"i"}, y.elements());
    f.w.line({"const uint64_t n = i / ", split.inner, " % ", split.extent, ";"});
    // Integers wrap, where a cast would saturate.
    const Expr value =
        is_float(y.dtype()) ? E::cast({"n"}, DType::ui64, y.dtype()) : Expr{"(", E::c_type(y.dtype()), ")n"};
    store(f.w, y, {"i"}, value);
    f.w.close();
  }
};
static_assert(Op<Iota>);

}  // namespace zrt::inline ZRT_ABI::ops
