// SPDX-License-Identifier: Apache-2.0
// zrt/engine/check_sampling.hpp: which numbers a request may sample by.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/engine/request.hpp>

#include <charconv>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Whether a request may sample so, whatever its model and engine.
///
/// Errors: Errc::invalid_argument naming the field, what was found and what is expected.
[[nodiscard]] inline Result<void> check(const Sampling& s) noexcept {
  struct Rule {
    std::string_view field;
    float value;
    bool holds;
    std::string_view expected;
  };
  const auto finite = [](float value) -> bool { return __builtin_isfinite(value); };
  const std::array rules{
      Rule{"temperature", s.temperature, finite(s.temperature) && s.temperature >= 0.0f, "0 or more, and finite"},
      Rule{"top_p", s.top_p, s.top_p > 0.0f && s.top_p <= 1.0f, "above 0 and at most 1"},
      Rule{"min_p", s.min_p, s.min_p >= 0.0f && s.min_p <= 1.0f, "0 to 1"},
      Rule{"repetition_penalty", s.repetition_penalty, finite(s.repetition_penalty) && s.repetition_penalty > 0.0f,
           "above 0, and finite"},
      Rule{"frequency_penalty", s.frequency_penalty, finite(s.frequency_penalty), "a finite number"},
      Rule{"presence_penalty", s.presence_penalty, finite(s.presence_penalty), "a finite number"},
  };
  for (const Rule& rule : rules) {
    if (rule.holds) continue;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, rule.value).ptr;
    return fail(Errc::invalid_argument, rule.field, " is ",
                std::string_view(digits, static_cast<std::size_t>(end - digits)), ", expected ", rule.expected);
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
