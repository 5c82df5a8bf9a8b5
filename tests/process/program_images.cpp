// SPDX-License-Identifier: Apache-2.0
// tests/process/program_images.cpp: zrt generate with images gives llama.cpp's answers; what it refuses.
#include <support/peer_pixels.hpp>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;

class Images : public Program {
 protected:
  static std::string peer(const std::string& name) { return ZRT_TEST_DATA_DIR "/peer/" + name; }
  static std::vector<std::string> asked(std::vector<std::string> more) {
    std::vector<std::string> args{"generate", "--model", peer("qwen3vl-words.gguf"), "--ignore-eos", "--kv", "f32",
                                  "--temp",   "0"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static std::vector<std::string> with_encoder(std::vector<std::string> more) {
    more.insert(more.begin(), {"--mmproj", peer("qwen3vl-vision.gguf")});
    return asked(std::move(more));
  }
  void refused(const std::vector<std::string>& args, std::string_view why) const {
    const Outcome done = run(args);
    EXPECT_NE(done.status, 0);
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
  }
  /// Whether this build reads the format of the file.
  [[nodiscard]] bool reads(const std::string& name) const {
    return run(with_encoder({"--image", kImageFolder + name, "-n", "1", "--prompt", "a"})).err.find("unimplemented") ==
           std::string::npos;
  }
};

TEST_F(Images, AnswersAreThoseOfThePeer) {
  if (!reads("exact.png")) GTEST_SKIP() << "no libpng";
  const json answers = json::parse(contents(peer("qwen3vl-words.json")));
  ASSERT_EQ(answers.size(), 3u);
  for (const json& answer : answers) {
    SCOPED_TRACE(answer.dump());
    const std::string image = kImageFolder + answer["image"].get<std::string>();
    const auto limit = [&](const char* key) { return std::to_string(answer[key].get<int>()); };
    for (const std::string& prompt : {std::string(), std::string("<|vision_start|><|image_pad|><|vision_end|>")})
      for (const char* backend : {"cpu", "reference"}) {
        const json lines = run_json_lines(
            with_encoder({"--image", image, "--image-min-tokens", limit("least"), "--image-max-tokens", limit("most"),
                          "--prompt", prompt + answer["prompt"].get<std::string>(), "--backend", backend,
                          "--max-tokens", std::to_string(answer["tokens"].size()), "--threads", "2", "--json"}));
        EXPECT_EQ(lines.back()["tokens"], answer["tokens"]) << backend;
      }
  }
}

TEST_F(Images, SeveralStandWhereThePromptSays) {
  if (!reads("exact.png") || !reads("grey.jpg")) GTEST_SKIP() << "no libpng or libjpeg";
  const auto tokens = [&](const std::string& prompt) {
    return run_json_lines(with_encoder({"--image", kImageFolder + "exact.png", "--image", kImageFolder + "grey.jpg",
                                        "--prompt", prompt, "--max-tokens", "3", "--json"}))
        .back();
  };
  const std::string place = "<|vision_start|><|image_pad|><|vision_end|>";
  const json before = tokens("ab"), around = tokens("a" + place + "b" + place);
  EXPECT_EQ(before["prompt_tokens"], 2 + 12 + 2 + 12 + 2);
  EXPECT_EQ(around["prompt_tokens"], before["prompt_tokens"]);
  EXPECT_EQ(tokens(place + place + "ab")["tokens"], before["tokens"]);
}

TEST_F(Images, WhatDoesNotFitIsRefused) {
  const std::string image = kImageFolder + "exact.png";
  if (!reads("exact.png")) GTEST_SKIP() << "no libpng";
  refused(with_encoder({"--image", file("text.png", "no image"), "--prompt", "a"}),
          "text.png: the file is neither a PNG nor a JPEG");
  refused(with_encoder({"--image", file("cut.png", contents(image).substr(0, 900)), "--prompt", "a"}),
          "truncated_file");
  refused(with_encoder({"--image", path("none.png"), "--prompt", "a"}), "cannot open");
  refused(with_encoder({"--image", image, "--prompt", "<|vision_start|><|image_pad|><|vision_end|>", "--image", image,
                        "--image", image}),
          "the prompt has 1 places <|vision_start|><|image_pad|><|vision_end|> for 3 images");
  refused(with_encoder({"--image", image, "--prompt", "a", "--image-min-tokens", "9", "--image-max-tokens", "8"}),
          "9..8 rows");
  refused(asked({"--image", image, "--prompt", "a"}), "--mmproj");
  refused(asked({"--image", image, "--prompt", "a", "--mmproj", peer("qwen3vl-words.gguf")}),
          "qwen3vl-words.gguf: clip.projector_type is ");
  refused({"generate", "--model", peer("qwen3vl-images.gguf"), "--mmproj", peer("qwen3vl-vision.gguf"), "--image",
           image, "--prompt", "a"},
          "the model has no vocabulary");
  refused({"generate", "--model", ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf", "--mmproj",
           peer("qwen3vl-vision.gguf"), "--image", image, "--prompt", "a"},
          "makes rows of 32 numbers, expected ");
}

}  // namespace
}  // namespace zrt::test
