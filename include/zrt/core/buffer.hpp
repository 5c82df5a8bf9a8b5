// SPDX-License-Identifier: Apache-2.0
// zrt/core/buffer.hpp: one owned, aligned block of bytes.
#pragma once

#include <zrt/core/allocator.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstring>
#include <utility>

namespace zrt::inline ZRT_ABI {

/// Owns `size()` bytes aligned to `kAlignment`; move-only.
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept
      : allocator_(other.allocator_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      free_all();
      allocator_ = other.allocator_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~Buffer() { free_all(); }

  /// Allocates `bytes` zeroed bytes; zero bytes give an empty buffer.
  [[nodiscard]] static Result<Buffer> zeroed(const Allocator& allocator, std::size_t bytes) noexcept {
    Buffer buffer;
    if (bytes == 0) return buffer;
    void* memory = allocator.allocate(allocator.context, bytes, kAlignment);
    if (memory == nullptr) return fail(Errc::out_of_memory, "no memory for ", bytes, " bytes");
    std::memset(memory, 0, bytes);
    buffer.allocator_ = allocator;
    buffer.data_ = static_cast<std::byte*>(memory);
    buffer.size_ = bytes;
    return buffer;
  }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Span<std::byte> span() noexcept { return {data_, size_}; }
  [[nodiscard]] Span<const std::byte> span() const noexcept { return {data_, size_}; }

 private:
  void free_all() noexcept {
    if (data_ != nullptr) allocator_.release(allocator_.context, data_, size_, kAlignment);
    data_ = nullptr;
    size_ = 0;
  }

  Allocator allocator_{};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace zrt::inline ZRT_ABI
