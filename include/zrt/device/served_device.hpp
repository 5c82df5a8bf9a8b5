// SPDX-License-Identifier: Apache-2.0
// zrt/device/served_device.hpp: what an engine asks of a device, said with what a recorded device gives.
#pragma once

#include <zrt/device/operands.hpp>
#include <zrt/device/weight_store.hpp>
#include <zrt/exec/backend.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Base of a backend's device `Self`, which is a RecordedDevice and has a weight_store() of its `Memory`.
template <class Self, class Memory> class ServedDevice {
 public:
  [[nodiscard]] Result<Memory> allocate(std::uint64_t bytes) noexcept {
    return self().allocate_for(MemoryRole::arena, bytes == 0 ? 1 : bytes);
  }
  [[nodiscard]] Tensor tensor(Memory& memory, std::uint64_t offset, const TensorType& type) noexcept {
    return {memory.address() + offset, type};
  }
  [[nodiscard]] Scratch scratch(Memory& memory, std::uint64_t offset, std::uint64_t bytes) noexcept {
    return {memory.address() + offset, bytes};
  }
  [[nodiscard]] State state(Memory& memory, const StateDescriptor& d, std::uint32_t units) noexcept {
    return {memory.address(), d.size_bytes, units, d.info};
  }

  /// Errors: those of WeightStore::expect and take.
  [[nodiscard]] Result<void> expect(const WeightView& view) noexcept {
    return self().weight_store().expect(view, WeightReader::of<Self>());
  }
  [[nodiscard]] Result<Weight> weight(const WeightView& view) noexcept {
    return self().weight_store().take(self(), view);
  }
  /// Errors: those of WeightStore::rewrite.
  [[nodiscard]] Result<void> rewrite(const WeightView& view) noexcept {
    return self().weight_store().rewrite(self(), view);
  }

  [[nodiscard]] Result<void> write(const Tensor& tensor, Span<const std::byte> from) noexcept {
    return self().copy_in(tensor.address, from);
  }
  [[nodiscard]] Result<void> read(const Tensor& tensor, std::uint64_t offset, Span<std::byte> to) noexcept {
    return self().copy_out(tensor.address + offset, to);
  }
  [[nodiscard]] Result<void> read_unit(State& state, std::uint32_t unit, Span<std::byte> to) noexcept {
    return self().copy_out(state.address + unit * state.unit_bytes, to);
  }
  [[nodiscard]] Result<void> write_unit(State& state, std::uint32_t unit, Span<const std::byte> from) noexcept {
    return self().copy_in(state.address + unit * state.unit_bytes, from);
  }

 protected:
  ServedDevice() = default;

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace zrt::inline ZRT_ABI::device
