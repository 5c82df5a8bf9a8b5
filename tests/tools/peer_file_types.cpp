// SPDX-License-Identifier: Apache-2.0
// tests/tools/peer_file_types.cpp: which type llama.cpp's quantiser gives each tensor; run by peer_file_types.py.
#include <cstdio>
#include <cstdlib>
#include <llama.h>
#include <string_view>

/// usage: peer_file_types MODEL weighted|plain FILE_TYPE... Prints "== FILE_TYPE", the quantiser's log of a dry run, and
/// "-- refused" where it fails. `weighted` brings an importance matrix, of a tensor that no model has.
int main(int count, char** args) {
  if (count < 4) return 2;
  llama_log_set([](ggml_log_level, const char* text, void*) { std::fputs(text, stdout); }, nullptr);
  const float ones[] = {1.0f};
  const llama_model_imatrix_data importance[] = {{"none", ones, 1}, {nullptr, nullptr, 0}};
  for (int i = 3; i < count; ++i) {
    llama_model_quantize_params params = llama_model_quantize_default_params();
    params.ftype = static_cast<llama_ftype>(std::atoi(args[i]));
    params.dry_run = true;
    params.nthread = 1;
    params.allow_requantize = true;
    if (std::string_view(args[2]) == "weighted") params.imatrix = importance;
    std::printf("\n== %s\n", args[i]);
    if (llama_model_quantize(args[1], "", &params) != 0) std::puts("\n-- refused");
  }
  return 0;
}
