// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_dot.hpp: contractions of any types over any axes: operands brought together, then a product.
#pragma once

#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/backend/cpu/kernels/dot_product.hpp>
#include <zrt/backend/cpu/typed_lines.hpp>

#include <algorithm>
#include <array>

namespace zrt::inline ZRT_ABI::cpu {

/// A contraction in three stages with a fence between them. Where the tiles of the f32 product take the operands as
/// they lie, the first and the last have nothing to do.
struct TypedDot {
  HostCall<ops::DotGeneral> call{};
  const DotKernels* kernels = nullptr;

  /// Both operands and the result in the accumulator's domain.
  [[nodiscard]] static CheckedSize scratch(const TypeCall<ops::DotGeneral>& c, const Shape& y,
                                           const Extents& bounds) noexcept {
    const CheckedSize bytes = ops::domain_bytes(c.params.accum_dtype);
    const auto room = [&](const Shape& shape) noexcept { return (shape.elements(bounds) * bytes).aligned(64); };
    return room(c.in[0].type.shape) + room(c.in[1].type.shape) + room(y);
  }

  /// Brings each operand into scratch as [batch][rows][depth].
  static void bring(const TypedDot& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const Plan plan(a.call, step, worker);
    if (plan.direct) return;
    const ops::DotGeneralParams& p = a.call.params;
    const DType dtype = a.call.in[0].type.dtype;
    const DType as = domain_of(dtype) == domain_of(p.accum_dtype) ? dtype : p.accum_dtype;
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      for (std::size_t side = 0; side < 2; ++side)
        bring_side(a.call.in[side], plan.axes[side], as, reinterpret_cast<T*>(plan.memory[side]), worker);
    });
  }

  /// The product. Results are split.
  static void multiply(const TypedDot& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const Plan plan(a.call, step, worker);
    const DotShape& s = plan.shape;
    if (domain_of(a.call.params.accum_dtype) == Domain::f32 && s.fits_tiles())
      return a.kernels->product(s, reinterpret_cast<const float*>(plan.from[0]),
                                reinterpret_cast<const float*>(plan.from[1]), reinterpret_cast<float*>(plan.sums),
                                worker);
    const Range part = split(s.batch.elements() * s.rows * s.cols, 16, worker);
    visit_domain(a.call.params.accum_dtype, [&]<class T>(std::type_identity<T>) {
      // Columns that stay in the first-level cache while all rows pass.
      const std::uint64_t block =
          std::max<std::uint64_t>(6, 24 * 1024 / sizeof(T) / std::max<std::uint64_t>(1, s.depth));
      for (std::uint64_t column = 0; column < s.cols; column += block)
        for (std::uint64_t row = part.first / s.cols; row * s.cols < part.last; ++row) {
          const std::uint64_t first = std::max(part.first, row * s.cols + column);
          const std::uint64_t last = std::min(part.last, row * s.cols + std::min(s.cols, column + block));
          if (first >= last) continue;
          const auto base = s.batch.offsets(row / s.rows);
          const T* lhs = reinterpret_cast<const T*>(plan.from[0]) + base[0] + row % s.rows * s.lhs_row;
          const T* rhs = reinterpret_cast<const T*>(plan.from[1]) + base[1] + (first - row * s.cols) * s.rhs_col;
          T* y = reinterpret_cast<T*>(plan.sums) + first;
          if constexpr (std::same_as<T, double>)
            a.kernels->f64(lhs, rhs, s.rhs_col, last - first, s.depth, y);
          else
            for (std::uint64_t i = first; i < last; ++i, ++y, rhs += s.rhs_col) *y = product(s, lhs, rhs);
        }
    });
  }

  /// Rounds the sums that are not what y holds.
  static void round(const TypedDot& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const Plan plan(a.call, step, worker);
    const HostTensor& y = a.call.out[0];
    if (plan.sums == y.data) return;
    const ops::DotGeneralParams& p = a.call.params;
    const Range part = split(y.elements(step), 64, worker);
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      write_accumulated(p.accum_dtype, reinterpret_cast<const T*>(plan.sums) + part.first, part.last - part.first,
                        p.out_dtype, y.data + bytes_of(p.out_dtype, part.first));
    });
  }

  /// Whether all types are f32.
  [[nodiscard]] static bool is_f32(const HostCall<ops::DotGeneral>& c) noexcept {
    return c.in[0].type.dtype == DType::f32 && c.params.accum_dtype == DType::f32 && c.params.out_dtype == DType::f32;
  }
  /// Whether the f32 product takes the operands as they lie; `shape` is then how they lie.
  [[nodiscard]] static bool is_direct(const HostCall<ops::DotGeneral>& c, const ExecutionContext& step,
                                      DotShape& shape) noexcept {
    return is_f32(c) && shape.measure(c, step) && shape.fits_tiles();
  }

  /// Whether the f32 product takes the operands as they lie whatever the extents: one axis of each sort, and the
  /// contracted ones last, or the free one of rhs.
  [[nodiscard]] static bool is_always_direct(const HostCall<ops::DotGeneral>& c) noexcept {
    const ops::DotGeneralParams& p = c.params;
    const std::uint32_t lhs = c.in[0].type.shape.rank;
    const std::uint32_t rhs = c.in[1].type.shape.rank;
    const std::uint32_t named = p.batch_count + p.contract_count;
    if (!is_f32(c) || p.contract_count > 1 || lhs > named + 1 || rhs > named + 1) return false;
    if (p.contract_count == 0 || (p.contract_lhs[0] + 1u == lhs && p.contract_rhs[0] + 1u == rhs)) return true;
    return rhs != 0 && !ops::DotGeneral::listed(p, false, static_cast<std::uint8_t>(rhs - 1));
  }

 private:
  /// The sum of one element of the result.
  template <class T> [[nodiscard]] static T product(const DotShape& s, const T* lhs, const T* rhs) noexcept {
    if constexpr (std::same_as<T, float>) {
      return quant::dot16(lhs, rhs, s.depth) * s.alpha;
    } else {
      std::uint64_t sum = 0;
      for (std::uint64_t k = 0; k < s.depth; ++k)
        sum += static_cast<std::uint64_t>(lhs[k]) * static_cast<std::uint64_t>(rhs[k]);
      return static_cast<T>(sum);
    }
  }

  /// An operand's axes in the order batch, free, contracted.
  struct Axes {
    std::array<ops::CopyAxis, kMaxRank> axis{};
    std::size_t rank = 0;
    std::array<std::uint64_t, 3> elements{1, 1, 1};  ///< of each sort

    void add(std::size_t sort, const ops::RowMajor& x, std::size_t of) noexcept {
      elements[sort] *= x.extent[of];
      axis[rank++] = {x.extent[of], x.stride[of], 0};
    }
  };

  /// What the stages do in a step.
  struct Plan {
    bool direct = false;
    DotShape shape{};
    std::array<Axes, 2> axes{};
    std::array<std::byte*, 2> memory{};
    std::array<const std::byte*, 2> from{};
    std::byte* sums = nullptr;

    Plan(const HostCall<ops::DotGeneral>& c, const ExecutionContext& step, const Worker& worker) noexcept {
      from = {c.in[0].data, c.in[1].data};
      sums = c.out[0].data;
      direct = is_direct(c, step, shape);
      ZRT_ASSERT(direct || !is_always_direct(c));
      if (direct) return;
      const ops::DotGeneralParams& p = c.params;
      const std::uint64_t bytes = ops::domain_bytes(p.accum_dtype);
      std::byte* memory_end = worker.scratch.data();
      for (std::size_t side = 0; side < 2; ++side) {
        const bool lhs = side == 0;
        const ops::RowMajor x(c.in[side], step);
        for (std::uint32_t i = 0; i < p.batch_count; ++i) axes[side].add(0, x, (lhs ? p.batch_lhs : p.batch_rhs)[i]);
        for (std::uint8_t axis = 0; axis < x.rank; ++axis)
          if (!ops::DotGeneral::listed(p, lhs, axis)) axes[side].add(1, x, axis);
        for (std::uint32_t i = 0; i < p.contract_count; ++i)
          axes[side].add(2, x, (lhs ? p.contract_lhs : p.contract_rhs)[i]);
        from[side] = memory[side] = memory_end;
        memory_end += align_up(x.elements * bytes, 64);
      }
      shape = {};
      shape.rows = axes[0].elements[1];
      shape.cols = axes[1].elements[1];
      shape.depth = shape.lhs_row = shape.rhs_col = axes[0].elements[2];
      shape.lhs_depth = shape.rhs_depth = 1;
      shape.alpha = p.alpha;
      shape.batch.add(axes[0].elements[0], {shape.rows * shape.depth, shape.cols * shape.depth});
      // A domain holds these types as they are.
      const bool whole =
          p.accum_dtype == p.out_dtype && info(p.out_dtype).block_elems == 1 && info(p.out_dtype).block_bytes == bytes;
      if (!whole) sums = memory_end;
    }
  };

  /// Rows of the innermost axis are split.
  template <class T>
  static void bring_side(const HostTensor& x, const Axes& axes, DType as, T* out, const Worker& worker) noexcept {
    BoxWalk rows;
    ops::CopyAxis inner{1, 1, 0};
    for (std::size_t i = 0; i < axes.rank; ++i) {
      if (i + 1 == axes.rank)
        inner = axes.axis[i];
      else
        rows.add(axes.axis[i]);
    }
    const Range part = split(inner.extent == 0 ? 0 : rows.places(), 1, worker);
    if (part.first == part.last) return;
    rows.seek(part.first);
    for (std::uint64_t row = part.first; row < part.last; ++row, rows.next())
      for (std::uint64_t first = 0; first < inner.extent; first += kTypedRun)
        read_line(x.type.dtype, x.data, rows.from + first * inner.from_stride, inner.from_stride,
                  std::min(inner.extent - first, kTypedRun), as, out + row * inner.extent + first);
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
