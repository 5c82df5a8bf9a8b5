// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_turns.hpp: requests whose images wait for an encoder, and whose is next.
#pragma once

#include "asked_images.hpp"
#include "image_field.hpp"
#include "job_turns.hpp"

#include <functional>

namespace program::server {

/// The images of one request.
struct ImageJob {
  std::string tenant;
  std::uint32_t weight = 1;
  const ServedImages* model = nullptr;
  std::vector<RequestImage> images;
  std::uint64_t bytes = 0;  ///< that their rows take in the engine
  /// Called with all of `done`, or with the error of the image behind them.
  std::function<void(std::unique_ptr<ImageJob>, const zrt::Error*)> hear;
  std::function<bool()> gone;          ///< the client has left
  std::vector<zrt::ImageRows> done{};  ///< of the first images
  ImageLease lease{};                  ///< from the first image on
  bool begun = false;                  ///< its rows have room

  [[nodiscard]] bool is_done() const { return done.size() == images.size(); }
  [[nodiscard]] std::uint64_t file_bytes() const {
    std::uint64_t sum = 0;
    for (const RequestImage& image : images) sum += image.file.size();
    return sum;
  }
};

/// Requests of several tenants, charged by rows, one image of a request at a time.
///
/// What the engine holds of images is bounded: a request begins where its rows have room, or where its tenant holds none.
/// So no tenant waits for what another one holds. A share holds the bytes of its rows.
class ImageTurns : public JobTurns<ImageJob, std::uint64_t> {
 public:
  explicit ImageTurns(std::uint64_t room) : room_(room) {}

  using JobTurns::size;
  /// Requests of a tenant that wait.
  [[nodiscard]] std::size_t size(const std::string& tenant) const;
  /// Whose next image to encode; null where nothing waits or has room.
  [[nodiscard]] ImageJob* next();
  /// Takes room for the rows of a request that `next` gave. False where it has it.
  bool hold(ImageJob& job);
  /// Gives room back that a request held.
  void give_back(const std::string& tenant, std::uint64_t bytes);
  /// Charges the tenant of a request for an image.
  void charge(const ImageJob& job, std::uint32_t rows);

 private:
  std::uint64_t held_ = 0;  ///< of all tenants
  std::uint64_t room_;
};

}  // namespace program::server
