// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/packed_store.hpp: the packed weights of a device, which its programs share.
#pragma once

#include <zrt/backend/cpu/pack.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/core/vector.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::cpu {

/// Packs each weight once for all programs that multiply by it, and frees it with the last of them.
///
/// A weight is known by where it lies, which is its own as long as a program uses it.
class PackedStore {
  struct Entry {
    const std::byte* data;
    std::uint32_t rows;
    PackedWeight packed;
    Buffer memory;
    std::uint32_t users = 0;
  };

 public:
  explicit PackedStore(const Allocator& allocator) noexcept : allocator_(allocator), weights_(allocator) {}

  /// One program's use of a packed weight; the store outlives it.
  class Use {
   public:
    Use() = default;
    Use(PackedStore& store, Entry& entry) noexcept : store_(&store), entry_(&entry) { ++entry.users; }
    Use(Use&& other) noexcept : store_(other.store_), entry_(std::exchange(other.entry_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(store_, other.store_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Use() {
      if (entry_ != nullptr && --entry_->users == 0) store_->forget(entry_);
    }
    [[nodiscard]] const PackedWeight& weight() const noexcept { return entry_->packed; }

   private:
    PackedStore* store_ = nullptr;
    Entry* entry_ = nullptr;
  };

  /// Returns `w` in packed form, packed now by `threads` unless it is already. Matrices of `matrix_rows` rows, 0 for all,
  /// lie one after the other.
  [[nodiscard]] Result<Use> use(const HostWeight& w, const PackedType& type, std::uint32_t matrix_rows,
                                const ThreadHook& threads) noexcept {
    if (matrix_rows == 0) matrix_rows = w.rows == 0 ? 1 : w.rows;
    for (const Owned<Entry>& e : weights_)
      if (e->data == w.data && e->rows == w.rows && e->packed.form == &type.form && e->packed.cols == w.cols &&
          e->packed.matrix_rows == matrix_rows)
        return Use(*this, *e);
    const std::uint64_t group_bytes = std::uint64_t{w.cols} / type.form.elems() * type.form.block_bytes();
    const CheckedSize groups = CheckedSize(w.rows / matrix_rows) * CheckedSize(PackedWeight::groups(matrix_rows));
    const auto bytes = narrow<std::size_t>((groups * CheckedSize(group_bytes)).raw(), "a packed weight");
    if (!bytes) return pass(bytes);
    auto memory = Buffer::zeroed(allocator_, *bytes);
    if (!memory) return pass(memory);
    const PackedWeight packed{memory->data(), &type.form, w.cols, matrix_rows, group_bytes};
    PackJob job{w, type, matrix_rows, group_bytes, memory->data()};
    run_on_workers(threads, job);
    auto entry = Owned<Entry>::make(allocator_, Entry{w.data, w.rows, packed, std::move(*memory)});
    if (!entry) return pass(entry);
    if (auto r = weights_.push_back(std::move(*entry)); !r) return pass(r);
    return Use(*this, *weights_.back());
  }
  /// Bytes of all packed weights.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const Owned<Entry>& e : weights_) sum += e->memory.size();
    return sum;
  }

 private:
  void forget(const Entry* entry) noexcept {
    for (Owned<Entry>& e : weights_)
      if (e.get() == entry) {
        std::swap(e, weights_.back());
        return weights_.pop_back();
      }
  }

  Allocator allocator_;
  Vector<Owned<Entry>> weights_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
