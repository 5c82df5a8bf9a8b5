// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/read_stamps.hpp: which dispatches read each word of a region last.
#pragma once

#include <zrt/core/buffer.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// The two dispatches that read each word of a region last, by their moments.
///
/// Two are enough to know of every other reader whether it has ended: dispatches end in the order in which they began.
/// Workers of one dispatch stamp at once, all with the same moment; everything else is for one thread.
class ReadStamps {
 public:
  /// Room for so many words, none of them read. Errors: out_of_memory.
  [[nodiscard]] Result<void> make_words(std::uint64_t count, const Allocator& allocator) noexcept {
    if (words_ != nullptr) return {};
    auto memory = Buffer::zeroed(allocator, count * sizeof(std::uint64_t));
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    words_ = reinterpret_cast<std::uint64_t*>(memory_.data());
    return {};
  }
  /// The dispatch of that moment has read words; make_words() came before.
  void put(std::uint64_t first, std::uint64_t count, std::uint32_t moment) noexcept {
    for (std::uint64_t* at = words_ + first; at != words_ + first + count; ++at) {
      const std::uint64_t readers = __atomic_load_n(at, __ATOMIC_RELAXED);
      if (static_cast<std::uint32_t>(readers) != moment) __atomic_store_n(at, readers << 32 | moment, __ATOMIC_RELAXED);
    }
  }
  /// The last dispatch that read the word, that of `moment` left out; 0 where none did.
  [[nodiscard]] std::uint32_t last_but(std::uint32_t moment, std::uint64_t word) const noexcept {
    if (words_ == nullptr) return 0;
    const std::uint64_t readers = __atomic_load_n(words_ + word, __ATOMIC_RELAXED);
    const auto last = static_cast<std::uint32_t>(readers);
    return last == moment ? static_cast<std::uint32_t>(readers >> 32) : last;
  }

 private:
  std::uint64_t* words_ = nullptr;
  Buffer memory_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
