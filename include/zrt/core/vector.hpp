// SPDX-License-Identifier: Apache-2.0
// zrt/core/vector.hpp: a growable array over the allocator hook whose growth can fail.
#pragma once

#include <zrt/core/allocator.hpp>
#include <zrt/core/error.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace zrt::inline ZRT_ABI {

/// Holds elements of a nothrow-movable T; every call that may allocate returns a Result.
///
/// Move-only. A failed call leaves the contents as they were.
template <class T> class Vector {
 public:
  using value_type = T;

  explicit Vector(Allocator allocator = system_allocator()) noexcept : allocator_(allocator) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  Vector(Vector&& other) noexcept
      : allocator_(other.allocator_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Vector& operator=(Vector&& other) noexcept {
    if (this != &other) {
      free_all();
      allocator_ = other.allocator_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }
  ~Vector() {
    // Here and not in the class, so that a T may hold a Vector<T>.
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);
    free_all();
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept {
    ZRT_ASSERT(i < size_);
    return data_[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    ZRT_ASSERT(i < size_);
    return data_[i];
  }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data_[size_ - 1]; }
  [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size_}; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }

  /// Makes room for `count` elements in all.
  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    if (count <= capacity_) return {};
    if (count > static_cast<std::size_t>(-1) / sizeof(T))
      return fail(Errc::size_overflow, "a list of ", count, " elements does not fit the address space");
    void* memory = allocator_.allocate(allocator_.context, count * sizeof(T), alignment());
    if (memory == nullptr) return fail(Errc::out_of_memory, "no memory for ", count * sizeof(T), " bytes");
    T* moved = static_cast<T*>(memory);
    for (std::size_t i = 0; i < size_; ++i) {
      construct(moved + i, std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != nullptr) allocator_.release(allocator_.context, data_, capacity_ * sizeof(T), alignment());
    data_ = moved;
    capacity_ = count;
    return {};
  }

  [[nodiscard]] Result<void> push_back(T value) noexcept {
    if (size_ == capacity_) {
      if (auto grown = reserve(capacity_ < 4 ? 8 : capacity_ * 2); !grown) return grown;
    }
    construct(data_ + size_, std::move(value));
    ++size_;
    return {};
  }

  /// Appends copies of `values`, which may not lie in this vector.
  [[nodiscard]] Result<void> append(std::span<const T> values) noexcept
    requires std::is_trivially_copyable_v<T>
  {
    if (values.size() > static_cast<std::size_t>(-1) - size_)
      return fail(Errc::size_overflow, "a list grows past the address space");
    const std::size_t wanted = size_ + values.size();
    if (wanted > capacity_) {
      const std::size_t doubled = capacity_ > wanted / 2 ? capacity_ * 2 : wanted;
      if (auto grown = reserve(doubled); !grown) return grown;
    }
    for (const T& value : values) construct(data_ + size_++, value);
    return {};
  }

  /// Sets the size; new elements are value-initialised.
  [[nodiscard]] Result<void> resize(std::size_t count) noexcept
    requires std::is_nothrow_default_constructible_v<T>
  {
    if (auto grown = reserve(count); !grown) return grown;
    while (size_ > count) pop_back();
    while (size_ < count) construct(data_ + size_++);
    return {};
  }

  void pop_back() noexcept { data_[--size_].~T(); }
  void clear() noexcept {
    while (size_ > 0) pop_back();
  }

 private:
  // std::construct_at would cost every translation unit <memory>, and with it <ostream>.
  template <class... Arguments> static void construct(T* at, Arguments&&... arguments) noexcept {
    ::new (static_cast<void*>(at)) T(std::forward<Arguments>(arguments)...);
  }
  // Bytes are aligned for whatever is laid out in them.
  static constexpr std::size_t alignment() noexcept {
    return alignof(T) < 64 && (sizeof(T) >= 64 || std::is_same_v<T, std::byte>) ? 64 : alignof(T);
  }

  void free_all() noexcept {
    clear();
    if (data_ != nullptr) allocator_.release(allocator_.context, data_, capacity_ * sizeof(T), alignment());
    data_ = nullptr;
    capacity_ = 0;
  }

  Allocator allocator_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace zrt::inline ZRT_ABI
