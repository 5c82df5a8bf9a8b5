// SPDX-License-Identifier: Apache-2.0
// tests/tools/make_model.cpp: a small model of a family with random weights, from its metadata alone.
#include <zrt/model/tensor_list.hpp>
#include <zrt/models.hpp>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tools/character_map_writer.hpp>
#include <tools/gguf_writer.hpp>
#include <vector>

using namespace zrt;

namespace {

constexpr const char* kUsage =
    "usage: make_model FAMILY OUT.gguf SEED VOCABULARY [--without END]... [--with NAME[=DIM,DIM]]... "
    "[--words | --pieces] KEY=VALUE...\n"
    "A key of the tokenizer is named in full. A value is 8, 0.5, true, a word, or [1,0,1]. Tensors named END, or with "
    "END after a dot, are left out; a family that asks whether its file has a tensor is told so of NAME, whose fastest "
    "axis is the first. With --words the file has a WordPiece vocabulary of 64 tokens, with --pieces a unigram "
    "vocabulary.\n";

void add_value(test::GgufWriter& w, const std::string& key, const std::string& text) {
  if (text == "true" || text == "false") return (void)w.add(key, text == "true");
  if (text.front() == '[' && std::isalpha(static_cast<unsigned char>(text[1])) != 0) {
    std::vector<std::string> words;
    for (std::size_t at = 1; at < text.size(); at = text.find_first_of(",]", at) + 1)
      words.push_back(text.substr(at, text.find_first_of(",]", at) - at));
    return (void)w.add_array(key, words);
  }
  if (text.front() == '[') {
    std::vector<std::uint32_t> values;
    for (std::size_t at = 1; at < text.size(); at = text.find_first_of(",]", at) + 1)
      values.push_back(static_cast<std::uint32_t>(std::atoi(text.c_str() + at)));
    return (void)w.add_array(key, values);
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0') return (void)w.add(key, text);
  if (text.find_first_of(".e") == std::string::npos) return (void)w.add(key, static_cast<std::uint32_t>(number));
  w.add(key, static_cast<float>(number));
}

/// Adds a tensor of zeros that "NAME=DIM,DIM" describes, of one element without dims.
void add_zeros(test::GgufWriter& w, const std::string& text) {
  const std::size_t equals = text.find('=');
  std::vector<std::uint64_t> dims;
  std::size_t count = 1;
  for (std::size_t at = equals; at != std::string::npos; at = text.find(',', at + 1)) {
    dims.push_back(static_cast<std::uint64_t>(std::atoi(text.c_str() + at + 1)));
    count *= dims.back();
  }
  if (dims.empty()) dims.push_back(1);
  w.add_f32(text.substr(0, equals), dims, std::vector<float>(count));
}

/// Letters at the beginning of words and within, and a few longer pieces.
void add_words(test::GgufWriter& w) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  for (const char* mark : {"\xe2\x96\x81", ""})
    for (char letter = 'a'; letter <= 'z'; ++letter) tokens.push_back(std::string(mark) + letter);
  for (const char* piece : {"\xe2\x96\x81!", "\xe2\x96\x81,", "\xe2\x96\x81.", "\xe2\x96\x81?", "\xe2\x96\x81hello",
                            "\xe2\x96\x81he", "llo", "ing"})
    tokens.emplace_back(piece);
  std::vector<std::int32_t> types(tokens.size(), 1);
  for (std::size_t id = 0; id < 4; ++id) types[id] = 3;
  w.add("tokenizer.ggml.model", "bert");
  w.add_array("tokenizer.ggml.tokens", tokens);
  w.add_array("tokenizer.ggml.token_type", types);
  const std::pair<const char*, std::uint32_t> ids[] = {{"padding", 0}, {"unknown", 1}, {"bos", 2}, {"seperator", 3}};
  for (const auto& [name, id] : ids) w.add(std::string("tokenizer.ggml.") + name + "_token_id", id);
}

/// A unigram vocabulary that maps some characters: longer pieces are likelier than their letters together.
void add_pieces(test::GgufWriter& w) {
  const std::string mark = "\xe2\x96\x81";
  std::vector<std::string> tokens{"<pad>", "</s>", "<unk>"};
  std::vector<float> scores{0, 0, 0};
  std::vector<std::int32_t> types{3, 3, 2};
  const auto add = [&](std::string text, float score) {
    tokens.push_back(std::move(text));
    scores.push_back(score);
    types.push_back(1);
  };
  for (char letter = 'a'; letter <= 'z'; ++letter)
    add(std::string(1, letter), -6.0f - 0.01f * static_cast<float>(letter - 'a'));
  add(mark, -3.0f);
  float score = -4.0f;
  for (const char* piece :
       {"he",   "llo", "hello", "th", "is", "this", "ing", "in", "si", "sing", "ng",   "wo",  "rld", "world",
        "what", "at",  "er",    "!",  "?",  ",",    ".",   "fi", "1",  "2",    "ello", "hel", "thi"})
    add(piece, score -= 0.13f);
  for (const char* piece : {"hello", "this", "is", "a", "what", "w", "s"}) add(mark + piece, score -= 0.07f);
  const std::map<std::string, std::string> characters{
      {"\t", " "},          {"\xc3\x89", "e"},   {"\xc3\xa9", "e"}, {"\xc3\xb6", "o"}, {"\xef\xac\x81", "fi"},
      {"\xe2\x80\x8b", ""}, {"\xc2\xbd", "1 2"}, {"W", "w"},        {"H", "h"},        {"...", "."}};
  w.add("tokenizer.ggml.model", "t5");
  w.add_array("tokenizer.ggml.tokens", tokens);
  w.add_array("tokenizer.ggml.scores", scores);
  w.add_array("tokenizer.ggml.token_type", types);
  w.add("tokenizer.ggml.add_space_prefix", true);
  w.add("tokenizer.ggml.remove_extra_whitespaces", true);
  w.add_array("tokenizer.ggml.precompiled_charsmap", test::CharacterMapWriter(characters).bytes());
}

/// Matrices are of the size that keeps a row's sum near 1, norms near 1, biases small.
std::vector<float> random_values(const model::ListedTensor& tensor, std::mt19937& random) {
  const std::string_view name = tensor.name.view();
  std::uint64_t count = 1;
  for (const std::uint64_t dim : tensor.dims) count *= dim;
  std::normal_distribution<float> normal;
  const bool factors = name.find("rope_") != name.npos;
  const bool vector = tensor.rank == 1;
  const bool bias = name.ends_with(".bias");
  // A state decays.
  const bool decay = name.ends_with("ssm_a");
  const float spread = vector || decay ? 0.2f : 1.5f / std::sqrt(static_cast<float>(tensor.dims[0]));
  const float middle = decay ? -1.0f : factors ? 2.0f : vector && !bias ? 1.0f : 0.0f;
  std::vector<float> values(count);
  for (float& x : values) x = middle + spread * normal(random);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return std::fputs(kUsage, stderr), 2;
  const std::string family = argv[1];
  const auto vocabulary = static_cast<std::uint32_t>(std::atoi(argv[4]));
  std::vector<std::string> without;
  std::vector<std::string> with;
  test::GgufWriter w;
  w.add("general.architecture", family);
  bool words = false;
  bool pieces = false;
  for (int i = 5; i < argc; ++i) words = words || std::string_view(argv[i]) == "--words";
  for (int i = 5; i < argc; ++i) pieces = pieces || std::string_view(argv[i]) == "--pieces";
  if (words)
    add_words(w);
  else if (pieces)
    add_pieces(w);
  else
    w.add("tokenizer.ggml.model", "no_vocab");
  w.add(family + ".vocab_size", vocabulary);
  std::uint32_t width = 0;
  for (int i = 5; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (word == "--words" || word == "--pieces") continue;
    if ((word == "--without" || word == "--with") && i + 1 < argc) {
      (word == "--with" ? with : without).emplace_back(argv[++i]);
      continue;
    }
    if (equals == std::string::npos || equals + 1 == word.size()) return std::fputs(kUsage, stderr), 2;
    const std::string key = word.substr(0, equals);
    add_value(w, key.starts_with("tokenizer.") ? key : family + "." + key, word.substr(equals + 1));
    if (word.starts_with("embedding_length=")) width = static_cast<std::uint32_t>(std::atoi(word.c_str() + equals + 1));
  }
  // A family reads the number of ids from this tensor, so the list needs it.
  test::GgufWriter first = w;
  first.add_f32("token_embd.weight", {width, vocabulary}, std::vector<float>(std::size_t{width} * vocabulary));
  for (const std::string& tensor : with) add_zeros(first, tensor);
  const test::Bytes bytes = first.build();
  const auto metadata = model::GgufFile::open(Span<const std::byte>(bytes.data(), bytes.size()), system_allocator());
  if (!metadata) return std::fprintf(stderr, "%s\n", metadata.error().text().data()), 1;

  const std::vector<std::string_view> left_out(without.begin(), without.end());
  const model::OptionalTensors all_but{{left_out.data(), left_out.size()}, false};
  const auto tensors = model::list_tensors<AllFamilies>(*metadata, all_but, system_allocator());
  if (!tensors) return std::fprintf(stderr, "%s\n", tensors.error().text().data()), 1;
  std::mt19937 random(static_cast<std::uint32_t>(std::atoi(argv[3])));
  for (const model::ListedTensor& tensor : *tensors) {
    const Span<const std::uint64_t> dims = tensor.extents();
    w.add_tensor(std::string(tensor.name.view()), DType::f32, {dims.begin(), dims.end()}, [&] {
      test::Bytes data;
      for (const float x : random_values(tensor, random)) test::put(data, x);
      return data;
    }());
  }
  const test::Bytes file = w.build();
  std::ofstream(argv[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  return 0;
}
