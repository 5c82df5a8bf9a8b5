// SPDX-License-Identifier: Apache-2.0
// zrt/serve/state_shelf.hpp: states of preempted requests.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// A state that the host is to copy from a slot to a row of the shelf before the slot's next run: what the slot has beside
/// its pages, and the page behind its last page border.
struct ShelvedState {
  std::uint32_t slot = 0;
  std::uint32_t row = 0;
  std::uint32_t position = 0;  ///< that the state stands behind
  std::uint32_t tail = kNone;  ///< the page with the positions behind the last border; kNone at a border
};

/// Rows for states of preempted requests, each of the request that left it there until that goes on or ends. Nobody else
/// has a use for them, unlike kept states (Checkpoints), which belong to pages of the prefix tree.
class StateShelf {
 public:
  struct Row {
    std::uint32_t request = kNone;
    std::uint32_t position = 0;
  };

  /// It is closed at first: the host has no memory for the rows yet.
  [[nodiscard]] static Result<StateShelf> make(std::uint32_t rows, const Allocator& allocator) noexcept {
    StateShelf shelf(allocator);
    if (auto r = shelf.rows_.resize(rows); !r) return pass(r);
    if (auto r = shelf.copies_.reserve(rows); !r) return pass(r);
    return shelf;
  }
  void open() noexcept { open_ = true; }

  [[nodiscard]] Span<const Row> rows() const noexcept { return rows_.span(); }
  [[nodiscard]] std::uint32_t position(std::uint32_t row) const noexcept { return rows_[row].position; }

  /// A row for the state of a slot's request; kNone when none is free. The host copies it before anything else runs there.
  [[nodiscard]] std::uint32_t put(std::uint32_t request, ShelvedState state) noexcept {
    if (!open_) return kNone;
    for (state.row = 0; state.row < rows_.size(); ++state.row) {
      if (rows_[state.row].request != kNone) continue;
      rows_[state.row] = {request, state.position};
      (void)copies_.push_back(state);
      return state.row;
    }
    return kNone;
  }
  void free(std::uint32_t row) noexcept {
    rows_[row] = {};
    for (ShelvedState& copy : copies_.span()) {
      if (copy.row != row) continue;
      copy = copies_[copies_.size() - 1];
      return copies_.pop_back();
    }
  }

  /// Those that wait for the host's copy.
  [[nodiscard]] Span<const ShelvedState> copies() const noexcept { return copies_.span(); }
  void copied() noexcept { copies_.clear(); }

 private:
  explicit StateShelf(const Allocator& a) noexcept : rows_(a), copies_(a) {}

  Vector<Row> rows_;
  Vector<ShelvedState> copies_;
  bool open_ = false;
};

}  // namespace zrt::inline ZRT_ABI::serve
