// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tenant_table.cpp: changes of the file of tenants, brought to the engine as a whole or not at all.
#include "keys.hpp"
#include "tenant_table.hpp"

#include <algorithm>

namespace program::server {
namespace {

/// What stands in a file of keys is not said, since it may be a key.
zrt::Error at_place(const zrt::Error& error, std::size_t tenant) {
  return zrt::Error::of(error.code(), "keys: 'tenants[", tenant, "]': ", error.text());
}

}  // namespace

zrt::Result<zrt::TenantId> TenantTable::find(const std::string& name) const {
  if (const Row* row = served(name)) return row->id;
  return zrt::fail(zrt::Errc::not_found, "the tenant '", std::string_view(name), "' is not served any more");
}

const TenantTable::Row* TenantTable::served(const std::string& name) const {
  for (const Row& row : rows_)
    if (row.served && row.name == name) return &row;
  return nullptr;
}
TenantTable::Row* TenantTable::row_of(zrt::TenantId id) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [id](const Row& row) { return row.id == id; });
  return found == rows_.end() ? nullptr : &*found;
}
const TenantTable::Row* TenantTable::kept(const Tenant& tenant) const {
  const Row* row = served(tenant.id);
  const bool stays = row != nullptr && row->id != zrt::TenantId{} && row->quota.service == tenant.quota.service &&
                     row->quota.group == tenant.quota.group;
  return stays ? row : nullptr;
}

// --- changes of the file --------------------------------------------------------------------------------

zrt::Result<void> TenantTable::set(std::span<const Tenant> tenants) {
  undo_.clear();
  std::vector<Row> next;
  if (tenants.empty()) next.push_back({kOpenTenant});
  zrt::Result<void> done = release_reservations(tenants);
  for (const Tenant& tenant : tenants)
    if (done) done = serve(tenant, next);
  if (!done) {
    undo();
    return done;
  }
  // Fewer pages end requests, which nothing undoes: they come when all else is done.
  for (const Row& row : next)
    if (row.id != zrt::TenantId{}) (void)models_.change_tenant(row.id, row.quota);
  for (Row& row : rows_) {
    const bool goes_on = std::any_of(next.begin(), next.end(), [&row](const Row& n) { return n.id == row.id; });
    if (goes_on) continue;
    row.served = false;
    row.quota.reserved_pages = 0;
    next.push_back(std::move(row));
  }
  rows_ = std::move(next);
  tidy();
  return {};
}

zrt::Result<void> TenantTable::change(const Row& row, const zrt::TenantQuota& quota) {
  if (auto changed = models_.change_tenant(row.id, quota); !changed) return changed;
  undo_.push_back({row.id, row.quota, false});
  return {};
}

/// Frees what will be reserved for fewer, so that the order of tenants in the file does not matter.
zrt::Result<void> TenantTable::release_reservations(std::span<const Tenant> tenants) {
  for (const Row& row : rows_) {
    const auto stays =
        std::find_if(tenants.begin(), tenants.end(), [&](const Tenant& tenant) { return kept(tenant) == &row; });
    const std::uint32_t reserved = stays == tenants.end() ? 0 : stays->quota.reserved_pages;
    if (reserved >= row.quota.reserved_pages) continue;
    zrt::TenantQuota quota = row.quota;
    quota.reserved_pages = reserved;
    if (auto changed = change(row, quota); !changed) return changed;
  }
  return {};
}

/// Brings one tenant of the file to the engine.
zrt::Result<void> TenantTable::serve(const Tenant& tenant, std::vector<Row>& next) {
  if (const Row* row = kept(tenant)) {
    zrt::TenantQuota quota = tenant.quota;
    quota.max_pages = std::max(quota.max_pages, row->quota.max_pages);
    if (auto changed = change(*row, quota); !changed) return std::unexpected(at_place(changed.error(), next.size()));
    next.push_back({tenant.id, row->id, tenant.quota, row->open});
    return {};
  }
  const auto id = models_.create_tenant(tenant.quota);
  if (!id) return std::unexpected(at_place(id.error(), next.size()));
  undo_.push_back({*id, {}, true});
  next.push_back({tenant.id, *id, tenant.quota});
  return {};
}

void TenantTable::undo() {
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change)
    (void)(change->created ? models_.remove_tenant(change->id) : models_.change_tenant(change->id, change->before));
}

/// Whether the engine has forgotten a tenant that is not served any more and has no request left.
bool TenantTable::remove_if_done(const Row& row) {
  if (row.served || row.open != 0) return false;
  add_usage(row, former(row.name));
  if (row.id != zrt::TenantId{}) (void)models_.remove_tenant(row.id);
  return true;
}

// --- requests -------------------------------------------------------------------------------------------

bool TenantTable::bounds_queue(const std::string& name) const {
  const Row* row = served(name);
  return row != nullptr && row->id != zrt::TenantId{} && row->quota.max_queued != unbounded_quota().max_queued;
}

void TenantTable::began(zrt::TenantId tenant) {
  if (Row* row = row_of(tenant)) ++row->open;
}

void TenantTable::ended(zrt::TenantId tenant) {
  if (Row* row = row_of(tenant)) --row->open;
}

std::uint32_t TenantTable::open(zrt::TenantId tenant) {
  const Row* row = row_of(tenant);
  return row == nullptr ? 0 : row->open;
}

ModelUsage& TenantTable::former(const std::string& name) {
  ModelUsage& usage = former_[name];
  usage.resize(models_.size());
  return usage;
}

void TenantTable::add_usage(const Row& row, ModelUsage& sum) {
  for (std::uint32_t m = 0; m < sum.size(); ++m)
    if (const auto ledger = models_.usage(row.id, zrt::ModelId{m})) sum[m] += *ledger;
}

void TenantTable::show(zrt::TenantId tenant) {
  const Row* row = row_of(tenant);
  if (row == nullptr) return;
  ModelUsage usage = former(row->name);
  for (const Row& same : rows_)
    if (same.name == row->name) add_usage(same, usage);
  metrics_.set_usage(row->name, usage);
}

void TenantTable::tidy() {
  for (Row& row : rows_) show(row.id);
  std::erase_if(rows_, [this](Row& row) { return remove_if_done(row); });
}

}  // namespace program::server
