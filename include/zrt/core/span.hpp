// SPDX-License-Identifier: Apache-2.0
// zrt/core/span.hpp: a view of elements that lie one after the other.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <span>  // declares enable_borrowed_range
#include <type_traits>

namespace zrt::inline ZRT_ABI {

/// Views `size()` elements that another object owns; const of the view is not const of the elements.
///
/// As std::span of dynamic extent, and converts to and from it. Its constructors ask no iterator concepts: these took a
/// quarter of an engine's compile time at -O0, anew for each element type.
template <class T> class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using iterator = T*;

  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N> constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  /// Views what has `data()` and `size()`: an array, a vector, a string, another span.
  template <class R>
    requires(!std::is_same_v<std::remove_cvref_t<R>, Span>) && requires(R& range, void take(T*)) {
      take(range.data());
      range.size();
      requires sizeof(*range.data()) == sizeof(T);  // else a base of the elements would be stepped over in its own size
    }
  constexpr Span(R&& range) noexcept : data_(range.data()), size_(range.size()) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] constexpr T& front() const noexcept { return data_[0]; }
  [[nodiscard]] constexpr T& back() const noexcept { return data_[size_ - 1]; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }

  /// Views the first `count` elements; there must be as many.
  [[nodiscard]] constexpr Span first(std::size_t count) const noexcept { return {data_, count}; }
  /// Views the last `count` elements; there must be as many.
  [[nodiscard]] constexpr Span last(std::size_t count) const noexcept { return {data_ + (size_ - count), count}; }
  /// Views the elements from `at` on; there must be as many before.
  [[nodiscard]] constexpr Span subspan(std::size_t at) const noexcept { return {data_ + at, size_ - at}; }
  /// Views `count` elements from `at` on; there must be as many.
  [[nodiscard]] constexpr Span subspan(std::size_t at, std::size_t count) const noexcept { return {data_ + at, count}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T> Span(T*, std::size_t) -> Span<T>;
template <class T, std::size_t N> Span(T (&)[N]) -> Span<T>;
template <class R> Span(R&& range) -> Span<std::remove_pointer_t<decltype(range.data())>>;

/// The bytes of what is viewed.
template <class T> [[nodiscard]] Span<const std::byte> as_bytes(Span<T> elements) noexcept {
  return {reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes()};
}
template <class T> [[nodiscard]] Span<std::byte> as_writable_bytes(Span<T> elements) noexcept {
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size_bytes()};
}

}  // namespace zrt::inline ZRT_ABI

/// A view outlives its Span, and is one: what std::span asks of a range before it views it.
template <class T> inline constexpr bool std::ranges::enable_borrowed_range<zrt::Span<T>> = true;
template <class T> inline constexpr bool std::ranges::enable_view<zrt::Span<T>> = true;
