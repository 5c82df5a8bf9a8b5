// SPDX-License-Identifier: Apache-2.0
// zrt/device/kernel_call.hpp: one launch of a kernel by name: its buffers, its values and its grid.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/device/operands.hpp>
#include <zrt/device/step_count.hpp>

#include <bit>
#include <concepts>

namespace zrt::inline ZRT_ABI::device {

/// What stands in an argument block but is known only when a program is whole, or in a step.
enum class LinkKind : std::uint8_t {
  count,      ///< a StepCount, patched in a step
  table,      ///< an address in the program's tables
  slots,      ///< the slot of each token
  positions,  ///< the position of each token
  pages,      ///< the page lists of a cache group
  fault,      ///< the word that says that the instruction met data outside its contract
};

struct Link {
  LinkKind kind = LinkKind::count;
  std::uint32_t at = 0;      ///< byte in the argument block
  std::uint32_t offset = 0;  ///< table: byte in the tables; pages: group
  StepCount count{};
};

/// Buffers first, then values of 4 bytes, in the order of the kernel's arguments (docs/kernel-abi.md).
class KernelCall {
 public:
  static constexpr std::size_t kMostBytes = 192;
  static constexpr std::size_t kMostLinks = 8;

  explicit KernelCall(std::string_view kernel) noexcept : kernel_(kernel) {}

  KernelCall& buffer(std::uint64_t address) noexcept {
    ++buffers_;
    return put(address);
  }
  KernelCall& buffer(const Tensor& tensor) noexcept { return buffer(tensor.address); }
  /// A weight in one part; null where it is absent.
  KernelCall& buffer(const Weight& weight) noexcept { return buffer(weight.parts[0]); }
  /// All parts of a matrix.
  KernelCall& matrix(const Weight& weight) noexcept {
    const UploadFunctions* layout = upload_of(weight.dtype);
    for (std::size_t i = 0; layout != nullptr && i < layout->parts.size(); ++i) buffer(weight.parts[i]);
    return *this;
  }
  KernelCall& table(std::uint32_t offset) noexcept { return link(LinkKind::table, offset); }
  KernelCall& slots() noexcept { return link(LinkKind::slots); }
  KernelCall& positions() noexcept { return link(LinkKind::positions); }
  KernelCall& pages(std::uint32_t group) noexcept { return link(LinkKind::pages, group); }
  KernelCall& fault() noexcept { return link(LinkKind::fault); }

  KernelCall& value(std::uint32_t number) noexcept { return put(number); }
  KernelCall& value(float number) noexcept { return put(std::bit_cast<std::uint32_t>(number)); }
  KernelCall& value(const StepCount& count) noexcept {
    add_link({LinkKind::count, static_cast<std::uint32_t>(bytes_), 0, count});
    return put(std::uint32_t{0});
  }

  KernelCall& grid(const StepCount& x, const StepCount& y = 1) noexcept {
    grid_ = {x, y};
    return *this;
  }
  /// Reads nothing that the launch before it in the same instruction wrote, and writes nothing that one reads.
  KernelCall& beside() noexcept {
    beside_ = true;
    return *this;
  }

  [[nodiscard]] std::string_view name() const noexcept { return kernel_; }
  [[nodiscard]] std::uint32_t buffers() const noexcept { return buffers_; }
  [[nodiscard]] Span<const std::byte> arguments() const noexcept { return Span<const std::byte>(data_).first(bytes_); }
  [[nodiscard]] Span<const Link> links() const noexcept { return Span<const Link>(links_).first(link_count_); }
  [[nodiscard]] const std::array<StepCount, 2>& grid() const noexcept { return grid_; }
  [[nodiscard]] bool is_beside() const noexcept { return beside_; }
  /// False where more was put in than there is room for.
  [[nodiscard]] bool fits() const noexcept { return fits_; }

 private:
  template <std::unsigned_integral T> KernelCall& put(T word) noexcept {
    if (bytes_ + sizeof word > kMostBytes) {
      fits_ = false;
      return *this;
    }
    write_little(data_.data() + bytes_, word);
    bytes_ += sizeof word;
    return *this;
  }
  KernelCall& link(LinkKind kind, std::uint32_t offset = 0) noexcept {
    add_link({kind, static_cast<std::uint32_t>(bytes_), offset, {}});
    return buffer(std::uint64_t{0});
  }
  void add_link(const Link& added) noexcept {
    if (link_count_ == kMostLinks)
      fits_ = false;
    else
      links_[link_count_++] = added;
  }

  std::string_view kernel_;
  std::array<std::byte, kMostBytes> data_{};
  std::array<Link, kMostLinks> links_{};
  std::array<StepCount, 2> grid_{};
  std::size_t bytes_ = 0;
  std::size_t link_count_ = 0;
  std::uint32_t buffers_ = 0;
  bool beside_ = false;
  bool fits_ = true;
};

}  // namespace zrt::inline ZRT_ABI::device
