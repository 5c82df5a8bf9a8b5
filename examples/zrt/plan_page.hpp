// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_page.hpp: a plan and its memory as one page that a browser shows.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace program::drawing {

/// A page without scripts and without other files, well-formed as XML, of plan_json() and memory_json() of a model.
[[nodiscard]] std::string plan_page(const nlohmann::ordered_json& plan, const nlohmann::ordered_json& memory);

}  // namespace program::drawing
