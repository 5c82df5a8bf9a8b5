// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/os_handles.hpp: open files and mappings that are given back when their owner goes.
#pragma once

#include <zrt/backend/pm4/os.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::pm4 {

/// An open file; move-only. The operating system outlives it.
template <OperatingSystem Os> class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept : os_(other.os_), number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(os_, other.os_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() {
    if (number_ >= 0) os_->close(number_);
  }

  /// Errors as system_failure().
  [[nodiscard]] static Result<File> open(Os& os, std::string_view path, bool writes) noexcept {
    auto file = open_if_there(os, path, writes);
    if (file && !file->is_open()) return system_failure(-ENOENT, "opening", path);
    return file;
  }
  /// The same, but for a path that leads nowhere a file that is not open.
  [[nodiscard]] static Result<File> open_if_there(Os& os, std::string_view path, bool writes) noexcept {
    SystemValue opened = 0;
    do {
      opened = os.open(path, writes);
    } while (opened == -EINTR);
    File file;
    if (opened == -ENOENT) return file;
    if (opened < 0) return system_failure(opened, "opening", path);
    file.os_ = &os;
    file.number_ = static_cast<int>(opened);
    return file;
  }

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  Os* os_ = nullptr;
  int number_ = -1;
};

/// A part of the process's address space; move-only. The operating system outlives it.
template <OperatingSystem Os> class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping(Mapping&& other) noexcept
      : os_(other.os_), address_(other.address_), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(os_, other.os_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (bytes_ != 0 && os_->unmap(address_, bytes_) < 0) os_->unmap(address_, bytes_);
  }

  /// Maps where the system likes. Errors as system_failure(), `what` names the mapping.
  [[nodiscard]] static Result<Mapping> make(Os& os, const MapRequest& request, std::string_view what) noexcept {
    const SystemValue at = os.map(request);
    if (at < 0) return system_failure(at, "mapping", what);
    Mapping mapping;
    mapping.os_ = &os;
    mapping.address_ = static_cast<std::uint64_t>(at);
    mapping.bytes_ = request.bytes;
    return mapping;
  }

  /// Leaves the mapping to the process until it ends.
  void keep() noexcept { bytes_ = 0; }

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The bytes, for whoever mapped them readable.
  [[nodiscard]] Span<std::byte> span() const noexcept {
    return {reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address_)), static_cast<std::size_t>(bytes_)};
  }

 private:
  Os* os_ = nullptr;
  std::uint64_t address_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4
