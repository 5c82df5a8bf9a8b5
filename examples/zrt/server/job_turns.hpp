// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/job_turns.hpp: jobs of several tenants that wait, and what each tenant was charged.
#pragma once

#include <zrt/serve/quota.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace program::server {

/// Jobs in weighted turns: what is charged to a tenant counts per weight, and the one with the least goes first with its
/// oldest job. A tenant that had nothing to do gathers no claim meanwhile. Held: what else there is of each tenant.
template <class Job, class Held> class JobTurns {
 public:
  /// Jobs that wait, of all tenants.
  [[nodiscard]] std::size_t size() const { return jobs_; }
  void push(std::unique_ptr<Job> job) {
    Share& share = shares_[job->tenant];
    if (share.jobs.empty()) share.charged = std::max(share.charged, served_);
    share.jobs.push_back(std::move(job));
    ++jobs_;
  }
  /// Visits all jobs.
  template <class F> void each(F visit) const {
    for (const auto& [tenant, share] : shares_)
      for (const auto& job : share.jobs) visit(*job);
  }
  /// Takes out a job that is done or given up.
  [[nodiscard]] std::unique_ptr<Job> take(const Job& job) {
    auto& jobs = shares_[job.tenant].jobs;
    const auto at = std::ranges::find(jobs, &job, &std::unique_ptr<Job>::get);
    auto taken = std::move(*at);
    jobs.erase(at);
    --jobs_;
    return taken;
  }
  /// Takes out all.
  [[nodiscard]] std::vector<std::unique_ptr<Job>> take_all() {
    std::vector<std::unique_ptr<Job>> all;
    for (auto& [tenant, share] : shares_) {
      std::ranges::move(share.jobs, std::back_inserter(all));
      share.jobs.clear();
    }
    jobs_ = 0;
    return all;
  }

 protected:
  struct Share {
    std::deque<std::unique_ptr<Job>> jobs;
    std::uint64_t charged = 0;  ///< cost · kMostWeight / weight
    Held held{};
  };

  /// Charges the tenant of a job.
  void charge_share(Share& share, std::uint64_t cost, std::uint32_t weight) {
    served_ = share.charged;
    share.charged += cost * zrt::serve::kMostWeight / weight;
  }

  std::map<std::string, Share> shares_;

 private:
  std::size_t jobs_ = 0;
  std::uint64_t served_ = 0;  ///< what the tenant that ran last had been charged before
};

}  // namespace program::server
