// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/group_stamps.hpp: which workgroups of one dispatch write and read each byte of a region.
#pragma once

#include <zrt/core/vector.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// How a wave uses memory.
enum class MemoryUse : std::uint8_t { read, write, atomic };

/// Who of a dispatch has used each byte of a region, to find workgroups that race: nothing orders them, so what one writes
/// no other may use. Atomics alone may meet. One thread at a time.
class GroupStamps {
 public:
  explicit GroupStamps(const Allocator& allocator = system_allocator()) noexcept : bytes_(allocator) {}

  /// Room for so many bytes. Errors: out_of_memory.
  [[nodiscard]] Result<void> make_bytes(std::uint64_t count) noexcept { return bytes_.resize(count); }
  [[nodiscard]] bool has_bytes() const noexcept { return bytes_.size() != 0; }

  /// Workgroup `group` of the dispatch of that moment uses a byte. False where it races with another.
  [[nodiscard]] bool note(std::uint64_t byte, std::uint32_t moment, std::uint32_t group, MemoryUse use) noexcept {
    Stamp& s = bytes_[byte];
    if (s.moment != moment) s = {.moment = moment};
    const std::uint32_t mine = group + 1;
    const bool meets_writer = s.writer != 0 && s.writer != mine;
    const bool meets_reader = use != MemoryUse::read && s.reader != 0 && s.reader != mine;
    if (meets_reader || (meets_writer && !(use == MemoryUse::atomic && s.atomically))) return false;
    if (use == MemoryUse::read) {
      s.reader = s.reader == 0 || s.reader == mine ? mine : kMany;
    } else {
      s.atomically = use == MemoryUse::atomic && (s.writer == 0 || s.atomically);
      s.writer = meets_writer ? kMany : mine;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kMany = ~std::uint32_t{0};

  struct Stamp {
    std::uint32_t moment = 0;
    std::uint32_t writer = 0;  ///< workgroup plus one
    std::uint32_t reader = 0;
    bool atomically = false;  ///< all of the writes
  };

  Vector<Stamp> bytes_;
};

}  // namespace zrt::inline ZRT_ABI::emulator
