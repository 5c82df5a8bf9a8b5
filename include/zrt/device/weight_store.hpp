// SPDX-License-Identifier: Apache-2.0
// zrt/device/weight_store.hpp: the weights of a device, those of a class in one allocation.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/device/declaration.hpp>
#include <zrt/device/operands.hpp>
#include <zrt/device/pool.hpp>
#include <zrt/device/weight_matrix.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Counts the weights that will come, so that all of a class lie in one allocation: the same weight of every layer, in
/// their order, so that successive layers read at a constant stride; and per type what belongs to no layer. Classes larger
/// than the device's allocations may be lie in several; a weight is in one.
template <class Memory> class WeightStore {
 public:
  using Pool = MemoryPool<Memory>;

  /// `largest` is how many bytes an allocation for several weights may have.
  explicit WeightStore(const Allocator& allocator, std::uint64_t largest = ~std::uint64_t{0}) noexcept
      : pools_(allocator), classes_(allocator), copies_(allocator), largest_(largest) {}

  /// Errors: those of WeightMatrix::of; Errc::size_overflow, out_of_memory.
  [[nodiscard]] Result<void> expect(const WeightView& view, const WeightReader& reader) noexcept {
    const auto matrix = WeightMatrix::of(view, reader);
    if (!matrix) return pass(matrix);
    const auto found = class_of(view);
    if (!found) return pass(found);
    WeightClass& c = **found;
    const auto bytes = (CheckedSize(c.expected) + matrix->places.bytes).get("all weights of a class");
    if (!bytes) return pass(bytes);
    c.expected = *bytes;
    return {};
  }

  /// Writes a weight into the device's memory in the parts that kernels read; expect() has told of it.
  ///
  /// Errors: those of expect(), of MemoryPool and of the device.
  template <class Device> [[nodiscard]] Result<Weight> take(Device& device, const WeightView& view) noexcept {
    const auto matrix = WeightMatrix::of(view, WeightReader::of<Device>());
    if (!matrix) return pass(matrix);
    const auto pool = pool_for(device, view, matrix->places.bytes);
    if (!pool) return pass(pool);
    const auto part = (*pool)->take(matrix->places.bytes, kPartAlignment);
    if (!part) return pass(part);
    Weight weight{{}, view.dtype, matrix->rows, matrix->cols, view.data.data(), view.shape.rank == 1};
    for (std::size_t i = 0; i < matrix->layout->parts.size(); ++i)
      weight.parts[i] = part->address + matrix->places.offset[i];
    if (auto r = copies_.push_back({view.data.data(), part->address}); !r) return pass(r);
    if (auto r = copy(device, *matrix, view.data, part->address); !r) return pass(r);
    return weight;
  }

  /// Writes a weight once more where it lies: the host has changed the bytes that take() was given. No step runs.
  ///
  /// Errors: Errc::not_found for bytes that take() was not given; those of the device.
  template <class Device> [[nodiscard]] Result<void> rewrite(Device& device, const WeightView& view) noexcept {
    const auto matrix = WeightMatrix::of(view, WeightReader::of<Device>());
    if (!matrix) return pass(matrix);
    for (const Copy& known : copies_)
      if (known.from == view.data.data()) return copy(device, *matrix, view.data, known.to);
    return fail(Errc::not_found, "weight ", view.name, " is not among those that lie on the device");
  }

  [[nodiscard]] Span<const Pool> pools() const noexcept { return pools_.span(); }

 private:
  struct Copy {
    const std::byte* from = nullptr;
    std::uint64_t to = 0;
  };
  struct WeightClass {
    std::uint64_t key = 0;
    std::uint64_t expected = 0;  ///< bytes that no pool has room for yet
    std::uint64_t room = 0;      ///< bytes of the last pool that are still to be taken
    std::size_t pool = 0;        ///< its number, from 1
  };

  /// Errors: out_of_memory.
  [[nodiscard]] Result<WeightClass*> class_of(const WeightView& view) noexcept {
    const std::uint64_t key = weight_class_key(view);
    for (WeightClass& known : classes_)
      if (known.key == key) return &known;
    if (auto r = classes_.push_back({.key = key}); !r) return pass(r);
    return &classes_.back();
  }
  /// A pool of a weight's class with room for it, made for as much of what is still to come as an allocation holds.
  template <class Device>
  [[nodiscard]] Result<Pool*> pool_for(Device& device, const WeightView& view, std::uint64_t bytes) noexcept {
    const auto found = class_of(view);
    if (!found) return pass(found);
    WeightClass& c = **found;
    if (c.expected + c.room < bytes) return fail(Errc::invalid_argument, "weight ", view.name, " was not expected");
    if (c.room < bytes) {
      const std::uint64_t most = largest_ < bytes ? bytes : largest_, left = c.expected + c.room;
      auto memory = device.allocate_for(MemoryRole::weights, left < most ? left : most);
      if (!memory) return pass(memory);
      if (auto r = pools_.push_back(Pool(std::move(*memory))); !r) return pass(r);
      c.pool = pools_.size();
      c.room = left < most ? left : most;
      c.expected = left - c.room;
    }
    c.room -= bytes;
    return &pools_[c.pool - 1];
  }
  /// By way of the host's memory, where it does not see the device's.
  template <class Device>
  [[nodiscard]] static Result<void> copy(Device& device, const WeightMatrix& matrix, Span<const std::byte> data,
                                         std::uint64_t address) noexcept {
    if (std::byte* const seen = device.host_view(address); seen != nullptr) {
      matrix.write(data, seen);
      return {};
    }
    auto staged = Buffer::zeroed(device.allocator(), static_cast<std::size_t>(matrix.places.bytes));
    if (!staged) return pass(staged);
    matrix.write(data, staged->data());
    return device.copy_in(address, staged->span());
  }

  Vector<Pool> pools_;
  Vector<WeightClass> classes_;
  Vector<Copy> copies_;  ///< where the bytes of each weight went
  std::uint64_t largest_;
};

}  // namespace zrt::inline ZRT_ABI::device
