// SPDX-License-Identifier: Apache-2.0
// examples/zrt/adapter_choice.cpp: reads what the command line says of an adapter, and how large it is.
#include "adapter_choice.hpp"
#include "output.hpp"
#include <zrt/model/lora_file.hpp>

#include <cstdlib>

namespace program {

AdapterChoice adapter_choice(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return {text};
  char* end = nullptr;
  const float scale = std::strtof(text.c_str() + colon + 1, &end);
  if (*end != '\0') return {text};  // a colon of the file's name
  return {text.substr(0, colon), scale};
}

zrt::Result<std::uint32_t> adapter_rank(const std::string& path) {
  const auto file = zrt::model::GgufFile::open(path);
  if (!file) return std::unexpected(of_file(file.error(), path));
  const auto lora = zrt::model::LoraFile::read(*file, zrt::system_allocator());
  if (!lora) return std::unexpected(of_file(lora.error(), path));
  return zrt::narrow<std::uint32_t>(lora->rank(), "the adapter's rank");
}

}  // namespace program
