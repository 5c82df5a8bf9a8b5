// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tenant_table.hpp: the tenants of a server in its engine: who is who, and what each has used.
#pragma once

#include "../model.hpp"
#include "metrics.hpp"
#include "tenant.hpp"

#include <span>

namespace program::server {

/// Names of tenants to those of the engine, through changes of the file. Of the thread that steps the engine.
///
/// A tenant that leaves the file, or changes its class or group, is served on until its last request has ended.
class TenantTable {
 public:
  TenantTable(zrt::ModelSet<Model>& models, Metrics& metrics) : models_(models), metrics_(metrics) {}

  /// Serves these from now on; where there are none, the engine's host as kOpenTenant. An error changes nothing.
  ///
  /// Errors: those of Engine::create_tenant and change_tenant, with the tenant's place among `tenants`.
  [[nodiscard]] zrt::Result<void> set(std::span<const Tenant> tenants);
  /// Errors: Errc::not_found.
  [[nodiscard]] zrt::Result<zrt::TenantId> find(const std::string& name) const;

  /// Whether requests of a tenant that come later than others may find its queue full.
  [[nodiscard]] bool bounds_queue(const std::string& name) const;

  /// A request of this tenant is with the engine, or about to be, from now on.
  void began(zrt::TenantId tenant);
  /// It has ended.
  void ended(zrt::TenantId tenant);
  /// Requests of this tenant that are with the engine.
  [[nodiscard]] std::uint32_t open(zrt::TenantId tenant);
  /// Adds what a tenant used beside requests of the engine.
  void charge(const std::string& tenant, zrt::ModelId model, const zrt::TenantLedger& used) {
    former(tenant)[static_cast<std::size_t>(model)] += used;
  }
  /// Tells the figures of a tenant.
  void show(zrt::TenantId tenant);
  /// Tells the figures of all, and forgets who has left. Between steps.
  void tidy();

 private:
  struct Row {
    std::string name;
    zrt::TenantId id{};
    zrt::TenantQuota quota{};
    std::uint32_t open = 0;  ///< requests
    bool served = true;      ///< the file has it
  };
  /// What undoes a change.
  struct Undo {
    zrt::TenantId id{};
    zrt::TenantQuota before{};
    bool created = false;
  };

  [[nodiscard]] const Row* served(const std::string& name) const;
  [[nodiscard]] Row* row_of(zrt::TenantId id);
  /// The row that goes on as this tenant, if there is one.
  [[nodiscard]] const Row* kept(const Tenant& tenant) const;
  [[nodiscard]] zrt::Result<void> change(const Row& row, const zrt::TenantQuota& quota);
  [[nodiscard]] zrt::Result<void> release_reservations(std::span<const Tenant> tenants);
  [[nodiscard]] zrt::Result<void> serve(const Tenant& tenant, std::vector<Row>& next);
  void undo();
  [[nodiscard]] bool remove_if_done(const Row& row);

  /// What rows that are gone used.
  [[nodiscard]] ModelUsage& former(const std::string& name);
  void add_usage(const Row& row, ModelUsage& sum);

  zrt::ModelSet<Model>& models_;
  Metrics& metrics_;
  std::vector<Row> rows_;
  std::vector<Undo> undo_;
  std::map<std::string, ModelUsage> former_;  ///< used by rows that are gone and beside requests, by name
};

}  // namespace program::server
