// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/keys.hpp: the keys of tenants, from a file that can be read again.
#pragma once

#include "tenant.hpp"

#include <mutex>
#include <optional>
#include <string_view>

namespace program::server {

/// Reads {"tenants": [{"id": ..., "keys": [...], ...}]}.
///
/// Errors: Errc::invalid_argument naming the place and no value, which may be a key; a field that is there twice; two
/// tenants with one id or one key.
[[nodiscard]] zrt::Result<std::vector<Tenant>> read_tenants(std::string_view text);

/// These tenants, and behind them those of `others` that have no namesake among them, without pages of their own.
[[nodiscard]] std::vector<Tenant> with_those_of(std::vector<Tenant> tenants, const std::vector<Tenant>& others);

/// Whether two texts are equal, in a time that depends on their lengths alone, and on the first's no more than the second
/// is long.
[[nodiscard]] bool equal_in_constant_time(std::string_view given, std::string_view kept);

/// Finds tenants by their keys. Any thread.
class TenantKeys {
 public:
  /// Without tenants everyone is kOpenTenant, an admin.
  explicit TenantKeys(std::vector<Tenant> tenants) : tenants_(std::move(tenants)), open_(tenants_.empty()) {}

  [[nodiscard]] std::vector<Tenant> all() const;
  /// Takes the place of all tenants.
  void replace(std::vector<Tenant> tenants);
  /// Whether no key is needed.
  [[nodiscard]] bool open() const { return open_; }
  /// The tenant whose key it is. Looks at every key, unless it is longer than any.
  [[nodiscard]] std::optional<Tenant> find(std::string_view key) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Tenant> tenants_;
  const bool open_;
};

/// Whom a server without keys serves.
inline constexpr const char* kOpenTenant = "default";

}  // namespace program::server
