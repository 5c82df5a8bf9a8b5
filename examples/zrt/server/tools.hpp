// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tools.hpp: the tools of a chat, and which of them an answer must call.
#pragma once

#include "fields.hpp"

namespace program::server {

inline constexpr std::size_t kMostTools = 128;

/// What a chat says of tools.
struct Tools {
  Json list = Json::array();  ///< as the OpenAI API has them; empty with tool_choice none
  bool forced = false;
  std::string name{};  ///< of the only one that may be called
  bool parallel = true;
};

/// Reads tools, tool_choice and parallel_tool_calls. Appends the paths of fields within them that are not known to
/// `ignored`. Throws ApiError.
[[nodiscard]] Tools read_tools(Fields& fields, std::vector<std::string>& ignored);

/// Those of the tools whose functions are strict.
[[nodiscard]] Tools strict_ones(const Tools& tools);

/// The schema of an answer that is a list of calls and nothing else.
[[nodiscard]] Json schema_of_calls(const Tools& tools);

}  // namespace program::server
