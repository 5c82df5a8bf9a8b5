// SPDX-License-Identifier: Apache-2.0
// zrt/model/mixture_rules.hpp: which matrices of a file type get another type than it names, as a table.
#pragma once

#include <zrt/model/file_type.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What a matrix does in a model, as far as mixtures tell matrices apart.
enum class MatrixPart : std::uint8_t {
  head,
  embeddings,
  values,
  keys,
  queries,
  attention_out,
  ffn_up,
  ffn_gate,
  ffn_down,
  other,
};

/// The part that a tensor's name says. Embeddings without a head are the head.
[[nodiscard]] constexpr MatrixPart part_of(std::string_view name, bool tied) noexcept {
  struct Row {
    std::string_view piece;
    MatrixPart part;
  };
  constexpr Row rows[] = {
      {"attn_qkv.weight", MatrixPart::values}, {"attn_kv_b.weight", MatrixPart::values},
      {"attn_v.weight", MatrixPart::values},   {"attn_k.weight", MatrixPart::keys},
      {"attn_q.weight", MatrixPart::queries},  {"attn_output.weight", MatrixPart::attention_out},
      {"ffn_up", MatrixPart::ffn_up},          {"ffn_gate", MatrixPart::ffn_gate},
      {"ffn_down", MatrixPart::ffn_down},
  };
  if (name == "output.weight") return MatrixPart::head;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
    return tied ? MatrixPart::head : MatrixPart::embeddings;
  for (const Row& row : rows)
    if (name.find(row.piece) != name.npos) return row.part;
  return MatrixPart::other;
}

/// What can be so of a matrix and its model, as bits.
namespace when {
inline constexpr std::uint32_t grouped = 1u << 0;        ///< four or more heads of queries for one of keys
inline constexpr std::uint32_t four_experts = 1u << 1;   ///< or more
inline constexpr std::uint32_t eight_experts = 1u << 2;  ///< exactly
inline constexpr std::uint32_t weighted = 1u << 3;       ///< there is an importance matrix
inline constexpr std::uint32_t falcon = 1u << 4;         ///< the family
inline constexpr std::uint32_t stacked = 1u << 5;        ///< one matrix for each expert
inline constexpr std::uint32_t ragged = 1u << 6;         ///< rows are no whole blocks of the file type
inline constexpr std::uint32_t first_two = 1u << 7;      ///< of its part
inline constexpr std::uint32_t first_four = 1u << 8;     ///< of its part
inline constexpr std::uint32_t early = 1u << 9;          ///< of its part, fewer before it than an eighth of the layers
inline constexpr std::uint32_t first_sixteenth = 1u << 10;  ///< of the layers
inline constexpr std::uint32_t first_eighth = 1u << 11;     ///< of the layers
inline constexpr std::uint32_t middle = 1u << 12;  ///< neither in the first nor in the last eighth of the layers
inline constexpr std::uint32_t third = 1u << 13;   ///< in the first or last eighth, or a third layer between them
inline constexpr std::uint32_t large = 1u << 14;   ///< a model of kLargeModels
}  // namespace when

/// The file types with these names, as bits by their places in kFileTypes.
consteval std::uint64_t file_types(std::string_view names) {
  std::uint64_t bits = 0;
  while (!names.empty()) {
    const std::size_t end = names.find(' ');
    const FileType* found = find_file_type(names.substr(0, end));
    bits |= std::uint64_t{1} << (found - kFileTypes.data());  // a name of no file type does not compile
    names.remove_prefix(end == names.npos ? names.size() : end + 1);
  }
  return bits;
}
static_assert(kFileTypes.size() <= 64);

inline constexpr std::uint64_t kAnyFileType = ~std::uint64_t{0};
/// The file types of fewer than 3 bits that need an importance matrix most.
inline constexpr std::uint64_t kLowFileTypes = file_types("iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq2_m");

/// A matrix of `part` of these file types gets `type`, if all of `when` is so and nothing of `unless`.
struct MixtureRule {
  MatrixPart part;
  std::uint64_t files;
  DType type;
  std::uint32_t when = 0;
  std::uint32_t unless = 0;
};

/// The rules for files of blocks; the first that holds decides, and where none does, the file type. `other` in a rule
/// stands for every part.
///
/// Source: what llama.cpp's llama-quantize does (tests/tools/peer_file_types.py compares).
// clang-format off
inline constexpr auto kMixtureRules = std::to_array<MixtureRule>({
    {MatrixPart::head, file_types("mxfp4_moe"), DType::q8_0},
    {MatrixPart::head, kAnyFileType, DType::q8_0, when::falcon},
    {MatrixPart::head, kAnyFileType, DType::q8_0, when::ragged},
    {MatrixPart::head, kLowFileTypes | file_types("iq3_xxs"), DType::q5_k},
    {MatrixPart::head, file_types("q8_0"), DType::q8_0},
    {MatrixPart::head, kAnyFileType, DType::q6_k},

    {MatrixPart::other, file_types("mxfp4_moe"), DType::mxfp4, when::stacked},
    {MatrixPart::other, file_types("mxfp4_moe"), DType::q8_0},

    {MatrixPart::embeddings, file_types("iq1_s iq1_m iq2_xxs iq2_xs"), DType::q2_k},
    {MatrixPart::embeddings, file_types("iq2_s iq2_m iq3_xxs"), DType::iq3_s},
    {MatrixPart::embeddings, file_types("tq1_0 tq2_0"), DType::q4_k},

    {MatrixPart::values, kLowFileTypes, DType::q4_k, when::grouped},
    {MatrixPart::values, kLowFileTypes, DType::q4_k, when::four_experts},
    {MatrixPart::values, file_types("iq2_s iq2_m"), DType::iq3_s},
    {MatrixPart::values, kLowFileTypes, DType::q2_k},
    {MatrixPart::values, kAnyFileType, DType::q8_0, when::eight_experts},
    {MatrixPart::values, file_types("q2_k q2_k_s iq3_xxs iq3_xs iq3_s"), DType::q4_k, when::grouped},
    {MatrixPart::values, file_types("q2_k"), DType::q3_k},
    {MatrixPart::values, file_types("iq3_xxs"), DType::iq3_s, 0, when::weighted},
    {MatrixPart::values, file_types("iq3_m"), DType::q4_k},
    {MatrixPart::values, file_types("q3_k_m"), DType::q5_k, when::first_two},
    {MatrixPart::values, file_types("q3_k_m"), DType::q4_k},
    {MatrixPart::values, file_types("q3_k_l"), DType::q5_k},
    {MatrixPart::values, file_types("iq4_nl iq4_xs"), DType::q5_k, when::grouped},
    {MatrixPart::values, file_types("q4_k_m q5_k_m"), DType::q6_k, when::third},
    {MatrixPart::values, file_types("q4_k_s"), DType::q5_k, when::first_four},

    {MatrixPart::keys, kLowFileTypes, DType::q4_k, when::eight_experts},
    {MatrixPart::keys, kAnyFileType, DType::q8_0, when::eight_experts},
    {MatrixPart::keys, file_types("iq3_xs"), DType::iq3_xxs},
    {MatrixPart::keys, file_types("iq3_xxs"), DType::iq2_s},
    {MatrixPart::queries, file_types("iq3_xs"), DType::iq3_xxs},
    {MatrixPart::queries, file_types("iq3_xxs"), DType::iq2_s},

    {MatrixPart::attention_out, kLowFileTypes, DType::q5_k, when::eight_experts},
    {MatrixPart::attention_out, file_types("iq1_s iq1_m"), DType::iq2_xxs},
    {MatrixPart::attention_out, file_types("iq2_s iq2_m"), DType::iq3_s},
    {MatrixPart::attention_out, file_types("q3_k_l"), DType::q4_k, when::falcon},
    {MatrixPart::attention_out, file_types("q2_k iq3_xxs iq3_xs iq3_s iq3_m q3_k_s q3_k_m iq4_nl iq4_xs q4_k_s q4_k_m"),
     DType::q5_k, when::eight_experts, when::falcon},
    {MatrixPart::attention_out, file_types("q2_k"), DType::q3_k, 0, when::eight_experts | when::falcon},
    {MatrixPart::attention_out, file_types("iq3_xxs"), DType::iq3_s, 0, when::eight_experts | when::falcon},
    {MatrixPart::attention_out, file_types("q3_k_m iq3_m"), DType::q4_k, 0, when::eight_experts | when::falcon},
    {MatrixPart::attention_out, file_types("q3_k_l"), DType::q5_k, 0, when::eight_experts | when::falcon},

    {MatrixPart::ffn_down, file_types("iq2_s iq2_m"), DType::iq3_s, when::early},
    {MatrixPart::ffn_down, kLowFileTypes, DType::q2_k, when::early},
    {MatrixPart::ffn_down, file_types("q2_k"), DType::q3_k},
    {MatrixPart::ffn_down, file_types("q2_k_s"), DType::q4_k, when::first_eighth},
    {MatrixPart::ffn_down, file_types("iq3_xxs"), DType::q4_k, when::first_eighth, when::weighted},
    {MatrixPart::ffn_down, file_types("iq3_xxs"), DType::q3_k, 0, when::weighted},
    {MatrixPart::ffn_down, file_types("q3_k_m"), DType::q5_k, when::first_sixteenth},
    {MatrixPart::ffn_down, file_types("q3_k_m"), DType::q4_k, 0, when::falcon},
    {MatrixPart::ffn_down, file_types("q3_k_m"), DType::q4_k, when::third},
    {MatrixPart::ffn_down, file_types("iq3_m"), DType::q4_k, when::first_eighth},
    {MatrixPart::ffn_down, file_types("iq3_m"), DType::q4_k, when::eight_experts | when::third},
    {MatrixPart::ffn_down, file_types("q3_k_l"), DType::q4_k, when::falcon},
    {MatrixPart::ffn_down, file_types("q3_k_l"), DType::q5_k},
    {MatrixPart::ffn_down, file_types("q4_k_m"), DType::q6_k, when::falcon | when::first_sixteenth},
    {MatrixPart::ffn_down, file_types("q4_k_m"), DType::q5_k, when::falcon | when::third},
    {MatrixPart::ffn_down, file_types("q4_k_m"), DType::q6_k, when::third, when::falcon},
    {MatrixPart::ffn_down, file_types("q5_k_m"), DType::q6_k, when::third},
    {MatrixPart::ffn_down, file_types("q4_k_s"), DType::q5_k, when::first_eighth, when::falcon},
    {MatrixPart::ffn_down, file_types("iq4_nl iq4_xs"), DType::q5_k, when::first_eighth, when::weighted},
    {MatrixPart::ffn_down, file_types("q4_0"), DType::q4_1, when::first_eighth | when::weighted},
    {MatrixPart::ffn_down, file_types("q5_0"), DType::q5_1, when::first_eighth | when::weighted},

    {MatrixPart::ffn_gate, file_types("iq3_xs"), DType::iq3_xxs, when::middle},
    {MatrixPart::ffn_up, file_types("iq3_xs"), DType::iq3_xxs, when::middle},
});
// clang-format on

static_assert([] {
  for (const MixtureRule& rule : kMixtureRules)
    if (!quant::can_write<quant::OwnTypes>(rule.type)) return false;
  return true;
}());

/// The file type's bit, 0 for one that is not in kFileTypes.
[[nodiscard]] constexpr std::uint64_t bit_of(const FileType& file) noexcept {
  for (std::size_t i = 0; i < kFileTypes.size(); ++i)
    if (kFileTypes[i].name == file.name) return std::uint64_t{1} << i;
  return 0;
}

/// Models of some 70 billion parameters, whose few values are worth more bits: Q5_K in place of Q3_K and Q4_K.
struct LargeModel {
  std::string_view architecture;
  std::uint32_t layers;
  bool grouped;  ///< only with fewer heads of keys than of queries
};
inline constexpr auto kLargeModels = std::to_array<LargeModel>({
    {"llama", 80, true},
    {"llama-embed", 80, true},
    {"qwen2", 80, false},
    {"deci", 80, false},
    {"olmo", 80, false},
    {"jais2", 68, false},
});

/// What the rules say of a matrix of which `facts` are so.
[[nodiscard]] constexpr DType mixed_type(const FileType& file, MatrixPart part, std::uint32_t facts) noexcept {
  const std::uint64_t bit = bit_of(file);
  const auto holds = [&](const MixtureRule& rule) {
    return (rule.part == part || rule.part == MatrixPart::other) &&
           (rule.files == kAnyFileType || (rule.files & bit) != 0) && (facts & rule.when) == rule.when &&
           (facts & rule.unless) == 0;
  };
  const auto* const rule = std::find_if(kMixtureRules.begin(), kMixtureRules.end(), holds);
  const DType type = rule != kMixtureRules.end() ? rule->type : file.type;
  const bool gains = part == MatrixPart::values && (facts & when::large) != 0 && (bit & kLowFileTypes) == 0;
  return gains && (type == DType::q3_k || type == DType::q4_k) ? DType::q5_k : type;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
