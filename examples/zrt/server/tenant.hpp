// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tenant.hpp: whom a server serves, as its file of keys says it.
#pragma once

#include <zrt/engine/tenant.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace program::server {

/// A quota that bounds nothing but what the machine has.
[[nodiscard]] constexpr zrt::TenantQuota unbounded_quota() {
  zrt::TenantQuota quota;
  quota.max_slots = quota.max_pages = quota.max_context = quota.max_queued = ~0u;
  quota.decode_tokens_per_s = quota.prefill_tokens_per_s = ~0u;
  quota.service = zrt::ServiceClass::interactive;
  return quota;
}

/// Who may ask, and what of the engine is theirs.
struct Tenant {
  std::string id;
  std::vector<std::string> keys{};
  zrt::TenantQuota quota = unbounded_quota();
  bool admin = false;                                ///< sees the usage of all
  std::optional<std::vector<std::string>> models{};  ///< ids of models and adapters that it may use; none: of all

  [[nodiscard]] bool may_use(std::string_view model) const {
    return !models || std::find(models->begin(), models->end(), model) != models->end();
  }
};

}  // namespace program::server
