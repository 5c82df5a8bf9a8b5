// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ring_case.cpp: reads the folder of a recorded ring, and takes nothing in it on trust.
#include "output.hpp"
#include "ring_case.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <string_view>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using zrt::Errc;
using zrt::fail;

constexpr std::size_t kMostBytes = std::size_t{1} << 32;

zrt::Result<RegionBytes> read_bytes(const std::string& path, std::size_t size) {
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  if (text->size() > size)
    return fail(Errc::invalid_file, std::string_view(path), " has ", text->size(), " bytes for a region of ", size);
  RegionBytes bytes(size);
  if (!text->empty()) std::memcpy(bytes.data(), text->data(), text->size());
  return bytes;
}

/// "0x" and hexadecimal digits.
zrt::Result<std::uint64_t> read_address(const Json& json) {
  const auto text = json.at("va").get<std::string>();
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.starts_with("0x"))
    if (const auto read = std::from_chars(text.data() + 2, end, value, 16); read.ec == std::errc{} && read.ptr == end)
      return value;
  return fail(Errc::invalid_file, "va is ", std::string_view(text), ", expected 0x and hexadecimal digits of 64 bits");
}

zrt::Result<std::size_t> read_size(const Json& json) {
  const auto size = json.at("size").get<std::int64_t>();
  if (size < 0) return fail(Errc::invalid_file, "a size is ", size, ", expected 0 or more");
  if (static_cast<std::uint64_t>(size) > kMostBytes)
    return fail(Errc::limit_exceeded, "a region has ", size, " bytes, at most ", kMostBytes);
  return static_cast<std::size_t>(size);
}

zrt::Result<CaseRegion> read_region(const std::string& folder, const Json& json) {
  CaseRegion region{.name = json.at("name")};
  const auto address = read_address(json);
  if (!address) return zrt::pass(address);
  const auto size = read_size(json);
  if (!size) return zrt::pass(size);
  auto before = read_bytes(folder + "/" + json.at("file").get<std::string>(), *size);
  if (!before) return zrt::pass(before);
  auto after = json.contains("after") ? read_bytes(folder + "/" + json["after"].get<std::string>(), *size) : *before;
  if (!after) return zrt::pass(after);
  region.address = *address;
  region.bytes = std::move(*before);
  region.after = std::move(*after);
  return region;
}

zrt::Result<void> read_ring(const std::string& folder, const Json& json, RingCase& c) {
  const auto address = read_address(json);
  if (!address) return zrt::pass(address);
  const auto size = read_size(json);
  if (!size) return zrt::pass(size);
  // A queue's size is a power of two; section 5 of the facts on KFD.
  if (!std::has_single_bit(*size) || *size < 4)
    return fail(Errc::invalid_file, "the ring has ", *size, " bytes, expected a power of two");
  const std::string path = folder + "/" + json.at("file").get<std::string>();
  auto ring = read_bytes(path, *size);
  if (!ring) return zrt::pass(ring);
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  if (text->size() % 4 != 0)
    return fail(Errc::invalid_file, std::string_view(path), " has ", text->size(), " bytes, expected whole dwords");
  c.packets.resize(text->size() / 4);
  if (!c.packets.empty()) std::memcpy(c.packets.data(), ring->data(), text->size());
  c.ring_address = *address;
  c.ring = std::move(*ring);
  return {};
}

zrt::Result<CaseFloats> read_floats(const Json& json, const std::vector<CaseRegion>& regions) {
  const auto name = json.at("region").get<std::string>();
  const auto region = std::ranges::find(regions, name, &CaseRegion::name);
  if (region == regions.end())
    return fail(Errc::invalid_file, "expect_f32 is of region ", std::string_view(name), ", which there is not");
  const auto offset = json.at("offset").get<std::int64_t>();
  const auto count = json.at("count").get<std::int64_t>();
  CaseFloats floats{.region = static_cast<std::size_t>(region - regions.begin()),
                    .tolerance = json.at("tolerance"),
                    .values = json.at("values")};
  if (!(floats.tolerance >= 0 && std::isfinite(floats.tolerance)))
    return fail(Errc::invalid_file, "expect_f32 has a tolerance below 0 or without an end");
  if (count < 0 || static_cast<std::uint64_t>(count) != floats.values.size())
    return fail(Errc::invalid_file, "expect_f32 has ", floats.values.size(), " values and a count of ", count);
  const std::size_t room = region->bytes.size();
  if (offset < 0 || offset % 4 != 0 || static_cast<std::uint64_t>(offset) > room ||
      floats.values.size() > (room - static_cast<std::size_t>(offset)) / 4)
    return fail(Errc::invalid_file, "expect_f32 has ", floats.values.size(), " floats at byte ", offset,
                ", expected a multiple of 4, and all of them in the region's ", room, " bytes");
  floats.offset = static_cast<std::size_t>(offset);
  return floats;
}

zrt::Result<RingCase> read_json(const std::string& folder, const Json& json) {
  RingCase c;
  c.kernel = json.at("kernel").get<std::string>();
  c.target = zrt::pm4::find_target(json.at("target").get<std::string>());
  if (c.target == nullptr) return fail(Errc::unsupported_device, "the case is for none of RDNA3 and RDNA4");
  for (const Json& r : json.at("regions")) {
    auto region = read_region(folder, r);
    if (!region) return zrt::pass(region);
    c.regions.push_back(std::move(*region));
  }
  if (auto r = read_ring(folder, json.at("ring"), c); !r) return zrt::pass(r);
  if (!json.contains("expect_f32") || json["expect_f32"].is_null()) return c;
  auto floats = read_floats(json["expect_f32"], c.regions);
  if (!floats) return zrt::pass(floats);
  c.floats = std::move(*floats);
  return c;
}

}  // namespace

bool CaseFloats::are_near(std::size_t at, float got) const {
  const double want = values[(at - offset) / 4];
  return std::fabs(double{got} - want) <= tolerance * std::max(1.0, std::fabs(want));
}

zrt::Result<RingCase> read_ring_case(const std::string& folder) {
  const auto text = read_file(folder + "/case.json");
  if (!text) return zrt::pass(text);
  try {
    return read_json(folder, Json::parse(*text));
  } catch (const std::exception& error) {
    return fail(Errc::invalid_file, "case.json: ", std::string_view(error.what()));
  }
}

}  // namespace program
