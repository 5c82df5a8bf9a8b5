// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_field.hpp: images in the messages of a chat.
#pragma once

#include "fields.hpp"
#include "served_model.hpp"

namespace program::server {

/// Pixels of all images of a request together: what they take in memory while one is read, and the work that a small file
/// can ask for.
inline constexpr std::uint64_t kMostRequestPixels = 1u << 25;

/// An image as a client sent it.
struct RequestImage {
  std::string path;         ///< of its field
  std::string file;         ///< a PNG or JPEG
  std::uint32_t rows = 0;   ///< tokens that it becomes
  std::uint32_t first = 0;  ///< its first row's place among the prompt's tokens
};

/// Reads a part of type image_url, at `path`. Only data is taken: nothing is fetched. `pixels` is what the images in front
/// of it have, and grows by its own. Throws ApiError.
[[nodiscard]] RequestImage read_image_part(Fields& part, const ServedImages& model, std::uint64_t& pixels);

/// Puts as many tokens as each image has rows in the place of the one that the template wrote for it, and notes where
/// they begin. `most` is what the context holds. Throws ApiError where the template wrote another number of them, or the
/// prompt does not fit.
[[nodiscard]] std::vector<std::int32_t> with_image_rows(const std::vector<std::int32_t>& tokens,
                                                        const ServedModel& model, std::vector<RequestImage>& images);

/// What is wrong with the image of a field.
[[nodiscard]] ApiError image_error(const zrt::Error& error, const std::string& path);

}  // namespace program::server
