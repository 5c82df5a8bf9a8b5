// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/patch_product.hpp: products with the patches under a window, a block of them at a time.
#pragma once

#include <zrt/backend/cpu/kernels/dot_product.hpp>
#include <zrt/backend/cpu/patch_rows.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// Patches that a worker of a convolution gathers at a time, and workers that do so at the same time.
inline constexpr std::uint32_t kPatchRows = 24;
inline constexpr std::uint32_t kPatchLanes = 16;

/// A product with patches in two stages with a fence between them: w is brought into the accumulator's domain where it
/// is not of it, then each worker brings a block of rows of patches together and multiplies it.
struct PatchProduct {
  HostCall<ops::Convolve> call{};
  const DotKernels* kernels = nullptr;

  /// w in the domain, and for each of the workers that run at the same time a block of rows and of their sums.
  [[nodiscard]] static CheckedSize scratch(const TypeCall<ops::Convolve>& c, const Extents& bounds) noexcept {
    const ops::ConvolveParams& p = c.params;
    const CheckedSize bytes = ops::domain_bytes(p.dot.accum_dtype);
    const Shape& w = c.in[1].type.shape;
    const Shape rows = p.rows.shape();
    Sorts shapes;
    for (std::uint8_t axis = 0; axis < w.rank; ++axis) {
      if (axis < p.dot.batch_count) shapes.batch = shapes.batch.appended(w[axis]);
      if (axis + p.dot.contract_count >= w.rank) shapes.depth = shapes.depth.appended(w[axis]);
      if (axis >= p.dot.batch_count && axis + p.dot.contract_count < w.rank)
        shapes.columns = shapes.columns.appended(w[axis]);
    }
    for (std::uint8_t axis = 0; axis < rows.rank; ++axis)
      if (!ops::DotGeneral::listed(p.dot, p.patches_rhs == 0, axis)) shapes.rows = shapes.rows.appended(rows[axis]);
    const CheckedSize all_rows = shapes.rows.elements(bounds);
    const CheckedSize batches = shapes.batch.elements(bounds);
    if (!all_rows.ok() || !batches.ok()) return all_rows + batches;
    const Blocks blocks(batches.raw(), all_rows.raw());
    const CheckedSize depth = shapes.depth.elements(bounds);
    const CheckedSize columns = shapes.columns.elements(bounds);
    const CheckedSize lane = (CheckedSize(blocks.rows) * depth * bytes).aligned(64) +
                             (CheckedSize(blocks.rows) * columns * bytes).aligned(64);
    const CheckedSize brought =
        stays(c.in[1].type.dtype, p.dot.accum_dtype) ? CheckedSize(0) : (w.elements(bounds) * bytes).aligned(64);
    return brought + CheckedSize(blocks.lanes) * lane;
  }

  /// Elements of w are split.
  static void bring(const PatchProduct& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const HostTensor& w = a.call.in[1];
    const DType accumulator = a.call.params.dot.accum_dtype;
    if (stays(w.type.dtype, accumulator)) return;
    const DType as = domain_of(w.type.dtype) == domain_of(accumulator) ? w.type.dtype : accumulator;
    const Range part = split(w.elements(step), 64, worker);
    visit_domain(accumulator, [&]<class T>(std::type_identity<T>) {
      T* to = reinterpret_cast<T*>(worker.scratch.data());
      for (std::uint64_t i = part.first; i < part.last; i += kTypedRun)
        read_as(w.type.dtype, w.data, i, std::min(part.last - i, kTypedRun), as, to + i);
    });
  }

  /// Blocks of rows are split.
  static void multiply(const PatchProduct& a, const ExecutionContext& step, const Worker& worker) noexcept {
    visit_domain(a.call.params.dot.accum_dtype,
                 [&]<class T>(std::type_identity<T>) { Typed<T>(a, step, worker).run(); });
  }

  /// Whether the elements of w are the domain's as they lie.
  [[nodiscard]] static bool stays(DType dtype, DType accumulator) noexcept {
    return domain_of(dtype) == domain_of(accumulator) && is_whole(dtype);
  }

 private:
  struct Sorts {
    Shape batch, rows, columns, depth;
  };

  /// Rows of a block, which lie in one batch, and the workers that there are blocks for.
  struct Blocks {
    std::uint64_t rows;
    std::uint64_t in_batch;
    std::uint64_t all;
    std::uint64_t lanes;

    Blocks(std::uint64_t batches, std::uint64_t all_rows) noexcept
        : rows(std::min<std::uint64_t>(all_rows, kPatchRows)),
          in_batch(rows == 0 ? 0 : (all_rows - 1) / rows + 1),
          all(batches * in_batch),
          lanes(std::min<std::uint64_t>(all, kPatchLanes)) {}
  };

  /// Whether a domain holds the type as it is.
  [[nodiscard]] static bool is_whole(DType dtype) noexcept {
    return info(dtype).block_elems == 1 && info(dtype).block_bytes == ops::domain_bytes(dtype);
  }

  /// The second stage in one step.
  template <DomainValue T> class Typed {
   public:
    Typed(const PatchProduct& a, const ExecutionContext& step, const Worker& worker) noexcept
        : c_(a.call), p_(a.call.params), kernels_(*a.kernels), step_(step), worker_(worker), patches_(a.call, step) {
      const ops::RowMajor w(c_.in[1], step);
      columns_ = 1;
      for (std::uint32_t axis = p_.dot.batch_count; axis + p_.dot.contract_count < w.rank; ++axis)
        columns_ *= w.extent[axis];
    }

    void run() noexcept {
      const Blocks blocks(patches_.batches(), patches_.rows());
      if (columns_ == 0 || blocks.all == 0) return;
      Worker lane = worker_;
      lane.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(worker_.count, blocks.lanes));
      // Two elements of a byte are one worker's.
      if (info(p_.dot.out_dtype).block_elems != 1) lane.count = 1;
      if (worker_.index >= lane.count) return;
      std::byte* memory = worker_.scratch.data();
      w_ = reinterpret_cast<const T*>(c_.in[1].data);
      if (!stays(c_.in[1].type.dtype, p_.dot.accum_dtype)) {
        w_ = reinterpret_cast<const T*>(memory);
        memory += align_up(c_.in[1].elements(step_) * sizeof(T), 64);
      }
      const std::uint64_t patches = align_up(blocks.rows * patches_.depth() * sizeof(T), 64);
      const std::uint64_t own = patches + align_up(blocks.rows * columns_ * sizeof(T), 64);
      block_ = reinterpret_cast<T*>(memory + worker_.index * own);
      sums_ = reinterpret_cast<T*>(memory + worker_.index * own + patches);
      const Range part = split(blocks.all, 1, lane);
      for (std::uint64_t block = part.first; block < part.last; ++block) {
        // The batches of the same rows after each other: groups of channels read the same part of x.
        const std::uint64_t first = block / patches_.batches() * blocks.rows;
        multiply_block(block % patches_.batches(), first, std::min(blocks.rows, patches_.rows() - first));
      }
    }

   private:
    void multiply_block(std::uint64_t batch, std::uint64_t first, std::uint64_t count) noexcept {
      const std::uint64_t depth = patches_.depth();
      patches_.gather(batch, first, count, block_);
      const T* w = w_ + batch * columns_ * depth;
      const bool in_place = p_.patches_rhs == 0 && p_.dot.out_dtype == p_.dot.accum_dtype && is_whole(p_.dot.out_dtype);
      const std::uint64_t to = (batch * patches_.rows() + first) * columns_;
      T* const sums = in_place ? reinterpret_cast<T*>(c_.out[0].data) + to : sums_;
      multiply(w, count, depth, sums);
      if (in_place) return;
      if (p_.patches_rhs == 0) return write(sums, count * columns_, to);
      // [columns, rows] of the result.
      T column[kPatchRows];
      for (std::uint64_t m = 0; m < columns_; ++m) {
        for (std::uint64_t i = 0; i < count; ++i) column[i] = sums[i * columns_ + m];
        write(column, count, (batch * columns_ + m) * patches_.rows() + first);
      }
    }

    void multiply(const T* w, std::uint64_t count, std::uint64_t depth, T* sums) const noexcept {
      if constexpr (std::same_as<T, float>) {
        DotShape s;
        s.rows = count;
        s.cols = columns_;
        s.depth = s.lhs_row = s.rhs_col = depth;
        s.lhs_depth = s.rhs_depth = 1;
        s.alpha = p_.dot.alpha;
        Worker alone;
        if (s.fits_tiles()) return kernels_.product(s, block_, w, sums, alone);
      }
      for (std::uint64_t i = 0; i < count; ++i)
        for (std::uint64_t m = 0; m < columns_; ++m) {
          const T* patch = block_ + i * depth;
          const T* row = w + m * depth;
          T& sum = sums[i * columns_ + m];
          if constexpr (std::same_as<T, double>) {
            kernels_.f64(patch, row, 0, 1, depth, &sum);
          } else if constexpr (std::same_as<T, float>) {
            sum = quant::dot16(patch, row, depth) * p_.dot.alpha;
          } else {
            std::uint64_t total = 0;
            for (std::uint64_t k = 0; k < depth; ++k)
              total += static_cast<std::uint64_t>(patch[k]) * static_cast<std::uint64_t>(row[k]);
            sum = static_cast<T>(total);
          }
        }
    }

    /// Rounds sums to elements [to, to + count) of the result.
    void write(const T* sums, std::uint64_t count, std::uint64_t to) const noexcept {
      const DType out = p_.dot.out_dtype;
      if (info(out).block_elems == 1)
        return write_accumulated(p_.dot.accum_dtype, sums, count, out, c_.out[0].data + bytes_of(out, to));
      std::byte run[kTypedRun];
      for (std::uint64_t i = 0; i < count; i += kTypedRun) {
        const std::uint64_t most = std::min(count - i, kTypedRun);
        write_accumulated(p_.dot.accum_dtype, sums + i, most, out, run);
        copy_elements(out, run, 0, c_.out[0].data, to + i, most);
      }
    }

    const HostCall<ops::Convolve>& c_;
    const ops::ConvolveParams& p_;
    const DotKernels& kernels_;
    const ExecutionContext& step_;
    const Worker& worker_;
    PatchRows<T> patches_;
    std::uint64_t columns_ = 1;
    const T* w_ = nullptr;
    T* block_ = nullptr;
    T* sums_ = nullptr;
  };
};

}  // namespace zrt::inline ZRT_ABI::cpu
