// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/names.hpp: the names that functions of C may be given.
#pragma once

#include <zrt/core/config.hpp>

#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// True for letters, digits and underscores that begin with no digit.
[[nodiscard]] constexpr bool is_identifier(std::string_view name) noexcept {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (c < '0' || c > '9')) return false;
  }
  return !name.empty() && (name[0] < '0' || name[0] > '9');
}

namespace detail {

/// Keywords of C and C++, with a space around each; then functions of C's library that generated code calls.
inline constexpr std::string_view kTaken =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl"
    " concept const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default"
    " delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long"
    " mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register"
    " reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch"
    " template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using"
    " virtual void volatile wchar_t while xor xor_eq main"
    " ceil cos cosf erf erff exp expf fabs fabsf floor fma fmaf fmod ldexp log logf memcpy memmove memset nearbyint pow"
    " powf sin sinf sqrt sqrtf tanh tanhf ";

}  // namespace detail

/// True for a name that a function of a generated file may bear in C and in C++. What the file defines beside functions
/// begins with zrt_, and so do names of plan::entry_point_name, which end in 16 hexadecimal digits.
[[nodiscard]] constexpr bool may_name_function(std::string_view name) noexcept {
  if (!is_identifier(name) || name[0] == '_') return false;
  for (std::size_t at = detail::kTaken.find(name); at != std::string_view::npos; at = detail::kTaken.find(name, at + 1))
    if (detail::kTaken[at - 1] == ' ' && detail::kTaken[at + name.size()] == ' ') return false;
  if (!name.starts_with("zrt_")) return true;
  if (name.size() < 4 + 16) return false;
  return std::string_view(name.data() + name.size() - 16, 16).find_first_not_of("0123456789abcdef") ==
         std::string_view::npos;
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
