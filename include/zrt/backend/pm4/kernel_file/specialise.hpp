// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_file/specialise.hpp: a kernel's blob with its constants in place, ready to upload.
#pragma once

#include <zrt/backend/pm4/kernel_file/reader.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A specialisation constant.
struct KernelConstant {
  std::string_view name;
  std::uint32_t value = 0;
  std::string_view kernel{};  ///< whose it is where several kernels are loaded; empty: of each that has it
};

/// The value for a constant of `file`: the one that names the file's kernel, else the one for all kernels; null where
/// neither is given.
[[nodiscard]] inline const KernelConstant* find_constant(const KernelFile& file, std::string_view name,
                                                         Span<const KernelConstant> given) noexcept {
  const KernelConstant* found = nullptr;
  for (const KernelConstant& constant : given) {
    if (constant.name != name) continue;
    if (constant.kernel == file.name()) return &constant;
    if (constant.kernel.empty()) found = &constant;
  }
  return found;
}

/// Copies the blob of `file` into `to` and puts each constant where the file has a patch of its name.
///
/// Errors: Errc::invalid_argument where `to` is not as large as the blob or a constant is given twice; not_found for a
/// patch without a constant or a constant without a patch; invalid_file where a placeholder is not there (the bytes
/// changed since the file was opened). `to` is then not to be used.
[[nodiscard]] inline Result<void> write_specialised(const KernelFile& file, Span<const KernelConstant> constants,
                                                    Span<std::byte> to) noexcept {
  const Span<const std::byte> blob = file.blob();
  if (to.size() != blob.size())
    return fail(Errc::invalid_argument, "room for ", to.size(), " bytes, kernel ", file.name(), " has ", blob.size());
  for (std::size_t i = 0; i < blob.size(); ++i) to[i] = blob[i];
  for (std::size_t i = 0; i < constants.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (constants[i].name == constants[j].name)
        return fail(Errc::invalid_argument, "constant ", constants[i].name, " is given twice");
    bool used = false;
    for (std::uint32_t p = 0; p < file.patch_count(); ++p) {
      if (file.patch_name(p) != constants[i].name) continue;
      const KernelPatch patch = file.patch(p);
      if (patch.code_offset > blob.size() - 4)
        return fail(Errc::invalid_file, "kernel ", file.name(), " has a patch at ", patch.code_offset, " of ",
                    blob.size(), " bytes");
      const auto found = read_little<std::uint32_t>(to.data() + patch.code_offset);
      if (found != patch.placeholder)
        return fail(Errc::invalid_file, "kernel ", file.name(), " has ", std::string_view(Hex(found)), " at ",
                    patch.code_offset, ", placeholder ", std::string_view(Hex(patch.placeholder)), " expected");
      write_little(to.data() + patch.code_offset, constants[i].value);
      used = true;
    }
    if (!used) return fail(Errc::not_found, "kernel ", file.name(), " has no constant ", constants[i].name);
  }
  for (std::uint32_t p = 0; p < file.patch_count(); ++p) {
    bool given = false;
    for (const KernelConstant& constant : constants) given = given || constant.name == file.patch_name(p);
    if (!given) return fail(Errc::not_found, "kernel ", file.name(), " needs constant ", file.patch_name(p));
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
