// SPDX-License-Identifier: Apache-2.0
// zrt/device/recorder.hpp: what an adapter records launches into.
#pragma once

#include <zrt/device/step_record.hpp>
#include <zrt/exec/record_site.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::device {

/// Appends the launches of one instruction after the other to a StepRecord.
///
/// Launches of one instruction run in order, each seeing what the one before wrote, but where a call says that it is
/// beside it; the first one waits only if the instruction's memory demands it.
class Recorder {
 public:
  /// A launch of more workgroups than `most_groups` on its first axis is recorded as several beside each other.
  Recorder(StepRecord& record, Span<const KernelSignature> kernels,
           std::uint32_t most_groups = ~std::uint32_t{0}) noexcept
      : record_(&record), kernels_(kernels), most_groups_(most_groups == 0 ? 1 : most_groups) {}

  [[nodiscard]] Result<void> reserve(const exec::StepBounds& bounds) noexcept {
    record_->bounds = bounds;
    return {};
  }

  /// An observer wants to know when each launch began and ended.
  void time_launches() noexcept { record_->times_launches = true; }

  [[nodiscard]] Result<void> begin(const exec::RecordSite<Scratch>& site) noexcept {
    site_ = site;
    barrier_ = site.wait_for != site.kNoWait && site.wait_for >= unordered_from_;
    first_ = true;
    fault_ = kNoFault;
    return {};
  }

  /// Records one launch.
  ///
  /// Errors: Errc::not_found for a kernel that the device has not; invalid_file for one with other arguments;
  /// size_overflow for a count beyond 32 bits.
  [[nodiscard]] Result<void> push(const KernelCall& call) noexcept {
    const KernelSignature* kernel = find_kernel(kernels_, call.name());
    if (kernel == nullptr)
      return fail(Errc::not_found, "no kernel ", call.name(), " is among the ", kernels_.size(), " of the device");
    const std::size_t values = call.arguments().size() - std::size_t{call.buffers()} * 8;
    if (!call.fits() || kernel->buffers != call.buffers() || kernel->value_bytes != values)
      return fail(Errc::invalid_file, "kernel ", call.name(), " has ", kernel->buffers, " buffers and ",
                  kernel->value_bytes, " bytes of values, the backend gives ", call.buffers(), " and ", values);
    RecordedLaunch launch{.signature = kernel,
                          .kernel = static_cast<std::uint32_t>(kernel - kernels_.data()),
                          .instruction = site_.instruction,
                          .opcode = site_.opcode,
                          .barrier = first_ ? barrier_ : !call.is_beside()};
    if (launch.barrier) unordered_from_ = site_.instruction;
    first_ = false;
    for (const StepCount& count : call.grid())
      if (!count.fits(record_->bounds.extents)) return too_large(call);
    const auto arguments = append(record_->arguments, call.arguments());
    if (!arguments) return pass(arguments);
    launch.arguments = *arguments;
    for (Link link : call.links()) {
      if (!link.count.fits(record_->bounds.extents)) return too_large(call);
      link.at += launch.arguments;
      if (link.kind == LinkKind::fault)
        if (auto r = add_fault(link); !r) return r;
      if (auto r = record_->links.push_back(link); !r) return r;
    }
    return push_parts(launch, call.grid());
  }

  /// Keeps a table that an adapter computed for as long as the program lives; equal ones are kept once. Returns its
  /// offset for KernelCall::table.
  [[nodiscard]] Result<std::uint32_t> table(Span<const std::byte> bytes) noexcept {
    for (std::size_t at = 0; at + bytes.size() <= record_->tables.size(); at += 16)
      if (!bytes.empty() && std::memcmp(record_->tables.data() + at, bytes.data(), bytes.size()) == 0)
        return static_cast<std::uint32_t>(at);
    return append(record_->tables, bytes);
  }

  /// Has the host do, when the step has ended, what kernels leave of a sample op.
  [[nodiscard]] Result<void> sample(const RecordedSample& sample) noexcept {
    return record_->samples.push_back(sample);
  }

  [[nodiscard]] const Scratch& scratch() const noexcept { return site_.scratch; }
  [[nodiscard]] const exec::StepBounds& bounds() const noexcept { return record_->bounds; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return record_->launches.allocator(); }

 private:
  static constexpr std::uint32_t kNoFault = ~std::uint32_t{0};

  [[nodiscard]] static std::unexpected<Error> too_large(const KernelCall& call) noexcept {
    return fail(Errc::size_overflow, "a count of kernel ", call.name(), " does not fit 32 bits");
  }

  [[nodiscard]] Result<void> push_parts(RecordedLaunch launch, const std::array<StepCount, 2>& grid) noexcept {
    const std::uint32_t groups = grid[0].in(record_->bounds.extents);
    for (std::uint64_t first = 0; first == 0 || first < groups; first += most_groups_) {
      launch.first = static_cast<std::uint32_t>(first);
      const auto added =
          add_grid(groups <= most_groups_ ? grid : std::array{grid[0].part(launch.first, most_groups_), grid[1]});
      if (!added) return pass(added);
      launch.grid = *added;
      if (auto r = record_->launches.push_back(launch); !r) return r;
      launch.barrier = false;
    }
    return {};
  }
  [[nodiscard]] Result<std::uint32_t> add_grid(const std::array<StepCount, 2>& grid) noexcept {
    for (std::size_t i = 0; i < record_->grids.size(); ++i)
      if (record_->grids[i] == grid) return static_cast<std::uint32_t>(i);
    if (auto r = record_->grids.push_back(grid); !r) return pass(r);
    return static_cast<std::uint32_t>(record_->grids.size() - 1);
  }

  /// One fault word for each instruction that has any.
  [[nodiscard]] Result<void> add_fault(Link& link) noexcept {
    if (fault_ == kNoFault) {
      fault_ = static_cast<std::uint32_t>(record_->faults.size());
      if (auto r = record_->faults.push_back(site_.instruction); !r) return r;
    }
    link.offset = fault_;
    return {};
  }

  [[nodiscard]] static Result<std::uint32_t> append(Vector<std::byte>& to, Span<const std::byte> bytes) noexcept {
    const std::size_t at = to.size();
    const auto end = (CheckedSize(at) + bytes.size()).aligned(16);
    if (!end.ok() || end.raw() > 0xffffffffu) return fail(Errc::size_overflow, "the arguments of a step");
    if (end.raw() > to.capacity())
      if (auto r = to.reserve(static_cast<std::size_t>(end.raw() + end.raw() / 2)); !r) return pass(r);
    if (auto r = to.resize(static_cast<std::size_t>(end.raw())); !r) return pass(r);
    if (!bytes.empty()) std::memcpy(to.data() + at, bytes.data(), bytes.size());
    return static_cast<std::uint32_t>(at);
  }

  StepRecord* record_;
  Span<const KernelSignature> kernels_;
  std::uint32_t most_groups_;
  exec::RecordSite<Scratch> site_{};
  /// The first instruction with a launch that no barrier has followed.
  std::uint32_t unordered_from_ = 0;
  std::uint32_t fault_ = kNoFault;
  bool barrier_ = false;
  bool first_ = true;
};

}  // namespace zrt::inline ZRT_ABI::device
