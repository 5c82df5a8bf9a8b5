// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/packed_store.hpp: the packed weights of a device, which its programs share.
#pragma once

#include <zrt/backend/cpu/pack.hpp>
#include <zrt/backend/cpu/packed_file.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/core/vector.hpp>

#include <optional>
#include <utility>

namespace zrt::inline ZRT_ABI::cpu {

/// Packs each weight once for all programs that multiply by it, and frees it with the last of them.
///
/// A weight is known by where it lies, which is its own as long as a program uses it.
class PackedStore {
  struct Entry {
    HostWeight weight;
    PackedWeight packed;
    std::uint64_t bytes;
    Buffer memory;  ///< empty where the file has the weight
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
      if (e->weight.data == w.data && e->weight.rows == w.rows && e->packed.form == &type.form &&
          e->packed.cols == w.cols && e->packed.matrix_rows == matrix_rows)
        return Use(*this, *e);
    const std::uint64_t group_bytes = std::uint64_t{w.cols} / type.form.elems() * type.form.block_bytes();
    const CheckedSize groups = CheckedSize(w.rows / matrix_rows) * CheckedSize(PackedWeight::groups(matrix_rows));
    const auto bytes = narrow<std::size_t>((groups * CheckedSize(group_bytes)).raw(), "a packed weight");
    if (!bytes) return pass(bytes);
    PackedWeight packed{nullptr, &type.form, w.cols, matrix_rows, group_bytes};
    if (file_) packed.data = file_->find(PackedKey::of(w, type.form, matrix_rows), *bytes);
    Buffer memory;
    if (packed.data == nullptr) {
      auto made = Buffer::zeroed(allocator_, *bytes);
      if (!made) return pass(made);
      memory = std::move(*made);
      packed.data = memory.data();
      PackJob job{w, type, matrix_rows, group_bytes, memory.data()};
      run_on_workers(threads, job);
    }
    auto entry = Owned<Entry>::make(allocator_, Entry{w, packed, *bytes, std::move(memory)});
    if (!entry) return pass(entry);
    if (auto r = weights_.push_back(std::move(*entry)); !r) return pass(r);
    return Use(*this, *weights_.back());
  }
  /// Bytes of all packed weights, in memory and mapped.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const Owned<Entry>& e : weights_) sum += e->bytes;
    return sum;
  }

  /// Takes packed weights from a file from now on, where it has them.
  void take_from(PackedFile file) noexcept { file_.emplace(std::move(file)); }
  /// Writes the packed weights of a model to `path`, unless all came from there.
  ///
  /// Errors: those of PackedFile::write.
  [[nodiscard]] Result<void> keep(std::string_view path, std::uint64_t model) const noexcept {
    struct Kept {
      PackedKey key;
      const std::byte* data;
      std::uint64_t bytes;
    };
    Vector<Kept> kept(allocator_);
    bool packed = false;
    for (const Owned<Entry>& e : weights_) {
      packed = packed || e->memory.size() != 0;
      const PackedKey key = PackedKey::of(e->weight, *e->packed.form, e->packed.matrix_rows);
      if (auto r = kept.push_back({key, e->packed.data, e->bytes}); !r) return r;
    }
    if (!packed) return {};
    return PackedFile::write(path, model, kept, allocator_);
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
  std::optional<PackedFile> file_;
  Vector<Owned<Entry>> weights_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
