// SPDX-License-Identifier: Apache-2.0
// zrt/backend/split/operands.hpp: tensors, weights, states and memory that two backends name, each in its own way.
#pragma once

#include <zrt/exec/backend.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::split {

/// A register, which lies at the same place of both arenas.
template <class First, class Last> struct TensorPair {
  typename First::Tensor first{};
  typename Last::Tensor last{};
  [[nodiscard]] bool present() const noexcept { return first.present(); }
};

/// A weight of the parts that read it.
template <class First, class Last> struct WeightPair {
  typename First::Weight first{};
  typename Last::Weight last{};
  [[nodiscard]] bool present() const noexcept { return first.present() || last.present(); }
};

/// A state of one of the parts.
template <class First, class Last> struct StatePair {
  typename First::State first{};
  typename Last::State last{};
  bool is_last = false;
};

/// Workspace in both arenas.
template <class First, class Last> struct ScratchPair {
  typename First::Scratch first{};
  typename Last::Scratch last{};
};

/// Memory of both devices, or of one of them for a state.
template <class First, class Last> struct MemoryPair {
  typename First::Memory first{};
  typename Last::Memory last{};

  [[nodiscard]] std::uint64_t size() const noexcept { return bytes_of(first) + bytes_of(last); }
  /// Calls `visit(what, memory)` for each device's own.
  template <class Visit> void for_each_part(const Visit& visit, std::string_view what) const {
    if (bytes_of(first) != 0) visit(what, first);
    if (bytes_of(last) != 0) visit(what, last);
  }

 private:
  template <class Piece> [[nodiscard]] static std::uint64_t bytes_of(const Piece& memory) noexcept {
    if constexpr (requires { memory.bytes(); })
      return memory.bytes();
    else
      return memory.size();
  }
};

}  // namespace zrt::inline ZRT_ABI::split
