// SPDX-License-Identifier: Apache-2.0
// zrt/exec/host_device.hpp: memory, programs and threads of the backends that compute on the host.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/exec/host_recorder.hpp>
#include <zrt/quant/types.hpp>

#include <cstring>
#include <optional>

namespace zrt::inline ZRT_ABI::exec {

/// The types of a backend that computes in host memory; such a backend inherits them.
struct HostMemoryTypes {
  using Tensor = HostTensor;
  using Weight = HostWeight;
  using State = HostState;
  using Region = HostRegion;
  using Scratch = Span<std::byte>;
  using Memory = Buffer;
};

class HostBackendProgram;

/// Serves host memory; weights are used where they lie.
class HostDevice {
 public:
  HostDevice() = default;
  explicit HostDevice(const Allocator& allocator, const ThreadHook& threads = {}) noexcept
      : allocator_(allocator), threads_(threads) {}

  [[nodiscard]] Result<Buffer> allocate(std::uint64_t bytes) const noexcept {
    return Buffer::zeroed(allocator_, bytes);
  }
  [[nodiscard]] HostTensor tensor(Buffer& memory, std::uint64_t offset, const TensorType& type) const noexcept {
    return {memory.data() + offset, type};
  }
  [[nodiscard]] Span<std::byte> scratch(Buffer& memory, std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return memory.span().subspan(offset, bytes);
  }

  /// Errors: Errc::unsupported_weight_type for a block type that this build cannot dequantise,
  /// Errc::shape_mismatch when the data is shorter than the shape; data is not copied and
  /// must outlive every program that uses it.
  [[nodiscard]] Result<HostWeight> weight(const WeightView& view) const noexcept {
    if (is_block(view.dtype) && quant::facts(view.dtype) == nullptr)
      return fail(Errc::unsupported_weight_type, "weight ", view.name, " is ", name(view.dtype),
                  ", which is not computed");
    const auto elements = view.shape.elements({}).get(view.name);
    if (!elements) return pass(elements);
    const Dim last = view.shape.last();
    const std::uint64_t row_bytes = bytes_of(view.dtype, last.extent);
    const std::uint64_t rows = last.extent == 0 ? 0 : *elements / last.extent;
    // Rows of a block type are whole blocks; two 4-bit elements share a byte across the ends of rows.
    const CheckedSize bytes =
        is_block(view.dtype) ? CheckedSize(rows) * row_bytes : bytes_of(view.dtype, CheckedSize(*elements));
    if (!bytes.ok()) return fail(Errc::size_overflow, "the size of weight ", view.name, " does not fit 64 bits");
    if (rows > 0xffffffffu || bytes.raw() > view.data.size())
      return fail(Errc::shape_mismatch, "weight ", view.name, " has ", view.data.size(), " bytes, its shape needs ",
                  bytes.raw());
    if (reinterpret_cast<std::uintptr_t>(view.data.data()) % 4 != 0)
      return fail(Errc::invalid_argument, "weight ", view.name, " lies at an address that is not a multiple of 4");
    return HostWeight{view.data.data(), view.dtype, static_cast<std::uint32_t>(rows), last.extent, row_bytes};
  }

  /// Returns the elements of `weight` from byte `offset` on as a read-only tensor; none if it has no data or is
  /// misaligned for its type.
  [[nodiscard]] std::optional<HostTensor> value(const HostWeight& weight, std::uint64_t offset,
                                                const TensorType& type) const noexcept {
    if (!weight.present() || reinterpret_cast<std::uintptr_t>(weight.data) % info(type.dtype).block_bytes != 0)
      return std::nullopt;
    // Kernels use one tensor type to read and to write; the planner lets none write here.
    return HostTensor{const_cast<std::byte*>(weight.data) + offset, type};
  }

  [[nodiscard]] HostState state(Buffer& memory, const StateDescriptor& descriptor, std::uint32_t units) const noexcept {
    ZRT_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % descriptor.align_bytes == 0);
    return {memory.data(), descriptor.size_bytes, units, descriptor.info};
  }
  /// A recorded program as a region; `params` and `results` are the tensors of its border.
  [[nodiscard]] HostRegion region(const HostBackendProgram& program, Span<const HostTensor> params,
                                  Span<const HostTensor> results) const noexcept;
  // A host may name the memory of a tensor itself, or of another one that it overlaps.
  [[nodiscard]] Result<void> write(const HostTensor& tensor, Span<const std::byte> from) const noexcept {
    if (!from.empty() && from.data() != tensor.data) std::memmove(tensor.data, from.data(), from.size());
    return {};
  }
  [[nodiscard]] Result<void> read(const HostTensor& tensor, std::uint64_t offset, Span<std::byte> to) const noexcept {
    if (!to.empty() && to.data() != tensor.data + offset) std::memmove(to.data(), tensor.data + offset, to.size());
    return {};
  }
  [[nodiscard]] Result<void> read_unit(const HostState& state, std::uint32_t unit, Span<std::byte> to) const noexcept {
    std::memcpy(to.data(), state.unit(unit), to.size());
    return {};
  }
  [[nodiscard]] Result<void> write_unit(const HostState& state, std::uint32_t unit,
                                        Span<const std::byte> from) const noexcept {
    std::memcpy(state.unit(unit), from.data(), from.size());
    return {};
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const ThreadHook& threads() const noexcept { return threads_; }

 private:
  Allocator allocator_ = system_allocator();
  ThreadHook threads_{};
};

/// A HostProgram with the tables that its adapters computed.
class HostBackendProgram {
 public:
  explicit HostBackendProgram(const HostDevice& device) noexcept
      : allocator_(device.allocator()), program_(device.allocator()), tables_(device.allocator()) {}

  template <class O = NoObserver>
  [[nodiscard]] Result<bool> launch(const HostDevice& device, const ExecutionContext& step, const StopPoll& stop,
                                    O observer = {}) noexcept {
    return program_.launch(step, device.threads(), stop, observer);
  }
  [[nodiscard]] const HostProgram& host_program() const noexcept { return program_; }
  /// Kernel calls per step.
  [[nodiscard]] std::size_t size() const noexcept { return program_.size(); }
  [[nodiscard]] HostRecorder recorder() noexcept { return HostRecorder(program_, tables_, allocator_); }

 private:
  Allocator allocator_;
  HostProgram program_;
  Vector<Buffer> tables_;
};

inline HostRegion HostDevice::region(const HostBackendProgram& program, Span<const HostTensor> params,
                                     Span<const HostTensor> results) const noexcept {
  return {&program.host_program(), &HostProgram::run_region, params, results};
}

}  // namespace zrt::inline ZRT_ABI::exec
