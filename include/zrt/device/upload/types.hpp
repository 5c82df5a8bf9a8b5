// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/types.hpp: the weight types that kernels read, and their parts by DType at run time.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/device/upload/mxfp4.hpp>
#include <zrt/device/upload/plain.hpp>
#include <zrt/device/upload/planes.hpp>
#include <zrt/device/upload/q4_0.hpp>
#include <zrt/device/upload/q4_k.hpp>
#include <zrt/device/upload/q5_k.hpp>
#include <zrt/device/upload/q6_k.hpp>
#include <zrt/device/upload/q8_0.hpp>
#include <zrt/quant/types.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The types with parts of their own, of which every device has matrix products: one line per type.
// clang-format off
using UploadTypes = boost::mp11::mp_list<
    Upload<DType::f32>,
    Upload<DType::f16>,
    Upload<DType::bf16>,
    Upload<DType::q4_0>,
    Upload<DType::q8_0>,
    Upload<DType::mxfp4>,
    Upload<DType::q4_k>,
    Upload<DType::q5_k>,
    Upload<DType::q6_k>>;
// clang-format on

namespace detail {

template <class L> using HasPartsOfItsOwn = boost::mp11::mp_bool<requires { Upload<L::kDType>::kDType; }>;
template <class L> using PlaneUploadOf = PlaneUpload<L>;

}  // namespace detail

/// All other types of zrt, in planes.
using PlaneTypes = boost::mp11::mp_transform<detail::PlaneUploadOf,
                                             boost::mp11::mp_remove_if<quant::OwnTypes, detail::HasPartsOfItsOwn>>;

inline constexpr std::size_t kMaxParts = 4;

/// Where the parts of one matrix begin in one allocation, in the order of the type's parts.
struct UploadPlaces {
  std::array<std::uint64_t, kMaxParts> offset{};
  std::uint64_t bytes = 0;  ///< a multiple of kPartAlignment
};

/// What uploading does with a matrix of one weight type.
struct UploadFunctions {
  DType dtype;
  Span<const UploadPart> parts;
  void (*write)(const std::byte* matrix, std::uint64_t row_bytes, std::uint32_t rows, std::uint32_t blocks,
                std::byte* const* to) noexcept;

  /// What the columns of a matrix are a multiple of.
  [[nodiscard]] constexpr std::uint32_t columns() const noexcept {
    const std::uint32_t block = info(dtype).block_elems;
    return block == 1 ? parts[0].together : block;
  }
  /// Places the parts of a matrix of `rows` times `cols` elements, cols whole blocks, one behind the other.
  ///
  /// Errors: size_overflow.
  [[nodiscard]] constexpr Result<UploadPlaces> places(std::uint32_t rows, std::uint32_t cols) const noexcept {
    UploadPlaces p;
    CheckedSize end = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      p.offset[i] = end.raw();
      end = (end + parts[i].bytes(rows, cols / info(dtype).block_elems)).aligned(kPartAlignment);
    }
    const auto bytes = end.get("a matrix in device memory");
    if (!bytes) return std::unexpected(bytes.error());
    p.bytes = *bytes;
    return p;
  }
};

namespace detail {

/// What is read value by value lies as in the file.
template <DType T> struct VectorUpload : Upload<T> {
  static constexpr std::array<UploadPart, 1> kParts{{{"v", info(T).block_bytes, 1, 1, 1}}};
};

template <class... U> consteval auto upload_table(boost::mp11::mp_list<U...>) {
  static_assert(((U::kParts.size() <= kMaxParts) && ...));
  return std::array{UploadFunctions{U::kDType, U::kParts, &upload<U>}...};
}

}  // namespace detail

/// Every type in UploadTypes, in its order.
inline constexpr auto kUploads = detail::upload_table(UploadTypes{});
/// Every type in PlaneTypes, in its order.
inline constexpr auto kPlaneUploads = detail::upload_table(PlaneTypes{});
/// Both: every type of zrt.
inline constexpr auto kAllUploads = detail::upload_table(boost::mp11::mp_append<UploadTypes, PlaneTypes>{});

/// Norms, biases and what else has one dimension.
inline constexpr auto kVectorUploads =
    detail::upload_table(boost::mp11::mp_list<detail::VectorUpload<DType::f32>, detail::VectorUpload<DType::f16>,
                                              detail::VectorUpload<DType::bf16>>{});

/// Returns how a matrix, or a vector, of `dtype` is uploaded for kernels that read `types`, or null when none does.
[[nodiscard]] constexpr const UploadFunctions* upload_of(DType dtype, bool vector = false,
                                                         Span<const UploadFunctions> types = kAllUploads) noexcept {
  if (vector)
    for (const UploadFunctions& u : kVectorUploads)
      if (u.dtype == dtype) return &u;
  for (const UploadFunctions& u : types)
    if (u.dtype == dtype) return &u;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::device
