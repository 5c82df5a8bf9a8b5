// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/keys.cpp: tenants of a file, and whose key it is.
#include "fields.hpp"
#include "keys.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace program::server {
namespace {

constexpr std::size_t kLeastKeyBytes = 16;
constexpr std::size_t kMostKeyBytes = 512;
constexpr std::size_t kMostNames = 4096;

/// A name that is not known, unless it is long enough to be a key.
std::string shown_name(const std::string& name) {
  return name.size() < kLeastKeyBytes ? "a field '" + name + "'"
                                      : "a field of " + std::to_string(name.size()) + " bytes";
}

zrt::ServiceClass read_class(const std::string& name, const std::string& path) {
  constexpr std::string_view kNames[] = {"interactive", "standard", "batch"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw bad_field(path, "'" + path + "' is not interactive, standard or batch");
  return static_cast<zrt::ServiceClass>(found - std::begin(kNames));
}

/// What is absent stays without a bound.
void read_quota(Fields& fields, zrt::TenantQuota& quota) {
  struct Bound {
    const char* name;
    std::uint32_t zrt::TenantQuota::* field;
    std::int64_t least;
  };
  constexpr Bound kBounds[] = {{"slots", &zrt::TenantQuota::max_slots, 1},
                               {"queue", &zrt::TenantQuota::max_queued, 1},
                               {"pages", &zrt::TenantQuota::max_pages, 1},
                               {"reserved_pages", &zrt::TenantQuota::reserved_pages, 0},
                               {"context", &zrt::TenantQuota::max_context, 2},
                               {"prompt_tokens_per_second", &zrt::TenantQuota::prefill_tokens_per_s, 1},
                               {"answer_tokens_per_second", &zrt::TenantQuota::decode_tokens_per_s, 1},
                               {"weight", &zrt::TenantQuota::weight, 1},
                               {"group", &zrt::TenantQuota::group, 0}};
  for (const Bound& bound : kBounds)
    if (const auto value = fields.integer(bound.name, bound.least, INT32_MAX))
      quota.*bound.field = static_cast<std::uint32_t>(*value);
  constexpr std::int64_t kMillisecond = 1'000'000;
  if (const auto ms = fields.integer("first_token_ms", 0, INT32_MAX))
    quota.first_token_ns = static_cast<std::uint64_t>(*ms * kMillisecond);
  if (const auto ms = fields.integer("token_gap_ms", 0, INT32_MAX))
    quota.gap_ns = static_cast<std::uint64_t>(*ms * kMillisecond);
  if (const auto name = fields.text("priority")) quota.service = read_class(*name, fields.path_of("priority"));
  if (const auto sound = check(quota); !sound) throw bad_field(fields.path_of("id"), std::string(sound.error().text()));
}

Tenant read_tenant(const Json& json, const std::string& path) {
  Fields fields(expect_object(json, path, FaultShows::type), path, FaultShows::type);
  Tenant tenant;
  tenant.id = expect_text(fields.required("id"), path + ".id", FaultShows::type);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (tenant.id.empty() || !std::all_of(tenant.id.begin(), tenant.id.end(), is_plain))
    throw bad_field(path + ".id", "'" + path + "' has an id of other than letters, digits, _ and -");
  tenant.keys = fields.texts("keys", 64);
  for (const std::string& key : tenant.keys)
    if (key.size() < kLeastKeyBytes || key.size() > kMostKeyBytes)
      throw bad_field(path + ".keys",
                      "'" + path + ".keys' has a key of " + std::to_string(key.size()) + " bytes, expected 16..512");
  if (tenant.keys.empty()) throw bad_field(path + ".keys", "'" + path + ".keys' has no key");
  read_quota(fields, tenant.quota);
  tenant.admin = fields.boolean("admin").value_or(false);
  if (json.contains("models")) {
    tenant.models = fields.texts("models", kMostNames);
    if (tenant.models->empty()) throw bad_field(path + ".models", "'" + path + ".models' has no model");
  }
  // A bound that is misspelt would be none.
  if (const auto unknown = fields.unknown(); !unknown.empty())
    throw bad_field(path, "'" + path + "' has " + shown_name(unknown.front()) + ", which is not known");
  return tenant;
}

/// Says no to what another place has too.
void check_new(std::map<std::string, std::string>& places, const std::string& value, const std::string& path) {
  const auto [first, is_new] = places.emplace(value, path);
  if (!is_new) throw bad_field(path, "'" + path + "' is the same as '" + first->second + "'");
}

void check_apart(const std::vector<Tenant>& tenants) {
  std::map<std::string, std::string> ids, keys;
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    const std::string path = element_path("tenants", t);
    check_new(ids, tenants[t].id, path + ".id");
    for (std::size_t k = 0; k < tenants[t].keys.size(); ++k)
      check_new(keys, tenants[t].keys[k], element_path(path + ".keys", k));
  }
}

/// Reads JSON in which no object has a field twice: one of both would count for nothing.
Json parse_once(std::string_view text) {
  std::vector<std::set<std::string>> names;  // of the objects around
  std::size_t tenants = 0;
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      names.emplace_back();
      if (names.size() == 2) ++tenants;
    }
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto& name = value.get_ref<const std::string&>();
    if (names.back().insert(name).second) return true;
    const std::string where = names.size() == 1 ? "the file" : "'" + element_path("tenants", tenants - 1) + "'";
    throw bad_field("tenants", where + " has " + shown_name(name) + " twice");
  });
}

}  // namespace

zrt::Result<std::vector<Tenant>> read_tenants(std::string_view text) {
  try {
    const Json json = parse_once(text);
    Fields fields(expect_object(json, "the file", FaultShows::type), {}, FaultShows::type);
    std::vector<Tenant> tenants;
    for (const Json& one : expect_list(fields.required("tenants"), "tenants", FaultShows::type))
      tenants.push_back(read_tenant(one, element_path("tenants", tenants.size())));
    if (tenants.empty()) throw bad_field("tenants", "'tenants' is empty");
    if (const auto unknown = fields.unknown(); !unknown.empty())
      throw bad_field("tenants", "the file has " + shown_name(unknown.front()) + ", expected 'tenants' alone");
    check_apart(tenants);
    return tenants;
  } catch (const ApiError& error) {
    return zrt::fail(zrt::Errc::invalid_argument, "keys: ", std::string_view(error.message));
  } catch (const Json::parse_error& error) {
    // What stands there may be a key.
    return zrt::fail(zrt::Errc::invalid_argument, "keys: no JSON at byte ", error.byte);
  } catch (const Json::exception&) {
    return zrt::fail(zrt::Errc::invalid_argument, "keys: no JSON");
  }
}

std::vector<Tenant> with_those_of(std::vector<Tenant> tenants, const std::vector<Tenant>& others) {
  const std::size_t own = tenants.size();
  for (const Tenant& other : others) {
    const auto end = tenants.begin() + static_cast<std::ptrdiff_t>(own);
    if (std::any_of(tenants.begin(), end, [&](const Tenant& tenant) { return tenant.id == other.id; })) continue;
    tenants.push_back(other);
    tenants.back().quota.reserved_pages = 0;
  }
  return tenants;
}

bool equal_in_constant_time(std::string_view given, std::string_view kept) {
  std::size_t differs = given.size() ^ kept.size();
  for (std::size_t i = 0; i < kept.size(); ++i)
    differs |= static_cast<unsigned char>(kept[i] ^ (i < given.size() ? given[i] : '\0'));
  const volatile std::size_t result = differs;
  return result == 0;
}

std::vector<Tenant> TenantKeys::all() const {
  const std::lock_guard lock(mutex_);
  return tenants_;
}

void TenantKeys::replace(std::vector<Tenant> tenants) {
  const std::lock_guard lock(mutex_);
  tenants_ = std::move(tenants);
}

std::optional<Tenant> TenantKeys::find(std::string_view key) const {
  if (open_) return Tenant{.id = kOpenTenant, .admin = true};
  if (key.size() > kMostKeyBytes) return {};
  const std::lock_guard lock(mutex_);
  const Tenant* found = nullptr;
  for (const Tenant& tenant : tenants_)
    for (const std::string& kept : tenant.keys)
      if (equal_in_constant_time(key, kept)) found = &tenant;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace program::server
