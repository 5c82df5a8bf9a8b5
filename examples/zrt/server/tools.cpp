// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/tools.cpp: reading tools, and calls of them as a schema.
#include "tools.hpp"

#include <algorithm>

namespace program::server {
namespace {

constexpr std::size_t kMostForcedCalls = 8;

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string read_tool(const Json& tool, const std::string& path) {
  Fields fields(expect_object(tool, path), path);
  const std::string type = expect_text(fields.required("type"), path + ".type");
  if (type != "function") throw bad_field(path + ".type", "'" + path + ".type' is '" + type + "', expected function");
  const std::string inner = path + ".function";
  Fields function(expect_object(fields.required("function"), inner), inner);
  const std::string name = expect_text(function.required("name"), inner + ".name");
  if (!is_tool_name(name))
    throw bad_field(inner + ".name", "'" + inner + ".name' is no name of 1..64 letters, digits, _ and -");
  (void)function.text("description");
  (void)function.boolean("strict");
  if (const Json* parameters = function.find("parameters")) (void)expect_object(*parameters, inner + ".parameters");
  return name;
}

bool has_tool(const Json& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const Json& tool) { return tool["function"]["name"] == name; });
}

void read_choice(const Json& choice, Tools& tools, std::vector<std::string>& ignored) {
  if (choice.is_string()) {
    const std::string& word = choice.get_ref<const std::string&>();
    if (word == "none") tools.list = Json::array();
    if (word == "required") tools.forced = true;
    if (word == "none" || word == "required" || word == "auto") return;
    throw bad_field("tool_choice", "'tool_choice' is '" + word + "', expected none, auto, required or a function");
  }
  Fields fields(expect_object(choice, "tool_choice"), "tool_choice");
  if (expect_text(fields.required("type"), "tool_choice.type") != "function")
    throw bad_field("tool_choice.type", "'tool_choice.type' is not function, the only one that is known");
  Fields function(expect_object(fields.required("function"), "tool_choice.function"), "tool_choice.function");
  tools.name = expect_text(function.required("name"), "tool_choice.function.name");
  fields.name_unknown(ignored);
  function.name_unknown(ignored);
  tools.forced = true;
  if (!has_tool(tools.list, tools.name))
    throw bad_field("tool_choice", "'tool_choice' names '" + tools.name + "', which is none of the tools");
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A tool's schema stands below the root of another one, and so do the places that it refers to. Only schemas refer: a
/// value has a "$ref" of its own, and names of properties are no keywords.
void move_references(Json& schema, const std::string& place) {
  if (schema.is_array())
    for (Json& part : schema) move_references(part, place);
  if (!schema.is_object()) return;
  for (auto& [name, value] : schema.items()) {
    if (is_one_of(name, {"const", "enum", "default", "examples"})) continue;
    if (name == "$ref" && value.is_string() && value.get_ref<const std::string&>().starts_with('#'))
      value = "#" + place + value.get<std::string>().substr(1);
    else if (value.is_object() && is_one_of(name, {"properties", "$defs", "definitions"}))
      for (Json& part : value) move_references(part, place);
    else
      move_references(value, place);
  }
}

Json parameters_of(const Json& tool) {
  const Json& function = tool["function"];
  const auto found = function.find("parameters");
  if (found == function.end() || found->is_null() || found->empty())
    return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  return *found;
}

}  // namespace

Tools read_tools(Fields& fields, std::vector<std::string>& ignored) {
  Tools tools;
  if (const Json* list = fields.find("tools")) {
    if (expect_list(*list, "tools").size() > kMostTools)
      throw bad_field("tools", "'tools' has " + std::to_string(list->size()) + " elements, expected at most " +
                                   std::to_string(kMostTools));
    for (const Json& tool : *list) {
      const std::string path = element_path("tools", tools.list.size());
      const std::string name = read_tool(tool, path);
      if (has_tool(tools.list, name)) throw bad_field(path + ".function.name", "two tools are called '" + name + "'");
      tools.list.push_back(tool);
      // Templates join it to other texts, and some fail where there is none.
      if (Json& description = tools.list.back()["function"]["description"]; description.is_null()) description = "";
    }
  }
  tools.parallel = fields.boolean("parallel_tool_calls").value_or(true);
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr) return tools;
  if (tools.list.empty() && *choice != "none" && *choice != "auto")
    throw bad_field("tool_choice", "'tool_choice' asks for a call, and there are no tools");
  read_choice(*choice, tools, ignored);
  return tools;
}

Tools strict_ones(const Tools& tools) {
  Tools strict;
  for (const Json& tool : tools.list) {
    const Json& function = tool["function"];
    if (const auto found = function.find("strict"); found != function.end() && *found == true)
      strict.list.push_back(tool);
  }
  return strict;
}

Json schema_of_calls(const Tools& tools) {
  Json calls = Json::array();
  Json definitions = Json::object();
  for (const Json& tool : tools.list) {
    const std::string name = tool["function"]["name"];
    if (!tools.name.empty() && name != tools.name) continue;
    const std::string place = "/$defs/" + name;
    Json parameters = parameters_of(tool);
    move_references(parameters, place);
    parameters.erase("$id");  // of a root that it no longer is
    definitions[name] = std::move(parameters);
    calls.push_back({{"type", "object"},
                     {"properties", {{"name", {{"const", name}}}, {"arguments", {{"$ref", "#" + place}}}}},
                     {"required", {"name", "arguments"}},
                     {"additionalProperties", false}});
  }
  const std::size_t most = tools.parallel && tools.name.empty() ? kMostForcedCalls : 1;
  return {{"type", "array"},
          {"items", {{"anyOf", std::move(calls)}}},
          {"minItems", 1},
          {"maxItems", most},
          {"$defs", std::move(definitions)}};
}

}  // namespace program::server
