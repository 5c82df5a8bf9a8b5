// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json_text.hpp: JSON text as a value, within bounds; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/attributes.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

using Json = nlohmann::ordered_json;

/// Deeper than any of the forms goes.
inline constexpr std::size_t kMaxJsonDepth = 64;

namespace detail {

/// Finds where a text stops being JSON.
class JsonFault : public nlohmann::json_sax<Json> {
 public:
  /// The characters before and with the one that is wrong, from 1 on; 0 where there is none.
  [[nodiscard]] std::size_t at() const { return at_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    at_ = position;
    return false;
  }

 private:
  std::size_t at_ = 0;
};

/// The error of a text that is not JSON, with the line and column of the character that is wrong.
[[nodiscard]] inline std::unexpected<Error> not_json(std::string_view text) {
  JsonFault fault;
  (void)Json::sax_parse(text, &fault);
  const std::string_view before = slice(text, 0, fault.at() == 0 ? 0 : fault.at() - 1);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_break = before.rfind('\n');
  const std::size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
  return fail(Errc::invalid_file, "line ", lines + 1, ", column ", before.size() - begin + 1,
              fault.at() > text.size() ? ": the text ends within JSON" : ": the text is not JSON");
}

}  // namespace detail

/// Parses JSON text. A name twice in one object is an error, and so is an object of more members than any
/// in the forms may have, or text that is nested deeper than kMaxJsonDepth.
[[nodiscard]] inline Result<Json> parse_json_text(std::string_view text) {
  // The members of the open objects by depth. An object's members are at the depth after its own.
  std::vector<std::set<std::string>> members;
  std::string twice;
  bool too_many = false;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto at = static_cast<std::size_t>(depth);
    // Json copies and frees what is nested by recursion.
    too_deep = too_deep || at > kMaxJsonDepth;
    if (too_deep) return false;
    if (event == Json::parse_event_t::object_start) {
      if (members.size() <= at + 1) members.resize(at + 2);
      members[at + 1].clear();
    }
    if (event != Json::parse_event_t::key) return true;
    // An ordered object is searched from its front for every member that is added.
    too_many = too_many || members[at].size() > kMaxMapEntries;
    const bool added = !too_many && members[at].insert(parsed.get<std::string>()).second;
    if (!added && !too_many && twice.empty()) twice = parsed.get<std::string>();
    return added;
  };
  Json json = Json::parse(text, watch, false);
  if (too_deep) return fail(Errc::limit_exceeded, "the text is nested more than ", kMaxJsonDepth, " deep");
  if (too_many) return fail(Errc::limit_exceeded, "an object has more than ", kMaxMapEntries, " members");
  if (!twice.empty())
    return fail(Errc::duplicate_name, "an object has ", slice(std::string_view(twice), 0, 40), " twice");
  if (json.is_discarded()) return detail::not_json(text);
  return json;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
