// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/requantize.hpp: integers of one scale and zero point to those of another.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/quantization_share.hpp>
#include <zrt/ops/requantize.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Requantize> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Requantize>& c) noexcept { return r.push(&elements, c); }

 private:
  /// Elements are split. Integers of 64 bits are whole numbers of their own kind.
  static void elements(const HostCall<ops::Requantize>& c, const ExecutionContext& step,
                       const Worker& worker) noexcept {
    const ops::Channels channels(c.params, c.in[0], step);
    const DType from = c.in[0].type.dtype;
    const DType to = c.params.output_dtype;
    for_each_run(c.in[0].elements(step), worker, [&](std::uint64_t first, std::uint64_t count) {
      ScalingRun before;
      ScalingRun after;
      before.read(c.in[1], c.in[2], channels, first, count);
      after.read(c.in[3], c.in[4], channels, first, count);
      if (is_narrow(from) && is_narrow(to)) {
        std::int64_t q[kTypedRun];
        read_narrow(from, c.in[0].data, first, count, q);
        for (std::uint64_t i = 0; i < count; ++i) {
          const float real = static_cast<float>(q[i] - before.zero_point[i]) * before.scale[i];
          const float quotient = real / after.scale[i];
          q[i] = nearest_narrow(quotient) + after.zero_point[i];
        }
        return write_narrow(to, q, first, count, c.out[0].data);
      }
      ops::Whole q[kTypedRun];
      read_wide(from, c.in[0].data, first, count, q);
      for (std::uint64_t i = 0; i < count; ++i)
        q[i] = ops::Requantize::apply(q[i], before.scale[i], before.zero_point[i], after.scale[i], after.zero_point[i]);
      write_wide(to, q, first, count, c.out[0].data);
    });
  }
};
static_assert(Records<ops::Requantize>);

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
