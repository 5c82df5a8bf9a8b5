// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/top_k.hpp: the first elements of every line in order.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_lines.hpp>
#include <zrt/ops/top_k.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace zrt::inline ZRT_ABI::cpu {

/// Each line's candidates are a heap, the last of them on top; where all are wanted they are sorted.
template <> struct Adapter<ops::TopK> {
  static constexpr Loops loops = Loops::scalar;

  /// The candidates of as many workers as run at the same time.
  static constexpr CheckedSize scratch(const TypeCall<ops::TopK>& c, const Extents&) noexcept {
    return CheckedSize(c.params.k) * CheckedSize(kLanes * kCandidate);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::TopK>& c) noexcept { return r.push(&lines, c); }

 private:
  static constexpr std::uint32_t kLanes = 8;
  static constexpr std::size_t kCandidate = sizeof(ops::TopK::Candidate<std::uint64_t>);

  /// Lines are split; those of 4-bit elements meet within a byte, so that one worker takes all of them.
  static void lines(const HostCall<ops::TopK>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::TopKParams& p = c.params;
    const DType dtype = c.in[0].type.dtype;
    const ops::AxisSplit x(c.in[0], p.axis, step);
    Worker mine = worker;
    mine.count = std::min(worker.count, info(dtype).block_elems != 1 ? 1u : kLanes);
    if (mine.index >= mine.count) return;
    if (x.extent < p.k) {
      if (worker.index != 0) return;
      for (const HostTensor& y : c.out)
        if (const std::uint64_t bytes = bytes_of(y.type.dtype, y.elements(step)); bytes != 0)
          std::memset(y.data, 0, bytes);
      return step.violated(worker);
    }
    if (p.k == 0) return;
    const Range part = split(x.outer * x.inner, 1, mine);
    const bool largest = p.largest != 0;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      using Candidate = ops::TopK::Candidate<T>;
      static_assert(sizeof(Candidate) <= kCandidate && std::is_trivially_destructible_v<Candidate>);
      std::byte* memory = worker.scratch.data() + std::uint64_t{mine.index} * p.k * kCandidate;
      auto* heap = new (memory) Candidate;
      for (std::uint32_t i = 1; i < p.k; ++i) new (memory + i * sizeof(Candidate)) Candidate;
      const auto before = [&](const Candidate& a, const Candidate& b) { return a.before(b, largest); };
      T run[kTypedRun];
      for (std::uint64_t line = part.first; line < part.last; ++line) {
        const std::uint64_t base = line / x.inner * x.extent * x.inner + line % x.inner;
        std::uint32_t count = 0;
        for (std::uint64_t first = 0; first < x.extent; first += kTypedRun) {
          const std::uint64_t n = std::min(x.extent - first, kTypedRun);
          read_line(dtype, c.in[0].data, base + first * x.inner, x.inner, n, dtype, run);
          for (std::uint64_t i = 0; i < n; ++i) {
            const Candidate each{run[i], first + i, true};
            if (count < p.k) {
              heap[count++] = each;
              if (count == p.k && p.k < x.extent) std::make_heap(heap, heap + count, before);
            } else if (before(each, heap[0])) {
              std::pop_heap(heap, heap + count, before);
              heap[count - 1] = each;
              std::push_heap(heap, heap + count, before);
            }
          }
        }
        if (p.k < x.extent)
          std::sort_heap(heap, heap + count, before);
        else
          std::sort(heap, heap + count, before);
        for (std::uint32_t rank = 0; rank < p.k; ++rank) {
          const std::uint64_t index = heap[rank].index;
          const std::uint64_t to = (line / x.inner * p.k + rank) * x.inner + line % x.inner;
          copy_elements(dtype, c.in[0].data, base + index * x.inner, c.out[0].data, to, 1);
          if (p.indices_dtype == DType::si64)
            write_little(c.out[1].data + to * 8, index);
          else
            write_little(c.out[1].data + to * 4, static_cast<std::uint32_t>(index));
        }
      }
    });
  }
};
static_assert(Records<ops::TopK>);

}  // namespace zrt::inline ZRT_ABI::cpu
