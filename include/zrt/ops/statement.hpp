// SPDX-License-Identifier: Apache-2.0
// zrt/ops/statement.hpp: what a primitive says of its gradient and of its form in C, or that it has none.
#pragma once

#include <zrt/core/config.hpp>

#include <concepts>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// What an op without a gradient rule says instead: `static constexpr Gradient gradient = Gradient::stops();`.
class Gradient {
 public:
  /// The results are no differentiable function of the inputs, which get nothing.
  [[nodiscard]] static consteval Gradient stops() noexcept { return Gradient({}); }
  /// There is a gradient, and nobody builds it; an error says `because`.
  [[nodiscard]] static consteval Gradient none(std::string_view because) noexcept { return Gradient(because); }

  [[nodiscard]] constexpr bool is_stopped() const noexcept { return because_.empty(); }
  [[nodiscard]] constexpr std::string_view because() const noexcept { return because_; }

 private:
  constexpr explicit Gradient(std::string_view because) noexcept : because_(because) {}

  std::string_view because_;
};

/// What a primitive says that has neither an expansion nor a form in C: `static constexpr NoForm emit_c{"..."};`.
struct NoForm {
  std::string_view because;
};

/// An op that says how its inputs' gradients are built, in `template <class G> static void gradient(G& c) noexcept`.
///
/// `c` is an ir::gradient::CallOf<O>. A long rule calls a function of ir/gradient, which `c` finds by its namespace.
template <class O>
concept HasGradientRule = requires(int& call) { O::gradient(call); };
/// An op that says that gradients stop at it, or why it has none.
template <class O>
concept HasNoGradientRule = requires {
  { O::gradient } -> std::convertible_to<Gradient>;
};
/// An op with a gradient rule, or the reason why it has none.
template <class O>
concept SaysItsGradient = HasGradientRule<O> || HasNoGradientRule<O>;

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
