// SPDX-License-Identifier: Apache-2.0
// examples/zrt/adapter_choice.cpp: reads what the command line says of an adapter, and how large it is.
#include "adapter_choice.hpp"
#include "output.hpp"
#include <zrt/model/lora_file.hpp>

#include <algorithm>
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

zrt::Result<std::uint32_t> adapter_rank(const std::vector<NamedAdapter>& adapters) {
  std::uint32_t most = 0;
  for (const NamedAdapter& adapter : adapters) {
    const auto rank = adapter_rank(adapter.choice.path);
    if (!rank) return rank;
    most = std::max(most, *rank);
  }
  return most;
}

zrt::Result<std::vector<NamedAdapter>> named_adapters(const std::vector<std::string>& texts, const std::string& taken) {
  std::vector<NamedAdapter> adapters;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return zrt::fail(zrt::Errc::invalid_argument, "--adapter is '", text, "', expected NAME=FILE or NAME=FILE:SCALE");
    NamedAdapter adapter{text.substr(0, equals), adapter_choice(text.substr(equals + 1))};
    const bool twice = std::ranges::any_of(adapters, [&](const auto& other) { return other.name == adapter.name; });
    if (twice || adapter.name == taken)
      return zrt::fail(zrt::Errc::invalid_argument, "--adapter names '", adapter.name, "', which ",
                       twice ? "another adapter has" : "is the model's id");
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

}  // namespace program
