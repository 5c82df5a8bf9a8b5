// SPDX-License-Identifier: Apache-2.0
// zrt/model/vision_config.hpp: what the file of a vision encoder says of its sizes and of its images.
#pragma once

#include <zrt/model/decoder_config.hpp>
#include <zrt/model/family.hpp>
#include <zrt/model/weights.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Sizes and constants of a vision encoder of the Qwen 3 VL family.
struct VisionConfig {
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint32_t ff = 0;
  std::uint32_t patch = 0;       ///< pixels of a patch's side
  std::uint32_t merge = 2;       ///< patches of a row's side
  std::uint32_t grid = 0;        ///< patches of the side of the image that the positions were trained for
  std::uint32_t projection = 0;  ///< the decoder's width
  float norm_eps = 1e-6f;
  std::array<float, 3> mean{};
  std::array<float, 3> deviation{};

  /// Numbers in a patch: three channels.
  [[nodiscard]] constexpr std::uint32_t patch_elements() const noexcept { return 3 * patch * patch; }
  /// Patches that become one row.
  [[nodiscard]] constexpr std::uint32_t merged() const noexcept { return merge * merge; }
};

/// Keys of a vision encoder that change nothing for it.
inline constexpr auto kVisionNeutral = std::to_array<NeutralKey>({
    {"has_audio_encoder"},
    {"has_vision_encoder", Neutral::yes},
    {"use_gelu", Neutral::yes},
    {"use_silu"},
    {"vision.image_max_pixels", Neutral::any},
    {"vision.image_min_pixels", Neutral::any},
    {"vision.is_deepstack_layers", Neutral::any},  // the tensors of their mergers say which
});

namespace detail {

/// Reads three numbers, one a channel.
inline void read_channels(ConfigReader& meta, std::string_view key, std::array<float, 3>& channels) noexcept {
  const Name name = meta.name_of(key);
  const GgufValue* value = meta.file().find(name.view());
  if (value == nullptr || value->count() != channels.size())
    return meta.refuse(Errc::missing_metadata, name.view(), " is no array of ", channels.size(), " numbers");
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto element = value->element(i);
    const auto number = element ? element->as<float>(name.view()) : Result<float>(pass(element));
    if (!number) return meta.refuse(Errc::invalid_metadata, name.view(), " is no array of numbers");
    channels[i] = *number;
  }
}

}  // namespace detail

/// Reads the config of an encoder whose projector is "qwen3vl_merger".
///
/// Errors: those of ConfigReader; Errc::unimplemented for another projector; Errc::invalid_metadata for sizes that do not
/// fit each other.
[[nodiscard]] inline Result<VisionConfig> read_vision_config(const GgufFile& file) noexcept {
  constexpr std::uint32_t kMost = 1u << 16;
  ConfigReader meta(file, "clip");
  VisionConfig c;
  const std::string_view projector = meta.text("projector_type", "");
  if (projector != "qwen3vl_merger")
    return fail(Errc::unimplemented, "clip.projector_type is ", projector, ", expected qwen3vl_merger");
  c.width = meta.count("vision.embedding_length", kMost);
  c.layers = meta.count("vision.block_count", kMaxLayers);
  c.heads = meta.count("vision.attention.head_count", kMost);
  c.ff = meta.count("vision.feed_forward_length", kMost);
  c.patch = meta.count("vision.patch_size", 128);
  c.merge = meta.count("vision.spatial_merge_size", 8, c.merge);
  c.projection = meta.count("vision.projection_dim", kMost);
  c.norm_eps = meta.number("vision.attention.layer_norm_epsilon");
  const std::uint32_t side = meta.count("vision.image_size", kMost);
  c.grid = side / c.patch;
  detail::read_channels(meta, "vision.image_mean", c.mean);
  detail::read_channels(meta, "vision.image_std", c.deviation);
  // read_channels looks past the reader's own list of keys.
  constexpr auto channels =
      std::to_array<NeutralKey>({{"vision.image_mean", Neutral::any}, {"vision.image_std", Neutral::any}});
  constexpr auto neutral = neutral_keys(kVisionNeutral, channels);
  if (auto r = meta.finish({neutral.data(), neutral.size()}); !r) return pass(r);
  if (c.width % c.heads != 0 || c.width / c.heads % 4 != 0)
    return fail(Errc::invalid_metadata, "clip.vision.embedding_length is ", c.width, ", expected ", c.heads,
                " heads of a multiple of 4");
  if (c.grid == 0)
    return fail(Errc::invalid_metadata, "clip.vision.image_size is ", side, ", less than a patch of ", c.patch);
  for (const float deviation : c.deviation)
    if (!(deviation > 0.0f)) return fail(Errc::invalid_metadata, "clip.vision.image_std has a number not above 0");
  return c;
}

namespace detail {

/// A kernel of a convolution whose stride is its size is a matrix with a row for each channel that comes out.
[[nodiscard]] constexpr Shape as_matrix(const Shape& shape) noexcept {
  if (shape.rank <= 2) return shape;
  std::uint64_t columns = 1;
  for (std::uint8_t axis = 1; axis < shape.rank; ++axis)
    if (!mul_fits(columns, std::uint64_t{shape[axis].extent}, columns) || columns > Dim::largest) return shape;
  return Shape{shape[0], static_cast<std::uint32_t>(columns)};
}

}  // namespace detail

/// weight_lookup for the file of a vision encoder: kernels of convolutions are matrices.
[[nodiscard]] inline ir::WeightLookup vision_weight_lookup(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept {
            WeightInfo info = find_weight(*static_cast<const GgufFile*>(context), name);
            info.shape = detail::as_matrix(info.shape);
            return info;
          }};
}
/// weight_source for the file of a vision encoder.
[[nodiscard]] inline exec::WeightSource vision_weight_source(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept -> Result<WeightView> {
            const auto& from = *static_cast<const GgufFile*>(context);
            auto view = weight_source(from).find(context, name);
            if (view) view->shape = detail::as_matrix(view->shape);
            return view;
          }};
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
