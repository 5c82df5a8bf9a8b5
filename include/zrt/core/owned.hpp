// SPDX-License-Identifier: Apache-2.0
// zrt/core/owned.hpp: one object on the heap, through the allocator hook.
#pragma once

#include <zrt/core/allocator.hpp>
#include <zrt/core/error.hpp>

#include <new>
#include <utility>

namespace zrt::inline ZRT_ABI {

/// Owns a T whose address stays the same when the owner moves; null after a move.
template <class T> class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned(Owned&& other) noexcept : allocator_(other.allocator_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      destroy();
      allocator_ = other.allocator_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~Owned() { destroy(); }

  template <class... Arguments>
  [[nodiscard]] static Result<Owned> make(const Allocator& allocator, Arguments&&... arguments) noexcept {
    void* memory = allocator.allocate(allocator.context, sizeof(T), alignof(T));
    if (memory == nullptr) return fail(Errc::out_of_memory, "no memory for ", sizeof(T), " bytes");
    Owned owned;
    owned.allocator_ = allocator;
    owned.object_ = ::new (memory) T(std::forward<Arguments>(arguments)...);
    return owned;
  }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  void destroy() noexcept {
    if (object_ == nullptr) return;
    object_->~T();
    allocator_.release(allocator_.context, object_, sizeof(T), alignof(T));
    object_ = nullptr;
  }

  Allocator allocator_{};
  T* object_ = nullptr;
};

}  // namespace zrt::inline ZRT_ABI
