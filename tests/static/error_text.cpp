// SPDX-License-Identifier: Apache-2.0
// tests/static/error_text.cpp: what of its pieces an error's text shows.
#include <zrt/core/error.hpp>

namespace error_text_test {
namespace {

using zrt::Errc;
using zrt::Error;

template <std::size_t Plain> consteval bool cut_between_characters() {
  Error error(Errc::invalid_file);
  for (std::size_t i = 0; i < Plain; ++i) error.append('a');
  for (int i = 0; i < 8; ++i) error.append("\xe2\x82\xac");
  const std::string_view text = error.text();
  if (text.size() != Error::kTextCapacity) return false;
  std::size_t whole = Plain;
  while (text.substr(whole).starts_with("\xe2\x82\xac")) whole += 3;
  return text.substr(whole).find_first_not_of('.') == std::string_view::npos && text.size() - whole < 3;
}

static_assert(Error::of(Errc::invalid_file, "a", 'b', 12, -3).text() == "ab12-3");
static_assert(Error::of(Errc::invalid_file, "one\nline \x1b[2J\x7f").text() == "one?line ?[2J?", "a terminal is safe");
static_assert(cut_between_characters<Error::kTextCapacity - 9>());
static_assert(cut_between_characters<Error::kTextCapacity - 10>());
static_assert(cut_between_characters<Error::kTextCapacity - 11>());

}  // namespace
}  // namespace error_text_test
