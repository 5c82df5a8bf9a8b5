// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/packed_store.hpp: the packed weights of a device, which its programs share.
#pragma once

#include <zrt/backend/cpu/pack.hpp>
#include <zrt/backend/cpu/packed_file.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/core/vector.hpp>

#include <algorithm>
#include <string_view>
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
    if (const auto key = PackedKey::of(model_, w, type.form, matrix_rows)) packed.data = file_.find(*key, *bytes);
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

  /// Says which model the weights are of, and takes them from a file where it has them. Comes before the first `use`.
  void take_from(const PackedModel& model, PackedFile file) noexcept {
    ZRT_ASSERT(weights_.empty());
    model_ = model;
    file_ = std::move(file);
  }
  /// Writes the packed weights of the model to `path`, with those that the file had, unless it has them all.
  ///
  /// Errors: those of PackedFile::write.
  [[nodiscard]] Result<void> keep(std::string_view path) const noexcept {
    Vector<KeptWeight> kept(allocator_);
    bool is_new = false;
    for (const Owned<Entry>& e : weights_) {
      const auto key = PackedKey::of(model_, e->weight, *e->packed.form, e->packed.matrix_rows);
      if (!key) continue;
      is_new = is_new || e->memory.size() != 0;
      if (auto r = kept.push_back({*key, {e->packed.data, static_cast<std::size_t>(e->bytes)}}); !r) return r;
    }
    if (!is_new) return {};
    for (std::size_t i = 0; i < file_.size(); ++i) {
      const KeptWeight had = file_[i];
      const bool listed = std::any_of(kept.begin(), kept.end(), [&](const KeptWeight& w) { return w.key == had.key; });
      if (!listed && !had.bytes.empty())
        if (auto r = kept.push_back(had); !r) return r;
    }
    return PackedFile::write(path, model_.id, kept.span(), allocator_);
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
  PackedModel model_{};
  PackedFile file_{};
  Vector<Owned<Entry>> weights_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
