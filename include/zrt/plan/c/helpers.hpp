// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/helpers.hpp: which functions generated code calls, and their text.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/core/span.hpp>
#include <zrt/plan/c/custom_helpers.hpp>
#include <zrt/plan/c/element_helpers.hpp>
#include <zrt/plan/c/number_helpers.hpp>
#include <zrt/plan/c/source.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

namespace detail {

/// `text` with the helper's entries in place of $0, $1 and $2, piece by piece.
template <class Put> void expand_helper(const Helper& helper, std::string_view text, Put&& put) noexcept {
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$')) {
    put(slice(text, 0, at));
    put(helper.with[static_cast<std::size_t>(text[at + 1] - '0')]);
    text.remove_prefix(at + 2);
  }
  put(text);
}

/// True when `code` calls a function of that name.
[[nodiscard]] inline bool calls(std::string_view code, std::string_view name) noexcept {
  for (std::size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1))
    if (at + name.size() < code.size() && code[at + name.size()] == '(') return true;
  return false;
}

/// Every helper, callees before their callers.
inline constexpr auto kHelperGroups =
    std::to_array<Span<const Helper>>({kElementHelpers, kWordHelpers, kNarrowHelpers, kCopyHelpers, kNumberHelpers,
                                       kDomainHelpers, kModFloatHelpers, kCustomNumberHelpers, kSampleHelpers});

}  // namespace detail

/// Writes the helpers that `code` calls, and those that they call.
[[nodiscard]] inline Result<void> write_helpers(Source& w, std::string_view code, const Allocator& allocator) noexcept {
  // From the last to the first, so that whoever calls a helper was met before it.
  Vector<String> texts(allocator);
  for (std::size_t g = detail::kHelperGroups.size(); g-- > 0;)
    for (std::size_t i = detail::kHelperGroups[g].size(); i-- > 0;) {
      const Helper& helper = detail::kHelperGroups[g][i];
      Expr name;
      detail::expand_helper(helper, helper.name, [&](std::string_view piece) { name.append({piece}); });
      bool called = detail::calls(code, name.view());
      for (const String& text : texts) called = called || detail::calls(text.view(), name.view());
      if (!called) continue;
      String text(allocator);
      Result<void> kept;
      detail::expand_helper(helper, helper.text, [&](std::string_view piece) {
        if (kept) kept = text.append(piece);
      });
      if (!kept) return kept;
      if (auto r = texts.push_back(std::move(text)); !r) return r;
    }
  for (std::size_t i = texts.size(); i-- > 0;) w.put(texts[i].view());
  return {};
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
