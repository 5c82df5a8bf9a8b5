// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/quantize.hpp: floats as integers with a scale and a zero point.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/quantization_share.hpp>
#include <zrt/ops/quantize.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Quantize> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Quantize>& c) noexcept { return r.push(&elements, c); }

 private:
  /// Elements are split. Integers of 64 bits are whole numbers of their own kind.
  static void elements(const HostCall<ops::Quantize>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::Channels channels(c.params, c.in[0], step);
    const DType dtype = c.in[0].type.dtype;
    const DType to = c.params.output_dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::floating_point<T>) {
        for_each_run(c.in[0].elements(step), worker, [&](std::uint64_t first, std::uint64_t count) {
          T x[kTypedRun];
          ScalingRun by;
          element_functions<T>(dtype).unpack(c.in[0].data, first, count, x);
          by.read(c.in[1], c.in[2], channels, first, count);
          if (is_narrow(to)) {
            std::int64_t q[kTypedRun];
            for (std::uint64_t i = 0; i < count; ++i) {
              const T quotient = x[i] / static_cast<T>(by.scale[i]);
              q[i] = nearest_narrow(quotient) + by.zero_point[i];
            }
            return write_narrow(to, q, first, count, c.out[0].data);
          }
          ops::Whole q[kTypedRun];
          for (std::uint64_t i = 0; i < count; ++i) q[i] = ops::Quantize::apply(x[i], by.scale[i], by.zero_point[i]);
          write_wide(to, q, first, count, c.out[0].data);
        });
      }
    });
  }
};
static_assert(Records<ops::Quantize>);

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
