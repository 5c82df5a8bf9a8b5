// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_data.hpp: examples to learn from, and the order in which batches take them.
#pragma once

#include "npy.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace program {

/// A tensor whose rows, along the first axis, are examples.
struct ExampleTensor {
  std::string name;
  Array array;
};

/// Tensors with as many rows each.
struct Examples {
  std::vector<ExampleTensor> tensors;
  std::size_t count = 0;

  /// Null where no tensor has that name.
  [[nodiscard]] const Array* find(std::string_view name) const;
};

/// Reads a .npz archive.
///
/// Errors: those of reading it; Errc::shape_mismatch for tensors of unequal lengths, naming both.
[[nodiscard]] zrt::Result<Examples> read_examples(const std::string& path);
/// Parts the last `count` examples from the others.
[[nodiscard]] Examples take_last(Examples& from, std::size_t count);

/// True where rows of the two are alike: type and all axes but the first.
[[nodiscard]] bool same_rows(const Array& a, const Array& b);
/// Copies rows of `from`, in that order, to the memory of `to`.
void copy_rows(const Array& from, std::span<const std::uint32_t> rows, Array& to);

/// The order of all examples in an epoch: drawn from `seed` and the epoch alone, so that a training that goes on where it
/// stopped takes the same batches.
[[nodiscard]] std::vector<std::uint32_t> order_of(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

/// Numbers from a seed: splitmix64.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next();
  /// Below `bound`.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// In [-scale, scale).
  [[nodiscard]] double real(double scale);

 private:
  std::uint64_t state_;
};

}  // namespace program
