// SPDX-License-Identifier: Apache-2.0
// zrt/device/weight_matrix.hpp: a weight of a file as the matrix that kernels read, and which weights lie together.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/device/upload/types.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/plan/layer_of.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Whose kernels read a weight: its name for errors, and the types that they read.
struct WeightReader {
  std::string_view name{};
  Span<const UploadFunctions> types{};

  template <class Device> [[nodiscard]] static constexpr WeightReader of() noexcept {
    return {Device::kName, Device::weight_types()};
  }
};

/// How a weight is uploaded: its parts, and where they begin.
struct WeightMatrix {
  const UploadFunctions* layout = nullptr;
  UploadPlaces places{};
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint32_t blocks = 0;
  std::uint64_t row_bytes = 0;

  /// Errors: Errc::unsupported_weight_type, shape_mismatch for data shorter than the shape, size_overflow.
  [[nodiscard]] static Result<WeightMatrix> of(const WeightView& view, const WeightReader& reader) noexcept {
    WeightMatrix m;
    m.layout = upload_of(view.dtype, view.shape.rank == 1, reader.types);
    if (m.layout == nullptr)
      return fail(Errc::unsupported_weight_type, "weight ", view.name, " is ", name(view.dtype),
                  ", which no kernel of ", reader.name, " reads");
    const auto elements = view.shape.elements({}).get(view.name);
    if (!elements) return pass(elements);
    m.cols = view.shape.last().extent;
    const std::uint32_t block = info(view.dtype).block_elems;
    if (m.cols == 0 || m.cols % block != 0 || *elements / m.cols > 0xffffffffu)
      return fail(Errc::shape_mismatch, "weight ", view.name, " has rows of ", m.cols, " elements, blocks of ", block,
                  " expected");
    m.rows = static_cast<std::uint32_t>(*elements / m.cols);
    m.blocks = m.cols / block;
    m.row_bytes = bytes_of(view.dtype, m.cols);
    if (view.data.size() < m.rows * m.row_bytes)
      return fail(Errc::shape_mismatch, "weight ", view.name, " has ", view.data.size(), " bytes, its shape needs ",
                  m.rows * m.row_bytes);
    const auto places = m.layout->places(m.rows, m.cols);
    if (!places) return pass(places);
    m.places = *places;
    return m;
  }

  /// Writes the parts of a weight's data; the first byte of its places is at `to`.
  void write(Span<const std::byte> data, std::byte* to) const noexcept {
    std::array<std::byte*, kMaxParts> parts{};
    for (std::size_t i = 0; i < layout->parts.size(); ++i) parts[i] = to + places.offset[i];
    layout->write(data.data(), row_bytes, rows, blocks, parts.data());
  }
};

/// The type, with the name behind the layer's number; two classes with one key would share an allocation, no more.
[[nodiscard]] inline std::uint64_t weight_class_key(const WeightView& view) noexcept {
  std::string_view name{};
  if (plan::layer_of(view.name) != plan::kNoLayer)
    name = slice(view.name, view.name.find('.', view.name.find('.') + 1));
  return hash_bytes(name) * 256 + static_cast<std::uint64_t>(view.dtype);
}

}  // namespace zrt::inline ZRT_ABI::device
