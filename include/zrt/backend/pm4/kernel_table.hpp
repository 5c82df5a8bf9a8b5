// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_table.hpp: the kernels that a device has loaded, by name.
#pragma once

#include <zrt/backend/pm4/kernel_file/specialise.hpp>
#include <zrt/core/hash.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/device/kernel_signature.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A kernel in the GPU's memory, as a launch needs it.
struct Kernel {
  device::KernelSignature signature{};
  ProgramRegisters program{};
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  bool wave32 = true;
  std::uint64_t hash = 0;  ///< of its file and of its constants
};

/// What a host hands over for a device: .zrt files, in any order, for any targets.
using KernelFiles = Span<const std::span<const std::byte>>;

/// Kernels by name. Their addresses stay while the table lives and grows no more.
class KernelTable {
 public:
  explicit KernelTable(const Allocator& allocator) noexcept
      : kernels_(allocator), signatures_(allocator), constants_(allocator) {}

  /// Bytes of memory for the kernels among `files` that `target` runs, each at a multiple of 256.
  ///
  /// Errors: those of KernelFile::open; Errc::not_found where no file is for the target.
  [[nodiscard]] static Result<std::uint64_t> code_bytes(KernelFiles files, const TargetFacts& target) noexcept {
    CheckedSize bytes = 0;
    for (const Span<const std::byte> file : files) {
      const auto kernel = KernelFile::open(file);
      if (!kernel) return pass(kernel);
      if (runs(target, kernel->target())) bytes = bytes.aligned(kCodeAlignment) + kernel->blob().size();
    }
    if (bytes.ok() && bytes.raw() == 0)
      return fail(Errc::not_found, "none of the ", files.size(), " kernel files given is for ", target.name);
    return bytes.get("the kernels");
  }

  /// Copies the kernels that `Target` runs into `memory`, which the GPU executes from `address` on, each with its
  /// constants, and lists them.
  ///
  /// Errors: those of KernelFile::open, write_specialised and program_registers; Errc::unimplemented for a kernel with
  /// scratch; duplicate_name; capacity_exceeded for memory of fewer than code_bytes(); invalid_argument for a constant
  /// that is given twice, not_found for one that no kernel has.
  template <class Target>
  [[nodiscard]] Result<void> load(KernelFiles files, const TargetFacts& target, std::uint64_t address,
                                  Span<std::byte> memory, Span<const KernelConstant> constants = {}) noexcept {
    std::uint64_t at = 0;
    for (const Span<const std::byte> bytes : files) {
      const auto file = KernelFile::open(bytes);
      if (!file) return pass(file);
      if (!runs(target, file->target())) continue;
      if (find(file->name()) != nullptr) return fail(Errc::duplicate_name, "two kernels are called ", file->name());
      if (file->descriptor().scratch_bytes != 0)
        return fail(Errc::unimplemented, "kernel ", file->name(), " uses scratch");
      at = align_up(at, kCodeAlignment);
      const std::size_t size = file->blob().size();
      if (at > memory.size() || size > memory.size() - at)
        return fail(Errc::capacity_exceeded, "the kernels do not fit ", memory.size(), " bytes");
      if (auto r = take_constants(*file, constants); !r) return r;
      if (auto r = write_specialised(*file, constants_.span(), memory.subspan(static_cast<std::size_t>(at), size)); !r)
        return r;
      const auto program = program_registers<Target>(file->descriptor(), address + at);
      if (!program) return pass(program);
      const KernelFileHeader& header = file->header();
      const device::KernelSignature signature{
          Name(file->name()), header.buffer_count, header.push_const_bytes,
          header.workgroup_size_x * header.workgroup_size_y * header.workgroup_size_z};
      if (auto r = signatures_.push_back(signature); !r) return r;
      if (auto r = kernels_.push_back({signature,
                                       *program,
                                       {header.workgroup_size_x, header.workgroup_size_y, header.workgroup_size_z},
                                       header.subgroup_size == 32,
                                       hash_of(bytes)});
          !r)
        return r;
      at += size;
    }
    return check_constants(files, target, constants);
  }

  /// The kernel of that name, or null.
  [[nodiscard]] const Kernel* find(std::string_view name) const noexcept {
    for (const Kernel& kernel : kernels_)
      if (kernel.signature.name.view() == name) return &kernel;
    return nullptr;
  }
  [[nodiscard]] Span<const Kernel> kernels() const noexcept { return kernels_.span(); }
  /// What adapters see of the kernels, in the same order.
  [[nodiscard]] Span<const device::KernelSignature> signatures() const noexcept { return signatures_.span(); }

 private:
  /// Lists what the file's patches are replaced by. One that is missing write_specialised() names.
  [[nodiscard]] Result<void> take_constants(const KernelFile& file, Span<const KernelConstant> given) noexcept {
    constants_.clear();
    for (std::uint32_t p = 0; p < file.patch_count(); ++p) {
      const KernelConstant* const constant = find_constant(file, file.patch_name(p), given);
      bool listed = constant == nullptr;
      for (const KernelConstant& known : constants_) listed = listed || known.name == constant->name;
      if (!listed)
        if (auto r = constants_.push_back(*constant); !r) return r;
    }
    return {};
  }
  /// Of a file, with the constants that were taken last.
  [[nodiscard]] std::uint64_t hash_of(Span<const std::byte> file) const noexcept {
    const auto text = [](Span<const std::byte> bytes) {
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    std::uint64_t hash = hash_bytes(text(file));
    for (const KernelConstant& c : constants_) hash = hash * 31 + (hash_bytes(c.name) ^ c.value);
    return hash;
  }
  [[nodiscard]] static Result<void> check_constants(KernelFiles files, const TargetFacts& target,
                                                    Span<const KernelConstant> given) noexcept {
    for (const KernelConstant& c : given) {
      std::size_t times = 0;
      for (const KernelConstant& other : given) times += other.name == c.name && other.kernel == c.kernel ? 1u : 0u;
      if (times != 1) return fail(Errc::invalid_argument, "constant ", c.name, " is given twice");
      if (!is_used(files, target, c))
        return fail(Errc::not_found, "no kernel ", c.kernel, c.kernel.empty() ? "" : " ", "for ", target.name,
                    " has a constant ", c.name);
    }
    return {};
  }
  [[nodiscard]] static bool is_used(KernelFiles files, const TargetFacts& target, const KernelConstant& c) noexcept {
    for (const Span<const std::byte> bytes : files) {
      const auto file = KernelFile::open(bytes);
      if (!file || !runs(target, file->target()) || (!c.kernel.empty() && c.kernel != file->name())) continue;
      for (std::uint32_t p = 0; p < file->patch_count(); ++p)
        if (file->patch_name(p) == c.name) return true;
    }
    return false;
  }

  Vector<Kernel> kernels_;
  Vector<device::KernelSignature> signatures_;
  Vector<KernelConstant> constants_;  ///< of the file that is being loaded
};

}  // namespace zrt::inline ZRT_ABI::pm4
