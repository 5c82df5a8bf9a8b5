// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/patch_rows.hpp: rows of patches, brought together from what a window slides over.
#pragma once

#include <zrt/backend/cpu/typed_lines.hpp>
#include <zrt/ops/convolve.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// The patches of a convolution in one step, as rows of a product in the domain T.
template <DomainValue T> class PatchRows {
 public:
  PatchRows(const HostCall<ops::Convolve>& c, const ExecutionContext& step) noexcept
      : c_(c),
        dtype_(c.in[0].type.dtype),
        as_(domain_of(dtype_) == domain_of(c.params.dot.accum_dtype) ? dtype_ : c.params.dot.accum_dtype),
        x_(c.params.patches, c.in[0], ops::Convolve::patches_type(c.in[0].type, c.params).shape, step),
        outer_(Span(c.params.patches.window).first(c.params.patches.spatial - 1u)) {
    HostTensor shaped;
    shaped.type.shape = c.params.rows.shape();
    const ops::RowMajor rows(shaped, step);
    const ops::DotGeneralParams& dot = c.params.dot;
    const bool first = c.params.patches_rhs == 0;
    const auto& batch = first ? dot.batch_lhs : dot.batch_rhs;
    const auto& contract = first ? dot.contract_lhs : dot.contract_rhs;
    for (std::uint32_t i = 0; i < dot.batch_count; ++i) batch_.add(rows.extent[batch[i]], {rows.stride[batch[i]]});
    for (std::uint8_t axis = 0; axis < rows.rank; ++axis)
      if (!ops::DotGeneral::listed(dot, first, axis)) rows_.add(rows.extent[axis], {rows.stride[axis]});
    for (std::uint32_t i = 0; i < dot.contract_count; ++i)
      depth_.add(rows.extent[contract[i]], {rows.stride[contract[i]]});
    read_as(dtype_, reinterpret_cast<const std::byte*>(c.params.patches.pad_value.data()), 0, 1, as_, &padding_);
    measure_run();
  }

  [[nodiscard]] std::uint64_t batches() const noexcept { return batch_.elements(); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_.elements(); }  ///< of a batch
  [[nodiscard]] std::uint64_t depth() const noexcept { return depth_.elements(); }

  /// Brings rows [first, first + count) of a batch together.
  void gather(std::uint64_t batch, std::uint64_t first, std::uint64_t count, T* to) const noexcept {
    if (depth() == 0) return;
    const std::uint64_t begin = batch_.offsets(batch)[0];
    if (run_ != 0 && rows_.is_line() && rows_.line()[0] == x_.elements) {
      // From place to place.
      const std::uint64_t base = begin + first * x_.elements;
      ops::ElementIndex place = ops::ElementIndex::of(x_.places, base / x_.elements);
      for (std::uint64_t i = 0; i < count; ++i, place.advance(x_.places))
        gather_window(place, base % x_.elements, to + i * depth());
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t base = begin + rows_.offsets(first + i)[0];
      if (run_ != 0)
        gather_window(ops::ElementIndex::of(x_.places, base / x_.elements), base % x_.elements, to + i * depth());
      else
        gather_elements(base, to + i * depth());
    }
  }

 private:
  void read(std::uint64_t from, std::uint64_t count, T* to) const noexcept {
    if constexpr (std::same_as<T, float>)
      if (dtype_ == DType::f32) {
        // One channel of each element, as in a convolution by groups of one.
        if (count == 1) {
          *to = c_.in[0].template as<float>()[from];
          return;
        }
        std::memcpy(to, c_.in[0].as<float>() + from, count * sizeof(float));
        return;
      }
    for (std::uint64_t i = 0; i < count; i += kTypedRun)
      read_as(dtype_, c_.in[0].data, from + i, std::min(count - i, kTypedRun), as_, to + i);
  }
  void pad(std::uint64_t count, T* to) const noexcept { std::fill_n(to, count, padding_); }

  /// Finds whether a row is `run_` channels of each element of a window, as in a convolution; else `run_` is 0.
  void measure_run() noexcept {
    const auto axes = depth_.axes();
    if (x_.elements == 0 || depth_.elements() == 0) return;
    std::uint64_t run = 1;
    std::uint64_t windows = depth_.elements();
    if (!axes.empty() && axes[axes.size() - 1].stride[0] == 1) {
      const std::uint64_t last = axes[axes.size() - 1].extent;
      run = axes.size() == 1 && last == x_.elements ? x_.channels : last;
      windows /= run;
    }
    const bool steps = axes.size() < 2 || (axes.size() == 2 && run != 1 && axes[0].stride[0] == x_.channels);
    const bool strided = axes.size() != 1 || run != 1 || axes[0].stride[0] == x_.channels;
    if (windows != x_.window.elements || !steps || !strided) return;
    // Rows and batches go from patch to patch, or along the channels.
    std::uint64_t channel = run;
    for (const ops::IndexSpace<1>* space : {&batch_, &rows_})
      for (const auto& axis : space->axes())
        if (axis.stride[0] % x_.elements != 0) channel += (axis.extent - 1) * axis.stride[0];
    if (channel <= x_.channels) run_ = run;
  }

  /// Brings the row from element `base` of the patches on together.
  void gather_elements(std::uint64_t base, T* to) const noexcept {
    const auto axes = depth_.axes();
    const bool together = !axes.empty() && axes[axes.size() - 1].stride[0] == 1;
    const std::uint64_t line = together ? axes[axes.size() - 1].extent : 1;
    for (std::uint64_t k = 0; k < depth_.elements(); k += line) {
      std::uint64_t element = base + depth_.offsets(k)[0];
      for (std::uint64_t rest = line; rest != 0;) {
        const ops::Patches::Run run = x_.at(element, rest);
        if (run.inside)
          read(run.from, run.count, to);
        else
          pad(run.count, to);
        to += run.count;
        element += run.count;
        rest -= run.count;
      }
    }
  }

  /// The same where the row is some channels of every element of the window. Elements along the innermost axis are
  /// one copy where they lie side by side.
  void gather_window(const ops::ElementIndex& row, std::uint64_t channel, T* to) const noexcept {
    const ops::ExtractPatchesParams& p = c_.params.patches;
    const std::size_t last = p.spatial - 1u;
    const ops::WindowAxis inner = p.axis(last);
    const std::uint64_t extent = x_.x.extent[last + 1];
    const std::uint64_t stride = x_.x.stride[last + 1];
    const std::uint64_t begin = row.at[last + 1] * inner.stride;
    // The window's elements [first, end) lie in x, the others in the padding.
    const auto from_place = [&](std::uint64_t place) noexcept {
      const std::uint64_t w = place <= begin ? 0 : (place - begin + inner.dilation - 1) / inner.dilation;
      return w < inner.window ? w : inner.window;
    };
    const std::uint64_t first = from_place(inner.low);
    const std::uint64_t end = from_place(inner.low + extent);
    const bool together = inner.dilation == 1 && stride == run_;
    ops::ElementIndex w;
    for (std::uint64_t i = 0; i < outer_.elements; ++i, w.advance(outer_)) {
      std::uint64_t from = channel + row.at[0] * x_.x.stride[0];
      bool inside = true;
      for (std::size_t axis = 0; axis < last && inside; ++axis) {
        const std::uint64_t element = p.axis(axis).source(row.at[axis + 1], w.at[axis], x_.x.extent[axis + 1]);
        inside = element != ops::WindowAxis::kPadding;
        if (inside) from += element * x_.x.stride[axis + 1];
      }
      const std::uint64_t low = inside ? first : inner.window;
      const std::uint64_t high = inside ? end : inner.window;
      pad(low * run_, to);
      if (together && low != high)
        read(from + (begin + low - inner.low) * stride, (high - low) * run_, to + low * run_);
      else
        for (std::uint64_t k = low; k < high; ++k)
          read(from + (begin + k * inner.dilation - inner.low) * stride, run_, to + k * run_);
      pad((inner.window - high) * run_, to + high * run_);
      to += inner.window * run_;
    }
  }

  const HostCall<ops::Convolve>& c_;
  DType dtype_;
  DType as_;  ///< what elements are cast to
  ops::Patches x_;
  ops::RowMajor outer_;  ///< the window without its innermost axis
  ops::IndexSpace<1> batch_, rows_, depth_;
  std::uint64_t run_ = 0;
  T padding_{};
};

}  // namespace zrt::inline ZRT_ABI::cpu
