// SPDX-License-Identifier: Apache-2.0
// zrt/exec/host_recorder.hpp: what an adapter of a host backend records into.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/host_program.hpp>
#include <zrt/exec/record_site.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Appends kernel calls of one instruction after the other to a HostProgram.
///
/// Calls of one instruction run in order with a fence between them; the first one is fenced only if
/// the instruction's memory demands it.
class HostRecorder {
 public:
  HostRecorder(HostProgram& program, Vector<Buffer>& tables, Allocator allocator) noexcept
      : program_(&program), tables_(&tables), allocator_(allocator) {}

  /// Starts an instruction where the plan put it: fenced if it waits for a call since the last fence.
  [[nodiscard]] Result<void> begin(const RecordSite<Span<std::byte>>& site) noexcept {
    begin(site.instruction, site.scratch, site.wait_for != site.kNoWait && site.wait_for >= unfenced_from_);
    return {};
  }
  /// Ends the record.
  [[nodiscard]] Result<void> finish() noexcept { return {}; }

  /// Starts an instruction; `scratch` is what its adapter asked for.
  void begin(std::uint32_t instruction, Span<std::byte> scratch, bool fence) noexcept {
    instruction_ = instruction;
    scratch_ = scratch;
    fence_ = fence;
  }

  /// Records one call; every worker of a step runs it.
  template <class Args> [[nodiscard]] Result<void> push(HostKernel<Args> kernel, const Args& args) noexcept {
    const bool fence = fence_;
    if (fence) unfenced_from_ = instruction_;
    fence_ = true;
    return program_->push(kernel, args, instruction_, scratch_, fence);
  }

  /// Memory that lives as long as the program: tables that an adapter computes once.
  [[nodiscard]] Result<Span<std::byte>> table(std::size_t bytes) noexcept {
    auto buffer = Buffer::zeroed(allocator_, bytes);
    if (!buffer) return pass(buffer);
    const Span<std::byte> memory = buffer->span();
    if (auto r = tables_->push_back(std::move(*buffer)); !r) return pass(r);
    return memory;
  }

 private:
  HostProgram* program_;
  Vector<Buffer>* tables_;
  Allocator allocator_;
  Span<std::byte> scratch_{};
  std::uint32_t instruction_ = 0;
  /// The first instruction with a call that no fence has followed.
  std::uint32_t unfenced_from_ = 0;
  bool fence_ = false;
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
