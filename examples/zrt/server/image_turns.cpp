// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/image_turns.cpp: weighted turns of tenants whose images are encoded.
#include "image_turns.hpp"
#include <zrt/serve/quota.hpp>

#include <algorithm>

namespace program::server {

std::size_t ImageTurns::size(const std::string& tenant) const {
  const auto share = shares_.find(tenant);
  return share == shares_.end() ? 0 : share->second.jobs.size();
}

void ImageTurns::push(std::unique_ptr<ImageJob> job) {
  Share& share = shares_[job->tenant];
  if (share.jobs.empty()) share.charged = std::max(share.charged, served_);
  share.jobs.push_back(std::move(job));
  ++jobs_;
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
  Share& share = shares_[job.tenant];
  served_ = share.charged;
  share.charged += std::uint64_t{rows} * zrt::serve::kMostWeight / job.weight;
}

std::unique_ptr<ImageJob> ImageTurns::take(const ImageJob& job) {
  auto& jobs = shares_[job.tenant].jobs;
  const auto at = std::ranges::find(jobs, &job, &std::unique_ptr<ImageJob>::get);
  auto taken = std::move(*at);
  jobs.erase(at);
  --jobs_;
  return taken;
}

std::vector<std::unique_ptr<ImageJob>> ImageTurns::take_all() {
  std::vector<std::unique_ptr<ImageJob>> all;
  for (auto& [tenant, share] : shares_) {
    std::ranges::move(share.jobs, std::back_inserter(all));
    share.jobs.clear();
  }
  jobs_ = 0;
  return all;
}

}  // namespace program::server
