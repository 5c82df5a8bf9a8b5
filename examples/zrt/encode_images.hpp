// SPDX-License-Identifier: Apache-2.0
// examples/zrt/encode_images.hpp: image files as rows for a prompt.
#pragma once

#include "options.hpp"
#include <zrt/engine/image_rows.hpp>

namespace program {

/// The rows of every image that the options name, by the encoder that they name, on the CPU.
///
/// Errors: those of the files, each with its path; Errc::shape_mismatch where rows are not `columns` wide.
[[nodiscard]] zrt::Result<std::vector<zrt::ImageRows>> encode_images(const ImageOptions& options, std::uint32_t threads,
                                                                     std::uint32_t columns);

}  // namespace program
