// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/adapter.hpp: what an op's adapter must say.
#pragma once

#include <zrt/device/recorder.hpp>

namespace zrt::inline ZRT_ABI::device {

/// How a device computes op O: one specialisation per claimed op, in adapters/<op>.hpp. `record` appends launches; where
/// they need memory beyond the op's outputs, `scratch` says how much, with the symbols at their bounds.
template <class O> struct Adapter;

/// An op with an adapter of the room, which records its launches.
template <class O>
concept RecordsDispatches = requires(Recorder& recorder, const Call<Operands, O>& call) {
  { Adapter<O>::record(recorder, call) } noexcept -> std::same_as<Result<void>>;
};
/// An op whose kernels need memory beyond its outputs; sized with the symbols at their bounds.
template <class O>
concept HasScratch = requires(const TypeCall<O>& call, const Extents& bounds) {
  { Adapter<O>::scratch(call, bounds) } noexcept -> std::same_as<CheckedSize>;
};

/// An instruction's workspace, handed out from front to back as its adapter's `scratch` counted it.
class Workspace {
 public:
  explicit Workspace(const Scratch& scratch) noexcept : next_(scratch.address) {}

  /// Bytes that a part takes.
  [[nodiscard]] static constexpr CheckedSize part(CheckedSize bytes) noexcept { return bytes.aligned(64); }

  [[nodiscard]] std::uint64_t take(CheckedSize bytes) noexcept {
    const std::uint64_t at = next_;
    next_ += part(bytes).raw();
    return at;
  }

 private:
  std::uint64_t next_;
};

/// Rows of a shape with the symbols at their bounds.
[[nodiscard]] constexpr CheckedSize most_rows(const Shape& shape, const Extents& bounds) noexcept {
  return shape.with_last(1).elements(bounds);
}

}  // namespace zrt::inline ZRT_ABI::device
