// SPDX-License-Identifier: Apache-2.0
// zrt/model/mixture.hpp: chooses the type of each tensor of a model.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/model/gguf/file.hpp>
#include <zrt/model/mixture_rules.hpp>
#include <zrt/plan/layer_of.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What of a model's metadata decides types.
struct MixedModel {
  std::string_view architecture;
  std::uint32_t layers = 0;
  std::uint32_t experts = 0;
  std::uint32_t heads = 0;     ///< of the first layer's queries
  std::uint32_t kv_heads = 0;  ///< of the first layer's keys

  /// Reads it. Errors: Errc::missing_metadata without an architecture or a block_count; Errc::invalid_metadata.
  [[nodiscard]] static Result<MixedModel> of(const GgufFile& metadata) noexcept;

  [[nodiscard]] constexpr bool is_large() const noexcept {
    for (const LargeModel& row : kLargeModels)
      if (row.architecture == architecture && row.layers == layers) return !row.grouped || heads != kv_heads;
    return false;
  }
};

struct MixtureOptions {
  bool weighted = false;  ///< there is an importance matrix
  bool pure = false;      ///< every matrix gets the file's type, the head too
};

namespace detail {

/// A number, or the first of a list; `otherwise` where the key is absent.
[[nodiscard]] inline Result<std::uint32_t> first_number(const GgufFile& metadata, const Name& key,
                                                        std::uint32_t otherwise) noexcept {
  const GgufValue* value = metadata.find(key.view());
  if (value == nullptr) return otherwise;
  if (value->type() != GgufValueType::array) return value->as<std::uint32_t>(key.view());
  if (value->count() == 0) return otherwise;
  const auto first = value->element(0);
  if (!first) return pass(first);
  return first->as<std::uint32_t>(key.view());
}

/// Where a matrix stands among those of its part.
struct PlaceOfPart {
  std::uint32_t before = 0;  ///< how many come before it
  std::uint32_t layer = 0;
  std::uint32_t layers = 0;
};

/// Whether `layer` of `layers` is in the first or last eighth, or one of every three between.
[[nodiscard]] constexpr bool is_third(std::uint64_t layer, std::uint64_t layers) noexcept {
  const std::uint64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

[[nodiscard]] constexpr std::uint32_t facts_of(const PlaceOfPart& place) noexcept {
  const std::uint64_t layer = place.layer;
  const std::uint64_t layers = place.layers;
  std::uint32_t facts = 0;
  if (place.before < 2) facts |= when::first_two;
  if (place.before < 4) facts |= when::first_four;
  if (place.before < layers / 8) facts |= when::early;
  if (layer < layers / 16) facts |= when::first_sixteenth;
  if (layer < layers / 8) facts |= when::first_eighth;
  if (layer >= layers / 8 && layer < 7 * layers / 8) facts |= when::middle;
  if (is_third(layer, layers)) facts |= when::third;
  return facts;
}

[[nodiscard]] constexpr std::uint32_t facts_of(const MixedModel& model, const MixtureOptions& options) noexcept {
  std::uint32_t facts = 0;
  if (model.kv_heads != 0 && model.heads / model.kv_heads >= 4) facts |= when::grouped;
  if (model.experts >= 4) facts |= when::four_experts;
  if (model.experts == 8) facts |= when::eight_experts;
  if (options.weighted) facts |= when::weighted;
  if (model.architecture == "falcon") facts |= when::falcon;
  if (model.is_large()) facts |= when::large;
  return facts;
}

[[nodiscard]] constexpr std::uint32_t facts_of(const GgufTensor& tensor, const FileType& file) noexcept {
  std::uint32_t facts = 0;
  if (tensor.dims[2] > 1) facts |= when::stacked;
  if (tensor.dims[0] % info(file.type).block_elems != 0) facts |= when::ragged;
  return facts;
}

/// The matrices of a model that may change, in the order in which they are counted.
class MatrixOrder {
 public:
  struct Row {
    std::uint32_t layer;  ///< after the first; 0 for what is in no layer
    std::uint32_t tensor;
    MatrixPart part;
    PlaceOfPart place{};
  };

  /// Counts matrices layer by layer, and by name within one.
  [[nodiscard]] static Result<Vector<Row>> of(Span<const GgufTensor> tensors, const MixedModel& model,
                                              const Allocator& allocator) noexcept {
    Vector<Row> rows(allocator);
    std::uint32_t values = 0;
    bool tied = true;
    for (const GgufTensor& tensor : tensors) tied = tied && tensor.name != "output.weight";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const MatrixPart part = part_of(tensors[i].name, tied);
      values += part == MatrixPart::values ? 1u : 0u;
      if (!may_be_coarse(tensors[i])) continue;
      if (auto r = rows.push_back({plan::layer_of(tensors[i].name) + 1, static_cast<std::uint32_t>(i), part}); !r)
        return pass(r);
    }
    static_assert(plan::kNoLayer + 1 == 0);
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return a.layer != b.layer ? a.layer < b.layer : tensors[a.tensor].name < tensors[b.tensor].name;
    });
    count(rows, model, values);
    return rows;
  }

 private:
  /// With experts a layer may have several matrices of a part, so that names alone say the layer.
  static void count(Vector<Row>& rows, const MixedModel& model, std::uint32_t values) noexcept {
    std::array<std::uint32_t, static_cast<std::size_t>(MatrixPart::other) + 1> seen{};
    for (Row& row : rows) {
      const std::uint32_t before = seen[static_cast<std::size_t>(row.part)]++;
      const bool is_value = row.part == MatrixPart::values;
      const bool named = model.experts > 1 && !is_value && row.layer != 0;
      row.place = {before, named ? row.layer - 1 : before, is_value ? values : model.layers};
    }
  }
};

}  // namespace detail

inline Result<MixedModel> MixedModel::of(const GgufFile& metadata) noexcept {
  const auto architecture = metadata.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  const auto key = [&](std::string_view name) { return Name::of(*architecture, ".", name); };
  const auto layers = metadata.get<std::uint32_t>(key("block_count").view());
  if (!layers) return pass(layers);
  const auto experts = metadata.get_or<std::uint32_t>(key("expert_count").view(), 0);
  if (!experts) return pass(experts);
  const auto heads = detail::first_number(metadata, key("attention.head_count"), 0);
  if (!heads) return pass(heads);
  const auto kv_heads = detail::first_number(metadata, key("attention.head_count_kv"), *heads);
  if (!kv_heads) return pass(kv_heads);
  return MixedModel{*architecture, *layers, *experts, *heads, *kv_heads};
}

/// The type of each of `tensors` in a model of type `file`: the types that llama.cpp's llama-quantize gives, and for rows
/// that are no whole blocks the nearest that fits. Tensors that stay as they are keep theirs.
///
/// Errors: those of the allocator.
[[nodiscard]] inline Result<Vector<DType>> choose_types(const FileType& file, const MixedModel& model,
                                                        const MixtureOptions& options, Span<const GgufTensor> tensors,
                                                        const Allocator& allocator) noexcept {
  Vector<DType> types(allocator);
  if (auto r = types.resize(tensors.size()); !r) return pass(r);
  for (std::size_t i = 0; i < tensors.size(); ++i) types[i] = tensors[i].type.dtype;
  const auto order = detail::MatrixOrder::of(tensors, model, allocator);
  if (!order) return pass(order);
  const bool mixes = !options.pure && info(file.type).block_elems != 1;
  const std::uint32_t of_model = detail::facts_of(model, options);
  for (const detail::MatrixOrder::Row& row : *order) {
    const GgufTensor& tensor = tensors[row.tensor];
    const std::uint32_t facts = of_model | detail::facts_of(row.place) | detail::facts_of(tensor, file);
    const DType type = mixes ? mixed_type(file, row.part, facts) : file.type;
    types[row.tensor] = fitting_type(type, tensor.dims[0]);
  }
  return types;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
