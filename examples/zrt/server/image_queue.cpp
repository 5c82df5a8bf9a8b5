// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_queue.cpp: images into an encoder, rows out of it.
#include "image_queue.hpp"

#include <new>

namespace program::server {

struct ImageQueue::Shared {
  explicit Shared(std::uint64_t row_bytes) : turns(row_bytes) {}

  std::mutex mutex;
  std::condition_variable changed;
  ImageTurns turns;
  std::uint64_t file_bytes = 0;  ///< of requests that wait
  bool ends = false;
};

namespace {

/// Encodes the image behind those that are done.
zrt::Result<void> encode(ImageJob& job) {
  if (job.gone()) return zrt::fail(zrt::Errc::cancelled, "the client has left");
  const RequestImage& image = job.images[job.done.size()];
  try {
    auto rows = job.model->encode(image.file);
    if (!rows) return zrt::pass(rows);
    if (rows->count != image.rows)
      return zrt::fail(zrt::Errc::invalid_state, "the encoder made ", rows->count, " rows of the image, expected ",
                       image.rows);
    job.done.push_back(std::move(*rows));
    return {};
  } catch (const std::bad_alloc&) {
    return zrt::fail(zrt::Errc::out_of_memory, "no memory is left for the image");
  }
}

void end(std::unique_ptr<ImageJob> job, const zrt::Error* error) {
  auto hear = std::move(job->hear);
  hear(std::move(job), error);
}

}  // namespace

ImageQueue::ImageQueue(std::size_t requests, std::uint64_t file_bytes, std::uint64_t row_bytes)
    : most_requests_(requests),
      most_file_bytes_(file_bytes),
      shared_(std::make_shared<Shared>(row_bytes)),
      thread_([this] { run(); }) {}

ImageQueue::~ImageQueue() { stop(); }

void ImageQueue::abort() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->changed.notify_all();
}

void ImageQueue::stop() {
  abort();
  if (thread_.joinable()) thread_.join();
}

void ImageQueue::push(std::unique_ptr<ImageJob> job, std::optional<std::uint64_t> most_open) {
  const std::lock_guard lock(shared_->mutex);
  const std::uint64_t bytes = job->file_bytes();
  if (shared_->ends || shared_->turns.size() >= most_requests_ || shared_->file_bytes + bytes > most_file_bytes_)
    throw unavailable("too many requests wait; try again");
  if (most_open && shared_->turns.size(job->tenant) >= *most_open) throw tenant_full(1);
  shared_->file_bytes += bytes;
  shared_->turns.push(std::move(job));
  shared_->changed.notify_all();
}

/// Gives the room of a request back when the last who has the lease drops it.
ImageLease ImageQueue::lease(const ImageJob& job) const {
  return {shared_.get(), [shared = shared_, tenant = job.tenant, bytes = job.bytes](const void*) {
            const std::lock_guard lock(shared->mutex);
            shared->turns.give_back(tenant, bytes);
            shared->changed.notify_all();
          }};
}

void ImageQueue::run() {
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    ImageJob* job = nullptr;
    shared_->changed.wait(lock, [&] { return shared_->ends || (job = shared_->turns.next()) != nullptr; });
    if (shared_->ends) break;
    encode_next(lock, *job);
  }
  auto left = shared_->turns.take_all();
  lock.unlock();
  const zrt::Error error = zrt::Error::of(zrt::Errc::cancelled, kShuttingDown);
  for (auto& job : left) end(std::move(job), &error);
}

/// Encodes the next image of a request. The lock is free meanwhile; only this thread takes requests out.
void ImageQueue::encode_next(std::unique_lock<std::mutex>& lock, ImageJob& job) {
  const bool begins = shared_->turns.hold(job);
  shared_->turns.charge(job, job.images[job.done.size()].rows);
  lock.unlock();
  if (begins) job.lease = lease(job);
  const auto encoded = encode(job);
  lock.lock();
  if (encoded && !job.is_done()) return;
  auto ended = shared_->turns.take(job);
  shared_->file_bytes -= ended->file_bytes();
  lock.unlock();
  end(std::move(ended), encoded ? nullptr : &encoded.error());
  lock.lock();
}

}  // namespace program::server
