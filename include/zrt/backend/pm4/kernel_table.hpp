// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_table.hpp: the kernels that a device has loaded, by name.
#pragma once

#include <zrt/backend/pm4/kernel_file/specialise.hpp>
#include <zrt/core/name.hpp>
#include <zrt/core/vector.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A kernel in the GPU's memory, as a launch needs it.
struct Kernel {
  Name name{};
  ProgramRegisters program{};
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::uint32_t buffers = 0;
  std::uint32_t value_bytes = 0;
  bool wave32 = true;
};

/// What a host hands over for a device: .zrt files, in any order, for any targets.
using KernelFiles = Span<const std::span<const std::byte>>;

/// Kernels by name. Their addresses stay while the table lives and grows no more.
class KernelTable {
 public:
  explicit KernelTable(const Allocator& allocator) noexcept : kernels_(allocator) {}

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

  /// Copies the kernels that `Target` runs into `memory`, which the GPU executes from `address` on, and lists them.
  ///
  /// Errors: those of KernelFile::open, write_specialised and program_registers; Errc::unimplemented for a kernel with
  /// scratch; duplicate_name; capacity_exceeded for memory of fewer than code_bytes().
  template <class Target>
  [[nodiscard]] Result<void> load(KernelFiles files, const TargetFacts& target, std::uint64_t address,
                                  Span<std::byte> memory) noexcept {
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
      if (auto r = write_specialised(*file, {}, memory.subspan(static_cast<std::size_t>(at), size)); !r) return r;
      const auto program = program_registers<Target>(file->descriptor(), address + at);
      if (!program) return pass(program);
      const KernelFileHeader& header = file->header();
      if (auto r = kernels_.push_back({Name(file->name()),
                                       *program,
                                       {header.workgroup_size_x, header.workgroup_size_y, header.workgroup_size_z},
                                       header.buffer_count,
                                       header.push_const_bytes,
                                       header.subgroup_size == 32});
          !r)
        return r;
      at += size;
    }
    return {};
  }

  /// The kernel of that name, or null.
  [[nodiscard]] const Kernel* find(std::string_view name) const noexcept {
    for (const Kernel& kernel : kernels_)
      if (kernel.name.view() == name) return &kernel;
    return nullptr;
  }
  [[nodiscard]] Span<const Kernel> kernels() const noexcept { return kernels_.span(); }

 private:
  Vector<Kernel> kernels_;
};

}  // namespace zrt::inline ZRT_ABI::pm4
