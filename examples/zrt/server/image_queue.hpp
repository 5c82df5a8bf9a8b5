// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_queue.hpp: the one thread that reads and encodes images.
#pragma once

#include "image_turns.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace program::server {

/// Bytes of rows that the engine holds at one time, apart from one request of each tenant.
inline constexpr std::uint64_t kHeldRowBytes = std::uint64_t{1} << 30;

/// Encodes the images of requests one after the other, beside the thread that steps the engine. Files wait as they came,
/// and one at a time is taken apart into pixels. Any thread may push.
class ImageQueue {
 public:
  /// Takes at most `requests`, whose files have at most `file_bytes` together.
  ImageQueue(std::size_t requests, std::uint64_t file_bytes, std::uint64_t row_bytes = kHeldRowBytes);
  ImageQueue(const ImageQueue&) = delete;
  ImageQueue& operator=(const ImageQueue&) = delete;
  ~ImageQueue();

  /// Queues a request, which is heard in the queue's thread: it must not wait. Its tenant may have `most_open` of them.
  /// Throws ApiError where too many wait.
  void push(std::unique_ptr<ImageJob> job, std::optional<std::uint64_t> most_open);
  /// Ends the thread behind the image that it encodes, and does not wait for it. What still waits hears an error then, what
  /// comes later at once.
  void abort();
  /// As `abort`, and waits.
  void stop();

 private:
  struct Shared;

  void run();
  void encode_next(std::unique_lock<std::mutex>& lock, ImageJob& job);
  [[nodiscard]] ImageLease lease(const ImageJob& job) const;

  std::size_t most_requests_;
  std::uint64_t most_file_bytes_;
  std::shared_ptr<Shared> shared_;  ///< which leases have too
  std::thread thread_;
};

}  // namespace program::server
