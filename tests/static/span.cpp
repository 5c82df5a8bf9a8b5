// SPDX-License-Identifier: Apache-2.0
// tests/static/span.cpp: what a span views, and what it refuses.
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace span_test {
namespace {

using zrt::Span;

template <class From, class To>
concept Converts = std::convertible_to<From, To>;

// From what a host has, and back to what it takes.
static_assert(Converts<std::span<int>, Span<int>> && Converts<Span<int>, std::span<int>>);
static_assert(Converts<std::span<int>, Span<const int>> && Converts<Span<int>, std::span<const int>>);
static_assert(Converts<Span<int>, Span<const int>> && Converts<const Span<int>&, Span<int>>);
static_assert(Converts<std::vector<int>&, Span<int>> && Converts<const std::vector<int>&, Span<const int>>);
static_assert(Converts<std::array<int, 3>&, Span<int>> && Converts<const std::array<int, 3>&, Span<const int>>);
static_assert(Converts<int (&)[3], Span<int>> && Converts<int (&)[3], Span<const int>>);
static_assert(Converts<zrt::Vector<int>&, Span<int>> && Converts<std::string_view, Span<const char>>);

// Nothing becomes writable, and nothing is read as what it is not.
static_assert(!Converts<Span<const int>, Span<int>> && !Converts<std::span<const int>, Span<int>>);
static_assert(!Converts<const std::vector<int>&, Span<int>> && !Converts<const int (&)[3], Span<int>>);
static_assert(!Converts<std::vector<unsigned>&, Span<int>> && !Converts<std::string, Span<const std::byte>>);
static_assert(!Converts<int, Span<int>> && !Converts<const char*, Span<const char>>);

struct Base {
  int a;
};
struct Derived : Base {
  int b;
};
static_assert(!Converts<std::vector<Derived>&, Span<Base>>, "the elements lie further apart than a Base is long");

consteval bool views() {
  int values[]{1, 2, 3, 4, 5};
  const Span all = values;
  all[0] = 7;
  return values[0] == 7 && all.size() == 5 && all.size_bytes() == 5 * sizeof(int) && all.front() == 7 &&
         all.back() == 5 && all.first(2).back() == 2 && all.last(2).front() == 4 && all.subspan(1).front() == 2 &&
         all.subspan(1, 3).back() == 4 && all.end() - all.begin() == 5 && Span<int>().empty() &&
         Span(values, 2).size() == 2 && Span(std::string_view("abc")).size() == 3;
}
static_assert(views());
static_assert(std::same_as<decltype(Span(std::declval<const std::vector<int>&>())), Span<const int>>);

}  // namespace
}  // namespace span_test
