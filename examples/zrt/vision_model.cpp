// SPDX-License-Identifier: Apache-2.0
// examples/zrt/vision_model.cpp: an encoder with the pool that it runs on.
#include "output.hpp"
#include "vision_model.hpp"
#include <zrt/engine/image_encoder.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <optional>
#include <programs.hpp>

namespace program {

struct VisionModel::Parts {
  using Encoder = zrt::ImageEncoder<engines::CpuPrograms>;

  [[nodiscard]] zrt::Result<void> open(const std::string& path, std::uint32_t threads) {
    if (threads > 1)
      if (auto r = pool.start(threads); !r) return r;
    device.emplace(zrt::system_allocator(), threads > 1 ? pool.hook() : zrt::ThreadHook{});
    auto file = zrt::model::GgufFile::open(path);
    if (!file) return zrt::pass(file);
    auto opened = Encoder::open(std::move(*file), *device);
    if (!opened) return zrt::pass(opened);
    encoder.emplace(std::move(*opened));
    return {};
  }

  zrt::exec::ThreadPool pool{zrt::system_allocator()};
  std::optional<engines::CpuPrograms::Device> device;
  std::optional<Encoder> encoder;
};

VisionModel::VisionModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
VisionModel::~VisionModel() = default;

zrt::Result<std::unique_ptr<VisionModel>> VisionModel::open(const std::string& path, std::uint32_t threads,
                                                            std::uint32_t columns) {
  auto parts = std::make_unique<Parts>();
  if (auto opened = parts->open(path, threads); !opened) return std::unexpected(of_file(opened.error(), path));
  if (parts->encoder->columns() != columns)
    return zrt::fail(zrt::Errc::shape_mismatch, std::string_view(path), " makes rows of ", parts->encoder->columns(),
                     " numbers, expected ", columns, " as the model takes them");
  return std::unique_ptr<VisionModel>(new VisionModel(std::move(parts)));
}

const zrt::model::VisionConfig& VisionModel::config() const { return parts_->encoder->config(); }

zrt::Result<zrt::ImageRows> VisionModel::encode(const zrt::model::RgbImage& image, zrt::model::ImageLimits limits) {
  return parts_->encoder->encode(image.rgb.span(), {image.width, image.height}, limits);
}

}  // namespace program
