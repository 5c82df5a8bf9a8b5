// SPDX-License-Identifier: Apache-2.0
// zrt/core/vector.hpp: a growable array over the allocator hook whose growth can fail.
#pragma once

#include <zrt/core/allocator.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace zrt::inline ZRT_ABI {

namespace detail {

/// What growing needs to know of an element.
struct ElementLayout {
  std::size_t bytes;
  std::size_t alignment;
  /// Moves `count` elements to fresh memory and destroys the old ones; null where copying bytes does.
  void (*relocate)(void* to, void* from, std::size_t count) noexcept;
};

/// A vector's memory, without the element type: growth compiles once, not once per type.
struct VectorStorage {
  Allocator allocator;
  void* data = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;

  explicit VectorStorage(const Allocator& a) noexcept : allocator(a) {}
  // Moving and freeing are out of line, as growing is: a thousand places do them, none of them in a step.
  ZRT_NOINLINE VectorStorage(VectorStorage&& other) noexcept
      : allocator(other.allocator),
        data(std::exchange(other.data, nullptr)),
        size(std::exchange(other.size, 0)),
        capacity(std::exchange(other.capacity, 0)) {}
  /// Only over storage that holds no elements and no memory.
  ZRT_NOINLINE VectorStorage& operator=(VectorStorage&& other) noexcept {
    allocator = other.allocator;
    data = std::exchange(other.data, nullptr);
    size = std::exchange(other.size, 0);
    capacity = std::exchange(other.capacity, 0);
    return *this;
  }
  VectorStorage(const VectorStorage&) = delete;
  VectorStorage& operator=(const VectorStorage&) = delete;
  ~VectorStorage() = default;

  /// Makes room for `count` elements in all.
  [[nodiscard]] ZRT_NOINLINE Result<void> reserve(std::size_t count, const ElementLayout& element) noexcept {
    if (count <= capacity) return {};
    if (count > static_cast<std::size_t>(-1) / element.bytes)
      return fail(Errc::size_overflow, "a list of ", count, " elements does not fit the address space");
    void* memory = allocator.allocate(allocator.context, count * element.bytes, element.alignment);
    if (memory == nullptr) return fail(Errc::out_of_memory, "no memory for ", count * element.bytes, " bytes");
    if (element.relocate != nullptr)
      element.relocate(memory, data, size);
    else if (size != 0)
      std::memcpy(memory, data, size * element.bytes);
    release(element);
    data = memory;
    capacity = count;
    return {};
  }

  /// Makes room for `more` elements behind those that are there, with room to spare.
  [[nodiscard]] ZRT_NOINLINE Result<void> grow(std::size_t more, const ElementLayout& element) noexcept {
    if (more > static_cast<std::size_t>(-1) - size)
      return fail(Errc::size_overflow, "a list grows past the address space");
    const std::size_t wanted = size + more;
    const std::size_t doubled = capacity < 4 ? 8 : capacity > wanted / 2 ? capacity * 2 : wanted;
    return reserve(doubled > wanted ? doubled : wanted, element);
  }

  /// Gives the memory back; the elements are gone by then.
  ZRT_NOINLINE void release(const ElementLayout& element) noexcept {
    if (data != nullptr) allocator.release(allocator.context, data, capacity * element.bytes, element.alignment);
    data = nullptr;
    capacity = 0;
  }
};

template <class T> void relocate(void* to, void* from, std::size_t count) noexcept {
  T* old = static_cast<T*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(static_cast<T*>(to) + i)) T(std::move(old[i]));
    old[i].~T();
  }
}

// Bytes are aligned for whatever is laid out in them.
template <class T>
inline constexpr ElementLayout kElementLayout{
    sizeof(T), alignof(T) < 64 && (sizeof(T) >= 64 || std::is_same_v<T, std::byte>) ? 64 : alignof(T),
    std::is_trivially_copyable_v<T> ? nullptr : &relocate<T>};

}  // namespace detail

/// Holds elements of a nothrow-movable T; every call that may allocate returns a Result.
///
/// Move-only. A failed call leaves the contents as they were.
template <class T> class Vector {
 public:
  using value_type = T;

  explicit Vector(Allocator allocator = system_allocator()) noexcept : storage_(allocator) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  Vector(Vector&& other) noexcept = default;
  Vector& operator=(Vector&& other) noexcept {
    if (this != &other) {
      free_all();
      storage_ = std::move(other.storage_);
    }
    return *this;
  }
  ~Vector() {
    // Here and not in the class, so that a T may hold a Vector<T>.
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);
    free_all();
  }

  [[nodiscard]] T* data() noexcept { return static_cast<T*>(storage_.data); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(storage_.data); }
  [[nodiscard]] std::size_t size() const noexcept { return storage_.size; }
  [[nodiscard]] std::size_t capacity() const noexcept { return storage_.capacity; }
  [[nodiscard]] bool empty() const noexcept { return storage_.size == 0; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept {
    ZRT_ASSERT(i < storage_.size);
    return static_cast<T*>(storage_.data)[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    ZRT_ASSERT(i < storage_.size);
    return static_cast<const T*>(storage_.data)[i];
  }
  [[nodiscard]] T* begin() noexcept { return static_cast<T*>(storage_.data); }
  [[nodiscard]] T* end() noexcept { return static_cast<T*>(storage_.data) + storage_.size; }
  [[nodiscard]] const T* begin() const noexcept { return static_cast<const T*>(storage_.data); }
  [[nodiscard]] const T* end() const noexcept { return static_cast<const T*>(storage_.data) + storage_.size; }
  [[nodiscard]] T& back() noexcept { return static_cast<T*>(storage_.data)[storage_.size - 1]; }
  [[nodiscard]] const T& back() const noexcept { return static_cast<const T*>(storage_.data)[storage_.size - 1]; }
  [[nodiscard]] Span<T> span() noexcept { return {static_cast<T*>(storage_.data), storage_.size}; }
  [[nodiscard]] Span<const T> span() const noexcept { return {static_cast<const T*>(storage_.data), storage_.size}; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return storage_.allocator; }

  /// Makes room for `count` elements in all.
  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    return storage_.reserve(count, detail::kElementLayout<T>);
  }

  [[nodiscard]] Result<void> push_back(T value) noexcept {
    if (storage_.size == storage_.capacity)
      if (auto grown = storage_.grow(1, detail::kElementLayout<T>); !grown) return grown;
    ::new (static_cast<void*>(end())) T(std::move(value));
    ++storage_.size;
    return {};
  }

  /// Appends copies of `values`, which may not lie in this vector.
  [[nodiscard]] Result<void> append(Span<const T> values) noexcept
    requires std::is_trivially_copyable_v<T>
  {
    if (values.size() > storage_.capacity - storage_.size)
      if (auto grown = storage_.grow(values.size(), detail::kElementLayout<T>); !grown) return grown;
    if (!values.empty()) std::memcpy(static_cast<void*>(end()), values.data(), values.size_bytes());
    storage_.size += values.size();
    return {};
  }

  /// Sets the size; new elements are value-initialised.
  [[nodiscard]] Result<void> resize(std::size_t count) noexcept
    requires std::is_nothrow_default_constructible_v<T>
  {
    if (auto grown = reserve(count); !grown) return grown;
    while (storage_.size > count) pop_back();
    for (; storage_.size < count; ++storage_.size) ::new (static_cast<void*>(end())) T();
    return {};
  }

  void pop_back() noexcept {
    --storage_.size;
    end()->~T();
  }
  void clear() noexcept {
    if constexpr (std::is_trivially_destructible_v<T>)
      storage_.size = 0;
    else
      while (storage_.size > 0) pop_back();
  }

 private:
  void free_all() noexcept {
    clear();
    storage_.release(detail::kElementLayout<T>);
  }

  detail::VectorStorage storage_;
};

}  // namespace zrt::inline ZRT_ABI
