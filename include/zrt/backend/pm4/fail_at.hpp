// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/fail_at.hpp: errors of files, with the byte where they were found.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::pm4 {

/// As fail(), with the offset in the file.
template <class... Pieces>
[[nodiscard]] std::unexpected<Error> fail_at(std::uint64_t offset, Errc code, const Pieces&... pieces) noexcept {
  auto error = Error::of(code, pieces...);
  error.at_offset(offset);
  return std::unexpected<Error>(error);
}

}  // namespace zrt::inline ZRT_ABI::pm4
