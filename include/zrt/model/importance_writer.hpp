// SPDX-License-Identifier: Apache-2.0
// zrt/model/importance_writer.hpp: writes an importance matrix as llama.cpp does.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf/writer.hpp>

#include <bit>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What met one tensor of a model: for each of its matrices the rows that were multiplied with it, and for each of its
/// columns the sum of their squares.
struct TensorSquares {
  std::string_view name;
  std::uint32_t columns = 0;
  std::uint32_t matrices = 1;
  Span<const double> sums;           ///< columns · matrices, matrix after matrix
  Span<const std::uint64_t> counts;  ///< matrices
};

/// What the activations came from.
struct ImportanceSource {
  std::string_view dataset;
  std::uint32_t chunks = 0;
  std::uint32_t chunk_size = 0;  ///< tokens
};

namespace detail {

template <class T> [[nodiscard]] Result<void> write_as_f32(GgufWriter& writer, Span<const T> values) noexcept {
  std::byte bytes[256];
  std::size_t used = 0;
  for (const T value : values) {
    write_little(bytes + used, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    used += 4;
    if (used < sizeof bytes) continue;
    if (auto r = writer.write({bytes, used}); !r) return r;
    used = 0;
  }
  return used == 0 ? Result<void>{} : writer.write({bytes, used});
}

}  // namespace detail

/// Writes NAME.in_sum2 and NAME.counts of each tensor; model::Importance reads them.
///
/// Errors: those of GgufWriter; Errc::invalid_argument for sums or counts that are more or fewer than the tensor says.
[[nodiscard]] inline Result<void> write_importance(Span<const TensorSquares> tensors, const ImportanceSource& source,
                                                   ByteSink sink, const Allocator& allocator) noexcept {
  GgufWriter writer(sink, allocator);
  if (auto r = writer.add("general.type", std::string_view("imatrix")); !r) return r;
  if (auto r = writer.add_texts("imatrix.datasets", 1, [&](std::uint64_t) noexcept { return Name(source.dataset); });
      !r)
    return r;
  if (auto r = writer.add("imatrix.chunk_count", source.chunks); !r) return r;
  if (auto r = writer.add("imatrix.chunk_size", source.chunk_size); !r) return r;
  const GgmlType& f32 = *find_ggml_type(DType::f32);
  for (const TensorSquares& tensor : tensors) {
    if (tensor.counts.size() != tensor.matrices ||
        tensor.sums.size() != std::uint64_t{tensor.columns} * tensor.matrices)
      return fail(Errc::invalid_argument, "tensor '", tensor.name, "' of ", tensor.matrices, " matrices of ",
                  tensor.columns, " columns has ", tensor.sums.size(), " sums and ", tensor.counts.size(), " counts");
    const std::uint64_t sums[] = {tensor.columns, tensor.matrices};
    const std::uint64_t counts[] = {1, tensor.matrices};
    if (auto r = writer.add_tensor(Name::of(tensor.name, ".in_sum2").view(), f32, sums); !r) return r;
    if (auto r = writer.add_tensor(Name::of(tensor.name, ".counts").view(), f32, counts); !r) return r;
  }
  if (auto r = writer.begin(); !r) return r;
  for (const TensorSquares& tensor : tensors) {
    if (auto r = detail::write_as_f32(writer, tensor.sums); !r) return r;
    if (auto r = detail::write_as_f32(writer, tensor.counts); !r) return r;
  }
  return writer.finish();
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
