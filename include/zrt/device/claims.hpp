// SPDX-License-Identifier: Apache-2.0
// zrt/device/claims.hpp: the ops that the adapters of the room record, and those that they leave out.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI::device {

/// What the decoders of zrt::AllFamilies reach, and what adapters add to them.
using Claims = boost::mp11::mp_list<
    ops::RmsNorm, ops::Embedding, ops::ResidualAdd, ops::Linear, ops::RmsNormFusedQkv, ops::RmsNormFusedMlpGateUp,
    ops::RmsNormFusedRopeKvWrite, ops::FlashAttnBatched, ops::ResidualRmsNorm, ops::LmHead, ops::GreedyToken,
    ops::Sample, ops::GatedAct, ops::Take, ops::LayerNormRuns, ops::WeightScale, ops::HeadColumns, ops::LinearHeads,
    ops::Rope, ops::KvWriteBatched, ops::MlaKvWrite, ops::MoeGateTopk, ops::MoeGateUp, ops::MoeDownAcc,
    ops::SharedExpert, ops::SsmConv1d, ops::SsmScan, ops::SsmDeltaNet, ops::SsmGatedNorm, ops::LoraAdd>;

/// All of the catalog that is neither claimed nor expands into what is; docs/opcodes.md lists it.
using Unsupported = OpsWithoutClaim<ops::Catalog, Claims>;

}  // namespace zrt::inline ZRT_ABI::device
