// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_field.cpp: data URLs (RFC 2397), limits of what they hold, and the places of images in a prompt.
#include "../image/read_image.hpp"
#include "base64.hpp"
#include "generation_request.hpp"
#include "http_message.hpp"
#include "image_field.hpp"

#include <algorithm>

namespace program::server {
namespace {

ApiError bad_image(const std::string& path, const char* code, const std::string& why) {
  ApiError error = bad_field(path, "'" + path + "' " + why);
  error.code = code;
  return error;
}

/// The bytes that a data URL holds.
std::string bytes_of_url(std::string_view url, const std::string& path) {
  constexpr std::string_view kScheme = "data:", kCoding = ";base64";
  const std::size_t comma = url.find(',');
  const std::string head = lower_case(url.substr(0, std::min(comma, std::size_t{256})));
  if (!head.starts_with(kScheme))
    throw bad_image(path, "invalid_image_url",
                    "is no data: URL; the server fetches nothing from the network, expected "
                    "data:image/png;base64,... or data:image/jpeg;base64,...");
  if (comma == url.npos || !head.ends_with(kCoding))
    throw bad_image(path, "invalid_image_url", "is a data: URL without ;base64, in front of its data");
  const std::string type = head.substr(kScheme.size(), head.find(';') - kScheme.size());
  if (type != "image/png" && type != "image/jpeg" && type != "image/jpg")
    throw bad_image(path, "unsupported_image_media_type",
                    "is of type '" + type + "', expected image/png or image/jpeg");
  auto bytes = bytes_of_base64(url.substr(comma + 1));
  if (!bytes) throw bad_image(path, "invalid_base64_image", "holds data that is no base64");
  if (bytes->empty()) throw bad_image(path, "empty_image_file", "holds no data");
  return std::move(*bytes);
}

std::uint32_t rows_of(const ServedImages& model, zrt::model::ImageSize size) {
  const zrt::model::ImageSize fitted = zrt::model::fitted_size(model.config, size, model.limits);
  const std::uint32_t block = model.config.patch * model.config.merge;
  return fitted.width / block * (fitted.height / block);
}

}  // namespace

ApiError image_error(const zrt::Error& error, const std::string& path) {
  const std::string why = "cannot be read: " + std::string(error.text());
  switch (error.code()) {
    case zrt::Errc::invalid_file:
    case zrt::Errc::truncated_file:
      return bad_image(path, "image_parse_error", why);
    case zrt::Errc::limit_exceeded:
      return bad_image(path, "image_too_large", why);
    case zrt::Errc::unimplemented:
      return bad_image(path, "unsupported_image_media_type", why);
    default:
      return api_error(error, path);
  }
}

RequestImage read_image_part(Fields& part, const ServedImages& model, std::uint64_t& pixels) {
  const std::string at = part.path_of("image_url");
  Fields image(expect_object(part.required("image_url"), at), at);
  image.ignore({"detail"});
  RequestImage out;
  out.path = image.path_of("url");
  out.file = bytes_of_url(expect_text(image.required("url"), out.path), out.path);
  const auto size = image::read_image_size(out.file, kMostRequestPixels);
  if (!size) throw image_error(size.error(), out.path);
  if ((pixels += size->pixels()) > kMostRequestPixels)
    throw bad_image(out.path, "image_too_large",
                    "brings the images of the request to " + std::to_string(pixels) + " pixels, expected " +
                        std::to_string(kMostRequestPixels) + " at most");
  out.rows = rows_of(model, *size);
  return out;
}

std::vector<std::int32_t> with_image_rows(const std::vector<std::int32_t>& tokens, const ServedModel& model,
                                          std::vector<RequestImage>& images) {
  const std::int32_t row = model.images->row_token;
  const auto places = static_cast<std::size_t>(std::ranges::count(tokens, row));
  if (places != images.size())
    throw bad_field("messages", "the model's template writes " + std::to_string(places) + " places for " +
                                    std::to_string(images.size()) + " images");
  std::uint64_t size = tokens.size() - places;
  for (const RequestImage& image : images) size += image.rows;
  expect_room(model, "messages", size);
  std::vector<std::int32_t> out;
  out.reserve(static_cast<std::size_t>(size));
  auto image = images.begin();
  for (const std::int32_t token : tokens) {
    if (token == row) image->first = static_cast<std::uint32_t>(out.size());
    out.insert(out.end(), token == row ? (image++)->rows : 1u, token);
  }
  return out;
}

}  // namespace program::server
