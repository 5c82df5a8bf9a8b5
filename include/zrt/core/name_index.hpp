// SPDX-License-Identifier: Apache-2.0
// zrt/core/name_index.hpp: an index from strings that live elsewhere to 32-bit numbers.
#pragma once

#include <zrt/core/vector.hpp>

#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// FNV-1a with a final mix, 64 bits. Stable across platforms.
[[nodiscard]] constexpr std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

/// Maps names to indices by open addressing. The map keeps views: the characters must outlive it.
class NameIndex {
 public:
  explicit NameIndex(Allocator allocator = system_allocator()) noexcept : slots_(allocator) {}

  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    std::size_t wanted = 16;
    while (wanted < count * 2) wanted *= 2;
    return wanted > slots_.size() ? rehash(wanted) : Result<void>{};
  }

  /// Adds `key`; false in the result when it is already there (the map is then unchanged).
  [[nodiscard]] Result<bool> insert(std::string_view key, std::uint32_t value) noexcept {
    if ((used_ + 1) * 2 > slots_.size()) {
      if (auto r = rehash(slots_.empty() ? 16 : slots_.size() * 2); !r) return pass(r);
    }
    const std::uint64_t hash = hash_bytes(key);
    Slot& slot = slots_[probe(key, hash)];
    if (slot.used) return false;
    slot = {key, hash, value, true};
    ++used_;
    return true;
  }

  /// Returns the index of `key`, or `kAbsent`.
  [[nodiscard]] std::uint32_t find(std::string_view key) const noexcept {
    if (slots_.empty()) return kAbsent;
    const Slot& slot = slots_[probe(key, hash_bytes(key))];
    return slot.used ? slot.value : kAbsent;
  }

  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

 private:
  struct Slot {
    std::string_view key;
    std::uint64_t hash = 0;
    std::uint32_t value = 0;
    bool used = false;
  };

  [[nodiscard]] std::size_t probe(std::string_view key, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = static_cast<std::size_t>(hash) & mask;
    while (slots_[i].used && (slots_[i].hash != hash || slots_[i].key != key)) i = (i + 1) & mask;
    return i;
  }

  [[nodiscard]] Result<void> rehash(std::size_t count) noexcept {
    Vector<Slot> old(slots_.allocator());
    if (auto r = old.resize(count); !r) return r;
    std::swap(old, slots_);
    for (const Slot& slot : old)
      if (slot.used) slots_[probe(slot.key, slot.hash)] = slot;
    return {};
  }

  Vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace zrt::inline ZRT_ABI
