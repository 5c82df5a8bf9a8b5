// SPDX-License-Identifier: Apache-2.0
// covers: device/kernel_abi.hpp
// The table of kernels is what docs/kernel-abi.md says, what the kernels of AMD targets say of themselves, and what those
// in SPIR-V are compiled for.
#include <zrt/backend/pm4/kernel_file/reader.hpp>
#include <zrt/device/kernel_abi.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zrt::test::kernel_abi_test {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(std::string(ZRT_SOURCE_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  std::size_t at = 0, end = 0;
  while ((end = text.find(by, at)) != std::string::npos) {
    parts.push_back(text.substr(at, end - at));
    at = end + by.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

/// The cells of a line of a table.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (const std::string& cell : split(line, "|")) {
    const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  if (cells.size() < 3) return {};
  return {cells.begin() + 1, cells.end() - 1};
}

std::set<std::string> all_kernels(Span<const device::UploadFunctions> types) {
  std::set<std::string> names;
  device::for_each_kernel(types, [&](std::string_view name) { EXPECT_TRUE(names.emplace(name).second) << name; });
  return names;
}

device::KernelSignature signature(const std::string& name) {
  const device::KernelAbi* const abi = device::find_kernel_abi(name);
  if (abi != nullptr) return device::signature_of(*abi, name);
  ADD_FAILURE() << "no kernel is called " << name;
  return {};
}

/// The full names that the first cell of a row means: "a_f32, _f16", or "a_TYPE, ..." for all types, or "a_PLANES".
std::vector<std::string> names_of(const std::string& cell) {
  std::vector<std::string> names;
  const std::vector<std::string> items = split(cell, ", ");
  using Types = std::pair<std::string, Span<const device::UploadFunctions>>;
  for (const auto& [word, types] : {Types("_TYPE", device::kAllUploads), Types("_PLANES", device::kPlaneUploads)})
    if (const std::size_t type = items[0].find(word); type != std::string::npos) {
      for (const device::UploadFunctions& u : types)
        names.push_back(items[0].substr(0, type + 1) + std::string(name(u.dtype)));
      return names;
    }
  const device::KernelAbi* const abi = device::find_kernel_abi(items[0]);
  EXPECT_NE(abi, nullptr) << items[0];
  for (const std::string& item : items)
    names.push_back(item[0] == '_' && abi != nullptr ? std::string(abi->family) + item : item);
  return names;
}

/// How many buffers a row names for one of its kernels.
std::uint32_t buffers_of(const std::string& cell, const std::string& kernel) {
  std::uint32_t count = 0;
  for (const std::string& item : split(cell, ", ")) {
    const device::UploadFunctions* upload = nullptr;
    for (const device::UploadFunctions& u : device::kAllUploads)
      if (kernel.ends_with("_" + std::string(name(u.dtype)))) upload = &u;
    if (item.ends_with("parts"))
      count += upload == nullptr ? 0 : static_cast<std::uint32_t>(upload->parts.size());
    else
      count += item == "x or xq and xd" && info(upload->dtype).block_elems != 1 ? 2 : 1;
  }
  return count;
}

TEST(KernelAbi, IsWhatThePageSays) {
  std::set<std::string> found;
  bool in_table = false;
  for (const std::string& line : split(contents("docs/kernel-abi.md"), "\n")) {
    if (line == "| kernel | buffers | push constants | grid | lanes |") in_table = true;
    if (line.empty()) in_table = false;
    const std::vector<std::string> cells = cells_of(line);
    if (!in_table || cells.size() != 5 || cells[4].empty() || cells[4][0] < '0' || cells[4][0] > '9') continue;
    for (const std::string& kernel : names_of(cells[0])) {
      SCOPED_TRACE(kernel);
      EXPECT_TRUE(found.insert(kernel).second);
      const device::KernelSignature s = signature(kernel);
      EXPECT_EQ(s.buffers, buffers_of(cells[1], kernel));
      EXPECT_EQ(s.value_bytes, cells[2].empty() ? 0 : 4 * split(cells[2], ", ").size());
      EXPECT_EQ(std::to_string(s.lanes), cells[4]);
    }
  }
  EXPECT_EQ(found, all_kernels(device::kAllUploads));
}

TEST(KernelAbi, IsWhatTheKernelsOfEachTargetSay) {
  for (const std::string target : {"gfx1201", "gfx1100", "gfx1151"})
    for (const std::string& kernel : all_kernels(device::kUploads)) {
      SCOPED_TRACE(target + "/" + kernel);
      if (device::find_kernel_abi(kernel)->is_optional) continue;
      const std::string text = contents("kernels/" + target + "/" + kernel + ".zrt");
      const auto file = pm4::KernelFile::open(as_bytes(Span<const char>(text.data(), text.size())));
      ASSERT_TRUE(file.has_value()) << file.error().text();
      const device::KernelSignature s = signature(kernel);
      EXPECT_EQ(file->header().buffer_count, s.buffers);
      EXPECT_EQ(file->header().push_const_bytes, s.value_bytes);
      EXPECT_EQ(file->header().workgroup_size_x, s.lanes);
    }
}

/// The lanes of a workgroup of a module: of LocalSize, or LocalSizeId.
std::vector<std::uint32_t> local_size(const std::vector<std::uint32_t>& words) {
  constexpr std::uint32_t kExecutionMode = 16, kConstant = 43, kExecutionModeId = 331, kLocalSize = 17,
                          kLocalSizeId = 38;
  std::map<std::uint32_t, std::uint32_t> constants;
  std::vector<std::uint32_t> size, ids;
  for (std::size_t at = 5; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
    const std::uint32_t op = words[at] & 0xffff;
    if (op == kConstant) constants[words[at + 2]] = words[at + 3];
    if (op == kExecutionMode && words[at + 2] == kLocalSize) size = {words[at + 3], words[at + 4], words[at + 5]};
    if (op == kExecutionModeId && words[at + 2] == kLocalSizeId) ids = {words[at + 3], words[at + 4], words[at + 5]};
  }
  for (const std::uint32_t id : ids) size.push_back(constants[id]);
  return size;
}

TEST(KernelAbi, IsWhatTheModulesOfVulkanAreCompiledFor) {
  for (const std::string& kernel : all_kernels(device::kAllUploads)) {
    SCOPED_TRACE(kernel);
    const std::string text = contents("kernels/vulkan/" + kernel + ".spv");
    std::vector<std::uint32_t> words(text.size() / 4);
    std::memcpy(words.data(), text.data(), words.size() * 4);
    EXPECT_EQ(local_size(words), (std::vector<std::uint32_t>{signature(kernel).lanes, 1, 1}));
  }
}

}  // namespace
}  // namespace zrt::test::kernel_abi_test
