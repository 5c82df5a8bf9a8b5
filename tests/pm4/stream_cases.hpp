// SPDX-License-Identifier: Apache-2.0
// tests/pm4/stream_cases.hpp: one good packet of each kind, and the golden rings.
#pragma once

#include <zrt/backend/pm4/packets.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace zrt::test {

using Words = std::vector<std::uint32_t>;

/// Each typed packet once, with values that fill its fields.
template <class Target> std::vector<Words> one_of_each() {
  using namespace zrt::pm4;
  static constexpr std::array<std::uint32_t, 3> three{1, 2, 3};
  std::vector<Words> all;
  const auto add = [&](const auto& packet) {
    const auto stream = stream_of<Target>(packet);
    all.emplace_back(stream.span().begin(), stream.span().end());
  };
  add(Nop{three});
  add(DispatchDirect{{4, 3, 2}});
  add(DispatchIndirect{0x7fff'1234'5678});
  add(WriteData{0x7fff'1234'5678, three});
  add(WaitMemory{.address = 0x7fff'1234'5678, .reference = 9});
  add(WriteWaitRegister{0xe26, 0xe27});
  add(IndirectBuffer{.address = 0x7fff'1234'5678, .dwords = 100});
  add(CopyMemory{0x1000, 0x2008, true});
  add(CopyClock{0x2008});
  add(CopyImmediate{~std::uint64_t{0}, 0x2008, true});
  add(CopyRegister{0xe27, 0x2004});
  add(WaitRegister{0xe27, 1, WaitCondition::equal, 1});
  add(WriteData{0x7fff'1234'5678, three, false, WriteTo::l2, true});
  add(PartialFlush{});
  add(ReleaseMem{.address = 0x7fff'1234'5678,
                 .value = ~std::uint64_t{0},
                 .interrupt = ReleaseInterrupt::after_write,
                 .context = 5});
  add(ReleaseMem{.address = 0x1000, .data = ReleaseData::gpu_clock, .event = ReleaseEvent::shaders_done});
  add(AcquireMem{kAcquireAll});
  add(AcquireMem{kAcquireAll, CacheSequence::forward});
  add(SetShReg{register_offset("COMPUTE_USER_DATA_"), three});
  add(SetUconfigReg{0x10, three});
  add(WaitMemory64{.address = 0x7fff'1234'5678, .reference = ~std::uint64_t{0}});
  add(ProtectedFenceSignal{});
  return all;
}

inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline Words file_words(const std::filesystem::path& path) {
  const auto bytes = file_bytes(path);
  Words words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

/// The folders of the golden cases; none without the shared data.
inline std::vector<std::filesystem::path> golden_cases() {
  std::vector<std::filesystem::path> folders;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(ZRT_SHARED_DIR "/golden/pm4", missing))
    if (entry.is_directory()) folders.push_back(entry.path());
  return folders;
}

inline zrt::pm4::Generation generation_of(const std::filesystem::path& folder) {
  return folder.filename().string().starts_with("gfx12") ? zrt::pm4::Generation::gfx12 : zrt::pm4::Generation::gfx11;
}

}  // namespace zrt::test
