// SPDX-License-Identifier: Apache-2.0
// tests/package/host/core.cpp: a host of zrt::zrt alone: reads a model file's index.
#include <zrt/model/gguf.hpp>

#include <string_view>

int main(int, char** argv) {
  const auto file = zrt::model::GgufFile::open(std::string_view(argv[1]));
  return file && !file->tensors().empty() ? 0 : 1;
}
