// SPDX-License-Identifier: Apache-2.0
// zrt/model/pooling.hpp: how the hidden states of a text's tokens become one vector.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// The numbers are those of `<architecture>.pooling_type` in files.
enum class Pooling : std::uint8_t {
  none = 0,  ///< a vector for each token
  mean = 1,  ///< the mean of all tokens
  cls = 2,   ///< the first token's
  last = 3,  ///< the last token's
  rank = 4,  ///< scores of the model's classification head on one token
  from_file = 255,
};

inline constexpr std::array kPoolings{Pooling::none, Pooling::mean, Pooling::cls, Pooling::last, Pooling::rank};

[[nodiscard]] constexpr std::string_view name(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::none:
      return "none";
    case Pooling::mean:
      return "mean";
    case Pooling::cls:
      return "cls";
    case Pooling::last:
      return "last";
    case Pooling::rank:
      return "rank";
    case Pooling::from_file:
      break;
  }
  return "from_file";
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
