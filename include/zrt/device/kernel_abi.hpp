// SPDX-License-Identifier: Apache-2.0
// zrt/device/kernel_abi.hpp: the kernels that the adapters call, with their arguments: docs/kernel-abi.md as data.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/device/kernel_signature.hpp>
#include <zrt/device/upload/types.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The types of which a kernel has one version each, named `_type` behind its family's name.
enum class KernelTypes : std::uint8_t { none, plain, blocks, planes };

/// Kernels that differ by a type alone.
struct KernelAbi {
  std::string_view family;
  KernelTypes types = KernelTypes::none;
  bool takes_matrix = false;      ///< parts of a matrix of its type are among the buffers
  std::uint32_t buffers = 0;      ///< beside them
  std::uint32_t value_bytes = 0;  ///< 4 of each value
  std::uint32_t lanes = 0;        ///< of a workgroup
  bool is_optional = false;       ///< without it the room has another way
};

/// Every kernel of kernels/: one line per family.
inline constexpr std::array<KernelAbi, 38> kKernelAbi{{
    {"embedding", KernelTypes::plain, true, 3, 12, 256},
    {"embedding", KernelTypes::blocks, true, 3, 12, 256},
    {"embedding", KernelTypes::planes, true, 3, 12, 256},
    {"take_rows_f32", KernelTypes::none, false, 4, 8, 256},
    {"residual_add", KernelTypes::none, false, 3, 8, 256},
    {"rms_norm", KernelTypes::none, false, 3, 12, 256},
    {"residual_rms_norm", KernelTypes::none, false, 5, 16, 256},
    {"layer_norm_runs", KernelTypes::none, false, 4, 8, 256},
    {"weight_scale", KernelTypes::none, false, 3, 4, 256},
    {"head_columns", KernelTypes::none, false, 3, 16, 64},
    {"gated_act", KernelTypes::none, false, 3, 8, 256},
    {"soft_cap", KernelTypes::none, false, 1, 12, 256},
    {"argmax", KernelTypes::none, false, 2, 4, 1024},
    {"sample", KernelTypes::none, false, 7, 12, 1024, true},
    {"round_activation_q8_32", KernelTypes::none, false, 3, 4, 256},
    {"round_activation_q8_256", KernelTypes::none, false, 3, 0, 256},
    {"matvec", KernelTypes::plain, true, 3, 12, 32},
    {"matvec", KernelTypes::blocks, true, 4, 12, 32},
    {"matvec", KernelTypes::planes, true, 4, 12, 32},
    {"matmul", KernelTypes::plain, true, 3, 12, 512},
    {"matmul", KernelTypes::blocks, true, 4, 12, 128},
    {"matmul", KernelTypes::planes, true, 4, 12, 128},
    {"experts", KernelTypes::plain, true, 5, 32, 32},
    {"experts", KernelTypes::blocks, true, 6, 32, 32},
    {"experts", KernelTypes::planes, true, 6, 32, 32},
    {"lora_rows", KernelTypes::none, false, 6, 12, 32},
    {"moe_route", KernelTypes::none, false, 4, 28, 128},
    {"expert_sum", KernelTypes::none, false, 7, 12, 256},
    {"shared_expert", KernelTypes::none, false, 5, 8, 256},
    {"ssm_conv1d", KernelTypes::none, false, 6, 24, 64},
    {"ssm_scan", KernelTypes::none, false, 9, 44, 64},
    {"ssm_delta_net", KernelTypes::none, false, 8, 36, 64},
    {"ssm_gated_norm", KernelTypes::none, false, 4, 16, 256},
    {"rope", KernelTypes::none, false, 4, 20, 32},
    {"kv_write", KernelTypes::plain, false, 6, 20, 32},
    {"mla_kv_write", KernelTypes::plain, false, 8, 32, 32},
    {"rope_kv_write", KernelTypes::plain, false, 12, 44, 32},
    {"paged_attention", KernelTypes::plain, false, 7, 40, 128},
}};

/// Whether a family with versions for `types` has one for `dtype`.
[[nodiscard]] constexpr bool has_version(KernelTypes types, DType dtype) noexcept {
  if (upload_of(dtype, false, kUploads) == nullptr) return types == KernelTypes::planes;
  return types == (info(dtype).block_elems == 1 ? KernelTypes::plain : KernelTypes::blocks);
}

namespace detail {

/// The upload of the version that a name means; null where it means none.
[[nodiscard]] constexpr const UploadFunctions* version_of(const KernelAbi& kernel, std::string_view name) noexcept {
  const std::size_t at = kernel.family.size();
  if (slice(name, 0, at) != kernel.family || slice(name, at, 1) != "_") return nullptr;
  for (const UploadFunctions& u : kAllUploads)
    if (has_version(kernel.types, u.dtype) && slice(name, at + 1) == zrt::name(u.dtype)) return &u;
  return nullptr;
}

}  // namespace detail

/// The family of a kernel by its full name, such as matvec_q8_0, or null.
[[nodiscard]] constexpr const KernelAbi* find_kernel_abi(std::string_view name) noexcept {
  for (const KernelAbi& kernel : kKernelAbi)
    if (kernel.types == KernelTypes::none ? kernel.family == name : detail::version_of(kernel, name) != nullptr)
      return &kernel;
  return nullptr;
}

/// The arguments of the kernel of that full name, which is one of the family.
[[nodiscard]] constexpr KernelSignature signature_of(const KernelAbi& kernel, std::string_view name) noexcept {
  const UploadFunctions* version = kernel.takes_matrix ? detail::version_of(kernel, name) : nullptr;
  const auto parts = version == nullptr ? 0u : static_cast<std::uint32_t>(version->parts.size());
  return {name, parts + kernel.buffers, kernel.value_bytes, kernel.lanes};
}

/// Calls `visit(name)` with the full name of each kernel of a device that reads `types`, in the order of kKernelAbi.
template <class Visit>
constexpr void for_each_kernel(Span<const UploadFunctions> types,
                               Visit&& visit) noexcept(noexcept(visit(std::string_view()))) {
  for (const KernelAbi& kernel : kKernelAbi) {
    if (kernel.types == KernelTypes::none) visit(kernel.family);
    for (const UploadFunctions& u : types)
      if (has_version(kernel.types, u.dtype)) visit(Name::of(kernel.family, "_", zrt::name(u.dtype)).view());
  }
}

/// How many kernels a device has that reads `types`.
[[nodiscard]] constexpr std::size_t kernel_count(Span<const UploadFunctions> types) noexcept {
  std::size_t count = 0;
  for_each_kernel(types, [&](std::string_view) { ++count; });
  return count;
}

static_assert(signature_of(*find_kernel_abi("matvec_q6_k"), "matvec_q6_k").buffers == 8);
static_assert(signature_of(*find_kernel_abi("embedding_f16"), "embedding_f16").buffers == 4);
static_assert(signature_of(*find_kernel_abi("matvec_q5_1"), "matvec_q5_1").buffers == 7);
static_assert(find_kernel_abi("matvec") == nullptr && find_kernel_abi("matvec_f64") == nullptr);

}  // namespace zrt::inline ZRT_ABI::device
