// SPDX-License-Identifier: Apache-2.0
// zrt/ops/top_k.hpp: the largest or smallest elements along an axis, with their indices.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/core/scalar.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct TopKParams {
  std::uint32_t k = 0;
  std::uint8_t axis = 0;
  std::uint8_t largest = 1;
  DType indices_dtype = DType::si32;
  std::uint8_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&TopKParams::k, "k"}, Member{&TopKParams::axis, "axis"}, Member{&TopKParams::largest, "largest"},
      Member{&TopKParams::indices_dtype, "indices_dtype"}, Member{&TopKParams::reserved, "reserved"});
};

/// The k largest or smallest elements along `axis`, the first in order first, and their indices, si32
/// or si64 (PTIR `TopK`). x of any type that has an order.
///
/// Among equals the smaller index comes first; 0 and -0 are equal. NaN is larger than every number and
/// equal to NaN, as torch.topk and the sort of NumPy have it: the first of the largest, the last of the
/// smallest. Where k exceeds an extent that follows the step, the step reports Errc::spec_violation and
/// the results are zeros.
struct TopK {
  using Params = TopKParams;
  static constexpr Opcode opcode{98};
  static constexpr std::string_view name = "top_k";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"values"}, Role{"indices"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(
      attribute::number("k", &Params::k), attribute::axis("axis", &Params::axis),
      attribute::boolean("largest", &Params::largest), attribute::dtype("indices_dtype", &Params::indices_dtype));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    BasicShape<D> shape = c.in[0].shape;
    const std::int64_t k = c.integer(at<TopK>("k"));
    const DType index = c.dtype(at<TopK>("indices_dtype"));
    const auto axis = c.axis(at<TopK>("axis"), shape.rank);
    if (!axis) return pass(axis);
    if (k < 0) return c.no(Errc::invalid_params, "k is ", k, ", expected 0 or more");
    if (!is_index(index))
      return c.no(Errc::dtype_mismatch, "indices_dtype is ", zrt::name(index), ", expected si32 or si64");
    if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
    if (shape[*axis].is_constant() && shape[*axis].constant() < static_cast<std::uint64_t>(k))
      return c.wrong(Errc::shape_mismatch, 0, "at least k = ", k, " on axis ", *axis);
    shape.dims[*axis] = D::of(static_cast<std::uint64_t>(k));
    if (auto r = c.give(c.in[0].dtype, shape); !r) return r;
    return c.give(index, shape);
  }

  /// An element of a line and its place on it.
  template <class T> struct Candidate {
    T value{};
    std::uint64_t index = 0;
    bool present = false;

    /// True when this one comes before `other`, of another index.
    [[nodiscard]] constexpr bool before(const Candidate& other, bool largest) const noexcept {
      if (greater(value, other.value)) return largest;
      if (greater(other.value, value)) return !largest;
      return index < other.index;
    }
    [[nodiscard]] static constexpr bool greater(T a, T b) noexcept { return a != a ? b == b : a > b; }
  };

  static void reference(const HostCall<TopK>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Params& p = c.params;
    const DType dtype = c.in[0].type.dtype;
    const AxisSplit x(c.in[0], p.axis, step);
    if (x.extent < p.k) {
      clear(c.out[0], step);
      clear(c.out[1], step);
      return step.violated(worker);
    }
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      const ElementFunctions<T>& type = element_functions<T>(dtype);
      for (std::uint64_t outer = 0; outer < x.outer; ++outer)
        for (std::uint64_t inner = 0; inner < x.inner; ++inner) {
          auto place = [&](std::uint64_t index) { return (outer * x.extent + index) * x.inner + inner; };
          Candidate<T> last;
          for (std::uint64_t rank = 0; rank < p.k; ++rank) {
            Candidate<T> best;
            for (std::uint64_t i = 0; i < x.extent; ++i) {
              Candidate<T> each{{}, i, true};
              type.unpack(c.in[0].data, place(i), 1, &each.value);
              if (last.present && !last.before(each, p.largest != 0)) continue;
              if (!best.present || each.before(best, p.largest != 0)) best = each;
            }
            const std::uint64_t to = (outer * p.k + rank) * x.inner + inner;
            copy_elements(dtype, c.in[0].data, place(best.index), c.out[0].data, to, 1);
            if (p.indices_dtype == DType::si64)
              write_little(c.out[1].data + to * 8, best.index);
            else
              write_little(c.out[1].data + to * 4, static_cast<std::uint32_t>(best.index));
            last = best;
          }
        }
    });
  }

  /// The values' gradient goes back to where they stood.
  template <class G> static void gradient(G& c) noexcept {
    c.give(0,
           c.builder().scatter_reduce(G::choice_of("scatter_reduce", "reduce", "add"),
                                      c.zeros(c.builder(), c.in_type(0)), c.out(1), c.cotangent(), c.integer("axis")));
  }

  template <class E> static void emit_c(E& f, const Call<E, TopK>& c) noexcept {
    using Expr = typename E::Expr;
    const auto& x = c.in[0];
    const AxisSplit split = x.split(c.params.axis);
    const Domain domain = domain_of(x.dtype());
    const auto before = [&](const Expr& candidates) {
      return Expr{"zrt_before_", E::c_name(domain), "(", candidates, ", ", unsigned{c.params.largest}, ")"};
    };
    f.w.loop({"o"}, split.outer);
    f.w.loop({"r"}, split.inner);
    f.w.line({"uint64_t last = 0;"});
    f.w.line({E::c_type(domain), " last_value = 0;"});
    f.w.loop({"rank"}, c.params.k);
    f.w.line({"uint64_t best = 0;"});
    f.w.line({E::c_type(domain), " value = 0;"});
    f.w.line({"int found = 0;"});
    f.w.loop({"n"}, split.extent);
    f.w.line(
        {"const ", E::c_type(domain), " x = ", load(x, {"(o * ", split.extent, " + n) * ", split.inner, " + r"}), ";"});
    f.w.line({"if (rank != 0 && !", before({"last_value, last, x, n"}), ") continue;"});
    f.w.line({"if (found && !", before({"x, n, value, best"}), ") continue;"});
    f.w.line({"best = n;"});
    f.w.line({"value = x;"});
    f.w.line({"found = 1;"});
    f.w.close();
    const Expr to{"(o * ", c.params.k, " + rank) * ", split.inner, " + r"};
    copy(f.w, x.dtype(), c.out[0].pointer(), to, x.pointer(),
         {"(o * ", split.extent, " + best) * ", split.inner, " + r"}, {"1"});
    store(f.w, c.out[1], to, {"(int64_t)best"});
    f.w.line({"last = best;"});
    f.w.line({"last_value = value;"});
    f.w.close();
    f.w.close();
    f.w.close();
  }
};
static_assert(Op<TopK>);

}  // namespace zrt::inline ZRT_ABI::ops
