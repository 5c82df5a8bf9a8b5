// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernel_machine.hpp: a kernel of kernels/ on the interpreter, with buffers of exactly their size.
#pragma once

#include <zrt/backend/pm4/kernel_file/reader.hpp>
#include <zrt/device/upload/types.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <pm4/isa_interpreter.hpp>
#include <pm4/stream_cases.hpp>
#include <support/kernel_values.hpp>

namespace zrt::test {

/// One kernel and the memory of its launches. A launch that reads or writes a byte outside the buffers fails.
class KernelMachine {
 public:
  using Counters = zrt::emulator::Counters;
  using Permission = zrt::emulator::Permission;

  KernelMachine(const std::string& target, const std::string& name)
      : file_(file_bytes(std::string(ZRT_SOURCE_DIR) + "/kernels/" + target + "/" + name + ".zrt")) {
    const auto kernel = pm4::KernelFile::open(file_);
    if (!kernel) {
      ADD_FAILURE() << target << "/" << name << ": " << kernel.error().text();
      return;
    }
    header_ = kernel->header();
    code_.assign(kernel->blob().begin(), kernel->blob().end());
    EXPECT_EQ(kernel->name(), name);
    EXPECT_EQ(kernel->target().name, target);
    const auto registers = target == "gfx1100"   ? pm4::program_registers<pm4::Gfx1100>(kernel->descriptor(), kCode)
                           : target == "gfx1151" ? pm4::program_registers<pm4::Gfx1151>(kernel->descriptor(), kCode)
                                                 : pm4::program_registers<pm4::Gfx1201>(kernel->descriptor(), kCode);
    EXPECT_TRUE(registers.has_value());
    EXPECT_EQ(kernel->descriptor().scratch_bytes, 0u) << "registers are spilled";
    dispatch_.isa = target == "gfx1201" ? zrt::emulator::Isa::gfx12 : zrt::emulator::Isa::gfx11;
    dispatch_.wave64 = header_.subgroup_size == 64;
    dispatch_.threads = {header_.workgroup_size_x, header_.workgroup_size_y, header_.workgroup_size_z};
    dispatch_.code = registers->code;
    dispatch_.rsrc1 = registers->rsrc1;
    dispatch_.rsrc2 = registers->rsrc2;
    dispatch_.rsrc3 = registers->rsrc3;
    dispatch_.user_data[0] = static_cast<std::uint32_t>(kArguments);
    dispatch_.user_data[1] = static_cast<std::uint32_t>(kArguments >> 32);
    dispatch_.instruction_limit = 1u << 24;
    dispatch_.any_address = false;
    map(kCode, code_, Permission::read | Permission::execute, "code");
  }

  /// The next buffer. Returns its number among `counters.regions`.
  template <class T> std::uint32_t input(const std::vector<T>& values) { return add(values, Permission::read); }
  template <class T> std::uint32_t output(std::vector<T>& values) {
    return add(values, Permission::read | Permission::write);
  }
  /// A buffer that is not there.
  void absent() { arguments_.resize(arguments_.size() + 8); }
  /// The same memory again, as an in-place operand.
  void same_as(std::uint32_t buffer) { put(address_of(buffer)); }
  template <class T> void push(T value) {
    static_assert(sizeof(T) == 4);
    put(value);
  }

  /// Runs the grid; the launch must succeed.
  Counters run(std::uint32_t x, std::uint32_t y = 1) {
    EXPECT_EQ(arguments_.size(), header_.buffer_count * 8 + header_.push_const_bytes);
    dispatch_.groups = {x, y, 1};
    // A scalar load takes four words where three are wanted.
    arguments_.resize(arguments_.size() + 16, std::byte{0xcc});
    map(kArguments, arguments_, Permission::read, "arguments");
    auto counters = run_dispatch(dispatch_, memory_);
    if (!counters) {
      ADD_FAILURE() << counters.error().text();
      return {};
    }
    return std::move(*counters);
  }

 private:
  static constexpr std::uint64_t kCode = 0x100000, kArguments = 0x7f'0000'1000;
  /// Buffers lie so far apart that no wrong index finds another one.
  static constexpr std::uint64_t address_of(std::uint32_t buffer) { return std::uint64_t{buffer + 1} << 40; }

  void map(std::uint64_t address, std::vector<std::byte>& bytes, Permission permission, const char* name) {
    const auto mapped = memory_.map(address, bytes, permission, name);
    EXPECT_TRUE(mapped.has_value());
    ++regions_;
  }
  template <class T> std::uint32_t add(const std::vector<T>& values, Permission permission) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    EXPECT_TRUE(memory_
                    .map(address_of(regions_), {const_cast<std::byte*>(bytes.data()), bytes.size()}, permission,
                         "buffer " + std::to_string(regions_ - 1))
                    .has_value());
    put(address_of(regions_));
    return regions_++;
  }
  template <class T> void put(T value) {
    arguments_.resize(arguments_.size() + sizeof value);
    std::memcpy(arguments_.data() + arguments_.size() - sizeof value, &value, sizeof value);
  }

  std::vector<std::byte> file_, code_, arguments_;
  pm4::KernelFileHeader header_{};
  zrt::emulator::AddressSpace memory_;
  zrt::emulator::Dispatch dispatch_;
  std::uint32_t regions_ = 0;
};

/// The kernels of one target.
struct Target {
  const char* name;

  [[nodiscard]] KernelMachine launch(const std::string& kernel) const { return {name, kernel}; }
  [[nodiscard]] static Span<const device::UploadFunctions> types() { return device::kUploads; }
};

}  // namespace zrt::test
