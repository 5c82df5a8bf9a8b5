// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/keys.cpp: reading, finding and counting of tenants.
#include "fields.hpp"
#include "keys.hpp"

#include <algorithm>
#include <cmath>

namespace program::server {
namespace {

constexpr std::size_t kLeastKeyBytes = 16;

Tenant read_tenant(const Json& json, const std::string& path) {
  Fields fields(expect_object(json, path), path);
  Tenant tenant;
  tenant.id = expect_text(fields.required("id"), path + ".id");
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (tenant.id.empty() || !std::all_of(tenant.id.begin(), tenant.id.end(), is_plain))
    throw bad_field(path + ".id", "'" + path + "' has an id of other than letters, digits, _ and -");
  tenant.keys = fields.texts("keys", 64);
  for (const std::string& key : tenant.keys)
    if (key.size() < kLeastKeyBytes)
      throw bad_field(path + ".keys", "'" + path + ".keys' has a key of fewer than 16 bytes");
  if (tenant.keys.empty()) throw bad_field(path + ".keys", "'" + path + ".keys' has no key");
  tenant.priority = fields.text("priority").value_or(tenant.priority);
  if (tenant.priority != "interactive" && tenant.priority != "standard" && tenant.priority != "batch")
    throw bad_field(path + ".priority", "'" + path + ".priority' is not interactive, standard or batch");
  tenant.concurrent = static_cast<std::uint32_t>(fields.integer("concurrent", 0, 1 << 20).value_or(0));
  tenant.requests_per_minute =
      static_cast<std::uint32_t>(fields.integer("requests_per_minute", 0, 1 << 30).value_or(0));
  tenant.admin = fields.boolean("admin").value_or(false);
  // A bound that is misspelt would be none.
  if (const auto unknown = fields.unknown(); !unknown.empty())
    throw bad_field(path, "'" + path + "' has a field '" + unknown.front() + "', which is not known");
  return tenant;
}

void check_apart(const std::vector<Tenant>& tenants) {
  std::set<std::string> ids, keys;
  for (const Tenant& tenant : tenants) {
    if (!ids.insert(tenant.id).second) throw bad_field("tenants", "two tenants are called '" + tenant.id + "'");
    for (const std::string& key : tenant.keys)
      if (!keys.insert(key).second) throw bad_field("tenants", "a key of '" + tenant.id + "' is there twice");
  }
}

}  // namespace

zrt::Result<std::vector<Tenant>> read_tenants(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Fields fields(expect_object(json, "the file"));
    std::vector<Tenant> tenants;
    for (const Json& one : expect_list(fields.required("tenants"), "tenants"))
      tenants.push_back(read_tenant(one, element_path("tenants", tenants.size())));
    if (tenants.empty()) throw bad_field("tenants", "'tenants' is empty");
    check_apart(tenants);
    return tenants;
  } catch (const ApiError& error) {
    return zrt::fail(zrt::Errc::invalid_argument, "keys: ", std::string_view(error.message));
  } catch (const Json::exception& error) {
    return zrt::fail(zrt::Errc::invalid_argument, "keys: no JSON: ", std::string_view(error.what()));
  }
}

bool equal_in_constant_time(std::string_view given, std::string_view kept) {
  std::size_t differs = given.size() ^ kept.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char against = kept.empty() ? '\0' : kept[i % kept.size()];
    differs |= static_cast<unsigned char>(given[i] ^ against);
  }
  const volatile std::size_t result = differs;
  return result == 0;
}

void Keys::replace(std::vector<Tenant> tenants) {
  const std::lock_guard lock(mutex_);
  tenants_ = std::move(tenants);
}

std::optional<Tenant> Keys::find(std::string_view key) const {
  if (open_) return Tenant{.id = "default", .admin = true};
  const std::lock_guard lock(mutex_);
  const Tenant* found = nullptr;
  for (const Tenant& tenant : tenants_)
    for (const std::string& kept : tenant.keys)
      if (equal_in_constant_time(key, kept)) found = &tenant;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

Keys::Allowance Keys::begin(const Tenant& tenant, std::chrono::steady_clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[tenant.id];
  Allowance allowance{.limit = tenant.requests_per_minute};
  if (tenant.concurrent != 0 && account.concurrent >= tenant.concurrent) {
    allowance.granted = false;
    allowance.code = "concurrent_requests_exceeded";
    return allowance;
  }
  if (const double rate = tenant.requests_per_minute; rate > 0.0) {
    const double past = std::chrono::duration<double>(now - account.filled).count();
    account.tokens = account.tokens < 0.0 ? rate : std::min(rate, account.tokens + past * rate / 60.0);
    account.filled = now;
    allowance.granted = account.tokens >= 1.0;
    allowance.code = "rate_limit_exceeded";
    allowance.retry_after = std::clamp(static_cast<int>(std::ceil((1.0 - account.tokens) * 60.0 / rate)), 1, 60);
    if (allowance.granted) account.tokens -= 1.0;
    allowance.left = static_cast<std::uint32_t>(account.tokens);
  }
  if (allowance.granted) ++account.concurrent;
  return allowance;
}

void Keys::end(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  --accounts_[tenant].concurrent;
}

}  // namespace program::server
