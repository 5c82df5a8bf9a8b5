// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/dequantize.hpp: integers with a scale and a zero point as floats.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/quantization_share.hpp>
#include <zrt/ops/dequantize.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Dequantize> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Dequantize>& c) noexcept { return r.push(&elements, c); }

 private:
  /// Elements are split. Integers of 64 bits are whole numbers of their own kind.
  static void elements(const HostCall<ops::Dequantize>& c, const ExecutionContext& step,
                       const Worker& worker) noexcept {
    const ops::Channels channels(c.params, c.in[0], step);
    const DType from = c.in[0].type.dtype;
    visit_domain(c.params.output_dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::floating_point<T>) {
        for_each_run(c.in[0].elements(step), worker, [&](std::uint64_t first, std::uint64_t count) {
          T y[kTypedRun];
          ScalingRun by;
          by.read(c.in[1], c.in[2], channels, first, count);
          if (is_narrow(from)) {
            std::int64_t q[kTypedRun];
            read_narrow(from, c.in[0].data, first, count, q);
            for (std::uint64_t i = 0; i < count; ++i)
              y[i] = static_cast<T>(q[i] - by.zero_point[i]) * static_cast<T>(by.scale[i]);
          } else {
            ops::Whole q[kTypedRun];
            read_wide(from, c.in[0].data, first, count, q);
            for (std::uint64_t i = 0; i < count; ++i)
              y[i] = ops::Dequantize::apply<T>(q[i], by.scale[i], by.zero_point[i]);
          }
          element_functions<T>(c.params.output_dtype).pack(y, first, count, c.out[0].data);
        });
      }
    });
  }
};
static_assert(Records<ops::Dequantize>);

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
