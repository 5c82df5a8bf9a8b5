// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/halves.hpp: runs of f16 and bf16 as f32, and back.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_HALVES)
#define ZRT_BACKEND_CPU_KERNELS_HALVES

#include <zrt/backend/cpu/kernels/weight_rows.hpp>
#include <zrt/core/scalar.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// Reads and writes runs of f16 and bf16.
struct HalfKernels {
  std::array<ElementFunctions<float>, 2> halves{};  ///< f16, bf16

  /// Reads and writes runs of a float that is computed in f32.
  [[nodiscard]] const ElementFunctions<float>& floats(DType dtype) const noexcept {
    return dtype == DType::f16 ? halves[0] : dtype == DType::bf16 ? halves[1] : element_functions<float>(dtype);
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// ElementFunctions::unpack and pack of f16 and bf16.
template <class Row>
void unpack_halves(const std::byte* data, std::uint64_t first, std::uint64_t count, float* out) noexcept {
  const std::byte* row = data + 2 * first;
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) store(out + i, Row::load16(row, i));
  const auto rest = static_cast<std::size_t>(count - i);
  if (rest != 0) store_first(out + i, Row::load_rest(row, i, rest), rest);
}
template <DType kType>
void pack_halves(const float* in, std::uint64_t first, std::uint64_t count, std::byte* data) noexcept {
  const auto put = [](std::byte* to, F32 v) ZRT_UNROLLED {
    if constexpr (kType == DType::f16)
      store_f16(to, v);
    else
      store_bf16(to, v);
  };
  std::byte* row = data + 2 * first;
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) put(row + 2 * i, load(in + i));
  const auto rest = static_cast<std::size_t>(count - i);
  if (rest == 0) return;
  std::byte last[32];
  put(last, load_first(in + i, rest));
  std::memcpy(row + 2 * i, last, 2 * rest);
}

template <class>
inline constexpr HalfKernels kHalves{
    {{{&unpack_halves<F16Row>, &pack_halves<DType::f16>, Scalar<DType::f16>::lowest, Scalar<DType::f16>::highest},
      {&unpack_halves<Bf16Row>, &pack_halves<DType::bf16>, Scalar<DType::bf16>::lowest,
       Scalar<DType::bf16>::highest}}}};

#endif
