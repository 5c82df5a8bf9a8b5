// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/pipeline_set.hpp: the kernels that a device has been given, by number, compiled when they are needed.
#pragma once

#include <zrt/backend/vulkan/numerics.hpp>
#include <zrt/backend/vulkan/pipeline.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/device/kernel_abi.hpp>
#include <zrt/device/kernel_signature.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// A kernel of kernels/vulkan: its name, and the bytes of its SPIR-V.
struct KernelFile {
  std::string_view name{};
  std::span<const std::byte> spirv{};
};
/// What a host hands over: outlives the engine.
using KernelFiles = Span<const KernelFile>;

/// The bytes as the words that they are. Errors: Errc::invalid_file for no whole words; out_of_memory.
[[nodiscard]] inline Result<Vector<std::uint32_t>> words_of(const KernelFile& file,
                                                            const Allocator& allocator) noexcept {
  if (file.spirv.size() % 4 != 0)
    return fail(Errc::invalid_file, "kernel ", file.name, " has ", file.spirv.size(), " bytes, words expected");
  Vector<std::uint32_t> words(allocator);
  if (auto r = words.resize(file.spirv.size() / 4); !r) return pass(r);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = read_little<std::uint32_t>(file.spirv.data() + i * 4);
  return words;
}

/// Kernels by their place in a list. A kernel's number is its place among signatures().
class PipelineSet {
 public:
  explicit PipelineSet(const Allocator& allocator) noexcept
      : signatures_(allocator), files_(allocator), made_(allocator) {}

  /// Lists the files whose kernels the room knows; others, as that of the probe, are left out.
  ///
  /// Errors: Errc::duplicate_name; out_of_memory.
  [[nodiscard]] Result<void> list(KernelFiles files) noexcept {
    for (const KernelFile& file : files) {
      const device::KernelAbi* const abi = device::find_kernel_abi(file.name);
      if (abi == nullptr) continue;
      if (device::find_kernel(signatures_.span(), file.name) != nullptr)
        return fail(Errc::duplicate_name, "two kernels are called ", file.name);
      if (auto r = signatures_.push_back(device::signature_of(*abi, file.name)); !r) return r;
      if (auto r = files_.push_back(file); !r) return r;
    }
    return made_.resize(files_.size());
  }

  [[nodiscard]] Span<const device::KernelSignature> signatures() const noexcept { return signatures_.span(); }

  /// The kernel of that number, compiled. Errors: Errc::unsupported_device for one with workgroups of more lanes than the
  /// device runs; those of words_of and Pipeline::make.
  [[nodiscard]] Result<const Pipeline*> pipeline(const Device& device, std::size_t number,
                                                 const DeviceNumerics& numerics) noexcept {
    Pipeline& pipeline = made_[number];
    if (pipeline.handle() != nullptr) return &pipeline;
    if (signatures_[number].lanes > device.facts().most_lanes)
      return fail(Errc::unsupported_device, "kernel ", files_[number].name, " has workgroups of ",
                  signatures_[number].lanes, " lanes, ", device.facts().name.view(), " runs at most ",
                  device.facts().most_lanes);
    const auto words = words_of(files_[number], files_.allocator());
    if (!words) return pass(words);
    auto made = Pipeline::make(device, files_[number].name, words->span(), numerics.constants());
    if (!made) return pass(made);
    pipeline = std::move(*made);
    return &pipeline;
  }

 private:
  Vector<device::KernelSignature> signatures_;
  Vector<KernelFile> files_;
  Vector<Pipeline> made_;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
