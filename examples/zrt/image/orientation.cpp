// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/orientation.cpp: finds the tag in the first directory of a TIFF head, and turns pixels by it.
#include "orientation.hpp"

#include <algorithm>

namespace image {
namespace {

/// The whole numbers of a TIFF head, in its own byte order; 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) noexcept : bytes_(bytes), little_(bytes.starts_with("II")) {}

  [[nodiscard]] std::uint32_t u16(std::size_t at) const noexcept { return number(at, 2); }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const noexcept { return number(at, 4); }
  [[nodiscard]] bool is_one() const noexcept { return (little_ || bytes_.starts_with("MM")) && u16(2) == 42; }

 private:
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t size) const noexcept {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes_[at + (little_ ? size - 1 - i : i)]);
    return value;
  }

  std::string_view bytes_;
  bool little_;
};

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShort = 3;
constexpr std::size_t kEntryBytes = 12;

}  // namespace

Orientation exif_orientation(std::string_view tiff) noexcept {
  const Tiff head(tiff);
  if (!head.is_one()) return Orientation::top_left;
  const std::size_t directory = head.u32(4);
  const std::uint32_t entries = head.u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (head.u16(entry) != kOrientationTag) continue;
    const std::uint32_t value = head.u16(entry + 8);
    const bool valid = head.u16(entry + 2) == kShort && head.u32(entry + 4) == 1 && value >= 1 && value <= 8;
    return valid ? static_cast<Orientation>(value) : Orientation::top_left;
  }
  return Orientation::top_left;
}

zrt::Result<zrt::model::RgbImage> turned(zrt::model::RgbImage image, Orientation orientation) {
  if (orientation == Orientation::top_left) return image;
  zrt::model::RgbImage out(image.rgb.allocator());
  const zrt::model::ImageSize size = turned({image.width, image.height}, orientation);
  out.width = size.width;
  out.height = size.height;
  if (auto r = out.rgb.resize(image.rgb.size()); !r) return zrt::pass(r);
  using enum Orientation;
  // Which side of the file's image the first column and the first line of the seen one are read from.
  const bool from_right = orientation == top_right || orientation == bottom_right || orientation == right_bottom ||
                          orientation == left_bottom;
  const bool from_bottom = orientation == bottom_right || orientation == bottom_left || orientation == right_top ||
                           orientation == right_bottom;
  for (std::uint32_t y = 0; y < size.height; ++y)
    for (std::uint32_t x = 0; x < size.width; ++x) {
      const std::uint32_t column = swaps_sides(orientation) ? y : x, line = swaps_sides(orientation) ? x : y;
      const std::size_t from = std::size_t{from_bottom ? image.height - 1 - line : line} * image.width +
                               (from_right ? image.width - 1 - column : column);
      const std::size_t to = std::size_t{y} * size.width + x;
      std::copy_n(image.rgb.data() + from * 3, 3, out.rgb.data() + to * 3);
    }
  return out;
}

}  // namespace image
