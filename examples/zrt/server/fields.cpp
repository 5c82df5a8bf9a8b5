// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/fields.cpp: reading and checking single fields.
#include "fields.hpp"

#include <cmath>
#include <sstream>

namespace program::server {
namespace {

std::string shown_number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

[[noreturn]] void unexpected(const std::string& path, const Json& found, const std::string& expected,
                             FaultShows shows) {
  constexpr std::size_t kMostShown = 60;
  std::string shown = shows == FaultShows::value ? text_of(found) : std::string();
  if (shown.empty() || shown.size() > kMostShown) shown = std::string("a value of type ") + found.type_name();
  throw bad_field(path, "'" + path + "' is " + shown + ", expected " + expected);
}

}  // namespace

const Json* Fields::find(const char* name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Fields::required(const char* name) {
  const Json* found = find(name);
  if (found == nullptr) {
    ApiError error = bad_field(path_of(name), "'" + path_of(name) + "' is missing");
    error.code = "missing_required_parameter";
    throw error;
  }
  return *found;
}

std::optional<bool> Fields::boolean(const char* name) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (!found->is_boolean()) unexpected(path_of(name), *found, "true or false", shows_);
  return found->get<bool>();
}

std::optional<std::int64_t> Fields::integer(const char* name, std::int64_t least, std::int64_t most) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() || found->get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (!fits || found->get<std::int64_t>() < least || found->get<std::int64_t>() > most)
    unexpected(path_of(name), *found, "an integer of " + std::to_string(least) + ".." + std::to_string(most), shows_);
  return found->get<std::int64_t>();
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (!found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() < least ||
      found->get<double>() > most)
    unexpected(path_of(name), *found, "a number of " + shown_number(least) + ".." + shown_number(most), shows_);
  return found->get<double>();
}

std::optional<std::string> Fields::text(const char* name) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  return expect_text(*found, path_of(name), shows_);
}

std::vector<std::string> Fields::texts(const char* name, std::size_t most) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> out;
  for (const Json& one : expect_list(*found, path_of(name), shows_))
    out.push_back(expect_text(one, element_path(path_of(name), out.size()), shows_));
  if (out.size() > most)
    throw bad_field(path_of(name), "'" + path_of(name) + "' has " + std::to_string(out.size()) +
                                       " elements, expected at most " + std::to_string(most));
  return out;
}

std::vector<std::string> Fields::unknown() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : object_.items())
    if (!known_.contains(name)) out.push_back(name);
  return out;
}

void Fields::name_unknown(std::vector<std::string>& paths) const {
  for (const std::string& name : unknown()) paths.push_back(path_of(name));
}

const Json& expect_object(const Json& json, const std::string& path, FaultShows shows) {
  if (!json.is_object()) unexpected(path, json, "an object", shows);
  return json;
}
const Json& expect_list(const Json& json, const std::string& path, FaultShows shows) {
  if (!json.is_array()) unexpected(path, json, "a list", shows);
  return json;
}
const std::string& expect_text(const Json& json, const std::string& path, FaultShows shows) {
  if (!json.is_string()) unexpected(path, json, "a string", shows);
  return json.get_ref<const std::string&>();
}
std::string element_path(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

}  // namespace program::server
