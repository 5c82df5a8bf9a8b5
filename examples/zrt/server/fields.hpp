// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/fields.hpp: fields of a request by name: types, ranges, and which were not known.
#pragma once

#include "api_error.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace program::server {

/// What a fault says of a value that was not expected.
enum class FaultShows : bool {
  value,  ///< the value itself, where it is short
  type,   ///< its type alone, where a value may be a secret
};

/// Reads the fields of an object. A field that is null counts as absent. Every fault is an ApiError that names the
/// field by its path.
class Fields {
 public:
  explicit Fields(const Json& object, std::string path = {}, FaultShows shows = FaultShows::value)
      : object_(object), path_(std::move(path)), shows_(shows) {}

  /// Null where the field is absent.
  [[nodiscard]] const Json* find(const char* name);
  [[nodiscard]] const Json& required(const char* name);
  [[nodiscard]] std::optional<bool> boolean(const char* name);
  [[nodiscard]] std::optional<std::int64_t> integer(const char* name, std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<double> number(const char* name, double least, double most);
  [[nodiscard]] std::optional<std::string> text(const char* name);
  /// A string or a list of strings.
  [[nodiscard]] std::vector<std::string> texts(const char* name, std::size_t most);
  /// Known, and without effect.
  void ignore(std::initializer_list<const char*> names) {
    for (const char* name : names) known_.insert(name);
  }

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }
  /// Names of the object that nobody asked for.
  [[nodiscard]] std::vector<std::string> unknown() const;
  /// Puts their paths behind others.
  void name_unknown(std::vector<std::string>& paths) const;

 private:
  const Json& object_;
  std::string path_;
  FaultShows shows_;
  std::set<std::string, std::less<>> known_;
};

/// The object at `path`; throws where it is none.
[[nodiscard]] const Json& expect_object(const Json& json, const std::string& path,
                                        FaultShows shows = FaultShows::value);
/// The list at `path`; throws where it is none.
[[nodiscard]] const Json& expect_list(const Json& json, const std::string& path, FaultShows shows = FaultShows::value);
[[nodiscard]] const std::string& expect_text(const Json& json, const std::string& path,
                                             FaultShows shows = FaultShows::value);
/// An index behind a path: messages[2].
[[nodiscard]] std::string element_path(const std::string& path, std::size_t index);

}  // namespace program::server
