// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/json_body.cpp: limits of a JSON text, seen before it is read.
#include "json_body.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace program::server {
namespace {

/// Counts the members of objects, one inside the other.
class MemberCount {
 public:
  void begin(std::size_t depth) { members_[depth] = 0; }
  void add(std::size_t depth, std::size_t byte) {
    if (++members_[depth] > kMostJsonMembers)
      throw bad_request("an object has more than " + std::to_string(kMostJsonMembers) + " members at byte " +
                        std::to_string(byte));
    if ((searches_ += members_[depth]) > kMostJsonSearches)
      throw bad_request("the objects of the body have too many members at byte " + std::to_string(byte));
  }

 private:
  std::array<std::size_t, kMostJsonDepth + 1> members_{};
  std::size_t searches_ = 0;
};

/// Refuses a whole number that 64 bits do not hold, because the parser would make another one of it, which a schema or a
/// call has a use for. A field of the body itself has none, and says so better. Returns the bytes of the number that
/// begins at `at`.
std::size_t check_number(std::string_view text, std::size_t at, bool inside) {
  const std::string_view number = text.substr(at, text.find_first_not_of("0123456789.eE+-", at) - at);
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  const char* end = number.data() + number.size();
  const bool whole = number.find_first_of(".eE") == std::string_view::npos;
  if (inside && whole && std::from_chars(number.data(), end, integer).ec == std::errc::result_out_of_range &&
      std::from_chars(number.data(), end, natural).ec != std::errc())
    throw bad_request("the body has a whole number that 64 bits do not hold at byte " + std::to_string(at));
  return number.size();
}

/// Looks at brackets, colons and numbers outside of strings; the parser finds whatever else is wrong.
void check_limits(std::string_view text) {
  MemberCount members;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (c == '-' || (c >= '0' && c <= '9'))
      i += check_number(text, i, depth > 1) - 1;
    else if (c == '{' || c == '[') {
      if (++depth > kMostJsonDepth)
        throw bad_request("the body nests more than " + std::to_string(kMostJsonDepth) + " levels at byte " +
                          std::to_string(i));
      members.begin(depth);
    } else if ((c == '}' || c == ']') && depth != 0)
      --depth;
    else if (c == ':')
      members.add(depth, i);
  }
}

}  // namespace

Json read_body(std::string_view text) {
  check_limits(text);
  try {
    Json json = Json::parse(text);
    if (!json.is_object()) throw bad_request("the body is no JSON object");
    return json;
  } catch (const Json::exception& error) {
    std::string what = error.what();
    // The name of the exception says nothing to a client.
    if (const std::size_t end = what.find("] "); end != std::string::npos) what.erase(0, end + 2);
    throw bad_request("the body is no JSON: " + what);
  }
}

}  // namespace program::server
