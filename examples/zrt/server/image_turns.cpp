// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_turns.cpp: weighted turns of tenants whose images are encoded.
#include "image_turns.hpp"

#include <utility>

namespace program::server {

std::size_t ImageTurns::size(const std::string& tenant) const {
  const auto share = shares_.find(tenant);
  return share == shares_.end() ? 0 : share->second.jobs.size();
}

ImageJob* ImageTurns::next() {
  ImageJob* chosen = nullptr;
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [tenant, share] : shares_) {
    if (share.jobs.empty() || share.charged >= least) continue;
    ImageJob& job = *share.jobs.front();
    const bool has_room = job.begun || share.held == 0 || held_ + job.bytes <= room_;
    if (!has_room) continue;
    chosen = &job;
    least = share.charged;
  }
  return chosen;
}

bool ImageTurns::hold(ImageJob& job) {
  if (std::exchange(job.begun, true)) return false;
  shares_[job.tenant].held += job.bytes;
  held_ += job.bytes;
  return true;
}

void ImageTurns::give_back(const std::string& tenant, std::uint64_t bytes) {
  shares_[tenant].held -= bytes;
  held_ -= bytes;
}

void ImageTurns::charge(const ImageJob& job, std::uint32_t rows) {
  charge_share(shares_[job.tenant], rows, job.weight);
}

}  // namespace program::server
