// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/copy_list.hpp: copies between the host's memory and the device's that one launch makes.
#pragma once

#include <zrt/backend/vulkan/commands.hpp>
#include <zrt/core/checked.hpp>
#include <zrt/core/little_endian.hpp>

#include <algorithm>
#include <optional>

namespace zrt::inline ZRT_ABI::vulkan {

/// The kernel that copies.
inline constexpr std::string_view kCopyName = "copy_words";

/// Which way a list's copies go.
enum class CopyWay : std::uint8_t { to_device, to_host };

/// Copies in one direction, with the host's bytes of each in memory that both see. What is copied is data: the launch is
/// recorded once. The list is changed while the device does not read it.
class CopyList {
 public:
  /// One copy. With an index, which is an address too, it begins so many words behind `address` as the word there says.
  struct Copy {
    std::uint64_t address = 0;
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;  ///< of the host's bytes, in the memory
  };

  explicit CopyList(const Allocator& allocator) noexcept : copies_(allocator) {}

  /// Makes room for `bytes` in all and records the launch. Errors: those of Memory and Commands.
  [[nodiscard]] Result<void> make(const Device& device, const Pipeline& kernel, CopyWay way,
                                  std::uint64_t bytes) noexcept {
    way_ = way;
    if (auto r = copies_.reserve(kMost); !r) return r;
    auto memory = Memory::allocate(device, Heap::for_host, kBytes + bytes);
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    write_little(memory_.span().data(), memory_.address() + kCopies);
    auto commands = Commands::begin(device);
    if (!commands) return pass(commands);
    commands->barrier();
    commands->bind(kernel);
    commands->arguments(memory_.address());
    commands->dispatch(memory_, kGrid);
    commands->barrier();
    if (way == CopyWay::to_host) commands->show_to_host();
    if (auto r = commands->end(); !r) return r;
    commands_ = std::move(*commands);
    clear();
    return {};
  }

  /// Adds a copy; the host's bytes of it, or null where the list is full or the copy is not of whole words.
  [[nodiscard]] std::byte* add(std::uint64_t address, std::uint64_t bytes, std::uint64_t index = 0) noexcept {
    if (copies_.size() == copies_.capacity() || bytes > memory_.bytes() - end_ || (address | bytes) % 4 != 0 ||
        bytes > kMostBytes)
      return nullptr;
    const Copy copy{address, index, bytes, end_};
    std::byte* const entry = memory_.span().data() + kCopies + copies_.size() * kCopyBytes;
    const std::uint64_t here = memory_.address() + copy.at;
    write_little(entry, way_ == CopyWay::to_device ? here : address);
    write_little(entry + 8, way_ == CopyWay::to_device ? address : here);
    write_little(entry + 16, index);
    write_little(entry + 24, static_cast<std::uint32_t>(bytes / 4));
    if (!copies_.push_back(copy)) return nullptr;
    end_ += align_up(bytes, 16);
    groups_ = std::max(groups_, static_cast<std::uint32_t>((bytes + kGroupBytes - 1) / kGroupBytes));
    return memory_.span().data() + copy.at;
  }
  void clear() noexcept {
    copies_.clear();
    end_ = kBytes;
    groups_ = 0;
  }
  /// Leaves out copies to or from ranges of which `is_there(address, bytes)` does not hold.
  template <class IsThere> void drop_unless(const IsThere& is_there) noexcept {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (is_there(copies_[i].address, copies_[i].bytes)) continue;
      write_little(memory_.span().data() + kCopies + i * kCopyBytes + 24, std::uint32_t{0});
      copies_[i].bytes = 0;
    }
  }
  /// The launch that makes the copies as they now stand.
  [[nodiscard]] VkCommandBufferSubmitInfo submission() noexcept {
    std::byte* const grid = memory_.span().data() + kGrid;
    write_little(grid, groups_);
    write_little(grid + 4, static_cast<std::uint32_t>(copies_.size()));
    write_little(grid + 8, std::uint32_t{1});
    return commands_.submission();
  }

  [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
  /// The host's bytes of a range of the device's memory that a copy covers; the last one that does.
  [[nodiscard]] std::byte* find(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (std::size_t i = copies_.size(); i-- > 0;) {
      const Copy& copy = copies_[i];
      if (copy.index == 0 && address >= copy.address && address - copy.address <= copy.bytes &&
          bytes <= copy.bytes - (address - copy.address))
        return memory_.span().data() + copy.at + (address - copy.address);
    }
    return nullptr;
  }
  /// Whether a copy has any byte of the range.
  [[nodiscard]] bool touches(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const Copy& copy : copies_)
      if (copy.address < address + bytes && address < copy.address + copy.bytes) return true;
    return false;
  }
  /// When the copies have been made to the host: those with an index, of which an earlier one brought the word, get the
  /// address that they are of. A token that none may draw is no index, for the kernel too.
  void settle() noexcept {
    for (Copy& copy : copies_) {
      if (copy.index == 0) continue;
      const std::byte* const word = find(copy.index, 4);
      if (word == nullptr) continue;
      const auto skipped = read_little<std::uint32_t>(word);
      copy.address += skipped == ~0u ? 0 : std::uint64_t{skipped} * 4;
      copy.index = 0;
    }
  }

 private:
  static constexpr std::size_t kMost = 256;
  static constexpr std::uint64_t kGrid = 16, kCopies = 64, kCopyBytes = 32, kBytes = kCopies + kMost * kCopyBytes,
                                 kGroupBytes = 4096, kMostBytes = std::uint64_t{32} << 20;

  CopyWay way_ = CopyWay::to_device;
  Memory memory_{};
  Commands commands_{};
  Vector<Copy> copies_;
  std::uint64_t end_ = kBytes;  ///< where the next one's bytes go
  std::uint32_t groups_ = 0;    ///< of the longest copy
};

}  // namespace zrt::inline ZRT_ABI::vulkan
