// SPDX-License-Identifier: Apache-2.0
// examples/describe_image.cpp: puts an image before a question.
//
// usage: describe_image MODEL MMPROJ IMAGE QUESTION. The model is of the family qwen3vl, MMPROJ holds its encoder, and the
// image is a PPM file (P6). zrt generate reads PNG and JPEG too.
#include <zrt/backend/cpu.hpp>
#include <zrt/engine/image_encoder.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

using Engine = zrt::Engine<zrt::CpuBackend>;
// A host writes zrt::CpuBackend; this one shares what engines/programs.hpp declares as compiled elsewhere.
using Encoder = zrt::ImageEncoder<engines::CpuPrograms>;

struct Image {
  zrt::model::ImageSize size;
  std::vector<std::uint8_t> rgb;
};

/// Of a P6 file without comments; without pixels where it is none.
Image read_ppm(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::string kind;
  Image image;
  unsigned most = 0;
  in >> kind >> image.size.width >> image.size.height >> most;
  in.get();
  constexpr std::uint32_t side = zrt::model::ImageSize::kMostSide;
  if (!in || kind != "P6" || most != 255 || image.size.width > side || image.size.height > side) return {};
  image.rgb.resize(static_cast<std::size_t>(image.size.pixels() * 3));
  in.read(reinterpret_cast<char*>(image.rgb.data()), static_cast<std::streamsize>(image.rgb.size()));
  return in ? image : Image{};
}

zrt::Result<zrt::ImageRows> encode(const char* mmproj, const Image& image) {
  auto file = zrt::model::GgufFile::open(mmproj);
  if (!file) return zrt::pass(file);
  engines::CpuPrograms::Device device;
  auto encoder = Encoder::open(std::move(*file), device);
  if (!encoder) return zrt::pass(encoder);
  return encoder->encode(image.rgb, image.size);
}

/// The question behind the image, as a turn of the family's chat; `image` is the first of the image's tokens.
zrt::Result<zrt::Vector<std::int32_t>> prompt(const zrt::text::Tokenizer& tokenizer, const zrt::ImageRows& rows,
                                              std::string_view question, std::uint32_t& image) {
  std::string text = "<|im_start|>user\n<|vision_start|>";
  auto tokens = tokenizer.encode(text, {.parse_special = true});
  if (!tokens) return tokens;
  image = static_cast<std::uint32_t>(tokens->size());
  text.clear();
  for (std::uint32_t row = 0; row < rows.count; ++row) text += "<|image_pad|>";
  text += "<|vision_end|>" + std::string(question) + "<|im_end|>\n<|im_start|>assistant\n";
  if (auto r = tokenizer.encode_into(text, {.parse_special = true}, *tokens); !r) return zrt::pass(r);
  return tokens;
}

int failed(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: describe_image MODEL MMPROJ IMAGE QUESTION\n";
    return 2;
  }
  const Image image = read_ppm(argv[3]);
  if (image.rgb.empty()) {
    std::cerr << argv[3] << " is no P6 file of 8 bits a channel\n";
    return 1;
  }
  const auto rows = encode(argv[2], image);
  if (!rows) return failed(rows.error());

  auto engine = Engine::open(argv[1], {.given_embeddings = true});
  if (!engine) return failed(engine.error());
  if (engine->tokenizer() == nullptr) {
    std::cerr << argv[1] << " has no vocabulary\n";
    return 1;
  }
  std::uint32_t first = 0;
  const auto tokens = prompt(*engine->tokenizer(), *rows, argv[4], first);
  if (!tokens) return failed(tokens.error());
  const zrt::EmbeddingSpan span = rows->at(first);
  zrt::Request request{.tokens = tokens->span(), .max_tokens = 200};
  request.embeddings = {&span, 1};
  const auto done = engine->generate(request, [](const zrt::Token& token) {
    std::cout << token.text << std::flush;
    return true;
  });
  if (!done) return failed(done.error());
  std::cout << '\n';
}
