// SPDX-License-Identifier: Apache-2.0
// zrt/engine/string_list.hpp: a view of a string or of any range of strings.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Views the strings of a range: an array, a span or a vector of std::string, std::string_view or const char*, or a
/// list or set of these; a braced list of strings; or one string. What it views outlives it: a contiguous range's
/// elements, and any other range itself. A braced list lives to the end of the statement that it stands in.
class StringList {
  template <class R> using Element = std::remove_cvref_t<decltype(*std::begin(std::declval<R&>()))>;
  template <class T> static constexpr bool kIsString = std::is_convertible_v<const T&, std::string_view>;

 public:
  /// Takes one string; an error of it ends the walk.
  using Take = Result<void> (*)(void* context, std::string_view text) noexcept;

  constexpr StringList() = default;
  /// Views the elements of what has `data()` and `size()`, and of an array.
  template <class R>
    requires(!std::is_same_v<std::remove_cvref_t<R>, StringList>) &&
            requires(R& range) { Span(range.data(), range.size()); } && (kIsString<Element<R>>)
  StringList(R&& range) noexcept : StringList(range.data(), range.size()) {}  // NOLINT: a range is a list
  template <class T, std::size_t N>
    requires(kIsString<T>)
  StringList(const T (&array)[N]) noexcept : StringList(static_cast<const T*>(array), N) {}  // NOLINT
  StringList(std::initializer_list<std::string_view> list) noexcept  // NOLINT: a list in braces is one
      : StringList(list.begin(), list.size()) {}
  /// Views one string.
  template <class S>
    requires(kIsString<S>)
  StringList(const S& string) noexcept : StringList(&string, 1) {}  // NOLINT: one string is a list of one
  /// Views a range that does not lie in one piece. One that filters can be read only where it is not const.
  template <class R>
    requires(!std::is_same_v<std::remove_cvref_t<R>, StringList>) && (!std::is_array_v<std::remove_reference_t<R>>) &&
                (!requires(R& range) { range.data(); }) && (kIsString<Element<R>>)
  StringList(R&& range) noexcept  // NOLINT: a range is a list
      : elements_(&range),
        walk_([](const void* elements, std::size_t, void* context, Take take) noexcept -> Result<void> {
          for (const auto& text : *static_cast<std::remove_reference_t<R>*>(const_cast<void*>(elements)))
            if (auto r = take(context, std::string_view(text)); !r) return r;
          return {};
        }) {
    for ([[maybe_unused]] const auto& text : range) ++count_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Calls `take(std::string_view) -> Result<void>` for each string, up to the first error.
  template <class F> [[nodiscard]] Result<void> each(F&& take) const noexcept {
    if (empty()) return {};
    return walk_(elements_, count_, &take, [](void* context, std::string_view text) noexcept -> Result<void> {
      return (*static_cast<std::remove_reference_t<F>*>(context))(text);
    });
  }

 private:
  template <class T>
  StringList(const T* elements, std::size_t count) noexcept
      : elements_(elements),
        count_(count),
        walk_([](const void* first, std::size_t size, void* context, Take take) noexcept -> Result<void> {
          for (std::size_t i = 0; i < size; ++i)
            if (auto r = take(context, std::string_view(static_cast<const T*>(first)[i])); !r) return r;
          return {};
        }) {}

  const void* elements_ = nullptr;
  std::size_t count_ = 0;
  Result<void> (*walk_)(const void* elements, std::size_t count, void* context, Take take) noexcept = nullptr;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
