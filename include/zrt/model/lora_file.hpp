// SPDX-License-Identifier: Apache-2.0
// zrt/model/lora_file.hpp: a low-rank adapter as its GGUF file holds it: pairs of matrices by the weight that they change.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/quant/types.hpp>

#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What an adapter adds to one weight [N, K]: y += scale · up (down x), with down [rank, K] and up [N, rank].
struct LoraPair {
  std::string_view weight;
  const GgufTensor* down = nullptr;
  const GgufTensor* up = nullptr;

  [[nodiscard]] std::uint64_t rank() const noexcept { return down->dims[1]; }
  [[nodiscard]] std::uint64_t cols() const noexcept { return down->dims[0]; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return up->dims[1]; }
};

/// An adapter's file. It borrows the GgufFile, which must outlive it.
///
/// The metadata are general.type "adapter", general.architecture, adapter.type "lora" and adapter.lora.alpha; each
/// weight W that it changes has the tensors W.lora_a (down) and W.lora_b (up). Source: llama.cpp, convert_lora_to_gguf.py.
class LoraFile {
 public:
  /// Errors: those of GgufFile::get; Errc::invalid_file for a file of something else or an unpaired tensor;
  /// Errc::unimplemented for another kind of adapter; Errc::shape_mismatch, unsupported_weight_type; all name the key or
  /// the tensor, and say what is expected and found.
  [[nodiscard]] static Result<LoraFile> read(const GgufFile& file, const Allocator& allocator) noexcept {
    LoraFile lora(file, allocator);
    if (auto r = lora.read_metadata(); !r) return pass(r);
    for (const GgufTensor& tensor : file.tensors())
      if (auto r = lora.take(tensor); !r) return pass(r);
    if (lora.pairs_.empty()) return fail(Errc::invalid_file, "the adapter has no tensors, expected pairs of them");
    return lora;
  }

  [[nodiscard]] const GgufFile& file() const noexcept { return *file_; }
  [[nodiscard]] std::string_view architecture() const noexcept { return architecture_; }
  [[nodiscard]] Span<const LoraPair> pairs() const noexcept { return pairs_.span(); }
  /// What the product of a pair counts: alpha / rank, or 1 where the file says no alpha.
  [[nodiscard]] float scale_of(const LoraPair& pair) const noexcept {
    return alpha_ == 0.0f ? 1.0f : alpha_ / static_cast<float>(pair.rank());
  }
  /// Of its pair of the largest.
  [[nodiscard]] std::uint64_t rank() const noexcept {
    std::uint64_t most = 0;
    for (const LoraPair& pair : pairs_) most = pair.rank() > most ? pair.rank() : most;
    return most;
  }
  /// The pair of a weight, or null.
  [[nodiscard]] const LoraPair* find(std::string_view weight) const noexcept {
    for (const LoraPair& pair : pairs_)
      if (pair.weight == weight) return &pair;
    return nullptr;
  }

 private:
  static constexpr std::string_view kDown = ".lora_a", kUp = ".lora_b";

  LoraFile(const GgufFile& file, const Allocator& allocator) noexcept : file_(&file), pairs_(allocator) {}

  [[nodiscard]] Result<void> read_metadata() noexcept {
    if (auto r = expect("general.type", "adapter", Errc::invalid_file); !r) return r;
    if (auto r = expect("adapter.type", "lora", Errc::unimplemented); !r) return r;
    const auto architecture = file_->get<std::string_view>("general.architecture");
    if (!architecture) return pass(architecture);
    architecture_ = *architecture;
    if (file_->find("adapter.alora.invocation_tokens") != nullptr)
      return fail(Errc::unimplemented,
                  "metadata 'adapter.alora.invocation_tokens': the adapter changes only what follows these tokens");
    const auto alpha = file_->get<float>("adapter.lora.alpha");
    if (!alpha) return pass(alpha);
    alpha_ = *alpha;
    if (!__builtin_isfinite(alpha_))
      return fail(Errc::invalid_metadata, "metadata 'adapter.lora.alpha' is not a finite number");
    return {};
  }
  [[nodiscard]] Result<void> expect(std::string_view key, std::string_view expected, Errc otherwise) const noexcept {
    const auto found = file_->get<std::string_view>(key);
    if (!found) return pass(found);
    if (*found == expected) return {};
    return fail(otherwise, "metadata '", key, "' is ", *found, ", expected ", expected);
  }

  /// Notes the pair of a down matrix; an up matrix must be that of one.
  [[nodiscard]] Result<void> take(const GgufTensor& tensor) noexcept {
    const std::string_view name = tensor.name;
    const bool down = name.ends_with(kDown);
    if (!down && !name.ends_with(kUp))
      return fail(Errc::unimplemented, "tensor ", name, " of the adapter: expected names that end in ", kDown, " or ",
                  kUp);
    if (tensor.rank != 2 || tensor.elems == 0)
      return fail(Errc::shape_mismatch, "tensor ", name, " of the adapter has ", tensor.rank, " dimensions and ",
                  tensor.elems, " elements, expected a matrix");
    if (quant::find(tensor.type.dtype) == nullptr)
      return fail(Errc::unsupported_weight_type, "tensor ", name, " of the adapter is ", zrt::name(tensor.type.dtype),
                  ", which this build does not compute");
    const std::string_view weight = slice(name, 0, name.size() - kDown.size());
    const GgufTensor* other = file_->find_tensor(Name::of(weight, down ? kUp : kDown).view());
    if (other == nullptr)
      return fail(Errc::invalid_file, "tensor ", name, " of the adapter has no partner ", weight, down ? kUp : kDown);
    if (!down) return {};
    if (other->rank == 2 && other->dims[0] != tensor.dims[1])
      return fail(Errc::shape_mismatch, "tensor ", other->name, " of the adapter has rank ", other->dims[0],
                  ", expected the ", tensor.dims[1], " of ", name);
    return pairs_.push_back({weight, &tensor, other});
  }

  const GgufFile* file_;
  std::string_view architecture_;
  float alpha_ = 0.0f;
  Vector<LoraPair> pairs_;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
