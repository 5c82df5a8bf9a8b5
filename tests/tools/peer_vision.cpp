// SPDX-License-Identifier: Apache-2.0
// tests/tools/peer_vision.cpp: what llama.cpp's vision encoder gives for an image; built and run by peer_vision.py.
#include <clip-impl.h>
#include <clip.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

/// usage: peer_vision MMPROJ WIDTH HEIGHT PIXELS OUT. Pixels and output are f32.
int main(int count, char** args) {
  if (count != 6) return 2;
  const int width = std::atoi(args[2]), height = std::atoi(args[3]);
  std::vector<float> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  std::ifstream in(args[4], std::ios::binary);
  in.read(reinterpret_cast<char*>(pixels.data()), static_cast<std::streamsize>(pixels.size() * sizeof(float)));
  clip_context_params params{};
  params.flash_attn_type = CLIP_FLASH_ATTN_TYPE_DISABLED;
  params.image_min_tokens = params.image_max_tokens = -1;
  clip_ctx* context = clip_init(args[1], params).ctx_v;
  if (context == nullptr || !in) return 1;
  clip_image_f32 image;
  image.set_size({width, height}, false, false);
  image.cpy_buf(pixels);
  std::vector<float> rows;
  rows.resize(static_cast<std::size_t>(clip_n_output_tokens(context, &image)) *
              static_cast<std::size_t>(clip_n_mmproj_embd(context)));
  if (!clip_image_encode(context, 1, &image, rows)) return 1;
  std::ofstream out(args[5], std::ios::binary);
  out.write(reinterpret_cast<const char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(float)));
  clip_free(context);
  return out ? 0 : 1;
}
