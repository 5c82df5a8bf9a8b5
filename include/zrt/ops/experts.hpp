// SPDX-License-Identifier: Apache-2.0
// zrt/ops/experts.hpp: what the ops of a mixture of experts share: their weights' shapes, and which chosen ids count.
#pragma once

#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Bounds what kernels keep for each expert beside their operands.
inline constexpr std::uint32_t kMaxExperts = 1024;

/// Tells, for the ids of one token in order, whether each counts: ids ascend, and each is an expert's.
///
/// The ops skip an id that does not count, and report it as a fault of the data.
class ChosenExperts {
 public:
  constexpr explicit ChosenExperts(std::uint32_t experts) noexcept : experts_(experts) {}

  [[nodiscard]] constexpr bool counts(std::int32_t id) noexcept {
    if (id <= last_ || static_cast<std::uint32_t>(id) >= experts_) return false;
    last_ = id;
    return true;
  }

 private:
  std::uint32_t experts_;
  std::int32_t last_ = -1;
};

/// Demands a bound weight [experts, rows, cols] of a computed type; the number of experts is that of `experts`.
template <class O>
[[nodiscard]] constexpr Result<void> expect_experts(const WeightInfo& weight, std::string_view name,
                                                    std::uint32_t experts, std::uint32_t cols) noexcept {
  if (!weight.present()) return fail(Errc::missing_weight, O::name, ": weight ", name, " is not bound");
  if (weight.shape.rank != 3 || weight.shape[0] != Dim(experts) || weight.shape[1].symbol != 0)
    return bad_shape<O>(name, "three axes, the first as long as there are experts", weight.shape);
  if (experts == 0 || experts > kMaxExperts) return bad_shape<O>(name, "1..1024 experts", weight.shape);
  // An expert's rows are found by 32-bit numbers.
  if (weight.shape[1].extent > 0xffffffffu / experts) return bad_shape<O>(name, "fewer rows", weight.shape);
  return expect_matrix<O>({true, weight.dtype, Shape{weight.shape[1], weight.shape[2]}}, name, cols);
}

/// Demands, where the weight is bound, an f32 matrix [experts, size].
template <class O>
[[nodiscard]] constexpr Result<void> expect_expert_vectors(const WeightInfo& weight, std::string_view name,
                                                           std::uint32_t experts, std::uint32_t size) noexcept {
  if (!weight.present()) return {};
  if (weight.dtype != DType::f32) return bad_dtype<O>(name, "f32", weight.dtype);
  if (!(weight.shape == Shape{experts, size}))
    return bad_shape<O>(name, "a vector of the expected length for each expert", weight.shape);
  return {};
}

/// Demands an f32 input [tokens, cols] with a constant last axis.
template <class O>
[[nodiscard]] constexpr Result<void> expect_rows(const InputInfo& input, std::string_view name) noexcept {
  if (auto r = expect_input<O>(input, name, DType::f32, 2); !r) return r;
  const Shape& shape = input.type.shape;
  if (shape.rank != 2 || shape[1].symbol != 0) return bad_shape<O>(name, "[tokens, a constant width]", shape);
  return {};
}

/// Demands the ids of chosen experts: si32 [tokens, used], a constant `used` of at least 1.
template <class O> [[nodiscard]] constexpr Result<void> expect_ids(const InputInfo& ids, Dim tokens) noexcept {
  if (auto r = expect_input<O>(ids, "ids", DType::si32, 2); !r) return r;
  const Shape& shape = ids.type.shape;
  if (shape.rank != 2 || shape[0] != tokens || shape[1].symbol != 0 || shape[1].extent == 0 ||
      shape[1].extent > kMaxExperts)
    return bad_shape<O>("ids", "[tokens, 1..1024 experts]", shape);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ops
