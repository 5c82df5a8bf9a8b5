// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/staging.hpp: bytes to and from memory that the host does not see.
#pragma once

#include <zrt/backend/vulkan/copy_list.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Copies between the host and any memory of a device. Where the host sees the memory it copies at once, but for reading
/// much of what its cache has not. Small copies to other memory go with the next submission; what a step leaves for the
/// host comes with the step's own, if that was said before. All else goes by way of one piece of the host's memory, while
/// nothing else of the queue is under way.
class Staging {
 public:
  Staging(Device& device, const Allocator& allocator, std::uint64_t timeout) noexcept
      : device_(&device), timeout_(timeout), in_(allocator), out_(allocator) {}

  /// Has `kernel`, which outlives it, copy small pieces. Errors: those of CopyList::make.
  [[nodiscard]] Result<void> use(const Pipeline& kernel) noexcept {
    if (auto r = in_.make(*device_, kernel, CopyWay::to_device, kTakenBytes); !r) return r;
    if (auto r = out_.make(*device_, kernel, CopyWay::to_host, kLeftBytes); !r) return r;
    has_lists_ = true;
    return {};
  }

  /// Errors: Errc::invalid_argument for an address that is no memory's; those of Memory, Commands and the device.
  [[nodiscard]] Result<void> copy_in(std::uint64_t address, Span<const std::byte> from) noexcept {
    if (from.empty()) return {};
    const auto range = range_of(address, from.size());
    if (!range) return pass(range);
    if (!amend_left(address, from) && out_.touches(address, from.size())) has_left_ = false;
    if (range->seen != nullptr) {
      std::memcpy(range->seen + (address - range->address), from.data(), from.size());
      return {};
    }
    // Copies of a list come in no order.
    if (has_taken_ && in_.touches(address, from.size()))
      if (auto r = flush(); !r) return r;
    if (std::byte* const host = room_for(address, from.size()); host != nullptr) {
      std::memcpy(host, from.data(), from.size());
      return {};
    }
    return copy_staged(
        *range, address - range->address, from.size(), true,
        [&](std::byte* host, std::size_t at, std::size_t size) { std::memcpy(host, from.data() + at, size); });
  }
  [[nodiscard]] Result<void> copy_out(std::uint64_t address, Span<std::byte> to) noexcept {
    if (to.empty()) return {};
    const auto range = range_of(address, to.size());
    if (!range) return pass(range);
    const std::byte* known = nullptr;
    if (range->seen != nullptr && (range->reads_fast || to.size() <= kFewBytes))
      known = range->seen + (address - range->address);
    else if (has_taken_ && in_.touches(address, to.size()))
      known = in_.find(address, to.size());
    else if (has_left_)
      known = out_.find(address, to.size());
    if (known != nullptr) {
      std::memcpy(to.data(), known, to.size());
      return {};
    }
    return copy_staged(
        *range, address - range->address, to.size(), false,
        [&](const std::byte* host, std::size_t at, std::size_t size) { std::memcpy(to.data() + at, host, size); });
  }

  // --- what goes with a step ---

  /// The bytes that were copied to a range for the next step, or for the last one; or null.
  [[nodiscard]] const std::byte* written(std::uint64_t address, std::uint64_t bytes) const noexcept {
    if (!has_lists_) return nullptr;
    const auto range = device_->addresses().find(address);
    return range && range->seen != nullptr ? range->seen + (address - range->address) : in_.find(address, bytes);
  }
  /// Has the host read these bytes in place of those that the step left. False where they were not expected, or where
  /// copy_in() is as quick.
  [[nodiscard]] bool amend(std::uint64_t address, Span<const std::byte> bytes) noexcept {
    const auto range = device_->addresses().find(address);
    return range && range->seen == nullptr && amend_left(address, bytes);
  }
  /// Before a step: the host will look at nothing of it but what is named from now on.
  void expect_no_read() noexcept {
    out_.clear();
    has_left_ = false;
  }
  /// The host will read these bytes when the step has ended; see CopyList::Copy for the index. What finds no room is
  /// copied when it is read.
  void expect_read(std::uint64_t address, std::uint64_t bytes, std::uint64_t index = 0) noexcept {
    if (has_lists_) (void)out_.add(address, bytes, index);
  }
  /// What comes before the first commands of a step.
  [[nodiscard]] Span<const VkCommandBufferSubmitInfo> before() noexcept {
    if (!has_taken_) return {};
    // Memory may have gone since, with a plan whose step was never handed over.
    in_.drop_unless([this](std::uint64_t address, std::uint64_t bytes) {
      const auto range = device_->addresses().find(address);
      return range && bytes <= range->bytes - (address - range->address);
    });
    before_ = in_.submission();
    return {&before_, 1};
  }
  /// What comes behind the last.
  [[nodiscard]] Span<const VkCommandBufferSubmitInfo> behind() noexcept {
    if (!has_lists_ || out_.empty()) return {};
    behind_ = out_.submission();
    return {&behind_, 1};
  }
  /// A submission of a step, with before() or behind() where it says so, was handed over.
  void handed_over(std::uint64_t fence, bool first, bool last) noexcept {
    if (first && has_taken_) {
      has_taken_ = false;
      taken_by_ = fence;
    }
    if (last && has_lists_ && !out_.empty()) left_by_ = fence;
  }
  /// It has ended, and all before it.
  void ended(std::uint64_t fence) noexcept {
    ended_ = fence;
    if (left_by_ == 0 || fence < left_by_) return;
    left_by_ = 0;
    has_left_ = true;
    out_.settle();
  }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
  /// Of what a step takes along and leaves: some rows of embeddings, some rows of logits.
  static constexpr std::uint64_t kTakenBytes = std::uint64_t{1} << 20, kLeftBytes = std::uint64_t{4} << 20;
  /// Read word by word from behind a bus they take as long as a submission.
  static constexpr std::size_t kFewBytes = 1024;

  [[nodiscard]] Result<AddressRange> range_of(std::uint64_t address, std::size_t bytes) const noexcept {
    const auto range = device_->addresses().find(address);
    if (!range || bytes > range->bytes - (address - range->address))
      return fail(Errc::invalid_argument, "a copy of ", bytes, " bytes at an address that is no memory's");
    return *range;
  }
  [[nodiscard]] bool amend_left(std::uint64_t address, Span<const std::byte> bytes) noexcept {
    std::byte* const left = has_left_ ? out_.find(address, bytes.size()) : nullptr;
    if (left != nullptr) std::memcpy(left, bytes.data(), bytes.size());
    return left != nullptr;
  }
  /// The host's bytes of a copy that the next submission takes along, or null.
  [[nodiscard]] std::byte* room_for(std::uint64_t address, std::size_t bytes) noexcept {
    if (!has_lists_ || taken_by_ > ended_) return nullptr;
    if (!has_taken_) in_.clear();
    std::byte* const host = in_.add(address, bytes);
    has_taken_ = has_taken_ || host != nullptr;
    return host;
  }
  /// What waits for a submission gets one of its own.
  [[nodiscard]] Result<void> flush() noexcept {
    if (!has_taken_) return {};
    const auto fence = device_->submit(before());
    if (!fence) return pass(fence);
    handed_over(*fence, true, false);
    if (auto r = device_->wait(*fence, timeout_); !r) return r;
    ended(*fence);
    in_.clear();
    return {};
  }
  template <class Move>
  [[nodiscard]] Result<void> copy_staged(const AddressRange& range, std::uint64_t offset, std::size_t bytes, bool in,
                                         const Move& move) noexcept {
    if (auto r = flush(); !r) return r;
    if (auto r = make_room(); !r) return r;
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t size = bytes - at < kBytes ? bytes - at : static_cast<std::size_t>(kBytes);
      std::byte* const host = room_.span().data();
      if (in) move(host, at, size);
      const VkBufferCopy part = in ? VkBufferCopy{0, offset + at, size} : VkBufferCopy{offset + at, 0, size};
      if (auto r = run(in ? room_.buffer() : range.buffer, in ? range.buffer : room_.buffer(), part); !r) return r;
      if (!in) move(host, at, size);
      at += size;
    }
    return {};
  }
  [[nodiscard]] Result<void> make_room() noexcept {
    if (!room_.span().empty()) return {};
    auto room = Memory::allocate(*device_, Heap::for_host, kBytes);
    if (!room) return pass(room);
    room_ = std::move(*room);
    return {};
  }
  [[nodiscard]] Result<void> run(VkBuffer from, VkBuffer to, const VkBufferCopy& part) noexcept {
    auto commands = Commands::begin(*device_);
    if (!commands) return pass(commands);
    commands->barrier();
    commands->copy(from, to, part);
    commands->show_to_host();
    return commands->run(*device_, timeout_);
  }

  Device* device_;
  std::uint64_t timeout_;
  Memory room_{};
  CopyList in_, out_;
  VkCommandBufferSubmitInfo before_{}, behind_{};
  bool has_lists_ = false;
  bool has_taken_ = false;      ///< copies wait for a submission
  bool has_left_ = false;       ///< the step has brought what was expected
  std::uint64_t taken_by_ = 0;  ///< the submission that took copies along last
  std::uint64_t left_by_ = 0;   ///< the one that brings what is expected; 0: none is under way
  std::uint64_t ended_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
