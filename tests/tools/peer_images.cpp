// SPDX-License-Identifier: Apache-2.0
// tests/tools/peer_images.cpp: logits of llama.cpp for text around the rows of an image; built and run by
// peer_images.py.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <llama.h>
#include <vector>

namespace {

/// Rows of one kind: tokens, or given rows with their places.
struct Piece {
  std::vector<llama_token> tokens;
  std::vector<float> rows;
  std::vector<llama_pos> positions;  ///< of tokens [T]; of given rows [4][T]
  int count = 0;
};

/// Appends the logits of every row of a piece.
bool decode(llama_context* context, Piece& piece, int vocabulary, std::vector<float>& logits) {
  llama_seq_id zero = 0;
  std::vector<int32_t> ones(static_cast<std::size_t>(piece.count), 1);
  std::vector<llama_seq_id*> sequences(static_cast<std::size_t>(piece.count), &zero);
  std::vector<int8_t> wanted(static_cast<std::size_t>(piece.count), 1);
  llama_batch batch{};
  batch.n_tokens = piece.count;
  batch.token = piece.tokens.empty() ? nullptr : piece.tokens.data();
  batch.embd = piece.rows.empty() ? nullptr : piece.rows.data();
  batch.pos = piece.positions.data();
  batch.n_seq_id = ones.data();
  batch.seq_id = sequences.data();
  batch.logits = wanted.data();
  if (llama_decode(context, batch) != 0) return false;
  for (int i = 0; i < piece.count; ++i) {
    const float* row = llama_get_logits_ith(context, i);
    logits.insert(logits.end(), row, row + vocabulary);
  }
  return true;
}

Piece text(const std::vector<llama_token>& tokens, int first, int count, int position) {
  Piece piece;
  piece.count = count;
  piece.tokens.assign(tokens.begin() + first, tokens.begin() + first + count);
  for (int i = 0; i < count; ++i) piece.positions.push_back(position + i);
  return piece;
}

}  // namespace

/// usage: peer_images MODEL TOKENS ROWS LINES COLUMNS BEFORE OUT. TOKENS holds i32 ids, of which BEFORE stand before the
/// image and the others behind it; ROWS f32; OUT gets f32 logits of every row.
int main(int count, char** args) {
  if (count != 8) return 2;
  const int lines = std::atoi(args[4]), columns = std::atoi(args[5]), before = std::atoi(args[6]);
  const auto read = [](const char* path, auto& values) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    values.resize(static_cast<std::size_t>(in.tellg()) / sizeof(values[0]));
    in.seekg(0);
    in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(values[0])));
  };
  std::vector<llama_token> tokens;
  read(args[2], tokens);
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(args[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 128;
  params.n_batch = params.n_ubatch = 64;
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  llama_context* context = llama_init_from_model(model, params);
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  Piece image;
  read(args[3], image.rows);
  image.count = lines * columns;
  if (context == nullptr || image.rows.size() != static_cast<std::size_t>(image.count * llama_model_n_embd_inp(model)))
    return 1;
  const auto axis = [&](auto place) {
    for (int i = 0; i < image.count; ++i) image.positions.push_back(place(i));
  };
  axis([&](int) { return before; });
  axis([&](int i) { return before + i / columns; });
  axis([&](int i) { return before + i % columns; });
  axis([&](int) { return 0; });
  const int after = static_cast<int>(tokens.size()) - before;
  std::array<Piece, 3> pieces{text(tokens, 0, before, 0), image,
                              text(tokens, before, after, before + std::max(lines, columns))};
  std::vector<float> logits;
  for (Piece& piece : pieces)
    if (!decode(context, piece, vocabulary, logits)) return 1;
  std::ofstream out(args[7], std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
  return out ? 0 : 1;
}
