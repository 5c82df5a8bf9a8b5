// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/pooling_key.hpp: how a folder says that vectors of tokens become one of a text; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/folder.hpp>
#include <zrt/model/hub/keys.hpp>
#include <zrt/model/pooling.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Adds `pooling_type` where modules.json names a module of pooling.
///
/// Errors: those of Folder; Errc::invalid_metadata for pooling of another kind.
[[nodiscard]] inline Result<void> add_pooling_key(const Folder& folder, Keys& out) {
  if (!folder.has("modules.json")) return {};
  const auto modules = folder.any_json("modules.json");
  if (!modules) return pass(modules);
  for (const HubJson& part : *modules) {
    if (!text_of(find(&part, "type")).ends_with("Pooling")) continue;
    const std::string name = std::string(text_of(find(&part, "path"))) + "/config.json";
    if (name.find("..") != name.npos || name.starts_with('/'))
      return fail(Errc::invalid_file, "modules.json names '", detail::Quoted(name).view(),
                  "', expected a path of the folder");
    const auto config = folder.json(name);
    if (!config) return pass(config);
    const auto is = [&](std::string_view flag, std::string_view mode) {
      return is_true(find(&*config, flag)) || text_of(find(&*config, "pooling_mode")) == mode;
    };
    const auto set = [&](Pooling pooling) { out.of_model("pooling_type", static_cast<std::uint32_t>(pooling)); };
    if (is("pooling_mode_mean_tokens", "mean"))
      set(Pooling::mean);
    else if (is("pooling_mode_cls_token", "cls"))
      set(Pooling::cls);
    else if (is("pooling_mode_lasttoken", "lasttoken"))
      set(Pooling::last);
    else
      return fail(Errc::invalid_metadata, name, " pools otherwise, expected mean, cls or lasttoken");
    return {};
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
