// SPDX-License-Identifier: Apache-2.0
// examples/zrt/encode_images.cpp: reads image files and runs the encoder on them.
#include "encode_images.hpp"
#include "image/read_image.hpp"
#include "output.hpp"
#include "vision_model.hpp"

namespace program {
namespace {

zrt::Result<zrt::ImageRows> encode(VisionModel& encoder, const std::string& path, zrt::model::ImageLimits limits) {
  const auto bytes = read_file(path);
  if (!bytes) return zrt::pass(bytes);
  const auto image = image::read_image(*bytes);
  if (!image) return zrt::pass(image);
  return encoder.encode(*image, limits);
}

}  // namespace

zrt::Result<std::vector<zrt::ImageRows>> encode_images(const ImageOptions& o, std::uint32_t threads,
                                                       std::uint32_t columns) {
  const auto encoder = VisionModel::open(o.mmproj, threads, columns);
  if (!encoder) return zrt::pass(encoder);
  std::vector<zrt::ImageRows> rows;
  for (const std::string& path : o.images) {
    auto encoded = encode(**encoder, path, o.limits);
    if (!encoded) return std::unexpected(of_file(encoded.error(), path));
    rows.push_back(std::move(*encoded));
  }
  return rows;
}

}  // namespace program
