// SPDX-License-Identifier: Apache-2.0
// tests/tools/peer_pixels.cpp: the pixels that llama.cpp reads from an image file, and those that its encoder gets; built
// and run by peer_pixels.py.
#include <clip.h>
#include <mtmd-image.h>

#define STB_IMAGE_IMPLEMENTATION
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stb/stb_image.h>
#include <vector>

/// usage: peer_pixels MMPROJ IMAGE LEAST MOST OUT. OUT gets width, height and bytes of the image as it is read, then
/// width, height and f32 pixels of what the encoder gets, which LEAST and MOST bound in rows.
int main(int count, char** args) {
  if (count != 6) return 2;
  clip_context_params params{};
  params.flash_attn_type = CLIP_FLASH_ATTN_TYPE_DISABLED;
  params.image_min_tokens = std::atoi(args[3]);
  params.image_max_tokens = std::atoi(args[4]);
  clip_ctx* context = clip_init(args[1], params).ctx_v;
  int width = 0, height = 0, channels = 0;
  std::uint8_t* bytes = stbi_load(args[2], &width, &height, &channels, 3);
  if (context == nullptr || bytes == nullptr) return 1;
  const std::vector<std::uint8_t> rgb(bytes, bytes + static_cast<std::size_t>(width) * height * 3);
  clip_image_u8 image;
  image.set_size({width, height}, false);
  image.cpy_buf(rgb);
  const mtmd_image_preproc_out made = mtmd_image_preprocessor_dyn_size(context).preprocess(image);
  if (made.entries.size() != 1) return 1;
  const clip_image_f32& fitted = made.entries[0];
  std::ofstream out(args[5], std::ios::binary);
  const auto write = [&](const auto* data, std::size_t bytes_of) {
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(bytes_of));
  };
  const std::uint32_t read_size[]{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)};
  const std::uint32_t fitted_size[]{static_cast<std::uint32_t>(fitted.nx()), static_cast<std::uint32_t>(fitted.ny())};
  write(read_size, sizeof(read_size));
  write(rgb.data(), rgb.size());
  write(fitted_size, sizeof(fitted_size));
  write(fitted.get_ro_buf().data(), fitted.get_ro_buf().size() * sizeof(float));
  return out ? 0 : 1;
}
