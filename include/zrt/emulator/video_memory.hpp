// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/video_memory.hpp: how much video memory of the modelled card is taken.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// One card's, whichever driver hands it out.
class VideoMemory {
 public:
  explicit VideoMemory(std::uint64_t total) noexcept : total_(total) {}

  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    if (bytes > available()) return false;
    used_ += bytes;
    if (fill_after_ != 0 && --fill_after_ == 0) filled_ = true;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return filled_ ? total_ : used_; }
  [[nodiscard]] std::uint64_t available() const noexcept { return total_ - used(); }

  /// Another program takes all that is left after so many allocations from now on; 0: at once.
  void fill_after(std::uint64_t allocations) noexcept {
    fill_after_ = allocations;
    filled_ = allocations == 0;
  }

 private:
  std::uint64_t total_;
  std::uint64_t used_ = 0;
  std::uint64_t fill_after_ = 0;  ///< 0: never
  bool filled_ = false;
};

}  // namespace zrt::inline ZRT_ABI::emulator
