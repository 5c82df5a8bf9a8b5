// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/memory.hpp: the GPU's address space: regions of host memory with permissions.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// What a region allows; `|` joins.
enum class Permission : std::uint8_t { none = 0, read = 1, write = 2, execute = 4 };

[[nodiscard]] constexpr Permission operator|(Permission a, Permission b) noexcept {
  return static_cast<Permission>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool allows(Permission has, Permission wanted) noexcept {
  return (static_cast<unsigned>(has) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

/// How the host reaches a region.
enum class HostView : std::uint8_t {
  none,    ///< not at all
  memory,  ///< memory of the host, coherent
  bar,     ///< video memory through the PCIe BAR, whose writes pass the host data path
};

/// One mapping. The bytes belong to whoever mapped them.
struct MappedRegion {
  std::uint64_t address = 0;
  Span<std::byte> bytes{};
  Permission permission = Permission::none;
  HostView host = HostView::memory;
  std::uint32_t id = 0;      ///< its number among the counters of a dispatch; one that is free is taken again
  std::uint64_t serial = 0;  ///< of this mapping alone
  Name name{};

  [[nodiscard]] constexpr bool contains(std::uint64_t at, std::uint64_t size) const noexcept {
    return at >= address && at - address <= bytes.size() && size <= bytes.size() - (at - address);
  }
};

/// An access that memory does not allow.
struct AccessFault {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< 0 where nothing has faulted
  Permission wanted = Permission::none;
  bool mapped = false;  ///< the region forbids it; else none holds all of the bytes
};

/// Hexadecimal digits of a number, for error texts.
[[nodiscard]] constexpr Name hex(std::uint64_t value) noexcept {
  char text[18]{'0', 'x'};
  unsigned digits = 1;
  while (digits < 16 && value >> 4 * digits != 0) ++digits;
  for (unsigned i = 0; i < digits; ++i) text[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 15u];
  return Name(std::string_view(text, 2 + digits));
}

/// The regions of one GPU virtual address space, ordered, never overlapping.
///
/// Any number of dispatches may read it at once; mapping is not for then.
class AddressSpace {
 public:
  explicit AddressSpace(Allocator allocator = system_allocator()) noexcept
      : regions_(allocator), free_ids_(allocator) {}

  /// Maps `bytes` at `address`; they must outlive the mapping. Errors: an empty or wrapping range, an overlap.
  [[nodiscard]] Result<void> map(std::uint64_t address, Span<std::byte> bytes, Permission permission,
                                 std::string_view name, HostView host = HostView::memory) noexcept {
    if (bytes.empty() || bytes.size() > ~address)
      return fail(Errc::invalid_argument, "a region of ", bytes.size(), " bytes at ", hex(address).view(),
                  " is empty or passes the end of the address space");
    std::size_t at = 0;
    while (at < regions_.size() && regions_[at].address < address) ++at;
    const bool before = at > 0 && regions_[at - 1].address + regions_[at - 1].bytes.size() > address;
    const bool behind = at < regions_.size() && address + bytes.size() > regions_[at].address;
    if (before || behind)
      return fail(Errc::invalid_argument, "the region ", name, " at ", hex(address).view(), " overlaps ",
                  regions_[before ? at - 1 : at].name.view());
    // Room for all ids, so that unmapping cannot fail.
    if (auto r = free_ids_.reserve(std::size_t{ids_} + 1); !r) return r;
    const std::uint32_t id = free_ids_.size() == 0 ? ids_ : free_ids_.back();
    if (auto r = regions_.push_back({address, bytes, permission, host, id, serial_ + 1, Name(name)}); !r) return r;
    for (std::size_t i = regions_.size() - 1; i > at; --i) std::swap(regions_[i], regions_[i - 1]);
    ++serial_;
    if (free_ids_.size() == 0)
      ++ids_;
    else
      free_ids_.pop_back();
    return {};
  }

  /// Takes the region that begins at `address` away. Errors: none begins there.
  [[nodiscard]] Result<void> unmap(std::uint64_t address) noexcept {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (regions_[i].address != address) continue;
      if (auto r = free_ids_.push_back(regions_[i].id); !r) return r;
      for (; i + 1 < regions_.size(); ++i) regions_[i] = regions_[i + 1];
      regions_.pop_back();
      return {};
    }
    return fail(Errc::not_found, "no region begins at ", hex(address).view());
  }

  /// The region that holds all `size` bytes at `address`, or null.
  [[nodiscard]] const MappedRegion* find(std::uint64_t address, std::uint64_t size) const noexcept {
    std::size_t low = 0, high = regions_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (regions_[middle].address <= address)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0 || !regions_[low - 1].contains(address, size)) return nullptr;
    return &regions_[low - 1];
  }

  /// The host memory of `size` bytes at `address`. Errors (Errc::spec_violation), told in `fault` too: unmapped, or not
  /// permitted.
  [[nodiscard]] Result<std::byte*> at(std::uint64_t address, std::uint64_t size, Permission wanted,
                                      AccessFault* fault = nullptr) const noexcept {
    const MappedRegion* region = find(address, size);
    if (fault != nullptr && (region == nullptr || !allows(region->permission, wanted)))
      *fault = {address, size, wanted, region != nullptr};
    if (region == nullptr)
      return fail(Errc::spec_violation, size, " bytes at ", hex(address).view(), " are not mapped");
    if (!allows(region->permission, wanted))
      return fail(Errc::spec_violation, "the region ", region->name.view(), " forbids ",
                  wanted == Permission::execute ? "execution"
                  : wanted == Permission::write ? "writing"
                                                : "reading",
                  " at ", hex(address).view());
    return region->bytes.data() + (address - region->address);
  }

  [[nodiscard]] Span<const MappedRegion> regions() const noexcept { return regions_.span(); }
  /// One more than the largest id of a region so far.
  [[nodiscard]] std::uint32_t ids() const noexcept { return ids_; }

 private:
  Vector<MappedRegion> regions_;
  Vector<std::uint32_t> free_ids_;
  std::uint32_t ids_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::emulator
