// SPDX-License-Identifier: Apache-2.0
// zrt/model/importance.hpp: how much each column of a matrix matters, from an importance matrix of llama.cpp.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/core/name.hpp>
#include <zrt/model/gguf/file.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Reads the weights of a tensor's columns: NAME.in_sum2 / NAME.counts, the mean square of the activations that met the
/// column, for each of its matrices. Without an entry, or where nothing was counted, all weights are 1.
///
/// Files: GGUF as llama-imatrix writes it, f32: columns * matrices sums, and a count for each matrix or one for all.
class Importance {
 public:
  explicit Importance(const GgufFile& file) noexcept : file_(file) {}

  /// Whether the file says anything of the tensor called `name`.
  [[nodiscard]] bool has(std::string_view name) const noexcept {
    return file_.find_tensor(Name::of(name, ".in_sum2").view()) != nullptr;
  }

  /// Writes `columns` weights for each of `matrices`.
  ///
  /// Errors: Errc::invalid_argument for a file that was opened by a reader; Errc::shape_mismatch and
  /// Errc::dtype_mismatch for an entry of other sizes or another type; Errc::missing_weight for one without counts;
  /// Errc::invalid_file for a sum, a count or their quotient below 0 or not finite.
  [[nodiscard]] Result<void> read(std::string_view name, std::uint64_t columns, std::uint64_t matrices,
                                  Span<float> to) const noexcept {
    for (float& w : to) w = 1.0f;
    if (!has(name)) return {};
    const auto sums = entry(Name::of(name, ".in_sum2"), columns * matrices, columns * matrices);
    if (!sums) return pass(sums);
    const auto counts = entry(Name::of(name, ".counts"), matrices, 1);
    if (!counts) return pass(counts);
    const bool each = counts->size() > sizeof(float);
    for (std::uint64_t m = 0; m < matrices; ++m) {
      const float count = number(*counts, each ? m : 0);
      for (std::uint64_t i = 0; i < columns; ++i) {
        const float sum = number(*sums, m * columns + i);
        const float weight = count > 0.0f ? sum / count : 1.0f;
        if (!(sum >= 0.0f && sum < kInfinity && count >= 0.0f && count < kInfinity && weight < kInfinity))
          return fail(Errc::invalid_file, "the importance of '", detail::Quoted(name).view(), "', matrix ", m,
                      ", column ", i, " is no sum of squares");
        to[static_cast<std::size_t>(m * columns + i)] = weight;
      }
    }
    return {};
  }

 private:
  static constexpr float kInfinity = __builtin_huge_valf();

  /// The values of a tensor that has as many as one of both numbers says.
  [[nodiscard]] Result<Span<const std::byte>> entry(const Name& name, std::uint64_t elems,
                                                    std::uint64_t or_else) const noexcept {
    if (!file_.has_data()) return fail(Errc::invalid_argument, "an importance matrix is read where it lies in memory");
    const GgufTensor* tensor = file_.find_tensor(name.view());
    if (tensor == nullptr) return fail(Errc::missing_weight, "the importance matrix has no tensor ", name.view());
    if (tensor->type.dtype != DType::f32)
      return fail(Errc::dtype_mismatch, name.view(), " is ", tensor->type.name(), ", expected F32");
    if (tensor->elems != elems && tensor->elems != or_else)
      return fail(Errc::shape_mismatch, name.view(), " has ", tensor->elems, " values, expected ", elems);
    return file_.data(*tensor);
  }
  [[nodiscard]] static float number(Span<const std::byte> data, std::uint64_t i) noexcept {
    return std::bit_cast<float>(read_little<std::uint32_t>(data.data() + 4 * i));
  }

  const GgufFile& file_;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
