// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/copies.inc.hpp: textual fragment: ops that move bytes.

/// Rows are split; a row is one copy, and of 4-bit elements, whose rows may begin within a byte, one by one.
inline void take(const TakeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostTensor& x = a.call.in[0];
  const HostTensor& indices = a.call.in[1];
  const DTypeInfo& type = info(x.type.dtype);
  const ops::AxisSplit table(x, 0, step);
  const std::uint64_t row_bytes = table.inner * type.block_bytes;
  const Range part = split(indices.elements(step), ops::Take::granule(a.call), worker);
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const std::uint64_t index = ops::index_at(indices, row);
    const bool found = index < table.extent;
    if (!found) step.violated(worker);
    if (type.block_elems != 1) {
      if (found)
        copy_elements(x.type.dtype, x.data, index * table.inner, a.call.out[0].data, row * table.inner, table.inner);
      else
        for (std::uint64_t i = 0; i < table.inner; ++i) {
          const std::byte zero{};
          copy_elements(x.type.dtype, &zero, 0, a.call.out[0].data, row * table.inner + i, 1);
        }
    } else if (row_bytes != 0) {
      std::byte* y = a.call.out[0].data + row * row_bytes;
      if (found)
        std::memcpy(y, x.data + index * row_bytes, row_bytes);
      else
        std::memset(y, 0, row_bytes);
    }
  }
}

/// Bytes are split by cache lines.
inline void reshape(const ReshapeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t bytes = bytes_of(a.call.in[0].type.dtype, a.call.in[0].elements(step));
  const Range part = split(bytes, 4096, worker);
  std::memcpy(a.call.out[0].data + part.first, a.call.in[0].data + part.first, part.last - part.first);
}
