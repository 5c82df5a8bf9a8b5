// SPDX-License-Identifier: Apache-2.0
// zrt/engine/model_identity.hpp: what tells the model and options of one sequence's state from another's.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/exec/weights.hpp>
#include <zrt/ir/passes/add_adapters.hpp>
#include <zrt/model/family.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

/// State may go from one engine to another when all of this is equal.
struct ModelIdentity {
  DType kv_type = DType::f16;
  ActPolicy act = ActPolicy::weight;
  std::uint64_t fingerprint = 0;  ///< of sizes, constants and weights
};

/// A hash that takes one value after the other.
class Fingerprint {
 public:
  void add(std::string_view bytes) noexcept { add(hash_bytes(bytes)); }
  void add(std::uint64_t value) noexcept {
    const std::array<std::uint64_t, 2> pair{value_, value};
    value_ = hash_bytes({reinterpret_cast<const char*>(pair.data()), sizeof pair});
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Hashes a model's sizes, `values`, a hash of the keys that its family reads, the texts of its tokens, and of each tensor
/// the name, type, shape and pieces from its first byte to its last. That tells models apart that were
/// trained apart, if only in some layers, without reading them whole.
///
/// Errors: those of `weights`.
[[nodiscard]] inline Result<std::uint64_t> model_fingerprint(const model::Config& c, std::uint64_t values,
                                                             Span<const std::string_view> tokens,
                                                             const plan::ExecutionPlan& plan,
                                                             const exec::WeightSource& weights) noexcept {
  // At most 16 pages of each tensor are touched, however large it is.
  static constexpr std::size_t kPieces = 16;
  static constexpr std::size_t kPieceBytes = 64;
  Fingerprint hash;
  for (const std::uint32_t size : {c.vocabulary, c.context, c.width, c.layers}) hash.add(size);
  hash.add(values);
  for (const std::string_view token : tokens) hash.add(token);
  for (const plan::PlanWeight& w : plan.weights) {
    if (w.inline_data() || ir::is_adapter_pool(w.name.view())) continue;
    hash.add(w.name.view());
    hash.add(static_cast<std::uint64_t>(w.dtype));
    for (std::size_t axis = 0; axis < w.shape.rank; ++axis) hash.add(w.shape[axis].extent);
    auto view = weights.find(weights.context, w.name.view());
    if (!view) return pass(view);
    const std::string_view bytes(reinterpret_cast<const char*>(view->data.data()), view->data.size());
    if (bytes.size() <= kPieces * kPieceBytes) {
      hash.add(bytes);
      continue;
    }
    for (std::size_t i = 0; i < kPieces; ++i)
      hash.add({bytes.data() + (bytes.size() - kPieceBytes) * i / (kPieces - 1), kPieceBytes});
  }
  return hash.value();
}

}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
