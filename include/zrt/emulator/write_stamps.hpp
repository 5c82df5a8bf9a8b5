// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/write_stamps.hpp: who wrote each word of a region last, and when.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/emulator/memory.hpp>

#include <array>
#include <cstring>

namespace zrt::inline ZRT_ABI::emulator {

/// Who writes memory. A release is a RELEASE_MEM, which writes later than the packets behind it; a packet any other.
enum class Writer : std::uint8_t { dispatch, packet, release, host, host_by_bar };
inline constexpr unsigned kWriters = 5;
[[nodiscard]] constexpr bool is_of_gpu(Writer writer) noexcept { return writer <= Writer::release; }

/// A writer at a moment of a queue's time. The default one is older than every packet.
class WriteStamp {
 public:
  constexpr WriteStamp() = default;
  constexpr WriteStamp(Writer writer, std::uint32_t moment) noexcept
      : bits_(moment << 3 | static_cast<std::uint32_t>(writer)) {}
  [[nodiscard]] static constexpr WriteStamp of_bits(std::uint32_t bits) noexcept {
    WriteStamp stamp;
    stamp.bits_ = bits;
    return stamp;
  }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr Writer writer() const noexcept { return static_cast<Writer>(bits_ & 7u); }
  [[nodiscard]] constexpr std::uint32_t moment() const noexcept { return bits_ >> 3; }
  constexpr bool operator==(const WriteStamp&) const = default;

  static constexpr std::uint32_t kMostMoments = std::uint32_t{1} << 29;

 private:
  std::uint32_t bits_ = 0;
};

/// The stamps of one region, a word of 32 bits each, and what it held when the host last published or the GPU last wrote.
///
/// Words that were never stamped have the stamp of the region's first sight. Workers of one dispatch stamp at once, all
/// with the same stamp; everything else is for one thread.
class RegionStamps {
 public:
  [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
  [[nodiscard]] const MappedRegion& region() const noexcept { return region_; }
  /// The latest moment of each writer, the running dispatch left out.
  [[nodiscard]] std::uint32_t newest(Writer writer) const noexcept { return newest_[static_cast<unsigned>(writer)]; }

  /// Begins with a region as it is, all of it written by `first`.
  void adopt(const MappedRegion& region, WriteStamp first) noexcept {
    *this = {};
    serial_ = region.serial;
    region_ = region;
    first_ = first;
    note(first);
  }

  [[nodiscard]] WriteStamp at(std::uint64_t word) const noexcept {
    const auto* const stamps = __atomic_load_n(&words_, __ATOMIC_ACQUIRE);
    if (stamps == nullptr) return first_;
    const std::uint32_t bits = __atomic_load_n(stamps + word, __ATOMIC_RELAXED);
    return bits == 0 ? first_ : WriteStamp::of_bits(bits);
  }
  /// Whether there is room for stamps: put() needs it.
  [[nodiscard]] bool has_words() const noexcept { return __atomic_load_n(&words_, __ATOMIC_ACQUIRE) != nullptr; }
  /// Makes that room; one thread at a time. Errors: out_of_memory.
  [[nodiscard]] Result<void> make_words(const Allocator& allocator) noexcept {
    if (has_words()) return {};
    auto memory = Buffer::zeroed(allocator, word_count() * sizeof(std::uint32_t));
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    __atomic_store_n(&words_, reinterpret_cast<std::uint32_t*>(memory_.data()), __ATOMIC_RELEASE);
    return {};
  }
  void put(std::uint64_t first, std::uint64_t count, WriteStamp stamp) noexcept {
    for (std::uint64_t i = first; i < first + count; ++i) __atomic_store_n(words_ + i, stamp.bits(), __ATOMIC_RELAXED);
  }
  void note(WriteStamp stamp) noexcept {
    std::uint32_t& newest = newest_[static_cast<unsigned>(stamp.writer())];
    if (stamp.moment() > newest) newest = stamp.moment();
  }

  /// Stamps what differs from the last time, which follow_gpu() has kept up with the GPU.
  [[nodiscard]] Result<void> find_host_writes(WriteStamp host, const Allocator& allocator) noexcept {
    const Span<std::byte> now = region_.bytes;
    if (last_.size() == 0) {
      auto memory = Buffer::zeroed(allocator, now.size());
      if (!memory) return pass(memory);
      last_ = std::move(*memory);
      std::memcpy(last_.data(), now.data(), now.size());
      return {};
    }
    if (!differs()) return {};
    if (auto r = make_words(allocator); !r) return r;
    each_difference([&](std::uint64_t word) {
      put(word, 1, host);
      return true;
    });
    note(host);
    return {};
  }
  /// Takes what the GPU has written behind moment `before` as known: what differs then is the host's.
  void follow_gpu(std::uint32_t before) noexcept {
    if (last_.size() == 0) return;
    if (newest(Writer::dispatch) <= before && newest(Writer::packet) <= before && newest(Writer::release) <= before)
      return;
    each_difference([&](std::uint64_t word) {
      const WriteStamp stamp = at(word);
      return is_of_gpu(stamp.writer()) && stamp.moment() > before;
    });
  }

 private:
  [[nodiscard]] bool differs() const noexcept {
    return region_.bytes.size() != 0 && std::memcmp(region_.bytes.data(), last_.data(), region_.bytes.size()) != 0;
  }
  /// Calls `takes(word)` for each word that differs from the last time; where it says so the word is known from now on.
  template <class Takes> void each_difference(Takes&& takes) noexcept {
    const Span<std::byte> now = region_.bytes;
    constexpr std::size_t block = 4096;
    for (std::size_t from = 0; from < now.size(); from += block) {
      const std::size_t bytes = now.size() - from < block ? now.size() - from : block;
      if (std::memcmp(now.data() + from, last_.data() + from, bytes) == 0) continue;
      for (std::size_t at = from; at < from + bytes; at += 4) {
        const std::size_t size = now.size() - at < 4 ? now.size() - at : 4;
        if (std::memcmp(now.data() + at, last_.data() + at, size) == 0 || !takes(std::uint64_t{at / 4})) continue;
        std::memcpy(last_.data() + at, now.data() + at, size);
      }
    }
  }
  [[nodiscard]] std::size_t word_count() const noexcept { return (region_.bytes.size() + 3) / 4; }

  std::uint64_t serial_ = 0;
  MappedRegion region_{};
  WriteStamp first_{};
  std::array<std::uint32_t, kWriters> newest_{};
  std::uint32_t* words_ = nullptr;
  Buffer memory_{};
  Buffer last_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
