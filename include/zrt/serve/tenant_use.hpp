// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_use.hpp: what a tenant has had of a machine, as other machines hear of it.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Sums since the tenant was created.
struct TenantUse {
  bool ready = false;  ///< a step could do something for it: neither its rates nor its clients hold all it asks for
  std::uint64_t service = 0;  ///< 1 for a position of a prompt, 2 for a generated one; neither again after a preemption
  std::uint64_t decoded = 0;  ///< tokens that count against its rate of answers
  std::uint64_t prefilled = 0;  ///< the same of prompts

  /// What has come since an earlier count.
  [[nodiscard]] TenantUse since(const TenantUse& before) const noexcept {
    return {ready, service - before.service, decoded - before.decoded, prefilled - before.prefilled};
  }
  [[nodiscard]] bool nothing() const noexcept { return (service | decoded | prefilled) == 0; }
};

}  // namespace zrt::inline ZRT_ABI::serve
