// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/helper.hpp: one function of C that generated code calls.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// A static function of C. In `name` and `text`, $0, $1 and $2 stand for the entries of `with`.
struct Helper {
  std::string_view name;
  std::string_view text;
  std::array<std::string_view, 3> with{};
};

namespace detail {

/// Each helper with each row, all rows of one helper first.
template <std::size_t N, std::size_t M>
consteval std::array<Helper, N * M> each_with(const std::array<Helper, N>& helpers,
                                              const std::array<std::array<std::string_view, 3>, M>& rows) {
  std::array<Helper, N * M> all{};
  for (std::size_t i = 0; i < N * M; ++i) all[i] = {helpers[i / M].name, helpers[i / M].text, rows[i % M]};
  return all;
}

using HelperTypes = std::array<std::string_view, 3>;

}  // namespace detail
}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
