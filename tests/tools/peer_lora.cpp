// SPDX-License-Identifier: Apache-2.0
// tests/tools/peer_lora.cpp: llama.cpp's logits of a model with an adapter, as a golden file; run by peer_lora.py.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <llama.h>
#include <vector>

namespace {

constexpr std::int32_t kPrompt = 24, kDecode = 8, kContext = 128;

/// The ids of tools/peer_models.py.
std::vector<std::int32_t> prompt_of(std::int32_t vocabulary) {
  std::vector<std::int32_t> ids;
  std::uint32_t state = 12345;
  for (std::int32_t i = 0; i < kPrompt; ++i) {
    state = (state * 1103515245u + 12345u) & 0x7fffffffu;
    ids.push_back(static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(vocabulary)));
  }
  return ids;
}

/// Reads tokens from `position` on and appends a row of logits for each.
bool feed(llama_context* context, const std::vector<std::int32_t>& tokens, std::int32_t position,
          std::size_t vocabulary, std::vector<float>& logits) {
  const auto count = static_cast<std::int32_t>(tokens.size());
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (std::int32_t i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<std::size_t>(i)];
    batch.pos[i] = position + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  const bool done = llama_decode(context, batch) == 0;
  for (std::int32_t i = 0; done && i < count; ++i) {
    const float* row = llama_get_logits_ith(context, i);
    logits.insert(logits.end(), row, row + vocabulary);
  }
  llama_batch_free(batch);
  return done;
}

std::int32_t best_of_last(const std::vector<float>& logits, std::size_t vocabulary) {
  const float* row = logits.data() + logits.size() - vocabulary;
  std::size_t best = 0;
  for (std::size_t i = 1; i < vocabulary; ++i)
    if (row[i] > row[best]) best = i;
  return static_cast<std::int32_t>(best);
}

template <class T> void write(std::ofstream& out, const std::vector<T>& values) {
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

}  // namespace

/// usage: peer_lora MODEL ADAPTER SCALE OUT. Keys and values are f32, without flash attention, on one thread.
int main(int count, char** args) {
  if (count != 5) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_model* model = llama_model_load_from_file(args[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_adapter_lora* adapter = llama_adapter_lora_init(model, args[2]);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = kContext;
  params.n_batch = params.n_ubatch = kContext / 2;
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  llama_context* context = llama_init_from_model(model, params);
  float scale = std::strtof(args[3], nullptr);
  if (adapter == nullptr || context == nullptr || llama_set_adapters_lora(context, &adapter, 1, &scale) != 0) return 1;

  const std::int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  const auto columns = static_cast<std::size_t>(vocabulary);
  const std::vector<std::int32_t> prompt = prompt_of(vocabulary);
  std::vector<std::int32_t> decode;
  std::vector<float> logits;
  if (!feed(context, prompt, 0, columns, logits)) return 1;
  for (std::int32_t step = 0; step < kDecode; ++step) {
    decode.push_back(best_of_last(logits, columns));
    if (!feed(context, {decode.back()}, kPrompt + step, columns, logits)) return 1;
  }
  std::ofstream out(args[4], std::ios::binary);
  out.write("ZGLD", 4);
  write(out, std::vector<std::int32_t>{1, kPrompt, kDecode, vocabulary});
  write(out, prompt);
  write(out, decode);
  write(out, logits);
  llama_free(context);
  llama_model_free(model);
  return out ? 0 : 1;
}
