// SPDX-License-Identifier: Apache-2.0
// zrt/model/ssm_sizes.hpp: sizes of mixers with a convolution and a recurrent state, and how files say them.
#pragma once

#include <zrt/model/decoder_config.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_scan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Sizes of such a mixer.
struct SsmSizes {
  std::uint32_t taps = 0;    ///< of the convolution
  std::uint32_t inner = 0;   ///< channels of the mixer's output
  std::uint32_t states = 0;  ///< of a channel; the key length of a delta rule
  std::uint32_t rank = 0;    ///< of dt in Mamba 1, else heads
  std::uint32_t groups = 1;  ///< key heads of a delta rule
};

/// A decoder some of whose layers are such mixers.
struct SsmConfig : DecoderConfig {
  SsmSizes ssm{};
};

/// Reads the sizes, groups where `grouped`: as many heads for each, of as many channels.
inline void read_ssm(ConfigReader& meta, SsmSizes& s, bool grouped) noexcept {
  // The bounds keep the floats of a block within 32 bits.
  s.taps = meta.count("ssm.conv_kernel", ops::SsmConv1d::kMaxTaps);
  s.inner = meta.count("ssm.inner_size", 1u << 20);
  s.states = meta.count("ssm.state_size", ops::SsmScan::kMaxStates);
  s.rank = meta.count("ssm.time_step_rank", 1u << 20);
  if (!grouped) return;
  s.groups = meta.count("ssm.group_count", 1u << 12, 1);
  if (s.inner % s.rank != 0 || s.rank % s.groups != 0)
    meta.refuse(Errc::invalid_metadata, meta.name_of("ssm.inner_size").view(), " is ", s.inner,
                ", expected a multiple of ssm.time_step_rank, ", s.rank, ", which must be one of ssm.group_count, ",
                s.groups);
}

/// A small model of mixers, for building at compile time.
[[nodiscard]] constexpr SsmConfig canonical_ssm() noexcept {
  SsmConfig c;
  static_cast<DecoderConfig&>(c) = canonical_decoder();
  c.ssm = {.taps = 4, .inner = 64, .states = 16, .rank = 4, .groups = 2};
  return c;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
