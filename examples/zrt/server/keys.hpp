// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/keys.hpp: the keys of tenants, from a file that can be read again.
#pragma once

#include <zrt/core/error.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace program::server {

/// Who may ask, and how much at once. 0: no bound.
struct Tenant {
  std::string id;
  std::vector<std::string> keys{};
  std::string priority = "interactive";
  std::uint32_t concurrent = 0;  ///< requests under way
  std::uint32_t requests_per_minute = 0;
  bool admin = false;  ///< sees the usage of all
};

/// Reads {"tenants": [{"id": ..., "keys": [...], ...}]}.
///
/// Errors: Errc::invalid_argument naming the field; two tenants with one id or one key.
[[nodiscard]] zrt::Result<std::vector<Tenant>> read_tenants(std::string_view text);

/// Whether two texts are equal, in a time that depends on the length of the first alone.
[[nodiscard]] bool equal_in_constant_time(std::string_view given, std::string_view kept);

/// The tenants of a server, and what each has under way. Any thread.
class Keys {
 public:
  /// Without tenants everyone is `default`, an admin.
  explicit Keys(std::vector<Tenant> tenants) : tenants_(std::move(tenants)), open_(tenants_.empty()) {}

  /// Takes the place of all tenants; what they have under way goes on.
  void replace(std::vector<Tenant> tenants);
  /// Whether no key is needed.
  [[nodiscard]] bool open() const { return open_; }
  /// The tenant whose key it is. Looks at every key.
  [[nodiscard]] std::optional<Tenant> find(std::string_view key) const;

  /// What a tenant may still ask this minute.
  struct Allowance {
    bool granted = true;
    std::uint32_t limit = 0;
    std::uint32_t left = 0;
    int retry_after = 1;    ///< seconds
    const char* code = "";  ///< of the quota that refused
  };
  /// Counts a request in, or says why not. `end` follows one that was granted.
  [[nodiscard]] Allowance begin(const Tenant& tenant, std::chrono::steady_clock::time_point now);
  void end(const std::string& tenant);

 private:
  struct Account {
    std::uint32_t concurrent = 0;
    double tokens = -1.0;  ///< of the bucket; below 0: full
    std::chrono::steady_clock::time_point filled{};
  };

  mutable std::mutex mutex_;
  std::vector<Tenant> tenants_;
  const bool open_;
  std::map<std::string, Account> accounts_;
};

}  // namespace program::server
