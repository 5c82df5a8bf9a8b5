// SPDX-License-Identifier: Apache-2.0
// zrt/engine/tenant.hpp: whom an engine serves, what each may use, and what each has used.
#pragma once

#include <zrt/serve/page_times.hpp>
#include <zrt/serve/quota.hpp>
#include <zrt/serve/tenant_ledger.hpp>
#include <zrt/serve/tenant_use.hpp>

namespace zrt::inline ZRT_ABI {

using serve::DurationCounts;
using serve::PageTimes;
using serve::ServiceClass;
using serve::TenantLedger;
using serve::TenantQuota;
using serve::TenantUse;

/// Names a tenant; never reused by an engine. TenantId{} is the host itself: interactive, and bound by nothing but the
/// machine.
enum class TenantId : std::uint64_t {};

/// Names a session: the requests of one tenant that end together, such as the turns of a conversation. Never reused by an
/// engine. SessionId{} is none.
enum class SessionId : std::uint64_t {};

}  // namespace zrt::inline ZRT_ABI
