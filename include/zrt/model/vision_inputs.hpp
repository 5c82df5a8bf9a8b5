// SPDX-License-Identifier: Apache-2.0
// zrt/model/vision_inputs.hpp: an image as the inputs of a vision encoder.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/model/vision_config.hpp>
#include <zrt/quant/types.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What vision_encode reads of an image. Patches that become one row stand one after the other, line by line, and their
/// blocks line by line.
struct VisionInputs {
  explicit VisionInputs(const Allocator& a) noexcept : patches(a), places(a), coordinates(a) {}

  std::uint32_t merged = 0;          ///< rows that come out
  Vector<float> patches;             ///< [patches][3 channels][patch][patch]
  Vector<float> places;              ///< [patches][width]: the learned positions, resized to the image
  Vector<std::int32_t> coordinates;  ///< [patches][2]: row and column
};

/// The tensor of learned positions.
inline constexpr std::string_view kVisionPlaces = "v.position_embd.weight";

namespace detail {

/// Along one axis, the positions of the trained grid from which a position of the image is interpolated. The weights
/// form a triangle as wide as the ratio of the two sizes, and at least one position wide, so a small image averages the
/// positions between.
struct ResizedPlace {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  float centre = 0.0f;
  float support = 1.0f;

  constexpr ResizedPlace(std::uint32_t at, std::uint32_t size, std::uint32_t grid) noexcept {
    const float ratio = static_cast<float>(size) / static_cast<float>(grid);
    support = ratio < 1.0f ? 1.0f / ratio : 1.0f;
    centre = (static_cast<float>(at) + 0.5f) / ratio;
    const float low = centre - support + 0.5f;
    first = low > 0.0f ? static_cast<std::uint32_t>(low) : 0;
    end = static_cast<std::uint32_t>(centre + support + 0.5f);
    if (end > grid) end = grid;
  }
  [[nodiscard]] constexpr float share(std::uint32_t from) const noexcept {
    const float far = (static_cast<float>(from) + 0.5f - centre) / support;
    const float near = 1.0f - (far < 0.0f ? -far : far);
    return near > 0.0f ? near : 0.0f;
  }
};
static_assert(ResizedPlace(3, 6, 6).share(3) == 1.0f && ResizedPlace(3, 6, 6).share(4) == 0.0f);

/// Fills VisionInputs patch by patch.
class VisionInputsWriter {
 public:
  VisionInputsWriter(const VisionConfig& c, Span<const std::uint8_t> rgb, std::uint32_t width, std::uint32_t height,
                     VisionInputs& out) noexcept
      : c_(c), rgb_(rgb), width_(width), rows_(height / c.patch), columns_(width / c.patch), out_(out) {}

  void write(Span<const float> table) noexcept {
    std::size_t at = 0;
    for (std::uint32_t row = 0; row < rows_; row += c_.merge)
      for (std::uint32_t column = 0; column < columns_; column += c_.merge)
        for (std::uint32_t i = 0; i < c_.merged(); ++i, ++at)
          write_patch(at, row + i / c_.merge, column + i % c_.merge, table);
  }

 private:
  void write_patch(std::size_t at, std::uint32_t row, std::uint32_t column, Span<const float> table) noexcept {
    out_.coordinates[2 * at] = static_cast<std::int32_t>(row);
    out_.coordinates[2 * at + 1] = static_cast<std::int32_t>(column);
    write_pixels(row, column, out_.patches.span().subspan(at * c_.patch_elements(), c_.patch_elements()));
    write_place(row, column, table, out_.places.span().subspan(at * c_.width, c_.width));
  }
  void write_pixels(std::uint32_t row, std::uint32_t column, Span<float> to) const noexcept {
    std::size_t at = 0;
    for (std::uint32_t channel = 0; channel < 3; ++channel)
      for (std::uint32_t y = 0; y < c_.patch; ++y)
        for (std::uint32_t x = 0; x < c_.patch; ++x) {
          const std::size_t line = std::size_t{row} * c_.patch + y;
          const std::uint8_t pixel = rgb_[(line * width_ + std::size_t{column} * c_.patch + x) * 3 + channel];
          to[at++] = (static_cast<float>(pixel) / 255.0f - c_.mean[channel]) / c_.deviation[channel];
        }
  }
  void write_place(std::uint32_t row, std::uint32_t column, Span<const float> table, Span<float> to) const noexcept {
    const ResizedPlace y(row, rows_, c_.grid), x(column, columns_, c_.grid);
    float total = 0.0f;
    for (float& value : to) value = 0.0f;
    for (std::uint32_t i = y.first; i < y.end; ++i)
      for (std::uint32_t j = x.first; j < x.end; ++j) {
        const float share = y.share(i) * x.share(j);
        if (share == 0.0f) continue;
        const float* from = table.data() + (std::size_t{i} * c_.grid + j) * c_.width;
        for (std::size_t d = 0; d < to.size(); ++d) to[d] += share * from[d];
        total += share;
      }
    for (float& value : to) value /= total;
  }

  const VisionConfig& c_;
  Span<const std::uint8_t> rgb_;
  std::uint32_t width_;
  std::uint32_t rows_;
  std::uint32_t columns_;
  VisionInputs& out_;
};

/// The learned positions of a file as f32.
[[nodiscard]] inline Result<void> read_places(const GgufFile& file, const VisionConfig& c,
                                              Vector<float>& table) noexcept {
  constexpr std::string_view name = kVisionPlaces;
  const GgufTensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) return fail(Errc::missing_weight, "the model has no tensor ", name);
  const std::uint64_t count = std::uint64_t{c.grid} * c.grid;
  const quant::RowFunctions* type = quant::find(tensor->type.dtype);
  if (type == nullptr) return fail(Errc::unsupported_weight_type, name, " is of a type without values");
  if (tensor->rank != 2 || tensor->dims[0] != c.width || tensor->dims[1] != count)
    return fail(Errc::shape_mismatch, name, " is not [", count, ", ", c.width, "]");
  Vector<std::byte> bytes(table.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(tensor->bytes)); !r) return r;
  if (auto r = file.read_tensor(*tensor, bytes.span()); !r) return r;
  if (auto r = table.resize(static_cast<std::size_t>(count * c.width)); !r) return r;
  const std::size_t row = bytes.size() / static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < count; ++i) type->dequantise(bytes.data() + i * row, c.width, table.data() + i * c.width);
  return {};
}

}  // namespace detail

/// Makes the inputs of `file`'s encoder for an image of `rgb`, three bytes a pixel, line by line.
///
/// Errors: Errc::invalid_argument for sides that are no multiples of patch · merge up to 2^14, or another number of
/// bytes; those of the file's positions.
[[nodiscard]] inline Result<VisionInputs> vision_inputs(const GgufFile& file, const VisionConfig& c,
                                                        Span<const std::uint8_t> rgb, std::uint32_t width,
                                                        std::uint32_t height,
                                                        const Allocator& allocator = system_allocator()) noexcept {
  const std::uint32_t block = c.patch * c.merge;
  for (const std::uint32_t side : {width, height})
    if (side == 0 || side % block != 0 || side > 1u << 14)
      return fail(Errc::invalid_argument, "an image of ", width, " x ", height, " pixels, expected multiples of ",
                  block, " up to 16384");
  if (rgb.size() != std::size_t{width} * height * 3)
    return fail(Errc::invalid_argument, "an image of ", width, " x ", height, " pixels has ", rgb.size(),
                " bytes, expected three a pixel");
  VisionInputs out(allocator);
  Vector<float> table(allocator);
  if (auto r = detail::read_places(file, c, table); !r) return pass(r);
  out.merged = width / block * (height / block);
  const std::size_t patches = std::size_t{out.merged} * c.merged();
  if (auto r = out.patches.resize(patches * c.patch_elements()); !r) return pass(r);
  if (auto r = out.places.resize(patches * c.width); !r) return pass(r);
  if (auto r = out.coordinates.resize(patches * 2); !r) return pass(r);
  detail::VisionInputsWriter(c, rgb, width, height, out).write(table.span());
  return out;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
