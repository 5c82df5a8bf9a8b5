// SPDX-License-Identifier: Apache-2.0
// zrt/model/tensor_rows.hpp: rows of a tensor that a file holds fused with others, named as a weight of their own.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Rows of a tensor, or the whole of it. A weight's name says which: "blk.0.attn_qkv.weight[64:32/128]" are the rows 64
/// to 95 of that tensor, which has 128. Rows lie one after the other, so they are read where they are.
struct TensorRows {
  std::string_view tensor;  ///< as the file names it
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t total = 0;  ///< rows that the tensor must have; 0: the whole tensor is meant

  /// The name of rows `first`..`first` + `count` - 1 of a tensor of `total` rows.
  [[nodiscard]] static constexpr Name name(std::string_view tensor, std::uint32_t first, std::uint32_t count,
                                           std::uint32_t total) noexcept {
    return Name::of(tensor, "[", first, ":", count, "/", total, "]");
  }

  /// What a weight's name means; a name that is not of that form is a tensor's.
  [[nodiscard]] static constexpr TensorRows of(std::string_view name) noexcept {
    const std::size_t open = name.rfind('[');
    TensorRows rows{name};
    if (open == std::string_view::npos || name.back() != ']') return rows;
    std::size_t at = open + 1;
    const auto number = [&](char end) {
      std::uint64_t value = 0;
      const std::size_t begin = at;
      while (at < name.size() && name[at] >= '0' && name[at] <= '9' && value <= 0xffffffffu)
        value = 10 * value + static_cast<std::uint64_t>(name[at++] - '0');
      const bool good = at > begin && at < name.size() && name[at] == end && value <= 0xffffffffu;
      at = good ? at + 1 : name.size();
      return good ? value : ~std::uint64_t{0};
    };
    const std::uint64_t first = number(':');
    const std::uint64_t count = number('/');
    const std::uint64_t total = number(']');
    if (total > 0xffffffffu || total == 0 || at != name.size() || count > total || first > total - count) return rows;
    return {{name.data(), open},
            static_cast<std::uint32_t>(first),
            static_cast<std::uint32_t>(count),
            static_cast<std::uint32_t>(total)};
  }

  /// Demands that `found` has the rows that the name says, each of whole blocks.
  ///
  /// Errors: Errc::shape_mismatch naming the tensor, its rows and what is expected.
  [[nodiscard]] Result<void> expect_in(const GgufTensor& found) const noexcept {
    const std::uint64_t rows = found.rank > 0 ? found.dims[found.rank - 1u] : 0;
    if (total == 0 || (rows == total && (found.rank > 1 || info(found.type.dtype).block_elems == 1))) return {};
    return fail(Errc::shape_mismatch, "tensor ", tensor, " has ", rows, " rows in ", found.rank,
                " dimensions, expected ", total, " rows in 2");
  }

  /// The bytes of the rows in those of the whole tensor.
  [[nodiscard]] Span<const std::byte> of_bytes(Span<const std::byte> whole) const noexcept {
    if (total == 0) return whole;
    const std::size_t row = whole.size() / total;
    return whole.subspan(first * row, count * row);
  }
};
static_assert(TensorRows::of(TensorRows::name("a.weight", 64, 32, 128).view()).first == 64);
static_assert(TensorRows::of("a[64:32/128]").tensor == "a" && TensorRows::of("a[64:65/128]").total == 0);
static_assert(TensorRows::of("a[1:1/2").total == 0 && TensorRows::of("a[]").total == 0 &&
              TensorRows::of("").total == 0);

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
