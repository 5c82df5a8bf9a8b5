// SPDX-License-Identifier: Apache-2.0
// tests/tools/hub_folder.hpp: small folders of Hugging Face, made from the rows of tests/data/hub.
#pragma once

#include <zrt/core/half.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace zrt::test {

using HubJson = nlohmann::json;

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

inline std::uint64_t fnv(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

/// The values of a tensor, as tests/tools/hub_folders.py has them.
inline std::string hub_values(std::string_view name, std::uint64_t count, std::string_view type) {
  std::string bytes;
  const auto add = [&](const void* word, std::size_t size) { bytes.append(static_cast<const char*>(word), size); };
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t word = i * 2654435761u + static_cast<std::uint32_t>(fnv(name));
    const float x = static_cast<float>(static_cast<int>((word >> 16) % 255) - 127) / 128.0f;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    auto byte = static_cast<std::uint8_t>((word >> 16) % 255);
    // Scales of blocks are powers of two: from 2^-8 to 2^-1, so that what a model computes stays finite.
    if (name.ends_with("_scales")) byte = static_cast<std::uint8_t>(119 + byte % 8);
    const std::uint16_t half = type == "F16" ? to_f16(x).bits : static_cast<std::uint16_t>(bits >> 16);
    if (type == "F32")
      add(&bits, sizeof bits);
    else if (type == "U8")
      add(&byte, sizeof byte);
    else
      add(&half, sizeof half);
  }
  return bytes;
}

/// A file of safetensors from a header and data.
inline std::string safetensors_of(std::string_view header, std::string_view data) {
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes.append(header).append(data);
}

/// A file of safetensors with tensors of [name, shape], or [name, shape, type] where one has a type of its own.
inline std::string hub_tensors(const HubJson& tensors, const std::string& common_type) {
  HubJson header = HubJson::object();
  std::string data;
  for (const HubJson& tensor : tensors) {
    std::uint64_t count = 1;
    for (const HubJson& extent : tensor[1]) count *= extent.get<std::uint64_t>();
    const std::string type = tensor.size() > 2 ? tensor[2].get<std::string>() : common_type;
    const std::size_t begin = data.size();
    data += hub_values(tensor[0].get<std::string>(), count, type);
    header[tensor[0].get<std::string>()] = {
        {"dtype", type}, {"shape", tensor[1]}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_of(header.dump(), data);
}

/// A folder below the one for temporary files, which goes with this.
class HubFolder {
 public:
  explicit HubFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("zrt-hub-" + std::to_string(::getpid()) + "-" + name)) {
    std::filesystem::create_directories(path_);
  }
  HubFolder(const HubFolder&) = delete;
  HubFolder& operator=(const HubFolder&) = delete;
  ~HubFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  void write(const std::string& name, std::string_view text) const { write_text(path_ / name, text); }
  void remove(const std::string& name) const { std::filesystem::remove(path_ / name); }

  /// Writes what a row of `data` (tests/data/hub) says.
  void write_row(const std::filesystem::path& data, const HubJson& row) const {
    write("config.json", row["config"].dump());
    write("model.safetensors", hub_tensors(row["tensors"], row["type"].get<std::string>()));
    for (const auto& file : std::filesystem::directory_iterator(data / row["vocabulary"].get<std::string>()))
      write(file.path().filename().string(), file_text(file.path()));
    if (row.contains("files"))
      for (const auto& [name, content] : row["files"].items()) {
        std::filesystem::create_directories((path_ / name).parent_path());
        write(name, content.dump());
      }
  }

 private:
  std::filesystem::path path_;
};

}  // namespace zrt::test
