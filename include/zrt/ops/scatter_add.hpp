// SPDX-License-Identifier: Apache-2.0
// zrt/ops/scatter_add.hpp: windows added into a tensor at places that are data.
#pragma once

#include <zrt/ops/along_axis.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/scatter.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// XLA's dimension numbers of a scatter; axes count from 0.
struct ScatterAddParams {
  std::array<std::uint8_t, kMaxRank> update_window_dims{};  ///< ascending
  std::array<std::uint8_t, kMaxRank> inserted_window_dims{};
  std::array<std::uint8_t, kMaxRank> scatter_dims_to_operand_dims{};
  std::uint8_t update_window_count = 0;
  std::uint8_t inserted_window_count = 0;
  std::uint8_t scatter_dims_count = 0;
  std::uint8_t index_vector_dim = 0;  ///< the rank of indices: each index is a place of one number

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ScatterAddParams::update_window_dims, "update_window_dims"},
                 Member{&ScatterAddParams::inserted_window_dims, "inserted_window_dims"},
                 Member{&ScatterAddParams::scatter_dims_to_operand_dims, "scatter_dims_to_operand_dims"},
                 Member{&ScatterAddParams::update_window_count, "update_window_count"},
                 Member{&ScatterAddParams::inserted_window_count, "inserted_window_count"},
                 Member{&ScatterAddParams::scatter_dims_count, "scatter_dims_count"},
                 Member{&ScatterAddParams::index_vector_dim, "index_vector_dim"});
};

/// Gives x with windows of `updates` added at the places that `indices` name (PTIR `ScatterAdd`).
///
/// Axis index_vector_dim of indices holds a place: entry i counts along axis
/// scatter_dims_to_operand_dims[i] of x. The axes update_window_dims of updates run over the window,
/// that is over the axes of x without inserted_window_dims, where it has extent 1; the others run over
/// the places, in the order of the axes of indices. x and updates of one computed type of numbers,
/// indices si32 or si64. Updates apply in row-major order of updates; sums of floats add up in that
/// order, from x, and are rounded to the type once. A window that leaves x reports
/// Errc::spec_violation in the step's status and changes nothing.
struct ScatterAdd {
  using Params = ScatterAddParams;
  static constexpr Opcode opcode{84};
  static constexpr std::string_view name = "scatter_add";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"indices"}, Role{"updates"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(
      attribute::axes("update_window_dims", &Params::update_window_dims, &Params::update_window_count, 2),
      attribute::axes("inserted_window_dims", &Params::inserted_window_dims, &Params::inserted_window_count, 0),
      attribute::axes("scatter_dims_to_operand_dims", &Params::scatter_dims_to_operand_dims,
                      &Params::scatter_dims_count, 0),
      attribute::axis_or_rank("index_vector_dim", &Params::index_vector_dim, 1));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& x = c.in[0].shape;
    const BasicShape<D>& indices = c.in[1].shape;
    const BasicShape<D>& updates = c.in[2].shape;
    if (auto r = c.indices(1); !r) return r;
    if (c.in[2].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 2, 0);
    if (is_boolean(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype of numbers");
    if (auto r = c.computed(0); !r) return r;
    const auto window = c.axes(at<ScatterAdd>("update_window_dims"), updates.rank);
    if (!window) return pass(window);
    const auto inserted = c.axes(at<ScatterAdd>("inserted_window_dims"), x.rank);
    if (!inserted) return pass(inserted);
    const auto places = c.axes(at<ScatterAdd>("scatter_dims_to_operand_dims"), x.rank);
    if (!places) return pass(places);
    constexpr std::size_t kVector = at<ScatterAdd>("index_vector_dim");
    std::size_t vector = indices.rank;
    if (c.has(kVector) && c.integer(kVector) != static_cast<std::int64_t>(indices.rank)) {
      const auto axis = c.axis(kVector, indices.rank);
      if (!axis) return pass(axis);
      vector = *axis;
    }
    const D depth = vector == indices.rank ? D(1) : indices[vector];
    D both;
    if (!unify(depth, D::of(places->count), both))
      return c.no(Errc::invalid_params, "scatter_dims_to_operand_dims has ", places->count, " entries, expected ",
                  depth);
    for (std::size_t i = 1; i < window->count; ++i)
      if (window->axes[i - 1] > window->axes[i]) return c.no(Errc::invalid_params, "update_window_dims must ascend");
    if (window->count + inserted->count != x.rank)
      return c.no(Errc::invalid_params, "update_window_dims and inserted_window_dims have ",
                  window->count + inserted->count, " entries, expected ", unsigned{x.rank});
    const std::size_t outer = indices.rank - (vector == indices.rank ? 0u : 1u);
    if (updates.rank != outer + window->count) return c.wrong(Errc::shape_mismatch, 2, outer + window->count, " axes");
    std::size_t in_x = 0;
    std::size_t in_indices = 0;
    for (std::size_t axis = 0; axis < updates.size(); ++axis) {
      if (window->has(axis)) {
        while (inserted->has(in_x)) ++in_x;
        const D extent = x[in_x++];
        if (updates[axis].is_constant() && extent.is_constant() && updates[axis].constant() > extent.constant())
          return c.wrong(Errc::shape_mismatch, 2, "at most ", extent, " on axis ", axis);
      } else {
        if (in_indices == vector) ++in_indices;
        const D extent = indices[in_indices++];
        if (!unify(updates[axis], extent, both)) return c.wrong(Errc::shape_mismatch, 2, extent, " on axis ", axis);
      }
    }
    return c.give(c.in[0]);
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<ScatterAdd>& c, const Extents& bounds) noexcept {
    return scatter_scratch(c.in[0].type, bounds);
  }

  /// Where the windows of the updates go.
  class Windows {
   public:
    Windows(const HostCall<ScatterAdd>& c, const ExecutionContext& step) noexcept
        : updates(c.in[2], step), x_(c.in[0], step), indices_(c.in[1], step), starts_(c.in[1]), p_(c.params) {
      unsigned inserted = 0;
      (void)axes(p_.update_window_dims, p_.update_window_count, updates.rank, window_);
      (void)axes(p_.inserted_window_dims, p_.inserted_window_count, x_.rank, inserted);
      span_.fill(1);
      std::size_t in_x = 0;
      std::size_t in_indices = 0;
      for (std::size_t axis = 0; axis < updates.rank; ++axis) {
        if (in_window(axis)) {
          while ((inserted >> in_x & 1u) != 0) ++in_x;
          span_[in_x] = updates.extent[axis];
          runs_over_[axis] = in_x++;
        } else {
          if (in_indices == p_.index_vector_dim) ++in_indices;
          runs_over_[axis] = in_indices++;
        }
      }
    }
    const RowMajor updates;

    /// Whether an axis of updates runs over the window, and not over the places.
    [[nodiscard]] bool in_window(std::size_t axis) const noexcept { return (window_ >> axis & 1u) != 0; }
    /// How far apart in x the updates lie that are neighbours along an axis of the window.
    [[nodiscard]] std::uint64_t stride(std::size_t axis) const noexcept { return x_.stride[runs_over_[axis]]; }
    /// Starts along an axis of x are below this, 0 where no window fits.
    [[nodiscard]] std::uint64_t starts_below(std::size_t axis) const noexcept {
      return span_[axis] > x_.extent[axis] ? 0 : x_.extent[axis] - span_[axis] + 1;
    }
    /// The element of x that an update goes to, or kNowhere where its window leaves x.
    [[nodiscard]] std::uint64_t place(const ElementIndex& index) const noexcept {
      std::uint64_t place = 0;
      std::uint64_t at = 0;
      for (std::size_t axis = 0; axis < updates.rank; ++axis)
        (in_window(axis) ? place : at) += index.at[axis] * (in_window(axis) ? x_ : indices_).stride[runs_over_[axis]];
      const std::uint64_t step_of_place =
          p_.index_vector_dim == indices_.rank ? 0 : indices_.stride[p_.index_vector_dim];
      std::array<std::uint64_t, kMaxRank> start{};
      for (std::size_t n = 0; n < p_.scatter_dims_count; ++n)
        start[p_.scatter_dims_to_operand_dims[n]] = index_at(starts_, at + n * step_of_place);
      for (std::size_t axis = 0; axis < x_.rank; ++axis) {
        if (span_[axis] > x_.extent[axis] || start[axis] > x_.extent[axis] - span_[axis]) return kNowhere;
        place += start[axis] * x_.stride[axis];
      }
      return place;
    }

   private:
    RowMajor x_;
    RowMajor indices_;
    HostTensor starts_;
    Params p_;
    unsigned window_ = 0;
    std::array<std::size_t, kMaxRank> runs_over_{};  ///< which axis of x an axis of updates is, or of indices
    std::array<std::uint64_t, kMaxRank> span_{};     ///< the window's extents in x
  };

  static void reference(const HostCall<ScatterAdd>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Windows windows(c, step);
    scatter(ScatterKind::add, c.in[0], c.in[2], c.out[0], step, worker, [&](auto&& put) {
      ElementIndex index;
      for (std::uint64_t i = 0; i < windows.updates.elements; ++i, index.advance(windows.updates)) {
        const std::uint64_t place = windows.place(index);
        if (place != kNowhere)
          put(i, place);
        else
          step.violated(worker);
      }
    });
  }

  /// An index may be as large as leaves its window in x.
  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<ScatterAdd>& c,
                                                           const ExecutionContext& step) noexcept {
    const Windows windows(c, step);
    const RowMajor indices(c.in[1], step);
    const Params& p = c.params;
    const std::uint64_t apart = p.index_vector_dim == indices.rank ? 1 : indices.stride[p.index_vector_dim];
    const std::uint64_t depth = p.index_vector_dim == indices.rank ? 1 : indices.extent[p.index_vector_dim];
    for (std::uint64_t i = 0; i < indices.elements; ++i) {
      const std::uint64_t extent = windows.starts_below(p.scatter_dims_to_operand_dims[i / apart % depth]);
      if (const std::uint64_t index = index_at(c.in[1], i); index >= extent)
        return DataFault{1, i, static_cast<std::int64_t>(index), extent};
    }
    return std::nullopt;
  }

  /// In ir/gradient/scatter_add.hpp.
  template <class G> static void gradient(G& c) noexcept { scatter_add_gradient(c); }

  static constexpr bool emit_c_scratch = true;

  /// In plan/c/emit_index.hpp.
  template <class E> static void emit_c(E& f, const Call<E, ScatterAdd>& c) noexcept { emit_scatter_add(f, c); }

 private:
  /// Collects distinct axes below `rank` as a mask.
  static constexpr bool axes(const std::array<std::uint8_t, kMaxRank>& list, std::uint8_t count, std::uint8_t rank,
                             unsigned& mask) noexcept {
    if (count > kMaxRank) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (list[i] >= rank || (mask >> list[i] & 1u) != 0) return false;
      mask |= 1u << list[i];
    }
    return true;
  }
};
static_assert(Op<ScatterAdd> && HasReferenceScratch<ScatterAdd>);

}  // namespace zrt::inline ZRT_ABI::ops
