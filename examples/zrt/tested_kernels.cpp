// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tested_kernels.cpp: which kernels have passed their self-test on this machine's card, in a file of the user's.
#include "tested_kernels.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace program {

TestedKernels TestedKernels::of_user() {
  TestedKernels tested;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/')
    tested.path_ = std::string(cache) + "/zrt/tested-kernels";
  else if (home != nullptr && *home == '/')
    tested.path_ = std::string(home) + "/.cache/zrt/tested-kernels";
  return tested;
}

void TestedKernels::read() {
  is_read_ = true;
  std::ifstream file(path_);
  std::uint64_t key = 0;
  while (file >> std::hex >> key) keys_.insert(key);
}

void TestedKernels::add(std::uint64_t key) {
  keys_.insert(key);
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  std::ofstream(path_, std::ios::app) << std::hex << key << '\n';
}

zrt::pm4::SelfTestCache TestedKernels::cache() noexcept {
  return {this,
          [](void* self, std::uint64_t key) noexcept {
            auto& tested = *static_cast<TestedKernels*>(self);
            if (!tested.is_read_) tested.read();
            return tested.keys_.contains(key);
          },
          [](void* self, std::uint64_t key) noexcept { static_cast<TestedKernels*>(self)->add(key); }};
}

}  // namespace program
