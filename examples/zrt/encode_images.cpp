// SPDX-License-Identifier: Apache-2.0
// examples/zrt/encode_images.cpp: reads image files and runs the encoder on them.
#include "encode_images.hpp"
#include "image/read_image.hpp"
#include "output.hpp"
#include <zrt/engine/image_encoder.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <programs.hpp>

namespace program {
namespace {

using CpuImageEncoder = zrt::ImageEncoder<engines::CpuPrograms>;

zrt::Result<CpuImageEncoder> open_encoder(const std::string& path, engines::CpuPrograms::Device& device) {
  auto file = zrt::model::GgufFile::open(path);
  if (!file) return zrt::pass(file);
  return CpuImageEncoder::open(std::move(*file), device);
}

zrt::Result<zrt::ImageRows> encode(CpuImageEncoder& encoder, const std::string& path, zrt::model::ImageLimits limits) {
  const auto bytes = read_file(path);
  if (!bytes) return zrt::pass(bytes);
  const auto image = image::read_image(*bytes);
  if (!image) return zrt::pass(image);
  return encoder.encode(image->rgb.span(), {image->width, image->height}, limits);
}

}  // namespace

zrt::Result<std::vector<zrt::ImageRows>> encode_images(const ImageOptions& o, std::uint32_t threads,
                                                       std::uint32_t columns) {
  zrt::exec::ThreadPool pool(zrt::system_allocator());
  if (threads > 1)
    if (auto r = pool.start(threads); !r) return zrt::pass(r);
  engines::CpuPrograms::Device device(zrt::system_allocator(), threads > 1 ? pool.hook() : zrt::ThreadHook{});
  auto encoder = open_encoder(o.mmproj, device);
  if (!encoder) return std::unexpected(of_file(encoder.error(), o.mmproj));
  if (encoder->columns() != columns)
    return zrt::fail(zrt::Errc::shape_mismatch, std::string_view(o.mmproj), " makes rows of ", encoder->columns(),
                     " numbers, expected ", columns, " as the model takes them");
  std::vector<zrt::ImageRows> rows;
  for (const std::string& path : o.images) {
    auto encoded = encode(*encoder, path, o.limits);
    if (!encoded) return std::unexpected(of_file(encoded.error(), path));
    rows.push_back(std::move(*encoded));
  }
  return rows;
}

}  // namespace program
