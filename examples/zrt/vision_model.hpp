// SPDX-License-Identifier: Apache-2.0
// examples/zrt/vision_model.hpp: an open encoder of images.
#pragma once

#include <zrt/engine/image_rows.hpp>
#include <zrt/model/fitted_image.hpp>

#include <memory>
#include <string>

namespace program {

/// The encoder of a file, on the CPU with threads of its own. One caller at a time.
class VisionModel {
 public:
  /// Errors: those of the file; Errc::shape_mismatch where its rows are not `columns` wide.
  [[nodiscard]] static zrt::Result<std::unique_ptr<VisionModel>> open(const std::string& path, std::uint32_t threads,
                                                                      std::uint32_t columns);
  VisionModel(const VisionModel&) = delete;
  VisionModel& operator=(const VisionModel&) = delete;
  ~VisionModel();

  [[nodiscard]] const zrt::model::VisionConfig& config() const;
  /// The rows of an image that is resized to within `limits`. Errors: those of zrt::ImageEncoder::encode.
  [[nodiscard]] zrt::Result<zrt::ImageRows> encode(const zrt::model::RgbImage& image, zrt::model::ImageLimits limits);

 private:
  struct Parts;
  explicit VisionModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace program
