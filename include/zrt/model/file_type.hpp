// SPDX-License-Identifier: Apache-2.0
// zrt/model/file_type.hpp: the types that a whole model can be quantised to, and which type each of its tensors gets.
#pragma once

#include <zrt/model/gguf/index.hpp>
#include <zrt/plan/layer_of.hpp>
#include <zrt/quant/encode/types.hpp>

#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What `zrt quantize --type` names. Matrices become `type`, the head `head`, and with `more` other than `type` the
/// values and MLP outputs of some layers `more`: of the first and last eighth and every third between.
struct FileType {
  std::string_view name;
  std::uint32_t number;  ///< general.file_type, kNoFileType where the format has none
  DType type;
  DType more;
  DType head;
};

inline constexpr std::uint32_t kNoFileType = ~std::uint32_t{0};

/// The file types, in order of size.
///
/// Source: the GGUF specification, general.file_type. Which tensors get which type is zrt's own choice; for q4_k_m and
/// q5_k_m of dense decoders it is llama.cpp's.
// clang-format off
inline constexpr auto kFileTypes = std::to_array<FileType>({
    {"f32",     0,           DType::f32,     DType::f32,     DType::f32},
    {"f16",     1,           DType::f16,     DType::f16,     DType::f16},
    {"bf16",    32,          DType::bf16,    DType::bf16,    DType::bf16},
    {"q8_0",    7,           DType::q8_0,    DType::q8_0,    DType::q8_0},
    {"q6_k",    18,          DType::q6_k,    DType::q6_k,    DType::q6_k},
    {"q5_k_m",  17,          DType::q5_k,    DType::q6_k,    DType::q6_k},
    {"q5_k_s",  16,          DType::q5_k,    DType::q5_k,    DType::q6_k},
    {"q5_1",    9,           DType::q5_1,    DType::q5_1,    DType::q6_k},
    {"q5_0",    8,           DType::q5_0,    DType::q5_0,    DType::q6_k},
    {"q4_k_m",  15,          DType::q4_k,    DType::q6_k,    DType::q6_k},
    {"q4_k_s",  14,          DType::q4_k,    DType::q4_k,    DType::q6_k},
    {"q4_1",    3,           DType::q4_1,    DType::q4_1,    DType::q6_k},
    {"iq4_nl",  25,          DType::iq4_nl,  DType::iq4_nl,  DType::q6_k},
    {"q4_0",    2,           DType::q4_0,    DType::q4_0,    DType::q6_k},
    {"nvfp4",   39,          DType::nvfp4,   DType::nvfp4,   DType::q6_k},
    {"iq4_xs",  30,          DType::iq4_xs,  DType::iq4_xs,  DType::q6_k},
    {"mxfp4",   kNoFileType, DType::mxfp4,   DType::mxfp4,   DType::q6_k},
    {"q3_k_s",  11,          DType::q3_k,    DType::q3_k,    DType::q6_k},
    {"iq3_s",   26,          DType::iq3_s,   DType::iq3_s,   DType::q6_k},
    {"iq3_xxs", 23,          DType::iq3_xxs, DType::iq3_xxs, DType::q6_k},
    {"q2_k_s",  21,          DType::q2_k,    DType::q2_k,    DType::q6_k},
    {"iq2_s",   28,          DType::iq2_s,   DType::iq2_s,   DType::q6_k},
    {"iq2_xs",  20,          DType::iq2_xs,  DType::iq2_xs,  DType::q6_k},
    {"iq2_xxs", 19,          DType::iq2_xxs, DType::iq2_xxs, DType::q6_k},
    {"tq2_0",   37,          DType::tq2_0,   DType::tq2_0,   DType::q6_k},
    {"tq1_0",   36,          DType::tq1_0,   DType::tq1_0,   DType::q6_k},
    {"iq1_m",   31,          DType::iq1_m,   DType::iq1_m,   DType::q6_k},
    {"iq1_s",   24,          DType::iq1_s,   DType::iq1_s,   DType::q6_k},
    {"q1_0",    40,          DType::q1_0,    DType::q1_0,    DType::q6_k},
});
// clang-format on

static_assert([] {
  for (const FileType& row : kFileTypes)
    for (const DType type : {row.type, row.more, row.head})
      if (!quant::can_write<quant::OwnTypes>(type)) return false;
  return true;
}());

/// Returns the file type called `name`, or null.
[[nodiscard]] constexpr const FileType* find_file_type(std::string_view name) noexcept {
  for (const FileType& row : kFileTypes)
    if (row.name == name) return &row;
  return nullptr;
}

/// Whether layer `layer` of `layers` gets the type with more bits.
[[nodiscard]] constexpr bool gets_more(std::uint32_t layer, std::uint32_t layers) noexcept {
  const std::uint32_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

/// Whether a tensor is a matrix whose values may be coarse: not a norm, a router, a convolution, or a table of positions.
[[nodiscard]] constexpr bool may_be_coarse(const GgufTensor& tensor) noexcept {
  if (tensor.elems == tensor.dims[0] || !tensor.name.ends_with(".weight")) return false;
  for (const std::string_view part :
       {"_norm.weight", "ffn_gate_inp", "position_embd", "token_types", "ssm_conv1d", "shortconv.conv", "attn_rel_b",
        "altup", "laurel", "per_layer_model_proj", ".patch_embd", ".patch_merger"})
    if (tensor.name.find(part) != tensor.name.npos) return false;
  return true;
}

/// The type nearest to `wanted` whose blocks divide rows of `elems`: of blocks of 32 for those of 256, and f16 for rows
/// that are no whole blocks at all.
[[nodiscard]] constexpr DType fitting_type(DType wanted, std::uint64_t elems) noexcept {
  if (elems % info(wanted).block_elems == 0) return wanted;
  DType smaller = DType::iq4_nl;
  if (wanted == DType::q4_k) smaller = DType::q5_0;
  if (wanted == DType::q5_k) smaller = DType::q5_1;
  if (wanted == DType::q6_k) smaller = DType::q8_0;
  return elems % info(smaller).block_elems == 0 ? smaller : DType::f16;
}

/// Whether a matrix makes values, alone or with others, or the output of an MLP: their errors reach the logits most.
[[nodiscard]] constexpr bool gains_most(std::string_view name) noexcept {
  for (const std::string_view part : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight", "ffn_down"})
    if (name.find(part) != name.npos) return true;
  return false;
}

/// The type that `tensor` of a model gets. `layers` is block_count; `tied` says that there is no output.weight, so that
/// the embedding is the head.
[[nodiscard]] constexpr DType type_of(const GgufTensor& tensor, const FileType& file, std::uint32_t layers,
                                      bool tied) noexcept {
  if (!may_be_coarse(tensor)) return tensor.type.dtype;
  DType wanted = file.type;
  const bool embedding = tensor.name == "token_embd.weight" || tensor.name == "per_layer_token_embd.weight";
  if (tensor.name == "output.weight" || (tied && embedding)) {
    wanted = file.head;
  } else if (gains_most(tensor.name)) {
    constexpr std::string_view kEncoder = "enc.";
    const bool encoder = tensor.name.starts_with(kEncoder);
    const std::uint32_t layer = plan::layer_of(encoder ? tensor.name.substr(kEncoder.size()) : tensor.name);
    if (layer != plan::kNoLayer && gets_more(layer, layers)) wanted = file.more;
  }
  return fitting_type(wanted, tensor.dims[0]);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
