// SPDX-License-Identifier: Apache-2.0
// zrt/model/file_type.hpp: the types that a whole model can be quantised to, and the matrices that they leave alone.
#pragma once

#include <zrt/model/gguf/index.hpp>
#include <zrt/quant/encode/types.hpp>

#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What `zrt quantize --type` names. Matrices become `type`, unless a rule of mixture.hpp says otherwise.
struct FileType {
  std::string_view name;
  std::uint32_t number;  ///< general.file_type, kNoFileType where the format has none
  DType type;
};

inline constexpr std::uint32_t kNoFileType = ~std::uint32_t{0};

/// The file types, about in order of size.
///
/// Source: the GGUF specification, general.file_type; llama.cpp for the type behind a name.
// clang-format off
inline constexpr auto kFileTypes = std::to_array<FileType>({
    {"f32",       0,           DType::f32},
    {"f16",       1,           DType::f16},
    {"bf16",      32,          DType::bf16},
    {"q8_0",      7,           DType::q8_0},
    {"q6_k",      18,          DType::q6_k},
    {"q5_k_m",    17,          DType::q5_k},
    {"q5_k_s",    16,          DType::q5_k},
    {"q5_1",      9,           DType::q5_1},
    {"q5_0",      8,           DType::q5_0},
    {"q4_k_m",    15,          DType::q4_k},
    {"q4_k_s",    14,          DType::q4_k},
    {"q4_1",      3,           DType::q4_1},
    {"iq4_nl",    25,          DType::iq4_nl},
    {"q4_0",      2,           DType::q4_0},
    {"nvfp4",     39,          DType::nvfp4},
    {"iq4_xs",    30,          DType::iq4_xs},
    {"mxfp4_moe", 38,          DType::mxfp4},
    {"mxfp4",     kNoFileType, DType::mxfp4},
    {"q3_k_l",    13,          DType::q3_k},
    {"q3_k_m",    12,          DType::q3_k},
    {"iq3_m",     27,          DType::iq3_s},
    {"iq3_s",     26,          DType::iq3_s},
    {"q3_k_s",    11,          DType::q3_k},
    {"iq3_xs",    22,          DType::iq3_s},
    {"iq3_xxs",   23,          DType::iq3_xxs},
    {"q2_k",      10,          DType::q2_k},
    {"q2_k_s",    21,          DType::q2_k},
    {"iq2_m",     29,          DType::iq2_s},
    {"iq2_s",     28,          DType::iq2_xs},
    {"iq2_xs",    20,          DType::iq2_xs},
    {"iq2_xxs",   19,          DType::iq2_xxs},
    {"tq2_0",     37,          DType::tq2_0},
    {"tq1_0",     36,          DType::tq1_0},
    {"iq1_m",     31,          DType::iq1_m},
    {"iq1_s",     24,          DType::iq1_s},
    {"q1_0",      40,          DType::q1_0},
});
// clang-format on

static_assert([] {
  for (const FileType& row : kFileTypes)
    if (!quant::can_write<quant::OwnTypes>(row.type)) return false;
  return true;
}());

/// A further name of a file type.
struct FileTypeAlias {
  std::string_view name;
  std::string_view stands_for;
};
inline constexpr auto kFileTypeAliases =
    std::to_array<FileTypeAlias>({{"q5_k", "q5_k_m"}, {"q4_k", "q4_k_m"}, {"q3_k", "q3_k_m"}});

/// Returns the file type called `name`, or null.
[[nodiscard]] constexpr const FileType* find_file_type(std::string_view name) noexcept {
  for (const FileTypeAlias& alias : kFileTypeAliases)
    if (alias.name == name) name = alias.stands_for;
  for (const FileType& row : kFileTypes)
    if (row.name == name) return &row;
  return nullptr;
}

/// Parts of the names of matrices that stay as they are: norms, routers, convolutions, tables of positions, and small
/// ones. Source: llama.cpp.
inline constexpr auto kFineNames = std::to_array<std::string_view>(
    {"_norm.weight",   "ffn_gate_inp.",   "position_embd", "token_types", "ssm_conv1d",    "shortconv.conv",
     "attn_rel_b",     "altup",           "laurel",        ".patch_embd", ".patch_merger", "per_layer_model_proj",
     "time_mix_first", "time_mix_w0",     "time_mix_w1",   "time_mix_w2", "time_mix_v0",   "time_mix_v1",
     "time_mix_v2",    "time_mix_a0",     "time_mix_a1",   "time_mix_a2", "time_mix_g1",   "time_mix_g2",
     "time_mix_decay", "time_mix_lerp_f", "sam.pos_embd",  "sam.neck.",   "sam.net_",      ".rel_pos"});

/// Whether a tensor is a matrix whose values may be coarse.
[[nodiscard]] constexpr bool may_be_coarse(const GgufTensor& tensor) noexcept {
  if (tensor.elems == tensor.dims[0] || !tensor.name.ends_with("weight")) return false;
  for (const std::string_view part : kFineNames)
    if (tensor.name.find(part) != tensor.name.npos) return false;
  return true;
}

/// The type of blocks of 32 that stands in for one of larger blocks. Source: llama.cpp; nvfp4 and q1_0 are zrt's own.
[[nodiscard]] constexpr DType smaller_blocks(DType wanted) noexcept {
  if (wanted == DType::q4_k) return DType::q5_0;
  if (wanted == DType::q5_k) return DType::q5_1;
  if (wanted == DType::q6_k) return DType::q8_0;
  for (const DType type : {DType::q2_k, DType::q3_k, DType::tq1_0, DType::tq2_0})
    if (wanted == type) return DType::q4_0;
  return DType::iq4_nl;
}

/// The type nearest to `wanted` whose blocks divide rows of `elems`, f16 for rows that are no whole blocks of 32.
[[nodiscard]] constexpr DType fitting_type(DType wanted, std::uint64_t elems) noexcept {
  if (elems % info(wanted).block_elems == 0) return wanted;
  const DType smaller = smaller_blocks(wanted);
  return elems % info(smaller).block_elems == 0 ? smaller : DType::f16;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
