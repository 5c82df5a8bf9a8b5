// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/copies.inc.hpp: textual fragment: ops that move bytes.

/// Rows are split.
inline void take(const TakeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t bytes = ops::Take::row_bytes(a.call.in[0], step);
  const std::uint32_t rows = step.extents.of(a.call.in[0].type.shape[0]);
  const auto* indices = a.call.in[1].as<std::int32_t>();
  const Range part = split(a.call.in[1].elements(step), 1, worker);
  for (std::uint64_t i = part.first; i < part.last; ++i) {
    auto index = static_cast<std::uint32_t>(indices[i]);
    if (index >= rows) {
      step.violated(worker);
      index = 0;
    }
    std::memcpy(a.call.out[0].data + i * bytes, a.call.in[0].data + index * bytes, bytes);
  }
}

/// Bytes are split by cache lines.
inline void reshape(const ReshapeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t bytes = bytes_of(a.call.in[0].type.dtype, a.call.in[0].elements(step));
  const Range part = split(bytes, 4096, worker);
  std::memcpy(a.call.out[0].data + part.first, a.call.in[0].data + part.first, part.last - part.first);
}
