// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/copies.inc.hpp: textual fragment: ops that move bytes.

/// Rows are split.
inline void take(const TakeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(a.call.in[1].elements(step), ops::Take::granule(a.call), worker);
  ops::Take::rows(a.call, step, worker, part.first, part.last);
}

/// Bytes are split by cache lines.
inline void reshape(const ReshapeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t bytes = bytes_of(a.call.in[0].type.dtype, a.call.in[0].elements(step));
  const Range part = split(bytes, 4096, worker);
  std::memcpy(a.call.out[0].data + part.first, a.call.in[0].data + part.first, part.last - part.first);
}
