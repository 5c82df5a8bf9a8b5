// SPDX-License-Identifier: Apache-2.0
// zrt/serve/model_rule.hpp: the rules by which models share a machine, each with a name, so that a simulation can break one of them and see it noticed.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

enum class ModelRule : std::uint32_t {
  turn_class,       ///< the model whose tenant in front has the first class is next
  turn_service,     ///< then the one whose tenant in front has had the least
  turn_patience,    ///< a model that has waited goes before these
  memory_bound,     ///< models in memory do not exceed it
  keep_running,     ///< a model whose requests run stays
  keep_busy,        ///< a model with requests stays, until another has waited
  oldest_first,     ///< of those that may go the one unused for longest goes
  memory_patience,  ///< after a wait, others begin no request and make room
  keep_new,         ///< a model that came has its place for a while
  release,          ///< models that nobody waits for begin requests again
  hold_drained,     ///< a model that makes room begins no request
  put_last,         ///< a model that could not come back lets others go first
  wait_for_rates,   ///< a model whose requests wait for their rates asks for no memory
  read_evicted,     ///< cancels of a model that is not in memory are heard
  hear_resident,    ///< and of one that is, whosever turn it is
  charge_others,    ///< what a tenant had of one model counts against its rates in the others
  count_service,    ///< and as service
  lift_service,     ///< a tenant that comes back has banked no credit
};
inline constexpr std::uint32_t kModelRules = static_cast<std::uint32_t>(ModelRule::lift_service) + 1;

/// Keeps every rule, at no cost: what hosts use.
struct AllModelRules {
  [[nodiscard]] static constexpr bool keeps(ModelRule) noexcept { return true; }
};

}  // namespace zrt::inline ZRT_ABI::serve
